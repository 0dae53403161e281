import * as z from 'zod'
import { type Instant, MINUTE } from '../../lib/clock'
import { timeOf } from '../../lib/ids'
import {
  bytesOf,
  HexId,
  idOf,
  json,
  LOGS,
  localDayOf,
  Moment,
  numberOf,
  numbersIn,
} from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { EventRecord } from '../../rules/state'
import { EventRow } from './timeline.sql.ts'

/*
 * The awards of a user that a correction reverses. The user's totals name the systems, so no award of a
 * deleted system is found.
 */

const awardsAt = (at: string, seq: string) => `
  CROSS JOIN json_each(u.points) p CROSS JOIN awards a ON a.user_iid = ${bytesOf('u.iid')}
    AND a.system_no = (SELECT s.no FROM points_systems s WHERE s.id = p.key) AND a.at = ${at} AND a.seq ${seq}
    AND a.type IS NULL
  CROSS JOIN trigger_versions v ON v.trigger_id = ${idOf('points_triggers', 'a.trigger_no')}
    AND v.version = a.trigger_version`
const COLUMNS = `hex(a.id) AS id, p.key AS systemId, a.at, a.utc_offset AS utcOffset, a.awarded,
    v.trigger_id AS triggerId, a.trigger_version AS triggerVersion`

const OF_EVENT = `
  SELECT ${COLUMNS} FROM users u
  CROSS JOIN json_each(u.metrics) m CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
    AND e.metric_no = (SELECT n.no FROM metrics n WHERE n.id = m.value ->> 0) AND e.at = ?3
    AND e.id = ${bytesOf('?4')}
  ${awardsAt('e.at', '= e.seq')}
  WHERE u.tenant_id = ?1 AND u.id = ?2 AND v.document ->> '$.type' = 'metric'
  ORDER BY a.system_no, a.position`

/** The awards that metric triggers gave for an event at a moment (V2). Parsed by `parseAwards`. */
export const awardsOfEvent = (
  db: TenantDatabase,
  userId: string,
  { at, id }: { at: number; id: string },
): Statement => db.statement(OF_EVENT, db.tenantId, userId, at, id)

/** SQL: the hexadecimal digits of an id that all ids of one change share (see `childId`). */
const shared = (hex: string) => `substr(${hex}, 1, 13) || substr(${hex}, 17)`

// The awards of a completion are of the same change. Under a test clock, several completions may have the
// same moment, so the ids decide.
const OF_COMPLETION = `
  SELECT ${COLUMNS} FROM users u
  CROSS JOIN json_each(u.achievements) c
  ${awardsAt('c.value ->> 2', '>= 0')}
  WHERE u.tenant_id = ?1 AND u.id = ?2 AND c.value ->> 0 = ?3 AND v.document ->> '$.type' = 'achievement'
    AND v.document ->> '$.achievementId' = ?3
    AND ${shared('hex(a.id)')} = ${shared("upper(replace(c.value ->> 1, '-', ''))")}
  ORDER BY a.system_no, a.seq, a.position`

/** The awards that the user's completion of an achievement gave (V4). Parsed by `parseAwards`. */
export const awardsOfCompletion = (db: TenantDatabase, userId: string, achievementId: string): Statement =>
  db.statement(OF_COMPLETION, db.tenantId, userId, achievementId)

const Rows = z.array(
  z.object({
    id: HexId,
    systemId: z.string(),
    at: Moment,
    utcOffset: z.number(),
    awarded: z.number(),
    triggerId: z.string(),
    triggerVersion: z.number(),
  }),
)

/** Parses the result of `awardsOfEvent` or `awardsOfCompletion`. */
export const parseAwards = (result: D1Result) => Rows.parse(result.results)

/** The most rows of the log that one statement reads. */
const PART = 20_000

const VOIDED = `
  SELECT v.response, v.voided_seq AS seq FROM users u CROSS JOIN voided_events v ON v.user_iid = ${bytesOf('u.iid')}
    AND v.id = ${bytesOf('?3')} WHERE u.tenant_id = ?1 AND u.id = ?2`

/** Reads the response of the void of an event. Parsed by `parseVoided`. */
export const voidedStatement = (db: TenantDatabase, userId: string, eventId: string): Statement =>
  db.statement(VOIDED, db.tenantId, userId, eventId)

/** The stored void of an event, and the user's `seq` after it; null if the event is not voided. */
export function parseVoided(result: D1Result) {
  const row = z.object({ response: json(z.unknown()), seq: z.number() })
  return z.array(row).parse(result.results)[0] ?? null
}

const FIELDS = `hex(e.id) AS id, m.value ->> 0 AS metricId, e.at, e.seq, e.value, e.utc_offset AS utcOffset,
    coalesce(e.attributes, '{}') AS attributes, e.counter_ids AS counterIds`
