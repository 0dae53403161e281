/** Sends events in batches: to measure their cost, and to fill Laurel. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { numbersTo, sumOf } from './bench.mjs'
import { METRIC, userId } from './scene.mjs'

/** Events of a batch. */
const BATCH = 1000
/** Events that are sent before those before them are processed. */
const AHEAD = 10 * BATCH
/** The longest time without progress, in milliseconds. */
const PATIENCE = 60_000
const USERS = 100

/** @typedef {import('./server.mjs').Server} Server */
/** @typedef {Pick<Awaited<ReturnType<Server['logged']>>, 'lines' | 'steps'> & { seconds: number }} Processed */
/** An event of a number. @typedef {(number: number) => { user: object; value?: number }} EventOf */

/**
 * Sends events with idempotency keys in batches of 1,000, and waits until all of them are processed.
 *
 * @type {(server: Server, count: number, eventOf: EventOf) => Promise<Processed>}
 */
export async function sendBatches(server, count, eventOf) {
  const began = performance.now()
  let seconds = 0
  const { lines, steps } = await server.logged(async (found) => {
    let [seen, done, at] = [0, 0, performance.now()]
    const wait = async (/** @type {number} */ until) => {
      for (; done < until; await sleep(5)) {
        // A step's line counts changes. Each event is one.
        const fresh = found.slice(seen).filter(({ work }) => work === 'inbox')
        seen = found.length
        done += sumOf(fresh, ({ users }) => users)
        if (fresh.length > 0) at = performance.now()
        if (performance.now() - at > PATIENCE)
          throw new Error(`only ${done} of ${count} events were processed`)
      }
    }
    const answers = []
    for (let first = 0; first < count; first += BATCH) {
      await wait(first - AHEAD)
      const body = numbersTo(Math.min(BATCH, count - first)).map((index) => ({
        ...{ key: METRIC, value: 1, idempotencyKey: randomUUID() },
        ...eventOf(first + index),
      }))
      answers.push(await server.ask('POST', '/admin/v1/metrics/events', { body }))
    }
    await wait(count)
    seconds = (performance.now() - began) / 1000
    return answers
  })
  return { lines, steps: steps.filter(({ work }) => work === 'inbox'), seconds }
}

/**
 * The cost of an event of a batch of 1,000 of 100 users, each with an award, a leaderboard and an idempotency
 * key; and events a second of five such batches.
 */
export async function measureBatch(/** @type {Server} */ server) {
  const eventOf = (/** @type {number} */ number) => ({ user: { id: userId(number % USERS) } })
  await sendBatches(server, BATCH, eventOf)
  const { lines, steps } = await sendBatches(server, BATCH, eventOf)
  const all = [...lines, ...steps]
  const { seconds } = await sendBatches(server, 5 * BATCH, eventOf)
  return {
    d1Rows: sumOf(all, ({ d1 }) => d1.rowsWritten) / BATCH,
    objectRows: sumOf(all, ({ objectRows = 0 }) => objectRows) / BATCH,
    roundTrips: sumOf(all, ({ d1 }) => d1.roundTrips) / BATCH,
    perSecond: (5 * BATCH) / seconds,
  }
}
