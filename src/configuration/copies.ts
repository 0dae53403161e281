import { getTableName } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { tenants } from '../access/tenants.sql.ts'
import { packed } from '../lib/packed'
import { columnsOf, json, quoted, updates } from '../platform/columns'
import { type AccountDatabase, DATABASE_NOW, type Statement } from '../platform/database'
import { DOUBT, DOUBTED, fillDeletedKeys, settleClock } from '../platform/databases/copies'
import type { Databases } from '../platform/databases/databases'
import { EVERYWHERE } from '../platform/databases/everywhere'
import { guardSql, isConflict } from '../platform/guard'
import { WORK_EVERYWHERE } from '../time/due-work.sql.ts'
import {
  achievements,
  attributes,
  leaderboards,
  metrics,
  notificationTemplates,
  pointsBoosts,
  pointsLevels,
  pointsSystems,
  pointsTriggers,
  triggerVersions,
  webhooks,
} from './tables.sql.ts'

/* The tables of the configuration that each database copies (B4), and their statements. */

/** The copied tables, with all columns but those of boosts and tenants below. A test looks for others. */
const COPIED = [
  attributes,
  metrics,
  pointsSystems,
  pointsLevels,
  pointsTriggers,
  achievements,
  leaderboards,
  webhooks,
  notificationTemplates,
  pointsBoosts,
]
/** Each database numbers its own boosts. Those of one user are not copied, since they are the user's. */
const OF_BOOSTS = columnsOf(pointsBoosts, ['no', 'user_id', 'user_iid'])
/** The copied columns of the tenant's own row, the id first. The others say how far each database is. */
const OF_TENANT = columnsOf(tenants, ['is_copy', 'placement', 'changing', 'config_work'])
const OF_VERSIONS = columnsOf(triggerVersions)

const values = (columns: readonly SQLiteColumn[]) => columns.map((_, nth) => `value ->> ${nth}`).join(', ')

/** The statements of one copied table. Only names of the schema are joined. */
export const TABLES = COPIED.map((table) => {
  const name = getTableName(table)
  const isBoosts = table === pointsBoosts
  const columns = isBoosts ? OF_BOOSTS : columnsOf(table)
  const its = isBoosts ? 'tenant_id = ?1 AND user_iid IS NULL' : 'tenant_id = ?1'
  return {
    table: name,
    read: `SELECT id AS name, json_array(${quoted(columns)}) AS content FROM ${name} WHERE ${its} ORDER BY no`,
    remove: `DELETE FROM ${name} WHERE ${its} AND id IN (SELECT value FROM json_each(?2))`,
    insert: `INSERT INTO ${name} (${quoted(columns)}) SELECT ${values(columns)} FROM json_each(?1)${
      // A boost that has changed keeps its place in the order.
      isBoosts ? ` WHERE true ON CONFLICT (id) DO UPDATE SET ${updates(columns)}` : ''
    }`,
  }
})

const nthOfBoost = (column: SQLiteColumn) => OF_BOOSTS.indexOf(column)
const FREE_KEYS = `
  UPDATE points_boosts SET key = '~' || id WHERE tenant_id = ?1 AND deleted IS NULL
    AND (system_id, key) IN (SELECT value ->> ${nthOfBoost(pointsBoosts.systemId)},
      value ->> ${nthOfBoost(pointsBoosts.key)} FROM json_each(?2)
      WHERE value ->> ${nthOfBoost(pointsBoosts.deleted)} IS NULL)`

const VERSIONS = {
  read: `SELECT trigger_id || ':' || version AS name, json_array(${quoted(OF_VERSIONS)}) AS content
    FROM trigger_versions WHERE trigger_id IN (SELECT id FROM points_triggers WHERE tenant_id = ?1)`,
  insert: `INSERT OR IGNORE INTO trigger_versions (${quoted(OF_VERSIONS)})
    SELECT ${values(OF_VERSIONS)} FROM json_each(?1)`,
}

/*
 * Each database that holds users of a tenant has a copy of the tenant's configuration, so that an event needs
 * no other database. The first database decides. A change is prepared in each copy (`changing`), stored in
 * the first database, and then copied. While a copy is being changed, no batch about users is accepted there,
 * so no event counts by an older configuration after the change was answered (B4).
 */

const TENANT = `
  SELECT config_version AS version, status, changing, is_copy AS isCopy, config_work AS work,
    json_array(${quoted(OF_TENANT)}) AS content
  FROM tenants WHERE id = ?1`

const STORE_TENANT = `
  INSERT INTO tenants (${quoted(OF_TENANT)}, is_copy)
  SELECT ${values(OF_TENANT)}, 1 FROM json_each(?1) WHERE true
  ON CONFLICT (id) DO UPDATE SET ${updates(OF_TENANT.slice(1))}, is_copy = 1, changing = NULL`

// An older copy of another tenant may still have the name. It is compared with its original before it is
// used.
const FREE_NAME = `
  UPDATE tenants SET customer_id = id, changing = coalesce(changing, ${DOUBTED})
  WHERE customer_id = (SELECT value ->> ${OF_TENANT.indexOf(tenants.customerId)} FROM json_each(?2))
    AND id <> ?1 AND is_copy = 1`

/** A guard: holds while the copy is as it was read, and no change of the test clock is under way. */
const COPY_UNCHANGED = guardSql(`
  coalesce((SELECT config_version || ':' || coalesce(changing, '') FROM tenants WHERE id = ?1), '') = ?2
    AND NOT EXISTS (SELECT 1 FROM test_clock WHERE changing IS NOT NULL)`)

/** Releases a copy from a change that was not stored. */
export const WITHDRAW = `
  UPDATE tenants SET changing = NULL WHERE id = ?1 AND changing ->> '$.change' = ?2`
