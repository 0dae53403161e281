/** Measures the cost and time of ticks of an hourly time trigger, in a state of their own. */
import { countAwards, create, fillBare, userId } from './scene.mjs'

const HOUR = 3_600_000
const POINTS = 5
/** Timeout for moving the clock or creating a leaderboard, in milliseconds. */
const PATIENCE = 120_000
const JUMP = { users: 1000, hours: 30 * 24 }
const USERS = 100_000

/** @typedef {import('./server.mjs').Server} Server */

/**
 * One tick for many users: rows written for each user, and its time.
 *
 * @typedef {{ seconds: number; chunks: number; users: number; d1Rows: number; objectRows: number;
 *   milliseconds: number[] }} Tick
 */

/**
 * A jump of the clock over many ticks.
 *
 * @typedef {{ seconds: number; awards: number; expected: number }} Jump
 */

/**
 * Measures the jump over 30 days with few users. Then measures ticks of another trigger with many users,
 * without a leaderboard and with one that ranks by their points.
 *
 * @param {Server} server without users, not started
 * @param {string} key
 * @param {(text: string) => void} tellMore prints a line of progress
 * @returns {Promise<{ jump: Jump; alone: Tick; ranked: Tick }>}
 */
export async function measureTicks(server, key, tellMore) {
  await fillBare(server, { from: 0, to: JUMP.users })
  await server.start()
  // From now on the test clock does not run, so that each tick is due at a known time.
  const start = Date.now() + 1000
  await moveClock(server, key, start)
  const first = await addTrigger(server, key, 'bench-jump')
  const began = performance.now()
  await moveClock(server, key, start + JUMP.hours * HOUR)
  const seconds = (performance.now() - began) / 1000
  await requireTotals(server, key, 'bench-jump', [userId(0), userId(JUMP.users - 1)], JUMP.hours)
  await deactivate(server, key, first)
  await server.stop()
  const jump = { seconds, awards: await countAwards(server), expected: JUMP.users * JUMP.hours }
  tellMore(`${jump.awards} awards in ${seconds.toFixed(1)} s`)

  await fillBare(server, { from: JUMP.users, to: USERS })
  await server.start()
  const system = await addTrigger(server, key, 'bench-ticks')
  const anchor = start + JUMP.hours * HOUR
  const alone = await tick(server, key, anchor + HOUR)
  tellMore(`a tick for ${alone.users} users in ${alone.seconds.toFixed(1)} s`)
  const ranking = { key: 'bench-ticks', name: 'Ticks', status: 'active', rankBy: 'points' }
  const item = { ...ranking, pointsSystemId: system.id, start: '2026-01-01' }
  await create(server, key, '/leaderboards', item, PATIENCE)
  const ranked = await tick(server, key, anchor + 2 * HOUR)
  tellMore(`the same with a leaderboard in ${ranked.seconds.toFixed(1)} s`)
  const someone = userId(USERS / 2)
  await requireTotals(server, key, 'bench-ticks', [someone], 2)
  await requirePlace(server, key)
  await server.stop()
  return { jump, alone, ranked }
}

/** Moves the test clock. The response comes when all work that is due by then is done. */
const moveClock = (/** @type {Server} */ server, /** @type {string} */ key, /** @type {number} */ to) =>
  server.ask('PUT', '/admin/v1/test-clock', {
    key,
    body: { now: new Date(to).toISOString() },
    patience: PATIENCE,
  })

/** Creates a points system with an hourly time trigger. The first tick is due in one hour. */
function addTrigger(/** @type {Server} */ server, /** @type {string} */ key, /** @type {string} */ name) {
  const hourly = { type: 'time', status: 'active', timeUnit: 'hours', timeInterval: 1, points: POINTS }
  return create(server, key, '/points', { key: name, name, triggers: [hourly] })
}

/** Deactivates the triggers of a points system. */
function deactivate(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {{ id: string; triggers: { id: string }[] }} */ { id, triggers },
) {
  const body = triggers.map((trigger) => ({ id: trigger.id, status: 'inactive' }))
  return server.ask('PATCH', `/admin/v1/points/${id}/triggers`, { key, body })
}

/**
 * Moves the clock to the moment of the next tick. Work that is due before is done before and not measured.
 *
 * @returns {Promise<Tick>}
 */
async function tick(/** @type {Server} */ server, /** @type {string} */ key, /** @type {number} */ due) {
  await moveClock(server, key, due - 1000)
  const began = performance.now()
  const { steps } = await server.logged(async () => [await moveClock(server, key, due)])
  const ticks = steps.filter(({ work }) => work === 'ticks')
  const seconds = (performance.now() - began) / 1000
  const sum = (/** @type {(line: import('./server.mjs').StepLine) => number} */ of) =>
    ticks.reduce((total, line) => total + of(line), 0)
  const users = sum((line) => line.users)
  if (users !== USERS || sum((line) => line.awards) !== USERS) {
    throw new Error(`a tick granted to ${users} of ${USERS} users`)
  }
  return {
    seconds,
    chunks: ticks.length,
    users,
    d1Rows: sum(({ d1 }) => d1.rowsWritten) / users,
    objectRows: sum(({ objectRows }) => objectRows) / users,
    milliseconds: ticks.map(({ milliseconds }) => milliseconds),
  }
}

/** Throws unless users have the points of `ticks` ticks. */
async function requireTotals(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {string} */ system,
  /** @type {string[]} */ users,
  /** @type {number} */ ticks,
) {
  for (const user of users) {
    const { body } = await server.ask('GET', `/v1/users/${user}/points/${system}`, { key })
    if (body.total !== ticks * POINTS) throw new Error(`${user} has ${body.total} after ${ticks} ticks`)
  }
}

/** Throws unless the leaderboard has followed both ticks: the user with the lowest id has both, and leads. */
async function requirePlace(/** @type {Server} */ server, /** @type {string} */ key) {
  const { body } = await server.ask('GET', `/v1/users/${userId(0)}/leaderboards/bench-ticks`, { key })
  if (body.rank !== 1 || body.value !== 2 * POINTS) {
    throw new Error(`the leaderboard has not followed the ticks: ${JSON.stringify(body)}`)
  }
}