// The user's totals name the metrics, so no event of a deleted metric is found.
const NEAR = `
  SELECT ${FIELDS} FROM users u CROSS JOIN json_each(u.metrics) m
  CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
    AND e.metric_no = ${numberOf('metrics', 'm.value ->> 0')} AND e.at >= ?3 AND e.at <= ?4
    AND e.id = ${bytesOf('?5')}
  WHERE u.tenant_id = ?1 AND u.id = ?2`

const NearRow = EventRow.omit({ position: true, streak: true, voidedAt: true }).extend({
  counterIds: json(z.array(z.string())).nullable(),
})

/** An event of the log. `counterIds` is null if it is unknown which counters of triggers counted it. */
export type LogEvent = Omit<EventRecord, 'counterIds'> & { counterIds: readonly string[] | null }

/** Finds an event of a user between two moments. Parsed by `parseEvent`. */
export const eventStatement = (
  db: TenantDatabase,
  userId: string,
  eventId: string,
  [from, to]: readonly [number, number],
): Statement => db.statement(NEAR, db.tenantId, userId, from, to, eventId)

/** The event that `eventStatement` has found, or null. */
export function parseEvent(result: D1Result): LogEvent | null {
  const [row] = z.array(NearRow).parse(result.results)
  if (row === undefined) return null
  const { attributes, ...event } = row
  return { ...event, attributes: new Map(Object.entries(attributes)) }
}

const NEWEST = `
  SELECT hex(e.id) AS id FROM users u CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
  WHERE u.tenant_id = ?1 AND u.id = ?2 ORDER BY e.at DESC, e.seq DESC LIMIT 1`

/** The id of a user's newest event, or null if there is none. Reads the whole log of the user. */
export async function newestEvent(db: TenantDatabase, userId: string): Promise<string | null> {
  return (await db.find(z.object({ id: HexId }), NEWEST, db.tenantId, userId))?.id ?? null
}

const METRICS = `
  SELECT u.iid, m.value ->> 0 AS metricId FROM users u CROSS JOIN json_each(u.metrics) m
  WHERE u.tenant_id = ?1 AND u.id = ?2`
const SEARCH = `
  WITH part AS MATERIALIZED (SELECT at, seq, id FROM events WHERE user_iid = ${bytesOf('?1')}
    AND metric_no = ${numberOf('metrics', '?2')} AND (at, seq) > (?3, ?4) ORDER BY at, seq LIMIT ${PART})
  SELECT (SELECT at FROM part WHERE id = ${bytesOf('?5')}) AS found, (SELECT count(*) FROM part) AS count,
    (SELECT json_array(at, seq) FROM part ORDER BY at DESC, seq DESC LIMIT 1) AS last`
const Searched = z.object({
  found: Moment.nullable(),
  count: z.number(),
  last: json(z.tuple([z.number(), z.number()])).nullable(),
})

/** By how much an event may be earlier than its id: the clocks of two isolates differ by less. */
const SKEW = MINUTE

/**
 * When an event of a user happened; null if it is not in the log. The id of an event has the moment of its
 * arrival, so the event is not before it. It is long after it if it waited in a batch (E9).
 */
export async function findMoment(
  db: TenantDatabase,
  userId: string,
  eventId: string,
): Promise<Instant | null> {
  const arrived = timeOf(eventId)
  if (arrived < 0) return null
  const near = await db.run(eventStatement(db, userId, eventId, [arrived - SKEW, arrived + SKEW]))
  const event = parseEvent(near)
  if (event !== null) return event.at
  // Real time goes on while a test clock that is set does not, so its events may be long before their ids (C1).
  const from = db.testClock ? 0 : arrived - SKEW
  const metric = z.object({ iid: z.string(), metricId: z.string() })
  for (const { iid, metricId } of await db.list(metric, METRICS, db.tenantId, userId)) {
    for (let after: readonly [number, number] | null = [from, -1]; after !== null; ) {
      const one: z.output<typeof Searched> = await db.one(Searched, SEARCH, iid, metricId, ...after, eventId)
      if (one.found !== null) return one.found
      after = one.count < PART ? null : one.last
    }
  }
  return null
}

/**
 * A counter of a trigger or an achievement. It counts events that match the filters. A counter of a trigger
 * has an `id`: it counts the events that name it. `born` is when it began, in milliseconds, for events that
 * name no counters.
 */
export type OwnCounter = {
  id: string | null
  born: number
  filters: readonly (readonly [attributeId: string, value: string])[]
}

