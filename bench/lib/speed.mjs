/**
 * Events a second of ours against those of the baseline, in rounds that take turns.
 */
import { randomUUID } from 'node:crypto'
import { eventRequest, round } from './load.mjs'
import { METRIC, userId } from './scene.mjs'

const CLIENTS = 32
const ROUNDS = 5
const MILLISECONDS = 6000
const WARM_UP = 3000

/** Events a second of each kind, and their ratio to the baseline's in the same turn.
 * @typedef {{ ours: number; baseline: number; ratio: number; least: number; most: number; rounds: number[] }} Speed */

/**
 * Runs the rounds: in each turn the plain event, the baseline, and the event with an idempotency key. The baseline gets
 * the very same requests.
 *
 * @param {{ ours: import('./server.mjs').Server; baseline: import('./server.mjs').Server; key: string; users: number;
 *   told: (text: string) => void }} options `told` hears of each turn
 * @returns {Promise<{ plain: Speed; keyed: Speed }>}
 */
export async function compare({ ours, baseline, key, users, told }) {
  const events =
    (/** @type {{ port: number }} */ { port }, /** @type {boolean} */ isKeyed) =>
    () =>
      eventRequest({
        port,
        key,
        metric: METRIC,
        user: userId(Math.floor(Math.random() * users)),
        idempotencyKey: isKeyed ? randomUUID() : undefined,
      })
  const run = async (
    /** @type {import('./server.mjs').Server} */ server,
    /** @type {boolean} */ isKeyed,
    milliseconds = MILLISECONDS,
  ) => {
    const { port } = server
    const { failed, perSecond } = await round({
      port,
      clients: CLIENTS,
      milliseconds,
      request: events(server, isKeyed),
    })
    if (failed > 0) throw new Error(`${failed} events of a round were not answered 201`)
    return perSecond
  }
  told('warming up')
  await run(ours, false, WARM_UP)
  await run(baseline, false, WARM_UP)
  await run(ours, true, WARM_UP)

  const plain = []
  const bare = []
  const keyed = []
  for (let turn = 1; turn <= ROUNDS; turn += 1) {
    plain.push(await run(ours, false))
    bare.push(await run(baseline, false))
    keyed.push(await run(ours, true))
    const [a, b, c] = [plain, bare, keyed].map((list) => (list.at(-1) ?? 0).toFixed(0))
    told(`round ${turn} of ${ROUNDS}: ours ${a}, baseline ${b}, ours with an idempotency key ${c} events/s`)
  }
  return { plain: speed(plain, bare), keyed: speed(keyed, bare) }
}

/** @returns {Speed} */
function speed(/** @type {number[]} */ ours, /** @type {number[]} */ baseline) {
  const ratios = ours.map((perSecond, index) => perSecond / (baseline[index] ?? Number.NaN))
  return {
    ours: median(ours),
    baseline: median(baseline),
    ratio: median(ours) / median(baseline),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    rounds: ratios,
  }
}

/** The middle one of an odd number of figures. */
const median = (/** @type {number[]} */ figures) =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN
