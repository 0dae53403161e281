/** A day of events for the users of the scale (scale/rows.mjs), with their awards. */
import { EVENTS } from './scale/rows.mjs'

/** The days on which the filled users have an event each. */
export const DAYS = EVENTS
/** Events of each user on the day. */
export const EACH_DAY = 5
/** Users of one statement. */
const CHUNK = 20_000
const DAY = 86_400_000
const AWARD = 10

const given = (/** @type {string} */ name) => `(?1 ->> '${name}')`
const no = (/** @type {string} */ table, /** @type {string} */ name) =>
  `(SELECT r.no FROM ${table} r WHERE r.id = ${given(name)})`
const SEQ = `(u.seq + 1 + k.value)`
/** After the first pass, which is at noon. */
const AT = `(${given('day')} * ${DAY} + (46800 + u.number * 7919 % 36000 + k.value) * 1000)`
const WITH = `
  WITH RECURSIVE k(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM k WHERE value < ${EACH_DAY - 1}),
  u AS MATERIALIZED (
    SELECT unhex(iid, '-') AS iid, seq, CAST(substr(id, 6) AS INTEGER) AS number FROM users
    WHERE tenant_id = ${given('tenant')} AND id GLOB 'user-*'
      AND CAST(substr(id, 6) AS INTEGER) BETWEEN ${given('first')} AND ${given('last')})`
const EVENTS_OF_DAY = `${WITH}
  INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
  SELECT u.iid, ${no('metrics', 'metric')}, ${AT}, ${SEQ}, randomblob(16), 1000000, 0 FROM u, k`
const AWARDS_OF_DAY = `${WITH}
  INSERT INTO awards (user_iid, system_no, at, seq, position, id, awarded, total, utc_offset, trigger_no,
    trigger_version)
  SELECT u.iid, ${no('points_systems', 'system')}, ${AT}, ${SEQ}, 0, randomblob(16), ${AWARD}, 0, 0,
    ${no('points_triggers', 'trigger')}, 1 FROM u, k`
const USERS_OF_DAY = `
  UPDATE users SET seq = seq + ${EACH_DAY}, changed = ${given('day')} * ${DAY},
    points = json_set(points, '$."' || ${given('system')} || '"',
      coalesce(points ->> ('$."' || ${given('system')} || '"'), 0) + ${EACH_DAY * AWARD})
  WHERE tenant_id = ${given('tenant')} AND id GLOB 'user-*'
    AND CAST(substr(id, 6) AS INTEGER) BETWEEN ${given('first')} AND ${given('last')}`

/**
 * Gives each user five events with an award each on a day, as if they had sent them.
 *
 * @param {import('./scale/filler.mjs').Binding} database
 * @param {{ users: number; day: number; ids: import('./scale/filler.mjs').Ids }} what
 */
export async function dayOfEvents(database, { users, day, ids }) {
  for (let first = 0; first < users; first += CHUNK) {
    const values = JSON.stringify({ first, last: Math.min(first + CHUNK, users) - 1, day, ...ids })
    const statements = [EVENTS_OF_DAY, AWARDS_OF_DAY, USERS_OF_DAY]
    await database.batch(statements.map((sql) => database.prepare(sql).bind(values)))
  }
}
