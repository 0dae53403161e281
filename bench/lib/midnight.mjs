/** Measures the cost and time of a midnight at which many streaks are lost, in a state of its own. */
import { fillStreaks, userId } from './scene.mjs'

const DAY = 86_400_000
/** Timeout for moving the clock, in milliseconds. */
const PATIENCE = 120_000
const LOST = 100_000
const KEPT = 20_000
/** Kathmandu's midnight comes this much before midnight in UTC, in milliseconds. */
const EARLIER = 5.75 * 3_600_000

/** @typedef {import('./server.mjs').Server} Server */

/**
 * `read` and `written` are rows for each user with a lost streak. `untouched` is the rows that each other
 * user costs.
 *
 * @typedef {{ seconds: number; chunks: number; users: number; read: number; written: number; untouched: {
 *   read: number; written: number }; milliseconds: number[] }} Midnight
 */

/**
 * Measures first the midnight of one user alone, which shows the cost of all other users. Then measures the
 * midnight of 100,000 users in one zone, with other users who keep their streaks.
 *
 * @param {Server} server without users, not started
 * @param {string} key
 * @param {(text: string) => void} tellMore prints a line of progress
 * @returns {Promise<Midnight>}
 */
export async function measureMidnight(server, key, tellMore) {
  const midnight = (Math.floor(Date.now() / DAY) + 2) * DAY
  await fillStreaks(server, { lost: LOST, kept: KEPT, midnight, earlier: midnight - EARLIER })
  await server.start()
  await move(server, key, midnight - EARLIER - 1000)
  const one = await night(server, key, midnight - EARLIER)
  await move(server, key, midnight - 1000)
  const all = await night(server, key, midnight)
  if (one.users !== 1 || all.users !== LOST) {
    throw new Error(`the two midnights had ${one.users} and ${all.users} users, which is wrong`)
  }
  const { rowsRead: read, rowsWritten: written } = all.per
  tellMore(`${all.users} streaks lost in ${all.seconds.toFixed(1)} s`)
  await requireLength(server, key, userId(0), 0)
  await requireLength(server, key, userId(LOST), 5)
  await server.stop()
  const untouched = {
    read: Math.max(0, one.per.rowsRead - read) / (LOST + KEPT),
    written: Math.max(0, one.per.rowsWritten - written - 2) / (LOST + KEPT),
  }
  const { seconds, chunks, users, milliseconds } = all
  return { seconds, chunks, users, read, written, untouched, milliseconds }
}

/** Moves the test clock. The response comes when all work that is due by then is done. */
const move = (/** @type {Server} */ server, /** @type {string} */ key, /** @type {number} */ to) =>
  server.ask('PUT', '/admin/v1/test-clock', {
    key,
    body: { now: new Date(to).toISOString() },
    patience: PATIENCE,
  })

/** Moves the clock to a midnight, and sums the log lines of its steps. */
async function night(/** @type {Server} */ server, /** @type {string} */ key, /** @type {number} */ at) {
  const began = performance.now()
  const { steps } = await server.logged(async () => [await move(server, key, at)])
  const seconds = (performance.now() - began) / 1000
  const lines = steps.filter(({ work }) => work === 'streaks')
  const users = lines.reduce((sum, line) => sum + line.users, 0)
  const each = (/** @type {'rowsRead' | 'rowsWritten'} */ rows) =>
    lines.reduce((sum, { d1 }) => sum + d1[rows], 0) / users
  return {
    seconds,
    users,
    chunks: lines.length,
    per: { rowsRead: each('rowsRead'), rowsWritten: each('rowsWritten') },
    milliseconds: lines.map(({ milliseconds }) => milliseconds),
  }
}

/** Throws unless a user's streak has that length. */
async function requireLength(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {string} */ user,
  /** @type {number} */ length,
) {
  const { body } = await server.ask('GET', `/v1/users/${user}/streak`, { key })
  if (body.length !== length) throw new Error(`${user} has a streak of ${body.length}, not of ${length}`)
}
