import { z } from 'zod'
import type { Database } from '../../db/database'
import type { EventRecord } from '../../engine/state'
import type { Instant } from '../../shared/clock'

/** An idempotency key of one user, and the event that it stands for (E4). */
export type UsedKey = { metricId: string; key: string; eventId: string }

// CROSS JOIN keeps SQLite from reading all of the user's keys instead of those that are asked for.
const USED_KEYS = `
  SELECT i.metric_id AS metricId, i.key, i.event_id AS eventId
  FROM json_each(?3) asked CROSS JOIN idempotency_keys i
    ON i.user_iid = (SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)
    AND i.metric_id = asked.value ->> 0 AND i.key = asked.value ->> 1`

/** Finds which of the user's keys, as pairs of metric id and key, were used before. Parsed by `parseUsedKeys`. */
export function usedKeysStatement(
  db: Database,
  tenantId: string,
  userId: string,
  pairs: readonly (readonly [string, string])[],
): D1PreparedStatement {
  return db.statement(USED_KEYS, tenantId, userId, JSON.stringify(pairs))
}

const UsedKeyRows = z.array(z.object({ metricId: z.string(), key: z.string(), eventId: z.string() }))

export function parseUsedKeys(result: D1Result | undefined): UsedKey[] {
  return UsedKeyRows.parse(result?.results ?? [])
}

const RECORDED = `
  SELECT e.id, e.at, e.seq FROM json_each(?3) asked CROSS JOIN events e
    ON e.user_iid = (SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)
    AND e.metric_id = asked.value ->> 0 AND e.at >= asked.value ->> 1 AND e.id = asked.value ->> 2`

/** An event that may have been recorded, and where it would stand in the log: not before `since`. */
export type EventSought = { metricId: string; since: Instant; id: string }

/** Where an event stands in the log. */
export type Recorded = { at: number; seq: number }

/** Finds which of these events were recorded, after tries whose end nobody saw. Parsed by `parseRecorded`. */
export function recordedStatement(
  db: Database,
  tenantId: string,
  userId: string,
  sought: readonly EventSought[],
): D1PreparedStatement {
  const asked = sought.map(({ metricId, since, id }) => [metricId, since, id])
  return db.statement(RECORDED, tenantId, userId, JSON.stringify(asked))
}

const RecordedRows = z.array(z.object({ id: z.string(), at: z.number(), seq: z.number() }))

export function parseRecorded(result: D1Result | undefined): Map<string, Recorded> {
  return new Map(RecordedRows.parse(result?.results ?? []).map(({ id, ...place }) => [id, place]))
}

const LOG = `
  INSERT INTO events (user_iid, metric_id, at, seq, id, value, utc_offset, attributes)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
  FROM json_each(?2)`

/** Appends events of one user to the log: one row each. */
export function logEvents(
  db: Database,
  userIid: string,
  events: readonly EventRecord[],
): D1PreparedStatement {
  const rows = events.map((event) => [
    event.metricId,
    event.at,
    event.seq,
    event.id,
    event.value,
    event.utcOffset,
    event.attributes.size === 0 ? null : JSON.stringify(Object.fromEntries(event.attributes)),
  ])
  return db.statement(LOG, userIid, JSON.stringify(rows))
}

const USE_KEYS = `
  INSERT INTO idempotency_keys (user_iid, metric_id, key, event_id)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2)`

/** Marks idempotency keys of one user as used: one row each. */
export function useKeys(db: Database, userIid: string, keys: readonly UsedKey[]): D1PreparedStatement {
  return db.statement(
    USE_KEYS,
    userIid,
    JSON.stringify(keys.map(({ metricId, key, eventId }) => [metricId, key, eventId])),
  )
}

/** The sum of a user's changes on one local day. */
export type DailyChange = { day: number; change: number }

const DAILY = `
  SELECT (at + utc_offset * 60000) / 86400000 AS day, sum(value) AS change FROM events
  WHERE user_iid = ?1 AND metric_id = ?2 AND at >= ?3 AND seq <= ?4 GROUP BY day`

/**
 * The changes of a user's metric by stored local day (days since 1970-01-01), in millionths, from a moment on (P12); only
 * those that the user's state as read has counted.
 */
export async function dailyChanges(
  db: Database,
  { iid, seq }: { iid: string; seq: number },
  metricId: string,
  from: Instant,
): Promise<DailyChange[]> {
  return z
    .array(z.object({ day: z.number(), change: z.number() }))
    .parse(await db.rows(db.statement(DAILY, iid, metricId, from, seq)))
}
