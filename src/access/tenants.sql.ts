import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { BoundedMap } from '../lib/bounded'
import type { Instant } from '../lib/clock'
import { json, Moment, readingOf } from '../platform/columns'
import { perInstance, type Tenant } from '../platform/context'
import {
  type AccountDatabase,
  PLACEMENT,
  PLACEMENT_WITHOUT_TENANT,
  type Statement,
  type TenantDatabase,
} from '../platform/database'
import { placedOrRefused } from '../platform/databases/directory'
import { guardSql } from '../platform/guard'
import type { Credential } from './credentials'

/** The states of a tenant (T2, U8); `purging`: it is archived, and its data is being erased. */
export const TENANT_STATUSES = ['active', 'archived', 'purging'] as const

/** The name of the audit log of the account. Without multi-tenancy there is only one log (Z1). */
export const LOG_OF_ACCOUNT = ''

/** Tenants, with their settings. With multi-tenancy off, there is only the implicit tenant. */
export const tenants = sqliteTable(
  'tenants',
  {
    id: text('id').primaryKey(),
    /** The customer's own identifier, as in `Tenant-ID` (T2). It is free again if the tenant is archived. */
    customerId: text('customer_id').notNull(),
    name: text('name').notNull(),
    status: text('status', { enum: TENANT_STATUSES }).notNull().default('active'),
    /** Counts the changes to the tenant's configuration; 0 means that nothing was ever configured. */
    configVersion: integer('config_version').notNull().default(0),
    /** The random name of the last change that raised it, by which a change without an answer finds out. */
    configChange: text('config_change'),
    /** JSON: the settings, see `Settings`; null if they were never set. */
    settings: text('settings'),
    /** JSON: the streak settings, see `StreakSettings`; null if they were never set. */
    streaks: text('streaks'),
    /** The secret that signs links in notifications (N3); null until the first template is made. */
    linkSecret: text('link_secret'),
    /** Whether this is a copy in a database that is not the first one (B4). */
    isCopy: integer('is_copy').notNull().default(0),
    /** Counts the changes of the buckets held here (B3). A batch by an older directory is refused. */
    placement: integer('placement').notNull().default(0),
    /**
     * In a copy, JSON: the change of the configuration that it expects (`change`), and until when that may be
     * stored (`until`). While it is set, no batch about users is accepted. Else null (B4).
     */
    changing: text('changing'),
    /**
     * JSON: the work on users that the last change begins in the copies: names of statements, parameters.
     * Null if it begins none, and when all copies have begun it.
     */
    configWork: text('config_work'),
    created: integer('created').notNull(),
    updated: integer('updated').notNull(),
  },
  (table) => [
    uniqueIndex('tenants_by_customer').on(table.customerId).where(sql`status = 'active'`),
    index('tenants_with_work').on(table.id).where(sql`config_work IS NOT NULL`),
  ],
)

/**
 * Ids of tenants by their name in `Tenant-ID`, at most 10,000. A name may later belong to another tenant. So
 * D1 confirms each name that comes from this cache, in a read that is made anyway (T2).
 */
export const tenantNamesOf = perInstance(() => new BoundedMap<string, string>(10_000))

/** The only tenant if multi-tenancy is off (T1). The first migration makes it. */
export const IMPLICIT_TENANT_ID = '00000000-0000-7000-8000-000000000000'

/**
 * With multi-tenancy on, the implicit tenant counts as a tenant only if it was ever configured, or if it has
 * users. So data from before the switch stays within reach, and a new account has no tenant that nobody
 * created.
 */
const IS_KNOWN = `(tenants.id <> '${IMPLICIT_TENANT_ID}' OR config_version > 0
  OR EXISTS (SELECT 1 FROM users WHERE tenant_id = '${IMPLICIT_TENANT_ID}'))`

/** Whether a name is the tenant's UUID or the customer's own identifier of it (T2). */
export const isCalled = ({ id, customerId }: Tenant, name: string): boolean =>
  name === customerId || name.toLowerCase() === id

