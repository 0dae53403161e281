/**
 * `npm run bench:live`: measures events of a leaderboard while 1,000 clients watch it, beside events without
 * watchers, in turns. See bench/README.md.
 *
 * `-- --watchers 3000` and `-- --pairs 20` measure more.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { inProject } from '../scripts/lib/project.mjs'
import { folder, runBench, save, tell, tellMore } from './lib/bench.mjs'
import { configure, create, eventPath, userId } from './lib/scene.mjs'
import { stopRuns } from './peers/runs.mjs'
import { Serve } from './peers/serve.mjs'

/** The time limit of the whole run, in minutes. */
const MINUTES = 10
/** Events a second, seconds of a turn, and users who get events. */
const PACE = 50
const SECONDS = 6
const USERS = 200
/** The time that the last state may take to each watcher, in milliseconds. */
const LATEST = 2000
/** Ticks of the clock in a second, for `/proc`. Linux always reports 100. */
const TICKS = 100

const BOARD = 'live'
const PAGE = `/v1/leaderboards/${BOARD}?limit=10`

/**
 * The events of one turn: the time of each in milliseconds, rows that they wrote, when the last one was
 * answered (milliseconds since 1970), and the processor time of the server in milliseconds.
 *
 * @typedef {{ waits: number[]; rows: number[]; ended: number; cpu: number }} Turn
 */

/** The processor time of the server so far, in milliseconds. */
function processorTime(/** @type {Serve} */ serve) {
  const ticks = serve.processes().map((id) => {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'latin1')
      const [user = '0', system = '0'] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14)
      return Number(user) + Number(system)
    } catch {
      return 0
    }
  })
  return (ticks.reduce((sum, one) => sum + one, 0) / TICKS) * 1000
}

/** The value below which a part of the numbers is. */
function quantile(/** @type {readonly number[]} */ numbers, /** @type {number} */ part) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

const median = (/** @type {readonly number[]} */ numbers) => quantile(numbers, 0.5)

const mean = (/** @type {readonly number[]} */ numbers) =>
  numbers.reduce((sum, one) => sum + one, 0) / numbers.length

/** The rows of the events in the server's log, while `work` sends them. */
async function rowsDuring(/** @type {Serve} */ serve, /** @type {() => Promise<void>} */ work) {
  const rows = /** @type {number[]} */ ([])
  let rest = ''
  serve.listener = (part) => {
    const lines = (rest + part).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.includes('"route":"POST /v1/metrics/:key/event"')) continue
      const { d1, objectRows = 0 } = JSON.parse(line.slice(line.indexOf('{')))
      rows.push(d1.rowsWritten + objectRows)
    }
  }
  await work()
  serve.listener = null
  return rows
}

/** Sends events at a steady pace, whether or not earlier ones were answered. */
async function turn(/** @type {Serve} */ serve, /** @type {string} */ key) {
  const agent = new Agent({ keepAlive: true })
  const send = () =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ user: { id: userId(Math.floor(Math.random() * USERS)) }, value: 1 })
      const headers = {
        'x-api-key': key,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }
      const began = performance.now()
      const to = { host: '127.0.0.1', port: serve.port, path: eventPath(1), method: 'POST', agent, headers }
      const sent = request(to, (answer) => {
        answer.resume()
        answer.once('end', () => {
          if (answer.statusCode === 201) resolve(performance.now() - began)
          else reject(new Error(`an event was answered ${answer.statusCode}`))
        })
      })
      sent.once('error', reject)
      sent.end(body)
    })
  const before = processorTime(serve)
  let waits = /** @type {number[]} */ ([])
  const rows = await rowsDuring(serve, async () => {
    const all = []
    const began = performance.now()
    for (let n = 1; n <= PACE * SECONDS; n += 1) {
      all.push(send())
      await sleep(Math.max(0, began + (n * 1000) / PACE - performance.now()))
    }
    waits = await Promise.all(all)
  })
  const ended = Date.now()
  agent.destroy()
  return { waits, rows, ended, cpu: processorTime(serve) - before }
}

/** The process of the watchers. */
class Watchers {
  #child = fork(inProject('bench', 'live', 'watchers.mjs'))

