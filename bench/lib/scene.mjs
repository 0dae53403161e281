/**
 * The setup of the benches: a metric for each number of leaderboards, and one points system in which each
 * event earns one award.
 */
import { randomUUID } from 'node:crypto'
import { adminKey, numbersTo } from './bench.mjs'

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

/** Timeout of work over all users, in milliseconds. */
const LONG = 20 * 60_000
/** Events that are sent first and not counted, so that caches are warm; then the counted events. */
const WARMING = 2
const COUNTED = 5

/** @typedef {import('./server.mjs').Server} Server */
/** @typedef {{ metricId: string; systemId: string; triggerId: string; metricIds: string[] }} Scene */

/** The id of the user of that number. */
export const userId = (/** @type {number} */ number) => `user-${number}`

/** Creates items through the admin interface. Waits until all users are considered. */
export async function create(
  /** @type {Server} */ server,
  /** @type {string} */ path,
  /** @type {unknown[]} */ ...items
) {
  const { body } = await server.ask('POST', `/admin/v1${path}`, { body: items, patience: LONG })
  if (body.created.length === items.length) return body.created
  throw new Error(`POST ${path} has not created all: ${JSON.stringify(body)}`)
}

/**
 * Configures Laurel through the admin interface, without leaderboards at first. From then on its requests
 * have an admin key that was created through the interface, as in a deployment.
 *
 * @returns {Promise<Scene>} `metricId` and `triggerId` belong to the metric with one leaderboard
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
  const [system] = await create(server, '/points', { key: SYSTEM, name: 'XP', levels, triggers })
  const [{ key }] = await create(server, '/admin-api-keys', { name: 'bench' })
  server.key = key
  const one = BOARDS.indexOf(1)
  return { metricId: metricIds[one], systemId: system.id, triggerId: system.triggers[one].id, metricIds }
}

/** Creates all leaderboards. They count the users' events so far. */
export async function addBoards(/** @type {Server} */ server, /** @type {Scene} */ { metricIds }) {
  for (const [index, boards] of BOARDS.entries()) {
    if (boards === 0) continue
    const all = { status: 'active', rankBy: 'metric', metricId: metricIds[index], start: '2026-01-01' }
    const keys = numbersTo(boards).map((nth) => `${metricOf(boards)}-board-${nth + 1}`)
    await create(server, '/leaderboards', ...keys.map((key) => ({ ...all, key, name: key })))
  }
}

/**
 * Moves the test clock to a time in milliseconds. Returns the seconds until all work that is due by then is
 * done.
 */
export async function moveClock(/** @type {Server} */ server, /** @type {number} */ to) {
  const began = performance.now()
  const body = { now: new Date(to).toISOString() }
  await server.ask('PUT', '/admin/v1/test-clock', { body, patience: LONG })
  return (performance.now() - began) / 1000
}

/**
 * Moves the test clock, and returns the seconds until the response and the steps of one kind of work.
 *
 * @param {Server} server
 * @param {number} to
 * @param {string} kind
 */
export async function stepsUntil(server, to, kind) {
  let seconds = 0
  const { steps } = await server.logged(async () => {
    seconds = await moveClock(server, to)
    // If the log has the line of this request, all earlier lines have arrived.
    return [await server.ask('GET', '/admin/v1/test-clock')]
  })
  return { seconds, steps: steps.filter(({ work }) => work === kind) }
}

/**
 * Sends an event with an idempotency key.
 *
 * @param {Server} server
 * @param {string} id of the user
 * @param {{ boards?: number; value?: number; key?: string; tz?: string }} [event] `boards` is the number of
 *   leaderboards of its metric, `tz` the user's zone
 */
export const sendEvent = (server, id, { boards = 1, value = 1, key = randomUUID(), tz } = {}) =>
  server.ask('POST', eventPath(boards), {
    body: { user: { id, ...(tz && { tz }) }, value },
    headers: { 'idempotency-key': key },
  })

/**
 * Sends the reference event (one metric, one award, an idempotency key) several times for each user, and
 * returns what each one cost, from the Worker's own log lines. `rowsWritten` are those of D1.
 */
export async function costOfEvents(/** @type {Server} */ server, /** @type {string[]} */ users, boards = 1) {
  for (let i = 0; i < WARMING; i += 1) for (const user of users) await sendEvent(server, user, { boards })
  const { answers, lines } = await server.logged(async () => {
    const all = []
    for (let i = 0; i < COUNTED; i += 1)
      for (const user of users) all.push(await sendEvent(server, user, { boards }))
    return all
  })
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
