/**
 * Measures background work at one size: the hourly comparison of a leaderboard, a midnight at which streaks
 * are lost, a run that is made final, ticks of a time trigger; and reads of all users. The test clock moves
 * to the moment before, and then, measured, to the moment.
 */
import { BOARD, create, SYSTEM } from '../scene.mjs'
import { PLACES } from './check.mjs'
import { moveClock } from './patient.mjs'
import { ONE_OF, PLAN } from './rows.mjs'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Timeout of a read of all users, in milliseconds. */
const PATIENCE = 5 * 60_000
const TICKS = 'scale-ticks'
const POINTS = 5

/** @typedef {import('./scene.mjs').Scene} Scene */

/**
 * Steps of one kind: the number of users, and the total cost. `seconds` is the time in which the clock moved.
 *
 * @typedef {{ seconds: number; steps: number; users: number; read: number; written: number;
 *   longest: number }} Steps
 */

/**
 * A read of all users: milliseconds until the response, and rows of D1. @typedef {{ milliseconds: number;
 * read: number }} Reading
 */

/**
 * @param {Scene} scene
 * @param {(text: string) => void} tellMore prints a line of progress
 */
export async function measureUpkeep(scene, tellMore) {
  const { server, key, day, users } = scene
  const summary = await reading(scene, `/v1/points/${SYSTEM}/summary`)
  const streaks = await reading(scene, '/v1/streaks/rankings?type=longest')
  // The first pass of the analytics visits all users.
  await moveClock(server, key, scene.now + 1000)
  const sweep = await moveClock(server, key, day * DAY + 11 * HOUR)
  tellMore(`an hour with a comparison of a leaderboard in ${sweep.toFixed(2)} s`)

  const midnight = (day + 1) * DAY
  await moveClock(server, key, midnight - 1000)
  const night = await steps(scene, midnight, 'streaks')
  // One of the played users has a streak too.
  const live = Math.ceil(users / ONE_OF) + 1
  if (night.users !== live) throw new Error(`${night.users} streaks were lost at a midnight, not ${live}`)
  tellMore(`a midnight at which ${night.users} streaks are lost in ${night.seconds.toFixed(1)} s`)

  const final = midnight + 12 * HOUR
  await moveClock(server, key, final - 1000)
  const finalisation = await moveClock(server, key, final)
  await requireFinal(scene)
  tellMore(`a run made final in ${finalisation.toFixed(1)} s`)

  const filter = [{ attributeId: scene.attribute, attributeValue: PLAN }]
  const trigger = { type: 'time', status: 'active', timeUnit: 'hours', timeInterval: 1, points: POINTS }
  const system = { key: TICKS, name: 'Ticks', triggers: [{ ...trigger, userAttributes: filter }] }
  await create(server, key, '/points', system)
  await moveClock(server, key, final + HOUR - 1000)
  const ticks = await steps(scene, final + HOUR, 'ticks')
  tellMore(`a tick for ${ticks.users} users in ${ticks.seconds.toFixed(1)} s`)
  const wanted = Math.floor((users + ONE_OF - 2) / ONE_OF)
  // One of the played users has the attribute too.
  if (ticks.users !== wanted + 1) throw new Error(`a tick granted to ${ticks.users} users, not ${wanted + 1}`)
  return { summary, streaks, sweep, night, finalisation, ticks }
}

/** @returns {Promise<Reading>} */
async function reading(/** @type {Scene} */ { server, key }, /** @type {string} */ path) {
  let milliseconds = 0
  const { lines } = await server.logged(async () => {
    const began = performance.now()
    const answer = await server.ask('GET', path, { key, patience: PATIENCE })
    milliseconds = performance.now() - began
    return [answer]
  })
  return { milliseconds, read: lines.reduce((sum, { d1 }) => sum + d1.rowsRead, 0) }
}

/**
 * Moves the clock to a moment, and sums the log lines of the steps of one kind.
 *
 * @returns {Promise<Steps>}
 */
async function steps(
  /** @type {Scene} */ { server, key },
  /** @type {number} */ to,
  /** @type {string} */ kind,
) {
  let seconds = 0
  const found = await server.logged(async () => {
    seconds = await moveClock(server, key, to)
    // The bench waits for the log line of this request. Then all earlier lines have arrived.
    return [await server.ask('GET', '/admin/v1/test-clock', { key })]
  })
  const lines = found.steps.filter(({ work }) => work === kind)
  const sum = (/** @type {(line: import('../server.mjs').StepLine) => number} */ of) =>
    lines.reduce((total, line) => total + of(line), 0)
  return {
    seconds,
    steps: lines.length,
    users: sum((line) => line.users),
    read: sum(({ d1 }) => d1.rowsRead),
    written: sum(({ d1, objectRows }) => d1.rowsWritten + objectRows),
    longest: Math.max(0, ...lines.map(({ milliseconds }) => milliseconds)),
  }
}

/** Throws unless the run that has ended is final and full, and another one has begun. */
async function requireFinal(/** @type {Scene} */ { server, key, day }) {
  const run = new Date((day - 29) * DAY).toISOString().slice(0, 10)
  const { body } = await server.ask('GET', `/v1/leaderboards/${BOARD}?run=${run}&limit=${PLACES}`, { key })
  if (body.rankings.length !== PLACES) throw new Error(`the final run has ${body.rankings.length} places`)
  const present = await server.ask('GET', `/v1/leaderboards/${BOARD}`, { key })
  if (present.body.rankings.length !== 0) throw new Error('no new run has begun')
}
