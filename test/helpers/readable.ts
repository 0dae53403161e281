/**
 * The tables with a row for each event, award and idempotency key store UUIDs as bytes, and resources as
 * numbers (docs/storage.md). These subqueries show the same rows with ordinary ids. Use them after FROM. The
 * functions below convert back. `LIMIT -1` makes SQLite read each subquery first. Without it, a join with
 * users would compute every id again for each user.
 */

/** The text of a UUID that is stored as bytes. The bytes are a SQL expression. */
export const uuid = (
  bytes: string,
) => `(SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' ||
  substr(h, 17, 4) || '-' || substr(h, 21)) FROM (SELECT hex(${bytes}) AS h))`

const EVENTS = `(SELECT ${uuid('user_iid')} AS user_iid,
  (SELECT m.id FROM metrics m WHERE m.no = metric_no) AS metric_id,
  at, seq, ${uuid('id')} AS id, value, utc_offset, attributes FROM events LIMIT -1)`
const VOIDED = `(SELECT ${uuid('user_iid')} AS user_iid,
  (SELECT m.id FROM metrics m WHERE m.no = metric_no) AS metric_id,
  at, seq, ${uuid('id')} AS id, value, utc_offset, attributes, voided_at, voided_seq, reason, response
  FROM voided_events LIMIT -1)`
const AWARDS = `(SELECT ${uuid('user_iid')} AS user_iid,
  (SELECT s.id FROM points_systems s WHERE s.no = system_no) AS system_id,
  at, seq, position, ${uuid('id')} AS id, awarded, total, utc_offset,
  (SELECT t.id FROM points_triggers t WHERE t.no = trigger_no) AS trigger_id, trigger_version, boosts
  FROM awards LIMIT -1)`
const KEYS = `(SELECT ${uuid('user_iid')} AS user_iid,
  (SELECT m.id FROM metrics m WHERE m.no = metric_no) AS metric_id, key,
  ${uuid('event_id')} AS event_id FROM idempotency_keys LIMIT -1)`

const ADJUSTMENTS = `(SELECT ${uuid('user_iid')} AS user_iid,
  (SELECT s.id FROM points_systems s WHERE s.no = system_no) AS system_id, key,
  ${uuid('award_id')} AS award_id, awarded, total FROM adjustment_keys LIMIT -1)`

const SUMS = `(SELECT ${uuid('user_iid')} AS user_iid, log,
  CASE log WHEN 'events' THEN (SELECT m.id FROM metrics m WHERE m.no = d.no)
  ELSE (SELECT s.id FROM points_systems s WHERE s.no = d.no) END AS subject_id, through, days
  FROM day_sums d LIMIT -1)`

const CHANGES = `(SELECT ${uuid('user_iid')} AS user_iid, at, seq, position, entries
  FROM user_changes LIMIT -1)`

const COUNTED = `(SELECT ${uuid('user_iid')} AS user_iid, days, days_from, streak, completions, levels
  FROM counted_users LIMIT -1)`

export const readable = {
  events: EVENTS,
  voided_events: VOIDED,
  adjustment_keys: ADJUSTMENTS,
  awards: AWARDS,
  idempotency_keys: KEYS,
  day_sums: SUMS,
  user_changes: CHANGES,
  counted_users: COUNTED,
} as const

/** A readable subquery for one of these tables. Any other name is returned unchanged. */
export const readableTable = (name: string): string =>
  Object.entries(readable).find(([table]) => table === name)?.[1] ?? name

/** The bytes of a UUID. The UUID is a SQL expression. */
export const bytes = (id: string): string => `unhex(${id}, '-')`

/** A UUID, as bytes, that holds the number of a row. The number is a SQL expression. */
export const numbered = (n: string): string => `unhex(printf('%032x', ${n}))`

/** A different UUID for each number. It begins like the given one. Both are SQL expressions. */
export const anotherUuid = (id: string, n: string): string => `substr(${id}, 1, 24) || printf('%012x', ${n})`

/** The number of a metric, points system or trigger. Its id is a SQL expression. */
export const number = (table: 'metrics' | 'points_systems' | 'points_triggers', id: string): string =>
  `(SELECT r.no FROM ${table} r WHERE r.id = ${id})`
