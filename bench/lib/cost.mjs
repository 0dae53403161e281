/**
 * Measures the cost of an event in D1 and in leaderboards' objects, and the results of simultaneous events of
 * one user, from the Worker's own log lines.
 */
import { randomUUID } from 'node:crypto'
import { AWARD, BOARD, eventPath, METRIC, SYSTEM } from './scene.mjs'

/** Events that are sent first and not counted, so that caches are warm; then the counted events. */
const WARMING = 2
const COUNTED = 5

/**
 * The lowest and the highest value of a figure over several events. @typedef {{ least: number; most: number
 * }} Span
 */

/** @returns {Span} */
const span = (/** @type {number[]} */ figures) => ({
  least: Math.min(...figures),
  most: Math.max(...figures),
})

/**
 * The cost of events: in D1, in objects, and the rows written in both together.
 *
 * @typedef {{ roundTrips: Span; rowsRead: Span; rowsWritten: Span; waves: Span; calls: Span; objectRows:
 *   Span; allRows: Span }} Cost
 */

/**
 * Sends the reference event (one metric, one award, an idempotency key) several times for each user.
 *
 * @param {import('./server.mjs').Server} server
 * @param {string} key
 * @param {string[]} users
 * @param {number} [boards] leaderboards of the metric
 * @returns {Promise<Cost>}
 */
export async function costOfEvents(server, key, users, boards = 1) {
  const send = (/** @type {string} */ user) =>
    server.ask('POST', eventPath(boards), {
      key,
      body: { user: { id: user }, value: 1 },
      headers: { 'idempotency-key': randomUUID() },
    })
  for (let i = 0; i < WARMING; i += 1) for (const user of users) await send(user)
  const { answers, lines } = await server.logged(async () => {
    const answers = []
    for (let i = 0; i < COUNTED; i += 1) for (const user of users) answers.push(await send(user))
    return answers
  })
  for (const { status, body } of answers) {
    if (status !== 201 || body.points[SYSTEM]?.awards.length !== 1) {
      throw new Error(`this is not the reference event: ${status} ${JSON.stringify(body)}`)
    }
  }
  return {
    roundTrips: span(lines.map(({ d1 }) => d1.roundTrips)),
    rowsRead: span(lines.map(({ d1 }) => d1.rowsRead)),
    rowsWritten: span(lines.map(({ d1 }) => d1.rowsWritten)),
    waves: span(lines.map(({ objectWaves = 0 }) => objectWaves)),
    calls: span(lines.map(({ objectCalls = 0 }) => objectCalls)),
    objectRows: span(lines.map(({ objectRows = 0 }) => objectRows)),
    allRows: span(lines.map(({ d1, objectRows = 0 }) => d1.rowsWritten + objectRows)),
  }
}

/**
 * Sends events of one user all at once, and checks every response and the totals afterwards. A group of
 * events costs one read batch and one write batch, in the line of the request that led it. A conflict costs
 * another pair. So half of all round trips are write batches, including failed ones.
 *
 * @param {import('./server.mjs').Server} server
 * @param {string} key
 * @param {string} user
 * @param {number} count
 * @returns {Promise<{ writeBatches: number; faults: string[] }>} `faults` is empty if all values are exact
 */
export async function burst(server, key, user, count) {
  const event = { key, body: { user: { id: user }, value: 1 } }
  const before = await standing(server, key, user)
  const { answers, lines } = await server.logged(() =>
    Promise.all(Array.from({ length: count }, () => server.ask('POST', eventPath(1), event))),
  )
  const after = await standing(server, key, user)
  const roundTrips = lines.reduce((sum, { d1 }) => sum + d1.roundTrips, 0)

  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const metricTotals = numbers.map((n) => before.metric + n)
  const pointsTotals = numbers.map((n) => before.points + n * AWARD)
  const points = answers.map(({ body }) => body.points[SYSTEM])
  const checks = {
    'every answer is 201': answers.every(({ status }) => status === 201),
    'every event has an id of its own': new Set(answers.map(({ body }) => body.eventId)).size === count,
    'every metric total is answered once': same(
      answers.map(({ body }) => body.total),
      metricTotals,
    ),
    'every points total is answered once': same(
      points.map((one) => one?.total),
      pointsTotals,
    ),
    'every answer has one award': points.every(
      (one) => one?.awards.length === 1 && one.awards[0].awarded === AWARD && one.added === AWARD,
    ),
    'the metric total is right': after.metric === before.metric + count,
    'the points total is right': after.points === before.points + count * AWARD,
    'the leaderboard is right': after.score === after.metric,
  }
  return {
    writeBatches: Math.ceil(roundTrips / 2),
    faults: Object.entries(checks).flatMap(([name, holds]) => (holds ? [] : [`failed: ${name}`])),
  }
}

/** A user's state, read by the application interface. */
async function standing(
  /** @type {import('./server.mjs').Server} */ server,
  /** @type {string} */ key,
  /** @type {string} */ user,
) {
  const metric = await server.ask('GET', `/v1/users/${user}/metrics/${METRIC}`, { key })
  const points = await server.ask('GET', `/v1/users/${user}/points/${SYSTEM}`, { key })
  const place = await server.ask('GET', `/v1/users/${user}/leaderboards/${BOARD}`, { key })
  return {
    metric: Number(metric.body.current),
    points: Number(points.body.total),
    score: Number(place.body.value),
  }
}

/** Whether these are the same numbers, in any order. */
const same = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
  JSON.stringify(a.toSorted((x, y) => x - y)) === JSON.stringify(b.toSorted((x, y) => x - y))
