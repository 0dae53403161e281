import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import type { Instant } from '../../lib/clock'
import { firstPack, jsonBytes, listOf, MOST_AT_ONCE, packed } from '../../lib/packed'
import { columnList, fieldsOf, json, momentColumn, readingOf } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import { everywhere } from '../../platform/databases/everywhere'
import { onlyUnchanged, type UsersAsRead } from '../../platform/guard'
import { withLongRows } from '../../platform/scans'
import { type AddressedEntry, type OutboxEntry, StoredMessages, storedMessages } from './outbox'

/**
 * Messages to webhooks and users. They are written in the batch of their change, and deleted when the
 * delivery queues have them (W2). One row for each change of a user, or several if its messages are long. The
 * key is the order of a user's changes. WITHOUT ROWID.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    tenantId: text('tenant_id').notNull(),
    /** When the change happened, in milliseconds. */
    at: momentColumn('at').notNull(),
    /** The user's `seq` of the change, or 0 if it is not about a user. */
    seq: integer('seq').notNull(),
    /** A UUID v7 of that moment. The ids of the messages derive from it. */
    id: text('id').notNull(),
    /** The iid of the user, so that an erase deletes waiting messages (U8). Null if it is about no user. */
    userIid: text('user_iid'),
    /** JSON: `[{id, type, body}]`, see `StoredMessages`. */
    messages: text('messages').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.at, table.seq, table.id] })],
)

/**
 * The last sent state of a user's points in a system. It makes `points.changed` come at most once in 15
 * minutes, with all changes since the last one (W5). The first change that a webhook listens to inserts the
 * row. WITHOUT ROWID.
 */
export const pointsNotifications = sqliteTable(
  'points_notifications',
  {
    userIid: text('user_iid').notNull(),
    systemId: text('system_id').notNull(),
    tenantId: text('tenant_id').notNull(),
    userId: text('user_id').notNull(),
    /** The user's `seq`, the moment and the total that the last message covers. */
    seq: integer('seq').notNull(),
    at: momentColumn('at').notNull(),
    total: integer('total').notNull(),
    /** Until when no other message is sent, in milliseconds. */
    until: momentColumn('until').notNull(),
    /** When the next message is due. Null while nothing has changed. */
    dueAt: momentColumn('due_at'),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.systemId] }),
    index('points_notifications_by_due').on(table.tenantId, table.dueAt).where(sql`due_at IS NOT NULL`),
  ],
)

const ENTRY_VALUES = {
  ...fieldsOf(outbox, ['tenantId', 'messages']),
  // As a JSON value, not as a string of JSON, in which each escape would be escaped again.
  messages: ({ messages }: OutboxEntry) => storedMessages(messages),
}
const ENTRY_LIST = columnList(outbox, ENTRY_VALUES)

const PUT = `
  INSERT INTO outbox (tenant_id, ${ENTRY_LIST.columns})
  SELECT ?2, ${ENTRY_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(ENTRY_LIST.value('userIid'))}`

/** Writes entries to the outbox, one row each, in the guarded batch of their changes (W2). */
export function insertOutboxEntries(
  db: TenantDatabase,
  outboxEntries: readonly OutboxEntry[],
  among: UsersAsRead,
): Statement[] {
  const rows = outboxEntries.map((outboxEntry) => JSON.stringify(ENTRY_LIST.values(outboxEntry)))
  return packed(rows).map((list) => db.statement(PUT, list, db.tenantId, among))
}

/** The bytes of entries as rows of the outbox. */
export const bytesOfEntries = (outboxEntries: readonly AddressedEntry[]): number =>
  outboxEntries.reduce((sum, { outboxEntry }) => sum + jsonBytes(storedMessages(outboxEntry.messages)), 0)

// In a JSON row, the caller's id of the user comes first. `keepMessages` (`everywhere.ts`) reads it too.
const KEPT_LIST = columnList(outbox, ENTRY_VALUES, 1)
// Writes nothing for a user who was erased meanwhile (U8).
const KEEP = `
  INSERT INTO outbox (tenant_id, ${KEPT_LIST.columns})
  SELECT ?1, ${KEPT_LIST.sql()} FROM json_each(?2)
  WHERE ${KEPT_LIST.value('userIid')} IS NULL OR EXISTS (
    SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = value ->> 0
      AND u.iid = ${KEPT_LIST.value('userIid')})
  ON CONFLICT DO NOTHING`

const keptRows = (outboxEntries: readonly AddressedEntry[]) =>
  packed(
    outboxEntries.map(({ outboxEntry, userId }) =>
      JSON.stringify([userId, ...KEPT_LIST.values(outboxEntry)]),
    ),
  )

