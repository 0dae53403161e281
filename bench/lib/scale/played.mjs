/**
 * Users who send the same events as filled users, but through the public API. The rows of both must be equal.
 */
import { eventPath, userId } from '../scene.mjs'
import { moveClock } from './patient.mjs'
import { eventsOf, hasPlan, PLAN } from './rows.mjs'

/**
 * The numbers of the filled users with the same events: one with a living streak, one with a past streak, and
 * one with the attribute.
 */
const NUMBERS = [10, 7, 11]
const played = (/** @type {number} */ number) => `played-${number}`

/** The ids of played users, and the numbers of the filled users with the same events. */
export const playedUsers = () => NUMBERS.map((number) => ({ id: played(number), number }))

/**
 * Sends all their events at their times, and moves the clock to the present moment.
 *
 * @param {import('../server.mjs').Server} server
 * @param {string} key
 * @param {{ day: number; now: number }} when
 */
export async function play(server, key, { day, now }) {
  const events = NUMBERS.flatMap((number) => eventsOf(number, day).map((event) => ({ number, ...event })))
  for (const { number, at, value } of events.toSorted((a, b) => a.at - b.at)) {
    await moveClock(server, key, at)
    const user = { id: played(number), ...(hasPlan(number) && { attributes: { plan: PLAN } }) }
    const headers = { 'idempotency-key': `${number}-${at}` }
    await server.ask('POST', eventPath(1), { key, headers, body: { user, value } })
  }
  await moveClock(server, key, now)
}

/** Tables with rows of a user, by iid. */
const TABLES = ['streak_runs', 'events', 'awards', 'idempotency_keys']
/**
 * Columns with ids, keys and buckets, which are different in each row, and the one that says up to which
 * event the analytics have counted a user: no pass has counted the filled users yet.
 */
const NAMES = new Set(['id', 'iid', 'user_iid', 'event_id', 'key', 'bucket', 'counted'])

/**
 * Throws unless the rows of played and filled users with the same numbers are equal, except ids and keys.
 *
 * @param {readonly import('./filler.mjs').Binding[]} databases one of them has the user
 */
export async function requireSameRows(databases) {
  const find = async (/** @type {string} */ id) => {
    for (const database of databases) {
      const user = await database.prepare('SELECT * FROM users WHERE id = ?1').bind(id).first()
      if (user !== null) return { database, user }
    }
    throw new Error(`no database has ${id}`)
  }
  const ofUser = async (/** @type {string} */ id) => {
    const { database, user } = await find(id)
    const found = /** @type {Record<string, string[]>} */ ({ users: [unnamed(user)] })
    for (const table of TABLES) {
      const { results } = await database
        .prepare(`SELECT * FROM ${table} WHERE user_iid IN (?1, unhex(?1, '-'))`)
        .bind(user.iid)
        .all()
      found[table] = results.map(unnamed).toSorted()
    }
    return found
  }
  for (const number of NUMBERS) {
    const [theirs, ours] = [await ofUser(played(number)), await ofUser(userId(number))]
    for (const [table, rows] of Object.entries(theirs)) {
      const filled = ours[table] ?? []
      if (JSON.stringify(rows) === JSON.stringify(filled)) continue
      throw new Error(
        `filled rows of ${table} differ from rows that Laurel makes:\n${filled.join('\n')}\n${rows.join('\n')}`,
      )
    }
  }
}

/** A row without ids and keys. JSON in it has its keys in order. */
function unnamed(/** @type {Record<string, unknown>} */ row) {
  const entries = Object.entries(row).filter(([name]) => !NAMES.has(name))
  return JSON.stringify(entries.map(([name, value]) => [name, inOrder(value)]))
}

function inOrder(/** @type {unknown} */ value) {
  if (typeof value !== 'string' || !value.startsWith('{')) return value
  return Object.entries(JSON.parse(value)).toSorted(([a], [b]) => (a < b ? -1 : 1))
}