/** A request's snapshot, from one statement: the tenant, the clock, and the keys that still exist. */
export type RequestSnapshot = {
  /** Null if there is no such tenant, or it is not active (see `requestSnapshotStatement`). */
  tenant: Tenant | null
  clock: Instant | null
  /** The names of the given credentials whose keys or users exist (K2, K6). */
  present: ReadonlySet<string>
}

const REQUEST_SNAPSHOT = `
  SELECT ${placedOrRefused('t', '?6', '?7')} AS placed, CASE WHEN t.status = 'active' OR (?4
    AND t.status = 'archived') THEN t.id END AS id, t.customer_id, t.config_version,
    (SELECT now FROM test_clock WHERE ?3) AS clock,
    CASE WHEN t.is_copy = 1 THEN (SELECT json_group_array(p.value) FROM json_each(?2) p
      WHERE NOT EXISTS (SELECT 1 FROM deleted_keys d WHERE d.prefix = p.value))
    ELSE (SELECT json_group_array(k.prefix) FROM json_each(?2) p CROSS JOIN api_keys k
      ON k.prefix = p.value) END AS keys,
    (SELECT json_group_array(u.iid) FROM json_each(?5) p CROSS JOIN users u
      ON u.tenant_id = p.value ->> 0 AND u.id = p.value ->> 1 AND u.iid = p.value ->> 2) AS users
  FROM (SELECT 1) LEFT JOIN tenants t ON t.id = ?1`

const Names = json(z.array(z.string()))
const RequestSnapshotRow = z.object({
  id: z.string().nullable(),
  customer_id: z.string().nullable(),
  config_version: z.number().nullable(),
  clock: Moment.nullable(),
  keys: Names,
  users: Names,
})

/**
 * Reads a request's snapshot. It can be part of a batch, so that the clock, the keys and the users of tokens
 * cost no round trip (K2, K6, C1). The tenant must be active. With `archived`, it may also be archived (U8).
 * Databases that are not the first one have no keys: there, a key whose record was found exists unless it was
 * deleted.
 */
export function requestSnapshotStatement(
  db: AccountDatabase,
  tenantId: string,
  credentials: readonly Credential[],
  { archived }: { archived: boolean } = { archived: false },
): Statement {
  const prefixes = new Set(credentials.flatMap(({ prefix }) => prefix ?? []))
  const users = new Set(
    credentials.flatMap(({ user }) => (user ? JSON.stringify([user.tenantId, user.id, user.iid]) : [])),
  )
  const params = [
    tenantId,
    JSON.stringify([...prefixes]),
    db.testClock ? 1 : 0,
    archived ? 1 : 0,
    `[${[...users].join()}]`,
    PLACEMENT,
    PLACEMENT_WITHOUT_TENANT,
  ]
  return { sql: REQUEST_SNAPSHOT, params, isPlaced: true }
}

/** Parses the result of `requestSnapshotStatement`. */
export function parseRequestSnapshot(result: D1Result): RequestSnapshot {
  const row = RequestSnapshotRow.parse(result.results[0])
  const { id, customer_id: customerId, config_version: configVersion, clock } = row
  const isFound = id !== null && customerId !== null && configVersion !== null
  const tenant = isFound ? { id, customerId, configVersion } : null
  return { tenant, clock, present: new Set([...row.keys, ...row.users]) }
}

const ACTIVE = "SELECT 1 FROM tenants WHERE id = ?1 AND status = 'active'"

/** Whether the tenant exists and is active. */
export async function isActive(db: TenantDatabase): Promise<boolean> {
  return (await db.rows(db.statement(ACTIVE, db.tenantId))).length > 0
}

const ACTIVE_OR_CONFLICT = guardSql(`EXISTS (${ACTIVE})`)

/** A guard: holds while the tenant is active, so that nothing is stored for one that is being erased. */
export function tenantActive(db: TenantDatabase): Statement {
  return db.statement(ACTIVE_OR_CONFLICT, db.tenantId)
}

const EXISTS = 'SELECT 1 FROM tenants WHERE id = ?1'

/** Whether the tenant still has its row. Also true if it is archived or being erased. */
export async function exists(db: TenantDatabase): Promise<boolean> {
  return (await db.rows(db.statement(EXISTS, db.tenantId))).length > 0
}

