/**
 * The tables with a row for each event, award and idempotency key keep UUIDs as bytes and resources as numbers (docs/storage.md). These
 * are the same rows, with ids as everything else has them, to be put behind FROM; and back. `LIMIT -1` has SQLite read each of them first: joined to
 * users, it would make every id anew for each user.
 */

const uuid = (
  bytes: string,
) => `(SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' ||
  substr(h, 17, 4) || '-' || substr(h, 21)) FROM (SELECT hex(${bytes}) AS h))`

const EVENTS = `(SELECT ${uuid('user_iid')} AS user_iid, (SELECT m.id FROM metrics m WHERE m.no = metric_no) AS metric_id,
  at, seq, ${uuid('id')} AS id, value, utc_offset, attributes FROM events LIMIT -1)`
const AWARDS = `(SELECT ${uuid('user_iid')} AS user_iid, (SELECT s.id FROM points_systems s WHERE s.no = system_no) AS system_id,
  at, seq, position, ${uuid('id')} AS id, awarded, total, utc_offset,
  (SELECT t.id FROM points_triggers t WHERE t.no = trigger_no) AS trigger_id, trigger_version, boosts FROM awards LIMIT -1)`
const KEYS = `(SELECT ${uuid('user_iid')} AS user_iid, (SELECT m.id FROM metrics m WHERE m.no = metric_no) AS metric_id, key,
  ${uuid('event_id')} AS event_id FROM idempotency_keys LIMIT -1)`

const SUMS = `(SELECT ${uuid('user_iid')} AS user_iid, log, CASE log WHEN 'events' THEN (SELECT m.id FROM metrics m WHERE m.no = d.no)
  ELSE (SELECT s.id FROM points_systems s WHERE s.no = d.no) END AS subject_id, through, days FROM day_sums d LIMIT -1)`

export const readable = { events: EVENTS, awards: AWARDS, idempotency_keys: KEYS, day_sums: SUMS } as const

/** A table, readable where it is one of those. */
export const readableTable = (name: string): string =>
  Object.entries(readable).find(([table]) => table === name)?.[1] ?? name

/** The bytes of a UUID, given as SQL. */
export const bytes = (id: string): string => `unhex(${id}, '-')`

/** A UUID's bytes that are the number of a row, given as SQL. */
export const numbered = (n: string): string => `unhex(printf('%032x', ${n}))`

/** Another UUID for each number, which begins as the one given as SQL does. */
export const anotherUuid = (id: string, n: string): string => `substr(${id}, 1, 24) || printf('%012x', ${n})`

/** The number of a metric, points system or trigger, whose id is given as SQL. */
export const number = (table: 'metrics' | 'points_systems' | 'points_triggers', id: string): string =>
  `(SELECT r.no FROM ${table} r WHERE r.id = ${id})`
