import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { readTestClock } from '../access/clock.sql.ts'
import { LOG_OF_ACCOUNT, tenantActive } from '../access/tenants.sql.ts'
import { DAY, type Instant, instant } from '../lib/clock'
import { errors } from '../lib/errors'
import { firstIdAt } from '../lib/ids'
import { AUDIT_LOG_DAYS } from '../lib/limits'
import { orderedId } from '../lib/new-id'
import { Json, jsonRow, packed } from '../lib/packed'
import { systemNow } from '../lib/system-clock'
import { type ColumnValues, columnList, columnNames, json, Moment, readingOf } from '../platform/columns'
import type { AccountScope, Context, Scope } from '../platform/context'
import type { AccountDatabase, FixedSql, Statement, TenantDatabase } from '../platform/database'
import { nullIfConflict } from '../platform/guard'
import { AUDIT_ACTIONS, type AuditEntry } from './audit.rules'
import { AUDIT_KINDS } from './tables.sql.ts'

/** The audit logs: one entry for each resource that an admin request has changed (Z1). WITHOUT ROWID. */
export const auditLog = sqliteTable(
  'audit_log',
  {
    tenantId: text('tenant_id').notNull(),
    /** A UUID v7 of the time of the change. */
    id: text('id').notNull(),
    at: integer('at').notNull(),
    /** The id of the admin key; null for the first one (K4), and for the demo. */
    keyId: text('key_id'),
    /** The name of the admin key at that time. Of a key from a variable: the name of the variable. */
    keyName: text('key_name'),
    action: text('action', { enum: AUDIT_ACTIONS }).notNull(),
    kind: text('kind', { enum: AUDIT_KINDS }).notNull(),
    resourceId: text('resource_id'),
    key: text('key'),
    /** The internal id of the user that the entry is about; null if it is about no user. */
    userIid: text('user_iid'),
    requestId: text('request_id').notNull(),
    /** JSON: the changed fields before and after. Empty after the erasure of the user. */
    fields: text('fields').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('audit_log_by_user').on(table.tenantId, table.userIid).where(sql`user_iid IS NOT NULL`),
  ],
)

/** An entry to store, and the id that a condition looks up: `value ->> 0`. */
type Row = { id: string; entry: AuditEntry; subject: string | null }

/** SQL: the internal id of the user with the caller's own id `value ->> 1`; null if there is none. */
const IID = '(SELECT iid FROM users WHERE tenant_id = ?2 AND id = value ->> 1)'

const iidOf = ({ user }: AuditEntry) => (user !== null && 'iid' in user ? user.iid : null)

/** The columns that the statement fills in itself. */
type Given = 'tenantId' | 'at' | 'keyId' | 'keyName' | 'requestId' | 'fields'

const VALUES: ColumnValues<typeof auditLog, Row, Given> = {
  id: ({ id }) => id,
  action: ({ entry }) => entry.action,
  kind: ({ entry }) => entry.kind,
  resourceId: {
    of: ({ entry }) => entry.resourceId ?? iidOf(entry),
    as: (value) => `coalesce(${value}, ${IID})`,
  },
  key: ({ entry }) => entry.key,
  userIid: { of: ({ entry }) => iidOf(entry), as: (value) => `coalesce(${value}, ${IID})` },
}
const LIST = columnList(auditLog, VALUES, 3)
const FIELDS = 'value ->> 2'

const rowOf = (row: Row): string => {
  const { user } = row.entry
  const userId = user !== null && 'id' in user ? user.id : null
  const fields = new Json(JSON.stringify(row.entry.fields))
  return jsonRow([row.subject, userId, fields, ...LIST.values(row)])
}

const insertSql = (fields: string, condition: string): string => `
  INSERT INTO audit_log (tenant_id, at, key_id, key_name, request_id, fields, ${LIST.columns})
  SELECT ?2, ?3, ?4, coalesce(?5, (SELECT name FROM api_keys WHERE id = ?4)), ?6, ${fields}, ${LIST.sql()}
  FROM json_each(?1) WHERE ${condition}`
const INSERT = insertSql(FIELDS, 'true')

