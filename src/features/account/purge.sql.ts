import * as z from 'zod'
import type { AroundChange } from '../../configuration/copies'
import type { Instant } from '../../lib/clock'
import type { Statement, TenantDatabase } from '../../platform/database'
import { guardSql } from '../../platform/guard'
import { type PurgedApart, tablesPurgedIn } from '../../store/user-data/register'
import { nothingElseDue, removeWork, schedule } from '../../time/due-work.sql.ts'

const ACCEPT = `
  UPDATE tenants SET status = 'purging', config_version = config_version + 1, link_secret = NULL
  WHERE id = ?1 AND status = 'archived'`
/** The log of the account keeps its entries about the tenant, by its id, but without what they say (Z1). */
const EMPTY_AUDIT = `
  UPDATE audit_log SET key = NULL, fields = '{}'
  WHERE tenant_id = '' AND kind = 'tenant' AND resource_id = ?1
    AND EXISTS (SELECT 1 FROM tenants WHERE id = ?1 AND status <> 'active')`
const EXISTS = 'SELECT 1 FROM tenants WHERE id = ?1'

const ARCHIVE = "UPDATE tenants SET status = 'archived' WHERE id = ?1 AND status = 'active'"

/** Archives a tenant that a restore has brought back, before it is erased again (M3). */
export const archive = (db: TenantDatabase): Statement => db.statement(ARCHIVE, db.tenantId)

/**
 * Begins to erase an archived tenant, in one batch. From now on no request finds the tenant, and no decision
 * based on its old configuration can be stored. The rest of the erasure is due. Returns whether there is such
 * a tenant. A second call changes nothing. `before` and `after` are statements that belong to the change.
 */
export async function acceptPurge(
  db: TenantDatabase,
  now: Instant,
  { before, after }: AroundChange,
): Promise<boolean> {
  const { exists } = await db.batchOf({
    before,
    audit: db.statement(EMPTY_AUDIT, db.tenantId),
    accepted: db.statement(ACCEPT, db.tenantId),
    due: schedule(db, 'purge', { at: now, on: 'once', during: 'purging' }),
    after,
    exists: db.statement(EXISTS, db.tenantId),
  })
  return exists.results.length > 0
}

/** Rows to delete at once: of tables with short rows, and with rows of one or two megabytes. */
const [SHORT, LONG] = [5_000, 100]

/** Statements of the tables that need one of their own (see the register). `time` has those of `due_work`. */
const APART: Record<Exclude<PurgedApart, 'due_work'>, string> = {
  api_keys: 'DELETE FROM api_keys WHERE prefix IN (SELECT value FROM json_each(?2)) AND +tenant_id = ?1',
  users: 'DELETE FROM users WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))',
  trigger_versions: `
  DELETE FROM trigger_versions WHERE (trigger_id, version) IN (
    SELECT v.trigger_id, v.version FROM points_triggers t CROSS JOIN trigger_versions v ON v.trigger_id = t.id
    WHERE t.no > ?2 AND t.no <= ?3 AND t.tenant_id = ?1 LIMIT ${SHORT})`,
  directory: 'DELETE FROM directory WHERE tenant_id = ?1',
  tenants: "DELETE FROM tenants WHERE id = ?1 AND status = 'purging'",
}

const KEYS = 'SELECT prefix FROM api_keys WHERE tenant_id = ?1 LIMIT ?2'

/** Prefixes of the tenant's keys, at most `limit`. */
export async function keysOf(db: TenantDatabase, limit: number): Promise<string[]> {
  return (await db.list(z.object({ prefix: z.string() }), KEYS, db.tenantId, limit)).map((key) => key.prefix)
}

/** Deletes keys by their prefixes. */
export function removeKeys(db: TenantDatabase, prefixes: readonly string[]): Statement {
  return db.statement(APART.api_keys, db.tenantId, JSON.stringify(prefixes))
}

const USERS = 'SELECT id, iid FROM users WHERE tenant_id = ?1 ORDER BY id LIMIT ?2'

const User = z.object({ id: z.string(), iid: z.string() })

/** Users of the tenant, at most `limit`. */
export const usersOf = (db: TenantDatabase, limit: number) => db.list(User, USERS, db.tenantId, limit)