const FORGET = 'DELETE FROM tenants WHERE id = ?1 AND is_copy = 1'
const NOW = `SELECT ${DATABASE_NOW} AS now`

const Rows = z.array(z.object({ name: z.string(), content: z.string() }))
const Changing = json(z.object({ change: z.string(), until: z.number() }))
const OF_USERS = { ...EVERYWHERE, ...WORK_EVERYWHERE }
const isOfUsers = (name: string): name is keyof typeof OF_USERS => Object.hasOwn(OF_USERS, name)
const Work = json(z.array(z.object({ name: z.string().refine(isOfUsers), params: z.array(z.unknown()) })))
const TenantRow = z.object({
  version: z.number(),
  status: z.string(),
  changing: z.string().nullable(),
  isCopy: z.number(),
  work: z.string().nullable(),
  content: z.string(),
})
type Found = {
  tenant: z.infer<typeof TenantRow> | null
  tables: { name: string; content: string }[][]
  versions: { name: string; content: string }[]
  now: number
}

async function read(db: AccountDatabase, tenantId: string): Promise<Found> {
  const { tenant, tables, versions, now } = await db.batchOf({
    tenant: db.statement(TENANT, tenantId),
    tables: TABLES.map((table) => db.statement(table.read, tenantId)),
    versions: db.statement(VERSIONS.read, tenantId),
    now: db.statement(NOW),
  })
  const [row] = tenant.results
  return {
    tenant: row === undefined ? null : TenantRow.parse(row),
    tables: tables.map(({ results }) => Rows.parse(results)),
    versions: Rows.parse(versions.results),
    now: z.object({ now: z.number() }).parse(now.results[0]).now,
  }
}

/** The statements that make a copy the same as the original. */
function copying(tenantId: string, original: Found, copy: Found): Statement[] {
  const statements: Statement[] = []
  const removals: Statement[] = []
  for (const [index, { table, remove, insert }] of TABLES.entries()) {
    const wanted = original.tables[index] ?? []
    const present = new Map((copy.tables[index] ?? []).map(({ name, content }) => [name, content]))
    const changed = wanted.filter(({ name, content }) => present.get(name) !== content)
    const kept = new Set(wanted.map(({ name }) => name))
    const gone = [...present.keys()].filter((name) => !kept.has(name))
    const replaced = changed.map(({ name }) => name).filter((name) => present.has(name))
    const names = table === 'points_boosts' ? gone : [...gone, ...replaced]
    // A boost may get the key that another one had, also a user's own.
    if (table === 'points_boosts')
      for (const list of packed(changed.map(({ content }) => content)))
        removals.push({ sql: FREE_KEYS, params: [tenantId, list] })
    if (names.length > 0) removals.push({ sql: remove, params: [tenantId, JSON.stringify(names)] })
    for (const list of packed(changed.map(({ content }) => content)))
      statements.push({ sql: insert, params: [list] })
  }
  const known = new Set(copy.versions.map(({ name }) => name))
  const missing = original.versions.filter(({ name }) => !known.has(name))
  for (const list of packed(missing.map(({ content }) => content)))
    statements.push({ sql: VERSIONS.insert, params: [list] })
  return [...removals, ...statements]
}

const stampOf = ({ tenant }: Found) => (tenant === null ? '' : `${tenant.version}:${tenant.changing ?? ''}`)

/**
 * Makes a database's copy of a tenant's configuration the same as the original, unless a change is under way
 * that may still be stored. `absent`: the first database has no such tenant (any more).
 */
export async function settleCopy(
  databases: Databases,
  tenantId: string,
  name: string,
): Promise<'settled' | 'changing' | 'absent'> {
  const copyDb = databases.named(name)
  if ((await settleClock(databases, name)) === 'changing') return 'changing'
  // The copy is read first. If it is being changed, the first database then says whether that was stored.
  const copy = await read(copyDb, tenantId)
  const original = await read(databases.first, tenantId)
  // A tenant that is being erased gets no new copy.
  if (original.tenant === null || (copy.tenant === null && original.tenant.status === 'purging')) {
    await copyDb.run(copyDb.statement(FORGET, tenantId))
    return 'absent'
  }
  const { tenant } = copy
  // Each database begins with a row of the only tenant of a deployment without tenants. It is no copy yet.
  const isCopy = tenant !== null && tenant.isCopy === 1
  if (isCopy && tenant.version === original.tenant.version) {
    if (tenant.changing === null) return 'settled'
    const { change, until } = Changing.parse(tenant.changing)
    if (original.now <= until) return 'changing'
    if (change !== DOUBT) {
      await copyDb.run(copyDb.statement(WITHDRAW, tenantId, change))
      return 'settled'
    }
  }
  // The copy may get its first users now.
  if (!isCopy) await fillDeletedKeys(databases.first, copyDb)
  // A new copy has no users yet, so there is no work on users to begin. A copy that has only been doubted has
  // begun it.
  const isOlder = isCopy && tenant.version !== original.tenant.version
  const work = !isOlder || original.tenant.work === null ? [] : Work.parse(original.tenant.work)
  try {
    await copyDb.batch([
      copyDb.statement(COPY_UNCHANGED, tenantId, stampOf(copy)),
      ...copying(tenantId, original, copy),
      copyDb.statement(FREE_NAME, tenantId, `[${original.tenant.content}]`),
      copyDb.statement(STORE_TENANT, `[${original.tenant.content}]`),
      ...work.map(({ name, params }) => ({ sql: OF_USERS[name], params })),
    ])
    return 'settled'
  } catch (error) {
    // Another request has changed the copy meanwhile.
    if (isConflict(error)) return 'changing'
    throw error
  }
}
