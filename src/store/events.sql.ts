import * as z from 'zod'
import { type Instant, instant } from '../lib/clock'
import { Json } from '../lib/packed'
import { bytesOf, type ColumnValues, columnList, fieldsOf, HexId, numberOf } from '../platform/columns'
import type { Statement, TenantDatabase } from '../platform/database'
import { onlyUnchanged, overUsers, type UsersAsRead } from '../platform/guard'
import { type Change, historyRowsOf, streakEntriesOf } from '../rules/change.rules'
import { STREAK_ENTRY_KINDS, type StreakEntry } from '../rules/streaks/streak-state.rules'
import { events, idempotencyKeys, userChanges } from './tables.sql.ts'

/** An entry about the streak, as stored (X2). Days are days since 1970-01-01. */
export const StoredStreakEntry = z.object({
  kind: z.enum(STREAK_ENTRY_KINDS),
  length: z.number().optional(),
  earned: z.number().optional(),
  freezes: z.number().optional(),
  pause: z.object({ id: z.string(), start: z.number(), end: z.number() }).optional(),
})

/** The column `entries`, parsed. */
export const StoredHistoryRow = z.object({
  fields: z.array(z.tuple([z.string(), z.unknown(), z.unknown()])),
  streak: z.array(StoredStreakEntry),
})

type Row = { userIid: string; at: number; seq: number; position: number; entries: Json }

const ROW_VALUES: ColumnValues<typeof userChanges, Row> = {
  userIid: { of: ({ userIid }) => userIid, as: bytesOf },
  ...fieldsOf(userChanges, ['userIid', 'entries']),
  entries: ({ entries }) => entries,
}
const ROW_LIST = columnList(userChanges, ROW_VALUES)

const KEEP = `
  INSERT INTO user_changes (${ROW_LIST.columns})
  SELECT ${ROW_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(ROW_LIST.value('userIid'))}`

/** Stores the part of users' history that no other row of the batch has (X2). */
export function keepHistory(db: TenantDatabase, changes: readonly Change[], among: UsersAsRead): Statement[] {
  const rows = changes.flatMap((change) => {
    const { iid: userIid, changed: at, seq } = change.after
    return historyRowsOf(change).map((row, position) =>
      ROW_LIST.values({ userIid, at, seq, position, entries: new Json(JSON.stringify(row)) }),
    )
  })
  return overUsers(db, KEEP, rows, among)
}

const numberOfMetric = (id: string) => numberOf('metrics', id)

/** An idempotency key of one user, the event that it stands for, and the hash of that event's body (E4). */
export type UsedKey = { metricId: string; key: string; eventId: string; body: number | null }

// CROSS JOIN makes SQLite look up only these keys. Without it, SQLite reads all keys of a user.
const USED_KEYS = `
  SELECT asked.value ->> 0 AS userId, asked.value ->> 1 AS metricId, i.key, i.body,
    hex(i.event_id) AS eventId
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 0
    CROSS JOIN idempotency_keys i ON i.user_iid = ${bytesOf('u.iid')}
    AND i.metric_no = ${numberOf('metrics', 'asked.value ->> 1')} AND i.key = asked.value ->> 2`

/** Finds used keys among these: [user id, metric id, key]. Parsed by `parseUsedKeys`. */
export function usedKeysStatement(
  db: TenantDatabase,
  triples: readonly (readonly [string, string, string])[],
): Statement {
  return db.statement(USED_KEYS, db.tenantId, JSON.stringify(triples))
}

const UsedKeyRows = z.array(
  z.object({
    userId: z.string(),
    metricId: z.string(),
    key: z.string(),
    eventId: HexId,
    body: z.number().nullable(),
  }),
)

/** Parses the result of `usedKeysStatement`: the used keys, with their users. */
export function parseUsedKeys(result: D1Result): (UsedKey & { userId: string })[] {
  return UsedKeyRows.parse(result.results)
}

// A recorded event may have been voided since (V2).
const RECORDED = `
  SELECT hex(e.id) AS id, e.at, e.seq FROM json_each(?2) asked
    CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 0
    CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
    AND e.metric_no = ${numberOf('metrics', 'asked.value ->> 1')} AND e.at >= asked.value ->> 2
    AND e.id = ${bytesOf('asked.value ->> 3')}
  UNION ALL SELECT hex(v.id) AS id, v.at, v.seq FROM json_each(?2) asked
    CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 0
    CROSS JOIN voided_events v ON v.user_iid = ${bytesOf('u.iid')} AND v.id = ${bytesOf('asked.value ->> 3')}`

/** An event that may have been recorded: in the log it is not before `since`. */
export type EventLookup = { userId: string; metricId: string; since: Instant; id: string }

/** The position of an event in the log. */
export type Recorded = { at: number; seq: number }