/** Deletes the users' own rows. */
export function removeUsers(db: TenantDatabase, ids: readonly string[]): Statement {
  return db.statement(APART.users, db.tenantId, JSON.stringify(ids))
}

/** By table: the statement that deletes some rows by primary key, and how many at once. */
const ROWS_OF_TENANT = tablesPurgedIn('rows').map(({ name, key, isLong }) => {
  const rows = isLong ? LONG : SHORT
  const columns = key.join(', ')
  return {
    name,
    rows,
    sql: `DELETE FROM ${name} WHERE (${columns}) IN (SELECT ${columns} FROM ${name} WHERE tenant_id = ?1 LIMIT ${rows})`,
  }
})

/** Deletes the next rows of all tables found by the tenant. Returns whether these were the last ones. */
export async function removeTenantRows(db: TenantDatabase): Promise<boolean> {
  const results = await db.batch([
    removeWork(db, ['purge', 'erasure'], SHORT),
    ...ROWS_OF_TENANT.map(({ sql }) => db.statement(sql, db.tenantId)),
  ])
  const most = [SHORT, ...ROWS_OF_TENANT.map(({ rows }) => rows)]
  return results.every(({ meta }, index) => meta.changes < (most[index] ?? 0))
}

/** Rows of the configuration to read at once. No index finds deleted ones, and a tenant has few. */
const WALK = 10_000

/** By table: the statements that walk over the rows of all tenants, and delete the tenant's. */
const CONFIGURATION = tablesPurgedIn('configuration').map(({ name }) => ({
  name,
  walk: `
  SELECT max(no) AS last, count(*) AS count FROM (SELECT no FROM ${name} WHERE no > ?1 ORDER BY no
    LIMIT ${WALK})`,
  remove: `DELETE FROM ${name} WHERE no > ?2 AND no <= ?3 AND tenant_id = ?1`,
}))

/** How far the configuration is removed: index of the table, and number of the last row that was read. */
export type Walked = { table: number; no: number }

const Walk = z.object({ last: z.number().nullable(), count: z.number() })

/** Deletes the tenant's among the next rows of the configuration. Returns the progress; null at the end. */
export async function removeConfiguration(db: TenantDatabase, from: Walked): Promise<Walked | null> {
  let { table, no } = from
  for (let walked = 0; walked < WALK; ) {
    const present = CONFIGURATION[table]
    if (present === undefined) return null
    const { last, count } = await db.one(Walk, present.walk, no)
    if (last !== null) {
      const range = [db.tenantId, no, last] as const
      if (present.name === 'points_triggers' && !(await removeVersions(db, range))) return { table, no }
      await db.batch([db.statement(present.remove, ...range)])
    }
    walked += count
    if (last === null || count < WALK) [table, no] = [table + 1, 0]
    else no = last
  }
  return { table, no }
}

async function removeVersions(
  db: TenantDatabase,
  range: readonly [tenantId: string, after: number, to: number],
): Promise<boolean> {
  const versions = await db.run(db.statement(APART.trigger_versions, ...range))
  return versions.meta.changes < SHORT
}

const isAny = (table: string) => `EXISTS (SELECT 1 FROM ${table} WHERE tenant_id = ?1)`
const LEFT = ['users', 'api_keys', ...ROWS_OF_TENANT.map(({ name }) => name)].map(isAny).join(' OR ')
const NOTHING_LEFT = guardSql(`NOT (${LEFT})`)

/** Deletes the tenant itself, and the work of erasing it. A conflict if rows arrived meanwhile. */
export async function removeTenant(db: TenantDatabase): Promise<void> {
  await db.batch([
    db.statement(NOTHING_LEFT, db.tenantId),
    nothingElseDue(db, 'purge'),
    removeWork(db, [], SHORT),
    db.statement(APART.directory, db.tenantId),
    db.statement(APART.tenants, db.tenantId),
  ])
}

const REMOVE_COPY = 'DELETE FROM tenants WHERE id = ?1 AND is_copy = 1'

/** Deletes the tenant's copy in a further database. A conflict if rows arrived meanwhile. */
export async function removeCopy(db: TenantDatabase): Promise<void> {
  await db.batch([
    db.statement(NOTHING_LEFT, db.tenantId),
    removeWork(db, [], SHORT),
    db.statement(REMOVE_COPY, db.tenantId),
  ])
}
