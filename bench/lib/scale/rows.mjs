/**
 * The users of the scale, by their numbers: once as SQL, which fills the database, and once as a function,
 * which gives the expected results. Each has five events on five days in a row. Of ten users, one had them on
 * the five days before the present one, so a streak of five days is alive. The streaks of the others are
 * over. All users are in UTC.
 */

/** Events of each user, one a day. */
export const EVENTS = 5
/** Points for each unit of an event's value. */
export const AWARD = 10
/** One user in ten has a living streak, and another one in ten has the attribute. */
export const ONE_OF = 10
const DAY = 86_400_000
/** The attribute's value, for users who have it. */
export const PLAN = 'pro'

/** True if user `n` has a streak that is alive. */
export const isLive = (/** @type {number} */ number) => number % ONE_OF === 0
/** True if user `n` has the attribute. */
export const hasPlan = (/** @type {number} */ number) => number % ONE_OF === 1

/**
 * The events of the user of that number: time in milliseconds, and value.
 *
 * @param {number} number
 * @param {number} day the present day, in days since 1970-01-01
 * @returns {{ at: number; value: number }[]}
 */
export function eventsOf(number, day) {
  const first = isLive(number) ? day - EVENTS : day - 25 + (number % 15)
  const time = ((number * 7919) % 36_000) * 1000
  return Array.from({ length: EVENTS }, (_, index) => ({
    at: (first + index) * DAY + time,
    value: 1 + ((number * (31 + index) + (index + 1) ** 2 * 17) % 97),
  }))
}

/**
 * Each statement has two parameters. The first one is a JSON object, so that its numbers stay integers. The
 * second one is a list of the users: the number of each, and its bucket, which is null with one database.
 */
const given = (/** @type {string} */ name) => `(?1 ->> '${name}')`
const IID = "printf('01900000-0000-7000-8000-%012x', i)"
/** In the log, the ledger and the keys, UUIDs are bytes, and resources are the numbers of their rows. */
const bytes = (/** @type {string} */ id) => `unhex(${id}, '-')`
const no = (/** @type {string} */ table, /** @type {string} */ id) =>
  `(SELECT r.no FROM ${table} r WHERE r.id = ${id})`
const EVENT_ID = (/** @type {string} */ nth) => `printf('01900000-%04x-7000-8000-%012x', ${nth}, i)`
const AWARD_ID = `printf('01900000-%04x-7000-9000-%012x', nth, i)`
const METRIC_NO = no('metrics', given('metric'))
/** Random like real keys, so that they are in no order. */
const KEY = "lower(printf('%s-%s', hex(randomblob(8)), hex(randomblob(9))))"
const VALUE = (/** @type {string} */ nth) => `(1 + (i * (30 + ${nth}) + ${nth} * ${nth} * 17) % 97)`
const TOTAL = (/** @type {string} */ upTo) =>
  `(SELECT sum(${VALUE('k.value')}) FROM k WHERE k.value <= ${upTo})`
/** The total before the nth event. */
const BEFORE = `coalesce(${TOTAL('nth - 1')}, 0)`
/** The level at a total of the metric, as an award notes it. */
const LEVEL = (/** @type {string} */ total) =>
  `(SELECT json_object('id', l.id, 'key', l.key, 'name', l.name, 'points', l.points) FROM points_levels l
    WHERE l.system_id = ${given('system')} AND l.points <= ${total} * ${AWARD}
    ORDER BY l.points DESC LIMIT 1)`
const FIRST_DAY = `CASE WHEN i % ${ONE_OF} = 0 THEN ${given('day')} - ${EVENTS} ELSE ${given('day')} - 25 + i % 15 END`
const TIME = '(i * 7919 % 36000) * 1000'
const AT = (/** @type {string} */ nth) => `((day + ${nth} - 1) * ${DAY} + ${TIME})`

const WITH = `
  WITH RECURSIVE n(i, bucket) AS (SELECT e.value ->> 0, e.value ->> 1 FROM json_each(?2) e),
    k(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM k WHERE value < ${EVENTS}),
    u(i, bucket, day, nth) AS (SELECT i, bucket, ${FIRST_DAY}, ${given('nth')} FROM n)`