/** Finds which of these events were recorded, after attempts with a lost reply. Parsed by `parseRecorded`. */
export function recordedStatement(db: TenantDatabase, sought: readonly EventLookup[]): Statement {
  const asked = sought.map(({ userId, metricId, since, id }) => [userId, metricId, since, id])
  return db.statement(RECORDED, db.tenantId, JSON.stringify(asked))
}

const RecordedRows = z.array(z.object({ id: HexId, at: z.number(), seq: z.number() }))

export function parseRecorded(result: D1Result): Map<string, Recorded> {
  return new Map(RecordedRows.parse(result.results).map(({ id, ...place }) => [id, place]))
}

// The recursion goes from metric to metric by the log's key, since a metric may be gone by now.
const AMONG = `
  WITH RECURSIVE metric_of(iid, since, metric_no) AS (
    SELECT u.iid, a.value ->> 1,
      (SELECT min(e.metric_no) FROM events e WHERE e.user_iid = ${bytesOf('u.iid')})
    FROM json_each(?2) a CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = a.value ->> 0
    UNION ALL SELECT m.iid, m.since, (SELECT min(e.metric_no) FROM events e
        WHERE e.user_iid = ${bytesOf('m.iid')} AND e.metric_no > m.metric_no)
      FROM metric_of m WHERE m.metric_no IS NOT NULL)
  SELECT hex(e.id) AS id, e.at, e.seq FROM metric_of m CROSS JOIN events e
    ON e.user_iid = ${bytesOf('m.iid')} AND e.metric_no = m.metric_no AND e.at >= m.since
    WHERE e.id IN (SELECT ${bytesOf('s.value ->> 1')} FROM json_each(?3) s)
  UNION ALL SELECT hex(v.id) AS id, v.at, v.seq FROM json_each(?3) s
    CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = s.value ->> 0
    CROSS JOIN voided_events v ON v.user_iid = ${bytesOf('u.iid')} AND v.id = ${bytesOf('s.value ->> 1')}`

/** The same for events of one batch whose metric may be gone since. Parsed by `parseRecorded`. */
export function recordedAmongStatement(
  db: TenantDatabase,
  sought: readonly Omit<EventLookup, 'metricId'>[],
): Statement {
  const since = new Map<string, Instant>()
  for (const one of sought)
    since.set(one.userId, instant(Math.min(one.since, since.get(one.userId) ?? one.since)))
  const events = sought.map(({ userId, id }) => [userId, id])
  return db.statement(AMONG, db.tenantId, JSON.stringify([...since]), JSON.stringify(events))
}

/** An event with its user's internal id, and its effects on the streak. */
type LoggedChange = { iid: string; event: NonNullable<Change['event']>; streak: readonly StreakEntry[] }

const EVENT_VALUES: ColumnValues<typeof events, LoggedChange> = {
  userIid: { of: ({ iid }) => iid, as: bytesOf },
  metricNo: { of: ({ event }) => event.metricId, as: numberOfMetric },
  at: ({ event }) => event.at,
  seq: ({ event }) => event.seq,
  id: { of: ({ event }) => event.id, as: bytesOf },
  value: ({ event }) => event.value,
  utcOffset: ({ event }) => event.utcOffset,
  attributes: ({ event }) => (event.attributes.size === 0 ? null : Object.fromEntries(event.attributes)),
  counterIds: ({ event }) => event.counterIds,
  streak: ({ streak }) => (streak.length === 0 ? null : streak),
}
const EVENT_LIST = columnList(events, EVENT_VALUES)

const LOG = `
  INSERT INTO events (${EVENT_LIST.columns})
  SELECT ${EVENT_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(EVENT_LIST.value('userIid'))}`

/** Appends the events of changes to the log: one row each. */
export function logEvents(db: TenantDatabase, changes: readonly Change[], among: UsersAsRead): Statement[] {
  const rows = changes.flatMap((change) => {
    const { event, after } = change
    return event === null
      ? []
      : [EVENT_LIST.values({ iid: after.iid, event, streak: streakEntriesOf(change) })]
  })
  return overUsers(db, LOG, rows, among)
}

type OwnKey = UsedKey & { userIid: string }
const KEY_VALUES: ColumnValues<typeof idempotencyKeys, OwnKey> = {
  userIid: { of: ({ userIid }) => userIid, as: bytesOf },
  metricNo: { of: ({ metricId }) => metricId, as: numberOfMetric },
  key: ({ key }) => key,
  eventId: { of: ({ eventId }) => eventId, as: bytesOf },
  body: ({ body }) => body,
}
const KEY_LIST = columnList(idempotencyKeys, KEY_VALUES)

const USE_KEYS = `
  INSERT INTO idempotency_keys (${KEY_LIST.columns})
  SELECT ${KEY_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(KEY_LIST.value('userIid'))}`

/** Marks idempotency keys as used by a user, given by internal id. One row each. */
export function useKeys(db: TenantDatabase, keys: readonly OwnKey[], among: UsersAsRead): Statement[] {
  return overUsers(db, USE_KEYS, keys.map(KEY_LIST.values), among)
}
