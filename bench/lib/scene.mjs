/** The setup of the benches: metrics by their number of leaderboards, and one award for each event. */
import { deepEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { until } from '../../scripts/lib/until.mjs'
import { adminKey, numbersTo, sumOf, timeOf } from './bench.mjs'

/** The numbers of leaderboards that an event updates. Each has a metric. */
export const BOARDS = /** @type {const} */ ([0, 1, 5, 20])
const metricOf = (/** @type {number} */ boards) => `bench-lessons-${boards}`
/** The path for events of the metric with this number of leaderboards. */
export const eventPath = (/** @type {number} */ boards) => `/v1/metrics/${metricOf(boards)}/event`

/** The metric with one leaderboard, and its leaderboard. */
export const METRIC = metricOf(1)
export const BOARD = `${METRIC}-board-1`
export const SYSTEM = 'bench-xp'
/** Points that each event of value 1 earns. */
export const AWARD = 10

/** The events of one user at once. */
export const BURST = 200
/** Timeout of work over all users, in milliseconds. */
const LONG = 20 * 60_000
/** Events of a batch, and those that are sent before those before them are processed. */
const BATCH = 1000
const AHEAD = 10 * BATCH
/** How long the events ahead may take, in milliseconds. */
const PATIENCE = 5 * 60_000
/** Events that are sent first and not counted, so that caches are warm; then the counted events. */
const WARMING = 2
const COUNTED = 5

/** @typedef {import('./server.mjs').Server} Server */

/** The id of the user of that number. */
export const userId = (/** @type {number} */ number) => `user-${number}`

/** Any of the first users. */
export const anyUserOf = (/** @type {number} */ users) => userId(Math.floor(Math.random() * users))

/** Creates items through the admin interface. Waits until all users are considered. */
export async function create(/** @type {Server} */ server, /** @type {string} */ path, ...items) {
  const { body } = await server.ask('POST', `/admin/v1${path}`, { body: items, patience: LONG })
  if (body.created.length === items.length) return body.created
  throw new Error(`POST ${path} has not created all: ${JSON.stringify(body)}`)
}

/**
 * Configures Laurel through the admin interface, without leaderboards at first. From then on its requests
 * have an admin key that was created through the interface, as in a deployment.
 *
 * @returns {Promise<string[]>} the ids of the metrics
 */
export async function configure(/** @type {Server} */ server) {
  server.key = adminKey
  const metrics = BOARDS.map((boards) => ({ key: metricOf(boards), name: `Lessons ${boards}` }))
  const metricIds = (await create(server, '/metrics', ...metrics)).map((/** @type {any} */ { id }) => id)
  const levels = [0, 100, 1000, 10_000].map((points) => ({
    ...{ key: `l${points}`, name: `From ${points}`, points },
  }))
  const trigger = { type: 'metric', status: 'active', metricThreshold: 1, points: AWARD }
  const triggers = metricIds.map((/** @type {string} */ metricId) => ({ ...trigger, metricId }))
  await create(server, '/points', { key: SYSTEM, name: 'XP', levels, triggers })
  const [{ key }] = await create(server, '/admin-api-keys', { name: 'bench' })
  server.key = key
  return metricIds
}

/** Starts and configures Laurel, and creates all leaderboards. */
export async function startWithBoards(/** @type {Server} */ server) {
  await server.start()
  const metricIds = await configure(server)
  for (const [index, boards] of BOARDS.entries()) {
    if (boards === 0) continue
    const all = { status: 'active', rankBy: 'metric', metricId: metricIds[index], start: '2026-01-01' }
    const keys = numbersTo(boards).map((nth) => `${metricOf(boards)}-board-${nth + 1}`)
    await create(server, '/leaderboards', ...keys.map((key) => ({ ...all, key, name: key })))
  }
}

/** Moves the test clock. Returns the seconds until all work that is due by then is done. */
export async function moveClock(/** @type {Server} */ server, /** @type {number} */ to) {
  const body = { now: new Date(to).toISOString() }
  const move = () => server.ask('PUT', '/admin/v1/test-clock', { body, patience: LONG })
  return (await timeOf(move)) / 1000
}

/** Moves the test clock too. Returns the seconds, and the steps of one kind of work. */
export async function stepsUntil(
  /** @type {Server} */ server,
  /** @type {number} */ to,
  /** @type {string} */ kind,
) {
  const from = server.steps.length
  const seconds = await moveClock(server, to)
  await server.linesOf([await server.ask('GET', '/admin/v1/test-clock')])
  return { seconds, steps: server.steps.slice(from).filter(({ work }) => work === kind) }
}

/**
 * Sends an event.
 *
 * @param {Server} server
 * @param {string} id of the user
 * @param {{ boards?: number; value?: number; key?: string | null; tz?: string }} [event] `boards` is the
 *   number of leaderboards of its metric, `key` the idempotency key, `tz` the user's zone
 */
export const sendEvent = (server, id, { boards = 1, value = 1, key = randomUUID(), tz } = {}) =>
  server.ask('POST', eventPath(boards), {
    body: { user: { id, ...(tz && { tz }) }, value },
    ...(key !== null && { headers: { 'idempotency-key': key } }),
  })

/**
 * Sends events with idempotency keys in batches of 1,000, and waits until all of them are processed. Returns the lines
 * of the log about the batches, and about their events.
 *
 * @param {Server} server
 * @param {number} count
 * @param {(number: number) => { user: object; value?: number }} eventOf
 */
export async function sendBatches(server, count, eventOf) {
  const began = performance.now()
  const from = server.steps.length
  const inbox = () => server.steps.slice(from).filter(({ work }) => work === 'inbox')
  const wait = async (/** @type {number} */ wanted) => {
    // A step's line counts changes. Each event is one.
    const done = () => sumOf(inbox(), ({ users }) => users)
    if (await until(() => done() >= wanted, { patience: PATIENCE, pause: 5 })) return
    throw new Error(`only ${done()} of ${count} events were processed`)
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
  const seconds = (performance.now() - began) / 1000
  return { lines: await server.linesOf(answers), steps: inbox(), seconds }
}

/** Total, points and score of a user, as read by the API; the score is null without a place. */
export async function standing(/** @type {Server} */ server, /** @type {string} */ user) {
  const read = async (/** @type {string} */ what) =>
    (await server.ask('GET', `/v1/users/${user}/${what}`)).body
  const [metric, points] = [await read(`metrics/${METRIC}`), await read(`points/${SYSTEM}`)]
  return [metric.current, points.total, (await read(`leaderboards/${BOARD}`)).value]
}

/**
 * Sends many events of a new user at once, and returns the responses. Throws unless each shows another total, and none
 * is missing.
 */
export async function sendBurst(/** @type {Server} */ server, /** @type {string} */ user, key) {
  const right = numbersTo(BURST).map((number) => number + 1)
  const answers = await Promise.all(right.map(() => sendEvent(server, user, { key })))
  const sorted = (/** @type {number[]} */ figures) => figures.sort((a, b) => a - b)
  const points = answers.map(({ body }) => body.points?.[SYSTEM]?.total)
  deepEqual(sorted(answers.map(({ body }) => body.total)), right)
  deepEqual(
    sorted(points),
    right.map((total) => total * AWARD),
  )
  deepEqual(await standing(server, user), [BURST, BURST * AWARD, BURST])
  return answers
}

/**
 * Sends the reference event (one metric, one award, an idempotency key) several times for each user, and
 * returns what each one cost, from the Worker's own log lines. `rowsWritten` are those of D1.
 */
export async function costOfEvents(/** @type {Server} */ server, /** @type {string[]} */ users, boards = 1) {
  for (let i = 0; i < WARMING; i += 1) for (const user of users) await sendEvent(server, user, { boards })
  const answers = []
  for (let i = 0; i < COUNTED; i += 1)
    for (const user of users) answers.push(await sendEvent(server, user, { boards }))
  const lines = await server.linesOf(answers)
  for (const { status, body } of answers)
    if (status !== 201 || body.points[SYSTEM]?.awards.length !== 1)
      throw new Error(`this is not the reference event: ${status} ${JSON.stringify(body)}`)
  return {
    roundTrips: lines.map(({ d1 }) => d1.roundTrips),
    rowsRead: lines.map(({ d1 }) => d1.rowsRead),
    rowsWritten: lines.map(({ d1 }) => d1.rowsWritten),
    waves: lines.map(({ objectWaves = 0 }) => objectWaves),
    objectRows: lines.map(({ objectRows = 0 }) => objectRows),
  }
}
