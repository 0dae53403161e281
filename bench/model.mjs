/**
 * `npm run bench:model`: events a second of Laurel with several databases and isolates, over databases that
 * are as slow as a model says. See bench/README.md.
 *
 * `-- --seconds 2` measures each case for a shorter time, `-- --databases 2` ends at fewer databases, and `--
 * --clients 256` has more clients for each database.
 */
import { fixed, runBench, save, sumOf, tell, tellMore } from './lib/bench.mjs'
import { laurel } from './lib/laurel.mjs'

/** The timeout of a case, in milliseconds. */
const PATIENCE = 280_000
/** The model, in milliseconds, and the longest pause of a client between an answer and its next event. */
const MODEL = { roundTrip: 20, read: 10, write: 20 }
const PAUSE = 10
/** Events a second that a database commits one by one. */
const ONE_BY_ONE = 1000 / (MODEL.read + MODEL.write)
/** The shortest time of a case, and the time before it, in seconds of the model. */
const LEAST_SECONDS = 2
const WARM_UP = 1
const COUNTS = [1, 2, 4, 8]
const ISOLATES = [1, 4]
/** The least rate with N databases, as a share of N times the rate with one; and as a multiple of one by one. */
const SPREAD = 0.85
const GROUPED = 5
/** Sections of wrangler.toml that the model does without. */
const LEFT_OUT = /^\[(build|assets|triggers)\]/

/**
 * The results so far. They are printed even if the run ends early.
 *
 * @type {{ isolates: number; databases: number; clients: number; perSecond: number; ratio: number; events:
 *   number; wait: number; noted: { conflicts: number; problems: number }; uses: { writes: number; busy: number
 *   }[] }[]}
 */
const found = []

async function run(
  /** @type {{ seconds: number; clients: number; databases: number }} */ {
    seconds,
    clients,
    databases: most,
  },
) {
  const counts = COUNTS.filter((count) => count <= most)
  const toml = (/** @type {string} */ text) => {
    const sections = text.split(/\n(?=\[)/).filter((section) => !LEFT_OUT.test(section))
    return sections.join('\n').replace(/^main = .*$/m, 'main = "bench/model/worker.ts"')
  }
  const [databases = 1, variables] = [counts.at(-1), { MULTI_TENANCY: 'on' }]
  const server = await laurel('model', { databases, variables, more: ['bench/model'], toml })
  await server.start()
  for (const isolates of ISOLATES)
    for (const count of counts) {
      // More databases store more events in less time.
      const time = Math.max(seconds / count, LEAST_SECONDS)
      const what = { isolates, databases: count, clients: clients * count }
      const body = { ...what, pause: PAUSE, times: MODEL, warmUp: WARM_UP, seconds: time }
      const answer = await server.ask('POST', '/run', { body, patience: PATIENCE })
      const one = found.find((other) => other.isolates === isolates && other.databases === 1)
      const ratio = answer.body.perSecond / (one ?? answer.body).perSecond
      found.push({ ...what, ratio, ...answer.body })
      tellMore(`${isolates} isolates, ${count} databases: ${fixed(answer.body.perSecond)} events/s`)
    }
  print()
}

function print() {
  const head = ['isolates', 'databases', 'clients', 'events/s', '÷ one database', 'events a write batch']
  const lines = found.map(({ isolates, databases, clients, perSecond, ratio, events, uses, wait }) => [
    ...[isolates, databases, clients].map(String),
    fixed(perSecond),
    fixed(ratio, 2),
    fixed(events / sumOf(uses, ({ writes }) => writes), 1),
    `${fixed((sumOf(uses, ({ busy }) => busy) / uses.length) * 100)} %`,
    fixed(wait),
  ])
  save('model', [[...head, 'databases busy', 'an event waits, ms (median)'], ...lines], {
    model: MODEL,
    found,
  })
  for (const { isolates, databases, perSecond, ratio, noted } of found) {
    const name = `${isolates} isolates, ${databases} databases`
    if (ratio < SPREAD * databases) tell(`Missed: ${name}: ${fixed(ratio, 2)} times one database.`)
    if (perSecond < GROUPED * ONE_BY_ONE * databases) tell(`Missed: ${name}: ${fixed(perSecond)} events/s.`)
    if (noted.conflicts + noted.problems > 0) tell(`Missed: ${name}: ${JSON.stringify(noted)} were logged.`)
  }
}

runBench({
  script: 'bench:model',
  minutes: 40,
  options: { seconds: 5, clients: 64, databases: 8 },
  run,
  beforeFailing: () => found.length > 0 && print(),
})
