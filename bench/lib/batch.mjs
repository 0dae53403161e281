/** Measures the cost of batch events, and how fast they are processed, from the Worker's own log lines. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { METRIC, userId } from './scene.mjs'

const EVENTS = 1000
const USERS = 100
/** Batches that are sent at once, to measure events per second. */
const BATCHES = 5
/** The most time for their processing, in milliseconds. */
const PATIENCE = 60_000

/** @typedef {import('./server.mjs').Server} Server */

/**
 * Costs are per event. `rowsWritten` is the sum of the rows of D1 and of the leaderboard's object.
 *
 * @typedef {{ rowsWritten: number; d1Rows: number; objectRows: number; rowsRead: number; roundTrips: number;
 *   steps: number; eventsASecond: number }} Batch
 */

/**
 * A batch of 1,000 events of 100 users, each with an award, a leaderboard and an idempotency key; then five
 * batches at once.
 *
 * @param {Server} server
 * @param {string} key
 * @param {(text: string) => void} tellMore prints a line of progress
 * @returns {Promise<Batch>}
 */
export async function measureBatch(server, key, tellMore) {
  await processed(server, key, 1)
  const { lines, steps } = await processed(server, key, 1)
  const all = [...lines, ...steps]
  const each = (/** @type {(line: any) => number} */ figure) =>
    all.reduce((sum, line) => sum + figure(line), 0) / EVENTS
  const d1Rows = each(({ d1 }) => d1.rowsWritten)
  const objectRows = each((line) => line.objectRows ?? 0)
  const { seconds } = await processed(server, key, BATCHES)
  const eventsASecond = (BATCHES * EVENTS) / seconds
  tellMore(`${BATCHES * EVENTS} events in batches in ${seconds.toFixed(1)} s`)
  return {
    rowsWritten: d1Rows + objectRows,
    d1Rows,
    objectRows,
    rowsRead: each(({ d1 }) => d1.rowsRead),
    roundTrips: each(({ d1 }) => d1.roundTrips),
    steps: steps.length,
    eventsASecond,
  }
}

/** Sends batches, and waits until the log says that all of their events are processed. */
async function processed(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {number} */ batches,
) {
  const began = performance.now()
  let seconds = 0
  const found = await server.logged(async (steps) => {
    const answers = []
    for (let i = 0; i < batches; i += 1) {
      answers.push(await server.ask('POST', '/admin/v1/metrics/events', { key, body: events() }))
    }
    // A step's line counts changes. Each event is one.
    const done = () => steps.filter(({ work }) => work === 'inbox').reduce((sum, step) => sum + step.users, 0)
    while (done() < batches * EVENTS) {
      if (performance.now() - began > PATIENCE) throw new Error(`only ${done()} events were processed`)
      await sleep(5)
    }
    seconds = (performance.now() - began) / 1000
    return answers
  })
  return { lines: found.lines, steps: found.steps.filter(({ work }) => work === 'inbox'), seconds }
}

/** The events of one batch: each user has ten. */
const events = () =>
  Array.from({ length: EVENTS }, (_, index) => ({
    key: METRIC,
    user: { id: userId(index % USERS) },
    value: 1,
    idempotencyKey: randomUUID(),
  }))
