import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { amongUnmoved, overUsers, type Unmoved } from '../db/guard'
import { bytesOf, HexId, numberOf } from '../db/short-ids'
import type { Change } from '../engine/change.rules'
import type { Instant } from '../lib/clock'

/** An idempotency key of one user, and the event that it stands for (E4). */
export type UsedKey = { metricId: string; key: string; eventId: string }

// CROSS JOIN keeps SQLite from reading all of a user's keys instead of those that are asked for.
const USED_KEYS = `
  SELECT asked.value ->> 0 AS userId, asked.value ->> 1 AS metricId, i.key, hex(i.event_id) AS eventId
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 0
    CROSS JOIN idempotency_keys i ON i.user_iid = ${bytesOf('u.iid')}
    AND i.metric_no = ${numberOf('metrics', 'asked.value ->> 1')} AND i.key = asked.value ->> 2`

/** Finds which of these keys, as triples of user id, metric id and key, were used before. Parsed by `parseUsedKeys`. */
export function usedKeysStatement(
  db: TenantDatabase,
  triples: readonly (readonly [string, string, string])[],
): D1PreparedStatement {
  return db.statement(USED_KEYS, db.tenantId, JSON.stringify(triples))
}

const UsedKeyRows = z.array(
  z.object({ userId: z.string(), metricId: z.string(), key: z.string(), eventId: HexId }),
)

/** The keys that `usedKeysStatement` has found, and whose they are. */
export function parseUsedKeys(result: D1Result): (UsedKey & { userId: string })[] {
  return UsedKeyRows.parse(result.results)
}

const RECORDED = `
  SELECT asked.value ->> 3 AS id, e.at, e.seq FROM json_each(?2) asked
    CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 0
    CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
    AND e.metric_no = ${numberOf('metrics', 'asked.value ->> 1')} AND e.at >= asked.value ->> 2
    AND e.id = ${bytesOf('asked.value ->> 3')}`

/** An event that may have been recorded, and where it would stand in its user's log: not before `since`. */
export type EventSought = { userId: string; metricId: string; since: Instant; id: string }

/** Where an event stands in the log. */
export type Recorded = { at: number; seq: number }

/** Finds which of these events were recorded, after tries whose end nobody saw. Parsed by `parseRecorded`. */
export function recordedStatement(db: TenantDatabase, sought: readonly EventSought[]): D1PreparedStatement {
  const asked = sought.map(({ userId, metricId, since, id }) => [userId, metricId, since, id])
  return db.statement(RECORDED, db.tenantId, JSON.stringify(asked))
}

const RecordedRows = z.array(z.object({ id: z.string(), at: z.number(), seq: z.number() }))

export function parseRecorded(result: D1Result): Map<string, Recorded> {
  return new Map(RecordedRows.parse(result.results).map(({ id, ...place }) => [id, place]))
}

const LOG = `
  INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset, attributes)
  SELECT ${bytesOf('value ->> 0')}, ${numberOf('metrics', 'value ->> 1')}, value ->> 2, value ->> 3, ${bytesOf('value ->> 4')},
    value ->> 5, value ->> 6, value ->> 7
  FROM json_each(?1) WHERE ${amongUnmoved('value ->> 0')}`

/** Appends the events of changes to the log: one row each. */
export function logEvents(
  db: TenantDatabase,
  changes: readonly Change[],
  among: Unmoved,
): D1PreparedStatement[] {
  const rows = changes.flatMap(({ event, after }) =>
    event === null
      ? []
      : [
          [
            after.iid,
            event.metricId,
            event.at,
            event.seq,
            event.id,
            event.value,
            event.utcOffset,
            event.attributes.size === 0 ? null : Object.fromEntries(event.attributes),
          ],
        ],
  )
  return overUsers(db, LOG, rows, among)
}

const USE_KEYS = `
  INSERT INTO idempotency_keys (user_iid, metric_no, key, event_id)
  SELECT ${bytesOf('value ->> 0')}, ${numberOf('metrics', 'value ->> 1')}, value ->> 2, ${bytesOf('value ->> 3')}
  FROM json_each(?1) WHERE ${amongUnmoved('value ->> 0')}`

/** Marks idempotency keys as used, each by a user, whom our own id names: one row each. */
export function useKeys(
  db: TenantDatabase,
  keys: readonly (UsedKey & { userIid: string })[],
  among: Unmoved,
): D1PreparedStatement[] {
  const rows = keys.map(({ userIid, metricId, key, eventId }) => [userIid, metricId, key, eventId])
  return overUsers(db, USE_KEYS, rows, among)
}