function inserts(scope: AccountScope, sql: string, entries: readonly Omit<Row, 'id'>[]): Statement[] {
  const { db, auditLog: log, now, access, requestId } = scope
  if (access.kind !== 'admin') return []
  const rows = entries.map((entry, position) => rowOf({ ...entry, id: orderedId(now, position) }))
  return packed(rows).map((list) =>
    db.statement(sql, list, log, now, access.keyId, access.keyName, requestId),
  )
}

/**
 * Statements that store entries in the scope's audit log. They belong in the batch that makes the change, so
 * that both are stored or none (Z1). A batch that deletes admin keys has them first, because they read the
 * name of the key.
 */
export function auditEntries(scope: AccountScope, entries: readonly AuditEntry[]): Statement[] {
  const rows = entries.map((entry) => ({ entry, subject: null }))
  return inserts(scope, INSERT, rows)
}

/**
 * The same for changes that the database decides: an entry is stored only if the condition is true at its
 * place in the batch. In the condition, `value ->> 0` is the subject of the entry. If the database knows the
 * fields too, `fields` is the SQL of their JSON.
 */
export function auditEntriesIf<const T extends string, const F extends string = typeof FIELDS>(
  scope: AccountScope,
  entries: readonly { subject: string | null; entry: AuditEntry }[],
  condition: T & FixedSql<T>,
  fields?: F & FixedSql<F>,
): Statement[] {
  return inserts(scope, insertSql(fields ?? FIELDS, condition), entries)
}

const NOTED = 'SELECT 1 FROM audit_log WHERE tenant_id = ?1 AND id >= ?2 AND request_id = ?3 LIMIT 1'

/** Whether a database has an audit entry of this request. If so, it has stored the batch with that entry. */
export async function isNoted(
  { auditLog: log, now, requestId }: AccountScope,
  db: TenantDatabase | AccountDatabase,
): Promise<boolean> {
  return (await db.rows(db.statement(NOTED, log, firstIdAt(now), requestId))).length > 0
}

const FieldChanges = json(z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })))

const ENTRY = readingOf(auditLog, columnNames(auditLog, ['tenantId', 'userIid']))
const StoredEntry = ENTRY.row.extend({ at: Moment, fields: FieldChanges })

/** An entry as it is stored, with its actor. */
export type StoredEntry = z.output<typeof StoredEntry>

/**
 * Which entries a list has: all but those of the test clock, or only those with these values. The actor is a
 * key's id or name, and `userIid` the internal id of the user that they are about.
 */
export type Wanted = {
  id?: string | undefined
  kind?: string | undefined
  key?: string | undefined
  actor?: string | undefined
  userIid?: string | undefined
}

/** The most entries that one request reads, also if few of them match. */
const SCANNED = 5_000

// The inner query reads the newest entries by an index, and stops when the page is full.
const queries = (log: string, of: string) => ({
  page: `
    SELECT ${ENTRY.columns('newest')}
    FROM (SELECT * FROM ${log} WHERE ${of} AND id < ?2 AND id >= ?3
      ORDER BY id DESC LIMIT ${SCANNED}) newest
    WHERE (kind = ?5 OR ?5 IS NULL AND (kind <> 'test_clock' OR ?8 IS NOT NULL))
      AND (?6 IS NULL OR key = ?6) AND (?7 IS NULL OR key_id = ?7 OR key_name = ?7)
      AND (?8 IS NULL OR id = ?8)
    ORDER BY id DESC LIMIT ?9`,
  lastScanned: `
    SELECT id FROM ${log} WHERE ${of} AND id < ?2 AND id >= ?3 ORDER BY id DESC
    LIMIT 1 OFFSET ${SCANNED - 1}`,
})
const OF_LOG = queries('audit_log', 'tenant_id = ?1 AND ?4 IS NULL')
const OF_USER = queries('audit_log INDEXED BY audit_log_by_user', 'tenant_id = ?1 AND user_iid = ?4')

const NEWEST = '~'

/**
 * A page of the scope's audit log, newest first: entries with ids before `before`, not older than `oldest`.
 * `next` is the `before` of the next page; null if there are no more. If few entries match, a page may be
 * short and still have a next one, because a request reads a limited number of entries.
 */