  /** @returns {Promise<any>} */
  async ask(/** @type {import('node:child_process').Serializable} */ message) {
    this.#child.send(message)
    const [answer] = await once(this.#child, 'message')
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer
  }

  end() {
    this.#child.kill()
  }
}

const watchers = new Watchers()

async function run() {
  const { values } = parseArgs({
    options: { watchers: { type: 'string', default: '1000' }, pairs: { type: 'string', default: '12' } },
  })
  const began = performance.now()
  const many = Number(values.watchers)
  const adminKey = newAdminKey()
  tell('Copying and starting…')
  const variables = { ADMIN_API_KEY: adminKey, DEMO: 'off', RATE_LIMITS: 'off' }
  const serve = await Serve.create(join(folder, 'serve'), variables)
  await serve.start()
  const { key, metricId } = await configure(serve, adminKey)
  const item = { key: BOARD, name: 'Live', status: 'active', rankBy: 'metric', metricId, start: '2026-01-01' }
  await create(serve, key, '/leaderboards', item)
  await turn(serve, key)

  tell(`${PACE} events a second, in turns without and with ${many} watchers…`)
  const alone = /** @type {Turn[]} */ ([])
  const watched = /** @type {Turn[]} */ ([])
  const delays = /** @type {number[]} */ ([])
  let missing = 0
  let rankings = 0
  const loads = [loadavg()[0] ?? 0]
  for (let pair = 0; pair < Number(values.pairs); pair += 1) {
    alone.push(await turn(serve, key))
    await watchers.ask({ open: many, port: serve.port, path: `/v1/leaderboards/${BOARD}/live`, key })
    const its = await turn(serve, key)
    watched.push(its)
    await sleep(LATEST)
    const { body } = await serve.ask('GET', PAGE, { key })
    const { states, events } = await watchers.ask({ states: JSON.stringify(body.rankings) })
    for (const at of states) {
      if (at === null) missing += 1
      else delays.push(Math.max(0, at - its.ended))
    }
    rankings += events.reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 0)
    await watchers.ask({ close: true })
    await sleep(500)
    loads.push(loadavg()[0] ?? 0)
    const [without, withThem] = [alone, watched].map((turns) => quantile(turns.at(-1)?.waits ?? [], 0.95))
    tellMore(`p95 ${without?.toFixed(1)} ms without, ${withThem?.toFixed(1)} ms with watchers`)
  }
  const figuresOf = (/** @type {Turn[]} */ turns) => {
    const waits = turns.flatMap((one) => one.waits)
    return {
      median: median(waits),
      p95: median(turns.map((one) => quantile(one.waits, 0.95))),
      rows: mean(turns.flatMap((one) => one.rows)),
      cpu: turns.reduce((sum, one) => sum + one.cpu, 0),
    }
  }
  const [without, withThem] = [figuresOf(alone), figuresOf(watched)]
  const figures = {
    watchers: many,
    pairs: alone.length,
    without,
    withThem,
    ratio: median(
      watched.map((one, nth) => quantile(one.waits, 0.95) / quantile(alone[nth]?.waits ?? [], 0.95)),
    ),
    last: { missing, median: median(delays), most: Math.max(...delays) },
    rankings,
    cpuOfRanking: (withThem.cpu - without.cpu) / rankings,
    load: { median: median(loads), most: Math.max(...loads) },
  }
  const ms = (/** @type {number} */ number) => number.toFixed(1)
  const last = `${ms(figures.last.median)}, ${ms(figures.last.most)}`
  process.stdout.write(`
| figure | without watchers | with ${many} watchers |
|---|---|---|
| an event at ${PACE} a second: median, ms | ${ms(without.median)} | ${ms(withThem.median)} |
| the same: p95, ms (median of ${alone.length} turns) | ${ms(without.p95)} | ${ms(withThem.p95)} |
| p95 ÷ that of the turn before it (median) | 1 | ${figures.ratio.toFixed(2)} |
| rows written for each event | ${without.rows.toFixed(2)} | ${withThem.rows.toFixed(2)} |
| watchers without the last state after ${LATEST / 1000} s | – | ${missing} of ${many * alone.length} |
| from the last answer to the last state: median, most, ms | – | ${last} |
| processor time of a ranking to one watcher, ms | – | ${figures.cpuOfRanking.toFixed(3)} |

Load of the machine meanwhile: ${figures.load.median.toFixed(1)}, at most ${figures.load.most.toFixed(1)}.

`)
  save('live-', began, figures)
}

runBench(run, {
  script: 'bench:live',
  minutes: MINUTES,
  stop: async () => {
    watchers.end()
    await stopRuns()
  },
})