const Id = z.object({ id: z.string() }).transform(({ id }) => id)

// A tenant's UUID wins over the same text as another tenant's identifier.
const NAMED = `
  SELECT id FROM tenants WHERE (id = lower(?1) OR customer_id = ?1) AND status = 'active' AND ${IS_KNOWN}
  ORDER BY id = lower(?1) DESC LIMIT 1`

/** The id of the active tenant with this UUID or identifier of the customer, or null (T2). */
export async function findTenantId(db: AccountDatabase, reference: string): Promise<string | null> {
  return (await db.find(Id, NAMED, reference)) ?? null
}

const NAMED_OR_ARCHIVED = `
  SELECT id, status FROM tenants WHERE (id = lower(?1) OR customer_id = ?1)
    AND status IN ('active', 'archived')
    AND ${IS_KNOWN}
  ORDER BY id = lower(?1) DESC, status = 'active' DESC LIMIT 2`

/**
 * The same, but it also finds an archived tenant (U8), if no active tenant has the name. Null if there is
 * none, or if several archived tenants had the customer's identifier: then only their UUIDs tell them apart.
 */
export async function findTenantIdOrArchived(db: AccountDatabase, reference: string): Promise<string | null> {
  const found = z.object({ id: z.string(), status: z.string() })
  const [first, second] = await db.list(found, NAMED_OR_ARCHIVED, reference)
  if (first === undefined) return null
  const isSure = first.id === reference.toLowerCase() || first.status === 'active' || second === undefined
  return isSure ? first.id : null
}

const TENANT = readingOf(tenants, ['id', 'customerId', 'name', 'status', 'created', 'updated'])
const COLUMNS = TENANT.columns('tenants')
const TenantRow = TENANT.row.extend({ created: Moment, updated: Moment })

/** A tenant, as admins manage it. */
export type TenantRow = z.output<typeof TenantRow>

const LIST = `SELECT ${COLUMNS} FROM tenants WHERE ${IS_KNOWN} ORDER BY tenants.rowid LIMIT ?1 OFFSET ?2`

/** A page of all tenants, oldest first (G7). */
export async function listTenants(
  db: AccountDatabase,
  { limit, skip }: { limit: number; skip: number },
): Promise<TenantRow[]> {
  return db.list(TenantRow, LIST, limit, skip)
}

const FIND = `
  SELECT ${COLUMNS} FROM json_each(?1) asked CROSS JOIN tenants ON tenants.id = asked.value AND ${IS_KNOWN}`

/** The existing tenants with these ids, archived or not. */
export async function findTenants(db: AccountDatabase, ids: readonly string[]): Promise<TenantRow[]> {
  return db.list(TenantRow, FIND, JSON.stringify(ids))
}

const INSERT = `
  INSERT INTO tenants (id, customer_id, name, created, updated)
  SELECT value ->> 0, value ->> 1, value ->> 2, ?2, ?2 FROM json_each(?1)
  WHERE NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = lower(value ->> 1))
  ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`

/** SQL: the tenant whose id is the subject of an entry of the audit log exists, or has this status. */
export const TENANT_EXISTS = 'EXISTS (SELECT 1 FROM tenants WHERE id = value ->> 0)'
export const TENANT_ACTIVE = "EXISTS (SELECT 1 FROM tenants WHERE id = value ->> 0 AND status = 'active')"
export const TENANT_ARCHIVED = "EXISTS (SELECT 1 FROM tenants WHERE id = value ->> 0 AND status = 'archived')"

/** Stores and returns the tenants with a free `customerId`. `after` are statements of the same change. */
export async function insertTenants(
  db: AccountDatabase,
  tenants: readonly Pick<TenantRow, 'id' | 'customerId' | 'name'>[],
  now: Instant,
  after: readonly Statement[],
): Promise<TenantRow[]> {
  const rows = tenants.map(({ id, customerId, name }) => [id, customerId, name])
  const { stored } = await db.batchOf({ stored: db.statement(INSERT, JSON.stringify(rows), now), after })
  return z.array(TenantRow).parse(stored.results)
}