// `counters` holds the indexes of the counters that count the event.
const LOG = `
  SELECT e.at, e.seq, e.value, (
    SELECT json_group_array(c.key) FROM json_each(?6) c WHERE CASE
      WHEN c.value ->> 'id' IS NOT NULL AND e.counter_ids IS NOT NULL
      THEN EXISTS (SELECT 1 FROM json_each(e.counter_ids) n WHERE n.value = c.value ->> 'id')
      ELSE e.at >= c.value ->> 'born' AND NOT EXISTS (SELECT 1 FROM json_each(c.value, '$.filters') f
        WHERE (e.attributes ->> ('$."' || (f.value ->> 0) || '"')) IS NOT f.value ->> 1) END) AS counters
  FROM events e WHERE e.user_iid = ${bytesOf('?1')} AND e.metric_no = ${numberOf('metrics', '?2')}
    AND (e.at, e.seq) > (?3, ?4) AND e.seq <= ?5 AND e.seq > ?8 ORDER BY e.at, e.seq LIMIT ?7`

const LogRows = z.array(
  z.object({ at: z.number(), seq: z.number(), value: z.number(), counters: json(z.array(z.number())) }),
)

/** A row of the log: its value in millionths, and the indexes of the counters that count it. */
export type LogRow = z.output<typeof LogRows>[number]

/** Reads the log of a metric by time, in parts: changes after `known`, up to `seq`, from a moment on. */
export async function* readLog(
  db: TenantDatabase,
  { iid, seq }: { iid: string; seq: number },
  metricId: string,
  counters: readonly OwnCounter[],
  { from, known }: { from: number; known: number },
): AsyncGenerator<LogRow[]> {
  const limit = Math.max(1, Math.floor(PART / (1 + counters.length)))
  const asked = JSON.stringify(counters)
  for (let after: readonly [number, number] = [from, -1]; ; ) {
    const values = [...after, seq, asked, limit, known]
    const rows = LogRows.parse(await db.rows(db.statement(LOG, iid, metricId, ...values)))
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit) return
    after = [last.at, last.seq]
  }
}

const VOIDED_SINCE = `
  SELECT seq FROM voided_events WHERE user_iid = ${bytesOf('?1')} AND metric_no = ${numberOf('metrics', '?2')}
    AND voided_seq > ?3`

const VoidedSince = z.array(z.object({ seq: z.number() }))

/** The `seq` of the events of a metric that were voided after a change of the user. */
export async function voidedSince(
  db: TenantDatabase,
  { iid, seq }: { iid: string; seq: number },
  metricId: string,
): Promise<number[]> {
  const rows = await db.rows(db.statement(VOIDED_SINCE, iid, metricId, seq))
  return VoidedSince.parse(rows).map((row) => row.seq)
}

const PLACE = `user_iid = ${bytesOf('?1')} AND metric_no = ${numberOf('metrics', '?2')} AND at = ?3 AND seq = ?4`
const MOVE = `
  INSERT INTO voided_events (user_iid, id, metric_no, at, seq, value, utc_offset, attributes, counter_ids,
    streak, voided_at, voided_seq, reason, response)
  SELECT user_iid, id, metric_no, at, seq, value, utc_offset, attributes, counter_ids, streak, ?5, ?6, ?7, ?8
  FROM events WHERE ${PLACE}`
const REMOVE = `DELETE FROM events WHERE ${PLACE}`

const ACTIVE_DAY = `
  UPDATE users SET active_day = (
    WITH RECURSIVE ${numbersIn(LOGS.events, bytesOf('?3'))}
    SELECT last ->> 2 FROM (SELECT (SELECT json_array(at, seq, ${localDayOf()}) FROM events
      WHERE user_iid = ${bytesOf('?3')} AND metric_no = used.no ORDER BY at DESC, seq DESC LIMIT 1) AS last
      FROM used)
    ORDER BY last ->> 0 DESC, last ->> 1 DESC LIMIT 1)
  WHERE tenant_id = ?1 AND id = ?2`

/**
 * Moves an event from the log to the voided events (V2), and stores the day of the last event that is left.
 * Needs a guard of the user. Writes three rows, and two of indexes.
 */
export function moveEvent(
  db: TenantDatabase,
  { id, iid }: { id: string; iid: string },
  { metricId, at, seq }: LogEvent,
  given: { voidedAt: Instant; voidedSeq: number; reason: string | null; response: unknown },
): Statement[] {
  const place = [iid, metricId, at, seq]
  const { voidedAt, voidedSeq, reason, response } = given
  return [
    db.statement(MOVE, ...place, voidedAt, voidedSeq, reason, JSON.stringify(response)),
    db.statement(REMOVE, ...place),
    db.statement(ACTIVE_DAY, db.tenantId, id, iid),
  ]
}