const LIVE = `i % ${ONE_OF} = 0`
const LAST = `(day + ${EVENTS} - 1)`
/**
 * A streak that is over was judged at the midnight at the end of the next day without an event. That was a
 * change too.
 */
const JUDGED = `(day + ${EVENTS} + 1) * ${DAY}`
const WHOLE = `${TOTAL(String(EVENTS))}`

/** The users, and their past streaks. */
export const USERS = [
  `${WITH}
  INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
    updated, metrics, points,
    counters, last_seq_by_input, streak, streak_due, achievements, active_day, bucket)
  SELECT ${given('tenant')}, 'user-' || i, ${IID}, CASE WHEN ${LIVE} THEN ${EVENTS} ELSE ${EVENTS + 1} END,
    CASE WHEN ${LIVE} THEN ${AT(String(EVENTS))} ELSE ${JUDGED} END, 1,
    CASE WHEN i % ${ONE_OF} = 1 THEN json_object(${given('attribute')}, '${PLAN}')
      ELSE '{}' END, 0, ${AT('1')}, ${AT('1')},
    json_array(json_array(${given('metric')}, ${WHOLE} * 1000000, ${WHOLE} * 1000000)),
    json_object(${given('system')}, ${WHOLE} * ${AWARD}), '[]',
    json_object(${given('metric')}, ${EVENTS}, 'streak', CASE WHEN ${LIVE} THEN ${EVENTS}
      ELSE ${EVENTS + 1} END,
      ${given('system')}, ${EVENTS}),
    CASE WHEN ${LIVE} THEN json_object('frequency', 'daily', 'run', json_object('started', day, 'first', day,
      'last', ${LAST},
        'history', '${EVENTS}e', 'length', ${EVENTS}, 'extended', ${AT(String(EVENTS))}), 'born', day)
      ELSE json_object('frequency', 'daily', 'born', day, 'missed', ${LAST} + 1) END,
    CASE WHEN ${LIVE} THEN ${JUDGED} END, '[]', ${LAST}, bucket
  FROM u`,
  `${WITH}
  INSERT INTO streak_runs (user_iid, first, last, started, history, length, lost)
  SELECT ${IID}, day, ${LAST}, day, '${EVENTS}e', ${EVENTS}, ${JUDGED} FROM u WHERE NOT ${LIVE}`,
]

/** The nth event of each user, with its award and its idempotency key. */
export const PASSES = [
  `${WITH}
  INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset, counter_ids, streak)
  SELECT ${bytes(IID)}, ${METRIC_NO}, ${AT('nth')}, nth, ${bytes(EVENT_ID('nth'))}, ${VALUE('nth')} * 1000000,
    0, '[]', json_array(json_object('kind', iif(nth = 1, 'started', 'extended'), 'length', nth)) FROM u`,
  `${WITH}
  INSERT INTO awards (user_iid, system_no, at, seq, position, id, awarded, total, utc_offset, trigger_no,
    trigger_version, counter_before, counter_after, levels)
  SELECT ${bytes(IID)}, ${no('points_systems', given('system'))}, ${AT('nth')}, nth, 0, ${bytes(AWARD_ID)},
    ${VALUE('nth')} * ${AWARD}, ${TOTAL('nth')} * ${AWARD}, 0,
    ${no('points_triggers', given('trigger'))}, 1, ${BEFORE} * 1000000, ${TOTAL('nth')} * 1000000,
    CASE WHEN ${LEVEL(BEFORE)} = ${LEVEL(TOTAL('nth'))} THEN NULL
      ELSE json_array(json(${LEVEL(BEFORE)}), json(${LEVEL(TOTAL('nth'))})) END FROM u`,
  `${WITH}
  INSERT INTO idempotency_keys (user_iid, metric_no, key, event_id)
  SELECT ${bytes(IID)}, ${METRIC_NO}, ${KEY}, ${bytes(EVENT_ID('nth'))} FROM u`,
]
