/**
 * `npm run bench:model`: events a second of Laurel with several databases and isolates, over databases that
 * are as slow as a model says. See bench/README.md.
 *
 * `-- --seconds 5` measures each case for a shorter time, `-- --databases 2` ends at fewer databases, `--
 * --clients 256` has more clients for each database, and `-- --kinds group` measures only users who are
 * committed together.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { Complaint } from '../scripts/lib/project.mjs'
import { folder, runBench, save, tell, tellMore } from './lib/bench.mjs'
import { busy, eventsOfABatch, factor, missesOf, tableOf } from './lib/model/report.mjs'
import { MOST_DATABASES, startModel } from './lib/model/worker.mjs'
import { lastWords, stopAll } from './lib/server.mjs'

/** The time limit of the whole run, in minutes. */
const MINUTES = 40
/** The timeout of a case, in milliseconds. */
const PATIENCE = 280_000
/**
 * The model, in milliseconds: a round trip, a batch that reads, and a batch that writes; and the longest
 * pause of a client between an answer and its next event.
 */
const MODEL = { roundTrip: 20, read: 10, write: 20 }
const PAUSE = 10
const CLIENTS = 64
/** How long each case is measured, in seconds of the model. */
const SECONDS = 5
const LEAST_SECONDS = 2
const COUNTS = [1, 2, 4, 8]
const ISOLATES = [1, 4]
const KINDS = ['bare', 'group', 'alone']

/** The results so far. They are printed even if the run ends early. */
const found = /** @type {import('./lib/model/report.mjs').Found[]} */ ([])
const began = performance.now()

/** A whole number above 0 of an option. */
function numberOf(/** @type {string | undefined} */ asked, /** @type {number} */ usual, most = 1000) {
  const number = asked === undefined ? usual : Number(asked)
  if (!Number.isInteger(number) || number < 1 || number > most)
    throw new Complaint(`An option takes a whole number from 1 to ${most}, not ${asked}.`)
  return number
}

async function bench() {
  const text = { type: /** @type {const} */ ('string') }
  const { values } = parseArgs({ options: { seconds: text, kinds: text, databases: text, clients: text } })
  const seconds = numberOf(values.seconds, SECONDS)
  const clients = numberOf(values.clients, CLIENTS)
  const counts = COUNTS.filter((count) => count <= numberOf(values.databases, MOST_DATABASES, MOST_DATABASES))
  const kinds = values.kinds?.split(',') ?? KINDS
  if (kinds.some((kind) => !KINDS.includes(kind))) throw new Complaint(`--kinds takes ${KINDS.join(',')}.`)
  const at = join(folder, 'model')
  const server = await startModel(at, newAdminKey())
  /** Measures one case. */
  const measure = async (
    /** @type {import('./lib/model/report.mjs').Kind} */ kind,
    isolates = 1,
    databases = 1,
  ) => {
    if (!kinds.includes(kind)) return
    // An event that is committed alone waits for those of all other clients, twice.
    const turn = kind === 'group' ? 0.5 : ((MODEL.read + MODEL.write) * clients) / 1000
    const wish = {
      kind,
      isolates,
      databases,
      clients: clients * databases,
      pause: PAUSE,
      warmUp: 2 * turn,
      // More databases store more events in less time.
      seconds: Math.max(seconds / databases, 3 * turn, LEAST_SECONDS),
      times: MODEL,
    }
    const { body } = await server.ask('POST', '/run', { body: wish, patience: PATIENCE })
    const { databases: used, ...figures } = body
    const one = {
      kind,
      isolates,
      databases,
      clients: wish.clients,
      ...figures,
      used,
    }
    found.push(one)
    tellMore(
      `${kind}, ${isolates} isolates, ${databases} databases: ${one.perSecond.toFixed(0)} events/s (× ${factor(found, one).toFixed(2)}), ` +
        `${eventsOfABatch(one).toFixed(1)} in a batch, databases busy ${(busy(one) * 100).toFixed(0)} %`,
    )
  }
  await measure('bare')
  for (const isolates of ISOLATES) for (const count of counts) await measure('group', isolates, count)
  for (const isolates of ISOLATES) for (const count of counts) await measure('alone', isolates, count)
  tellFigures()
}

function tellFigures() {
  process.stdout.write(`\n${tableOf(found)}\n\n`)
  const misses = missesOf(found)
  for (const miss of misses) tell(`Missed: ${miss}.`)
  save('model-', began, { model: MODEL, runs: found, misses })
}

runBench(bench, {
  script: 'bench:model',
  minutes: MINUTES,
  stop: stopAll,
  beforeFailing() {
    if (found.length > 0) tellFigures()
    for (const said of lastWords()) tell(said)
  },
})
