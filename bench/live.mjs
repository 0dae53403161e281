/**
 * `npm run bench:live`: measures events of a leaderboard while 1,000 clients watch it, beside events without
 * watchers, in turns. See bench/README.md.
 *
 * `-- --watchers 3000` and `-- --pairs 20` measure more.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { inProject } from '../scripts/lib/project.mjs'
import {
  atEnd,
  fixed,
  median,
  numbersTo,
  quantile,
  runBench,
  save,
  sumOf,
  tell,
  tellMore,
} from './lib/bench.mjs'
import { laurelServed } from './lib/laurel.mjs'
import { anyUserOf, configure, create, sendEvent } from './lib/scene.mjs'

/** Events a second, seconds of a turn, and users who get events. */
const PACE = 50
const SECONDS = 6
const USERS = 200
/** The time that the last state may take to each watcher, in milliseconds. */
const LATEST = 2000

const BOARD = 'live'
const PAGE = `/v1/leaderboards/${BOARD}?limit=10`

/** @typedef {import('./lib/server.mjs').Server} Server */

/**
 * Sends events at a steady pace, whether or not earlier ones were answered. Returns the time of each in
 * milliseconds, the rows that they wrote, when the last one was answered (milliseconds since 1970), and the
 * processor time of the server in milliseconds.
 */
async function takeTurn(/** @type {Server} */ server) {
  const before = server.processorTime()
  const waits = /** @type {number[]} */ ([])
  let ended = 0
  const { lines } = await server.logged(async () => {
    const began = performance.now()
    const send = async () => {
      const sent = performance.now()
      const answer = await sendEvent(server, anyUserOf(USERS), { key: null })
      waits.push(performance.now() - sent)
      return answer
    }
    const all = []
    for (let n = 1; n <= PACE * SECONDS; n += 1) {
      all.push(send())
      await sleep(Math.max(0, began + (n * 1000) / PACE - performance.now()))
    }
    const answers = await Promise.all(all)
    ended = Date.now()
    return answers
  })
  const rows = lines.map(({ d1, objectRows = 0 }) => d1.rowsWritten + objectRows)
  return { waits, rows, ended, p95: quantile(waits, 0.95), cpu: server.processorTime() - before }
}

/** The figures of several turns. */
function figuresOf(/** @type {Awaited<ReturnType<typeof takeTurn>>[]} */ turns) {
  const rows = turns.flatMap((one) => one.rows)
  return {
    median: median(turns.flatMap((one) => one.waits)),
    p95: median(turns.map((one) => one.p95)),
    rows: sumOf(rows) / rows.length,
    cpu: sumOf(turns, (one) => one.cpu),
  }
}

runBench({
  script: 'bench:live',
  minutes: 10,
  options: { watchers: 1000, pairs: 12 },
  async run({ watchers: many, pairs }) {
    tell('Copying and starting…')
    const child = fork(inProject('bench', 'live', 'watchers.mjs'))
    atEnd(() => child.kill())
    /** Sends a message to the process of the watchers. @returns {Promise<any>} */
    const watchers = async (/** @type {import('node:child_process').Serializable} */ message) => {
      child.send(message)
      const [answer] = await once(child, 'message')
      if (answer.error !== undefined) throw new Error(answer.error)
      return answer
    }
    const server = await laurelServed({ TEST_CLOCK: 'off' })
    await server.start()
    const { metricId } = await configure(server)
    const item = { key: BOARD, name: 'Live', status: 'active', rankBy: 'metric', metricId }
    await create(server, '/leaderboards', { ...item, start: '2026-01-01' })
    await takeTurn(server)

    tell(`${PACE} events a second, in turns without and with ${many} watchers…`)
    /** @typedef {Awaited<ReturnType<typeof takeTurn>>} Turn */
    const alone = /** @type {Turn[]} */ ([])
    const watched = /** @type {Turn[]} */ ([])
    const delays = /** @type {number[]} */ ([])
    let missing = 0
    let rankings = 0
    for (const _ of numbersTo(pairs)) {
      const without = await takeTurn(server)
      const path = `/v1/leaderboards/${BOARD}/live`
      await watchers({ open: many, port: server.port, path, key: server.key })
      const withThem = await takeTurn(server)
      await sleep(LATEST)
      const { body } = await server.ask('GET', PAGE)
      const { states, events } = await watchers({ states: JSON.stringify(body.rankings) })
      for (const at of states) {
        if (at === null) missing += 1
        else delays.push(Math.max(0, at - withThem.ended))
      }
      rankings += sumOf(events)
      await watchers({ close: true })
      await sleep(500)
      alone.push(without)
      watched.push(withThem)
      tellMore(`p95 ${fixed(without.p95, 1)} ms without, ${fixed(withThem.p95, 1)} ms with watchers`)
    }
    const [without, withThem] = [figuresOf(alone), figuresOf(watched)]
    const ratio = median(watched.map(({ p95 }, nth) => p95 / (alone[nth]?.p95 ?? 0)))
    const cpu = (withThem.cpu - without.cpu) / rankings
    /** @type {(what: string, name: 'median' | 'p95' | 'rows', digits?: number) => string[]} */
    const line = (what, name, digits = 1) =>
      [what].concat([without, withThem].map((one) => fixed(one[name], digits)))
    const table = [
      ['figure', 'without watchers', `with ${many} watchers`],
      line(`an event at ${PACE} a second: median, ms`, 'median'),
      line(`the same: p95, ms (median of ${pairs} turns)`, 'p95'),
      ['p95 ÷ that of the turn before it (median)', '1', fixed(ratio, 2)],
      line('rows written for each event', 'rows', 2),
      [`watchers without the last state after ${LATEST / 1000} s`, '–', `${missing} of ${many * pairs}`],
      [
        'from the last answer to the last state: median, most, ms',
        '–',
        `${fixed(median(delays))}, ${fixed(Math.max(...delays))}`,
      ],
      ['processor time of a ranking to one watcher, ms', '–', fixed(cpu, 3)],
    ]
    save('live', table, { watchers: many, pairs, without, withThem, ratio, missing, rankings, cpu })
  },
})
