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
import { fixed, inTurns, median, quantile, runBench, save, sumOf, tell } from './lib/bench.mjs'
import { laurel } from './lib/laurel.mjs'
import { anyUserOf, BOARD, sendEvent, startWithBoards } from './lib/scene.mjs'

/** Events a second, seconds of a turn, and users who get events. */
const PACE = 50
const SECONDS = 6
const USERS = 200
/** The time that the last state may take to each watcher, in milliseconds. */
const LATEST = 2000
/** The time that a turn with watchers may take, in milliseconds. */
const PATIENCE = 120_000

/** @typedef {import('./lib/server.mjs').Server} Server */

/**
 * Sends events at a steady pace, whether or not earlier ones were answered. Returns the time of each in
 * milliseconds, the rows that they wrote, when the last one was answered (milliseconds since 1970), and the
 * processor time of the server in milliseconds.
 */
async function sendSteadily(/** @type {Server} */ server) {
  const cpu = server.processorTime()
  const waits = /** @type {number[]} */ ([])
  const send = async () => {
    const sent = performance.now()
    const answer = await sendEvent(server, anyUserOf(USERS), { key: null })
    waits.push(performance.now() - sent)
    return answer
  }
  const began = performance.now()
  const all = []
  for (let n = 1; n <= PACE * SECONDS; n += 1) {
    all.push(send())
    await sleep(Math.max(0, began + (n * 1000) / PACE - performance.now()))
  }
  const answers = await Promise.all(all)
  const ended = Date.now()
  const lines = await server.linesOf(answers)
  const rows = lines.map(({ d1, objectRows = 0 }) => d1.rowsWritten + objectRows)
  return { waits, rows, ended, p95: quantile(waits, 0.95), cpu: server.processorTime() - cpu }
}

/** @typedef {Awaited<ReturnType<typeof sendSteadily>>} Turn */
/**
 * How many rankings all watchers have got. `delays` has the milliseconds from the last answer to the last ranking, for
 * each watcher: null if it has not got that ranking.
 */
/** @typedef {Turn & { rankings: number; delays: (number | null)[] }} Watched */

/** The figures of several turns. */
function figuresOf(/** @type {Turn[]} */ turns) {
  const rows = turns.flatMap((one) => one.rows)
  return {
    median: median(turns.flatMap(({ waits }) => waits)),
    p95: median(turns.map(({ p95 }) => p95)),
    rows: sumOf(rows) / rows.length,
    cpu: sumOf(turns, ({ cpu }) => cpu),
  }
}

runBench({
  script: 'bench:live',
  options: { watchers: 1000, pairs: 12 },
  async run({ watchers: many, pairs }) {
    tell('Copying and starting…')
    const server = await laurel('live', { variables: { TEST_CLOCK: 'off' } })
    await startWithBoards(server)
    /** @returns {Promise<Watched>} */
    const withWatchers = async () => {
      const watchers = fork(inProject('bench', 'live', 'watchers.mjs'))
      const signal = AbortSignal.timeout(PATIENCE)
      const path = `/v1/leaderboards/${BOARD}/live`
      watchers.send({ port: server.port, path, key: server.key, count: many })
      await once(watchers, 'message', { signal })
      const turn = await sendSteadily(server)
      await sleep(LATEST)
      const { body } = await server.ask('GET', `/v1/leaderboards/${BOARD}?limit=10`)
      watchers.send(JSON.stringify(body.rankings))
      const [{ states, rankings }] = await once(watchers, 'message', { signal })
      await sleep(500)
      const delays = states.map((/** @type {number | null} */ at) => at && Math.max(0, at - turn.ended))
      return { ...turn, delays, rankings }
    }

    tell(`${PACE} events a second, in turns without and with ${many} watchers…`)
    const works = { without: () => sendSteadily(server), 'with watchers': withWatchers }
    const turns = await inTurns(pairs, works, ({ p95 }) => `p95 ${fixed(p95, 1)} ms`)
    const alone = turns.without ?? []
    const watched = /** @type {Watched[]} */ (turns['with watchers'])
    const [without, withThem] = [figuresOf(alone), figuresOf(watched)]
    const ratio = median(watched.map(({ p95 }, nth) => p95 / (alone[nth]?.p95 ?? 0)))
    const rankings = sumOf(watched, (one) => one.rankings)
    const cpu = (withThem.cpu - without.cpu) / rankings
    const all = watched.flatMap(({ delays }) => delays)
    const delays = all.filter((one) => one !== null)
    const missing = all.length - delays.length
    /** @type {(what: string, name: 'median' | 'p95' | 'rows', digits?: number) => string[]} */
    const line = (what, name, digits = 1) =>
      [what].concat([without, withThem].map((one) => fixed(one[name], digits)))
    const table = [
      ['figure', 'without watchers', `with ${many} watchers`],
      line(`an event at ${PACE} a second: median, ms`, 'median'),
      line(`the same: p95, ms (median of ${pairs} turns)`, 'p95'),
      ['p95 ÷ that of the turn before it (median)', '1', fixed(ratio, 2)],
      line('rows written for each event', 'rows', 2),
      [`watchers without the last state after ${LATEST / 1000} s`, '–', `${missing} of ${all.length}`],
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