/** Writes entries, each once, in a batch that changes no user. Skips erased users. */
export const insertEntriesOnce = (
  db: TenantDatabase,
  outboxEntries: readonly AddressedEntry[],
): Statement[] => keptRows(outboxEntries).map((list) => db.statement(KEEP, db.tenantId, list))

/** The same in a change of the configuration: an entry is written in the database of its user. */
export function insertEntriesInChange(
  db: TenantDatabase,
  outboxEntries: readonly AddressedEntry[],
): Statement[] {
  const ofUsers = outboxEntries.filter(({ userId }) => userId !== null)
  const others = outboxEntries.filter(({ userId }) => userId === null)
  return [
    ...insertEntriesOnce(db, others),
    ...keptRows(ofUsers).map((list) => everywhere('keepMessages', db.tenantId, list)),
  ]
}

/** The most rows that one drain step reads, and the most bytes of a row that is read with others. */
const ROWS = 200
const SHORT = 10_000

const PLACED = readingOf(outbox, ['at', 'seq', 'id', 'userIid'])
const NEXT = `
  SELECT ${PLACED.columns('o')}, octet_length(messages) AS bytes,
    CASE WHEN octet_length(messages) <= ${SHORT} THEN messages END AS messages
  FROM outbox o WHERE tenant_id = ?1 AND (at, seq, id) > (?2, ?3, ?4) ORDER BY at, seq, id LIMIT ${ROWS}`
const LONG = `
  SELECT ${PLACED.columns('o')}, octet_length(o.messages) AS bytes, o.messages
  FROM json_each(?2) asked CROSS JOIN outbox o ON o.tenant_id = ?1 AND o.at = asked.value ->> 0
    AND o.seq = asked.value ->> 1 AND o.id = asked.value ->> 2`

const Rows = z.array(PLACED.row.extend({ bytes: z.number(), messages: json(StoredMessages).nullable() }))

/** The position of an entry in the outbox. */
export type OutboxPosition = Pick<OutboxEntry, 'at' | 'seq' | 'id'>

const placeOf = ({ at, seq, id }: OutboxPosition) => JSON.stringify([at, seq, id])

/** Finds the oldest entries of a tenant, or the oldest after a position. Read by `outboxEntriesFrom`. */
export function nextOutboxEntries(db: TenantDatabase, after: OutboxPosition | null): Statement {
  return db.statement(NEXT, db.tenantId, after?.at ?? -1, after?.seq ?? 0, after?.id ?? '')
}

/**
 * The first entries that `nextOutboxEntries` found, oldest first, as many as fit into one step. The entries
 * of a user are in the order of the changes. Entries that were deleted meanwhile are left out.
 * `last` is the position of the last one, or null if there were none.
 */
export async function outboxEntriesFrom(
  db: TenantDatabase,
  result: D1Result,
): Promise<{ outboxEntries: OutboxEntry[]; last: OutboxPosition | null }> {
  const rows = firstPack(Rows.parse(result.results), MOST_AT_ONCE, ({ bytes }) => bytes)
  const isLong = ({ messages }: (typeof rows)[number]) => messages === null
  const whole = await withLongRows(rows, 'id', isLong, async (long) =>
    Rows.parse(await db.rows(db.statement(LONG, db.tenantId, listOf(long.map(placeOf))))),
  )
  const outboxEntries = whole.flatMap(({ bytes: _, messages, ...row }) =>
    messages === null ? [] : [{ ...row, messages }],
  )
  return { outboxEntries, last: rows.at(-1) ?? null }
}

const REMOVE = `
  DELETE FROM outbox WHERE (tenant_id, at, seq, id) IN (
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2))`

/** Deletes entries that the delivery queues have. */
export const removeOutboxEntries = (db: TenantDatabase, entries: readonly OutboxPosition[]): Statement[] =>
  packed(entries.map(placeOf)).map((list) => db.statement(REMOVE, db.tenantId, list))

const WAITING = `
  SELECT EXISTS (SELECT 1 FROM outbox WHERE tenant_id = ?1)
    OR EXISTS (SELECT 1 FROM points_notifications WHERE tenant_id = ?1 AND due_at <= ?2) AS waiting`

/** Whether a tenant has messages to send by a moment. */
export async function hasOutboxWork(db: TenantDatabase, now: Instant): Promise<boolean> {
  const { waiting } = await db.one(z.object({ waiting: z.number() }), WAITING, db.tenantId, now)
  return waiting === 1
}