const UPDATE = `
  UPDATE OR IGNORE tenants SET customer_id = coalesce(?2, customer_id), name = coalesce(?3, name),
    updated = CASE WHEN coalesce(?2, customer_id) = customer_id AND coalesce(?3, name) = name THEN updated
      ELSE ?4 END
  WHERE id = ?1 AND status = 'active' AND ${IS_KNOWN} AND NOT EXISTS (SELECT 1 FROM tenants t
    WHERE t.id = lower(?2) AND t.id <> ?1)
  RETURNING ${COLUMNS}`

/** The new values of a tenant's fields. Absent ones stay. */
export type TenantChange = { id: string; customerId?: string | undefined; name?: string | undefined }

/** The subject of an entry of the audit log about a change, for `TENANT_CHANGES`: the new values. */
export const changeSubject = ({ id, customerId, name }: TenantChange): string =>
  JSON.stringify([id, customerId ?? null, name ?? null])

const NEW_CUSTOMER = '(value ->> 0 ->> 1)'
const NEW_NAME = '(value ->> 0 ->> 2)'
const ITSELF = 'FROM tenants t WHERE t.id = value ->> 0 ->> 0'

/** SQL: the change in the subject of an entry, made next, changes its tenant. */
export const TENANT_CHANGES = `EXISTS (SELECT 1 ${ITSELF} AND t.status = 'active'
  AND (coalesce(${NEW_CUSTOMER}, t.customer_id) <> t.customer_id OR coalesce(${NEW_NAME}, t.name) <> t.name)
  AND NOT EXISTS (SELECT 1 FROM tenants o WHERE o.id <> t.id AND (o.id = lower(${NEW_CUSTOMER})
    OR (o.customer_id = ${NEW_CUSTOMER} AND o.status = 'active'))))` as const

/** SQL: the fields that this change changes, before and after, as JSON. */
export const TENANT_FIELDS = `(SELECT json_patch(
  CASE WHEN ${NEW_CUSTOMER} <> t.customer_id THEN json_object('customerId',
    json_object('before', t.customer_id, 'after', ${NEW_CUSTOMER})) ELSE '{}' END,
  CASE WHEN ${NEW_NAME} <> t.name THEN json_object('name',
    json_object('before', t.name, 'after', ${NEW_NAME})) ELSE '{}' END) ${ITSELF})` as const

/**
 * Changes active tenants one after another, all or none. The result is null for a tenant that is not active,
 * or if its new `customerId` is in use. Before each change come the statements that belong to it. `around`
 * are statements before and after all of them.
 */
export async function updateTenants(
  db: AccountDatabase,
  changes: readonly (TenantChange & { before: readonly Statement[] })[],
  now: Instant,
  around: { before: readonly Statement[]; after: readonly Statement[] },
): Promise<(TenantRow | null)[]> {
  const results = await db.batchOf({
    first: around.before,
    ...Object.fromEntries(
      changes.flatMap(({ id, customerId = null, name = null, before }, index) => [
        [`before ${index}`, before],
        [`stored ${index}`, db.statement(UPDATE, id, customerId, name, now)],
      ]),
    ),
    last: around.after,
  })
  return changes.map((_, index) => {
    const stored = results[`stored ${index}`]
    const [row] = stored === undefined || Array.isArray(stored) ? [] : stored.results
    return row === undefined ? null : TenantRow.parse(row)
  })
}

const ARCHIVE = `
  UPDATE tenants SET status = 'archived', updated = ?2
  WHERE id IN (SELECT value FROM json_each(?1)) AND status = 'active' AND id <> ?3 RETURNING id`

/** Archives tenants. Returns the ids of those that were active. The statements belong to the change. */
export async function archiveTenants(
  db: AccountDatabase,
  ids: readonly string[],
  now: Instant,
  before: readonly Statement[],
  after: readonly Statement[],
): Promise<string[]> {
  const { archived } = await db.batchOf({
    before,
    archived: db.statement(ARCHIVE, JSON.stringify(ids), now, IMPLICIT_TENANT_ID),
    after,
  })
  return z.array(Id).parse(archived.results)
}