export async function auditPage(scope: AccountScope, wanted: Wanted, place: Place): Promise<Page> {
  const { databases, auditLog: log, db } = scope
  // The log of the account is in the first database. That of a tenant is in all of them: each change of users
  // is noted in the batch that made it.
  if (log === LOG_OF_ACCOUNT) return pageIn(db, log, wanted, place)
  const asked = await databases.usersOf(log).askAll(async (its, name) => ({
    name,
    page: await pageIn(its, log, wanted, place),
  }))
  const others = databases.names.filter((name) => !asked.some((one) => one.name === name))
  const rest = await Promise.all(others.map((name) => pageIn(databases.named(name), log, wanted, place)))
  return mergedPage([...asked.map(({ page }) => page), ...rest], place.limit)
}

/** The page of several databases. Each one has all its entries down to its own `next`. */
function mergedPage(pages: readonly Page[], limit: number): Page {
  const ends = pages.flatMap(({ next }) => next ?? [])
  const end = ends.toSorted().at(-1) ?? null
  // An entry may be in two databases while its user is moved.
  const entries = new Map(pages.flatMap((page) => page.entries.map((entry) => [entry.id, entry])))
  const inOrder = [...entries.values()]
    .filter(({ id }) => end === null || id >= end)
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
  if (inOrder.length <= limit) return { entries: inOrder, next: end }
  const page = inOrder.slice(0, limit)
  return { entries: page, next: page.at(-1)?.id ?? null }
}

type Place = { before?: string | undefined; oldest: Instant; limit: number }
type Page = { entries: StoredEntry[]; next: string | null }

async function pageIn(
  db: AccountDatabase,
  log: string,
  { id, kind, key, actor, userIid }: Wanted,
  { before = NEWEST, oldest, limit }: Place,
): Promise<Page> {
  // A single entry is the first one that is read.
  const from = [
    log,
    id === undefined ? before : `${id}${NEWEST}`,
    firstIdAt(oldest),
    userIid ?? null,
  ] as const
  const filters = [kind ?? null, key ?? null, actor ?? null, id ?? null] as const
  const { page: pageOf, lastScanned } = userIid === undefined ? OF_LOG : OF_USER
  const entries = await db.list(StoredEntry, pageOf, ...from, ...filters, limit + 1)
  if (entries.length > limit) {
    const page = entries.slice(0, limit)
    return { entries: page, next: page.at(-1)?.id ?? null }
  }
  if (id !== undefined) return { entries, next: null }
  const last = await db.find(z.object({ id: z.string() }), lastScanned, ...from)
  return { entries, next: last?.id ?? null }
}

const MOST_DELETED = 1_000

// The recursion goes from log to log by the table's key, so the number of entries does not matter.
const DELETE_OUTDATED = `
  WITH RECURSIVE owner(tenant) AS (
    SELECT min(tenant_id) FROM audit_log
    UNION ALL SELECT (SELECT min(a.tenant_id) FROM audit_log a WHERE a.tenant_id > tenant) FROM owner
      WHERE tenant IS NOT NULL)
  DELETE FROM audit_log WHERE (tenant_id, id) IN (
    SELECT a.tenant_id, a.id FROM owner CROSS JOIN audit_log a ON a.tenant_id = tenant AND a.id < ?1
    LIMIT ${MOST_DELETED})`

/** Deletes entries from before a moment, of all logs: 1,000 at most. */
export async function deleteEntriesBefore(db: AccountDatabase, at: Instant): Promise<void> {
  await db.run(db.statement(DELETE_OUTDATED, firstIdAt(at)))
}

/** The moment before which entries are no longer shown, and are deleted (Z1). */
export const oldestKept = (now: Instant): Instant => instant(Math.max(0, now - AUDIT_LOG_DAYS * DAY))

/** Deletes a part of the entries that are older than a year (Z1). The cron trigger calls it. */
export async function deleteOutdatedEntries(context: Context): Promise<void> {
  const now = (await readTestClock(context.db)) ?? systemNow()
  const { databases } = context
  const results = await Promise.allSettled(
    databases.names.map((name) => deleteEntriesBefore(databases.named(name), oldestKept(now))),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/**
 * Stores an entry before something is done that is not in D1 (Z1). Throws 404 if the tenant is not active any more.
 */
export async function noteAhead(scope: Scope, entry: AuditEntry): Promise<void> {
  const statements = [tenantActive(scope.db), ...auditEntries(scope, [entry])]
  if ((await scope.db.batch(statements).catch(nullIfConflict)) === null) throw errors.tenantUnknown()
}
