import { getTableName } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { DOUBT, DOUBTED, settleClock } from '../access/clock.sql.ts'
import { fillDeletedKeys } from '../access/deleted-keys'
import { tenants } from '../access/tenants.sql.ts'
import { errors } from '../lib/errors'
import { packed } from '../lib/packed'
import { systemNow } from '../lib/system-clock'
import { columnsOf, json, quoted, updates } from '../platform/columns'
import { type AccountDatabase, DATABASE_NOW, type Statement, statement } from '../platform/database'
import type { Databases } from '../platform/databases/databases'
import { FIRST, toldOfChanges } from '../platform/databases/directory'
import { changeEverywhere, EVERYWHERE, type Expected, prepareEach } from '../platform/databases/everywhere'
import { guardSql, isConflict, nullIfConflict } from '../platform/guard'
import { WORK_EVERYWHERE } from '../time/due-work.sql.ts'
import {
  LISTS,
  pointsBoosts,
  pointsLevels,
  pointsSystems,
  pointsTriggers,
  triggerVersions,
} from './tables.sql.ts'

/* The tables of the configuration that each database copies (B4), and their statements. */

/** The copied tables, with all columns but those of boosts and tenants below. A test looks for others. */
const COPIED = [...Object.values(LISTS), pointsSystems, pointsLevels, pointsTriggers, pointsBoosts]
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

const WITHDRAW = `
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
    const lists = packed(changed.map(({ content }) => content))
    // A boost may get the key that another one had, also a user's own.
    if (table === 'points_boosts') removals.push(...lists.map((list) => statement(FREE_KEYS, tenantId, list)))
    if (names.length > 0) removals.push(statement(remove, tenantId, JSON.stringify(names)))
    statements.push(...lists.map((list) => statement(insert, list)))
  }
  const known = new Set(copy.versions.map(({ name }) => name))
  const missing = original.versions.filter(({ name }) => !known.has(name))
  const versions = packed(missing.map(({ content }) => content))
  return [...removals, ...statements, ...versions.map((list) => statement(VERSIONS.insert, list))]
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
  const statements = [
    copyDb.statement(COPY_UNCHANGED, tenantId, stampOf(copy)),
    ...copying(tenantId, original, copy),
    copyDb.statement(FREE_NAME, tenantId, `[${original.tenant.content}]`),
    copyDb.statement(STORE_TENANT, `[${original.tenant.content}]`),
    ...work.map(({ name, params }) => ({ sql: OF_USERS[name], params })),
  ]
  // After a conflict, another request has changed the copy meanwhile.
  return (await copyDb.batch(statements).catch(nullIfConflict)) === null ? 'changing' : 'settled'
}

/** How long a change may take from its preparation to its commit, in ms. After that it can't commit. */
const LIFETIME = 5_000

const PREPARE = `
  UPDATE tenants SET changing = json_object('change', ?2, 'until', ?3)
  WHERE id = ?1 AND changing IS NULL AND config_version = ?4`
const STILL_PREPARED = guardSql(`
  ${DATABASE_NOW} < ?2 AND coalesce((SELECT version FROM directory WHERE tenant_id = ?1), 0) = ?3
    AND (SELECT moving FROM directory WHERE tenant_id = ?1) IS ?4`)
const NOTE_WORK = 'UPDATE tenants SET config_work = ?2 WHERE id = ?1'
const FORGET_WORK = 'UPDATE tenants SET config_work = NULL WHERE id = ?1 AND config_change = ?2'

// The index `tenants_with_work` has only these tenants. In random order, so that one that waits for a
// database keeps none from its turn.
const UNFINISHED = `
  SELECT id, config_change AS change FROM tenants WHERE config_work IS NOT NULL ORDER BY random() LIMIT 20`
const Unfinished = z.object({ id: z.string(), change: z.string() })

type Prepared = Expected & {
  /**
   * Guards of the batch that stores the change: its time is not over, and the directory is the one by which
   * it was prepared. Until then, no copy stops expecting it.
   */
  guards: Statement[]
  /** Notes the work on users that the change begins, for the copies. Part of the same batch. */
  noting(statements: readonly Statement[]): Statement[]
}

/** A change that no copy has to expect. */
export const NOTHING_TO_PREPARE: Prepared = {
  guards: [],
  noting: () => [],
  finish: async () => undefined,
  withdraw: async () => undefined,
}

/** A change to prepare: its random name, the version that it replaces, and its statements. */
type Change = { change: string; version: number; statements?: readonly Statement[] }

/**
 * Prepares a change of a tenant's configuration in every database that holds users, and in the one to which
 * users are moving, so that no event counts there until the change is stored or withdrawn (B4). If some of
 * its statements are guards of work on users, they must hold in each copy. They are checked in the batch that
 * prepares it, so no such work goes on after that. Null if a guard does not hold, or if another change is
 * under way. Throws 503 if a database can't be reached: then the change takes effect nowhere. With one
 * database it does nothing.
 */
export async function prepareCopies(
  databases: Databases,
  tenantId: string,
  { change, version, statements = [] }: Change,
): Promise<Prepared | null> {
  if (databases.others.length === 0) return NOTHING_TO_PREPARE
  const told = await toldOfChanges(databases.first, tenantId)
  const names = told.names.filter((name) => name !== FIRST)
  const until = systemNow() + LIFETIME
  const withdraw = async () => {
    const withdrawal = statement(WITHDRAW, tenantId, change)
    await Promise.allSettled(names.map((name) => databases.named(name).run(withdrawal)))
    // If the directory has changed, the next attempt needs the new one.
    databases.forget(tenantId)
  }
  const guards = statements.filter(({ isForUsers }) => isForUsers)
  const preparing = (name: string) => prepare(databases, tenantId, name, { change, version, until, guards })
  if ((await prepareEach(names, preparing, withdraw)) === null) return null
  let hasWork = false
  return {
    guards: [statement(STILL_PREPARED, tenantId, until, told.version, told.moving)],
    noting: (all) => {
      const work = all.flatMap(({ everywhere: name, params }) =>
        name === undefined ? [] : [{ name, params }],
      )
      hasWork = work.length > 0
      return [statement(NOTE_WORK, tenantId, hasWork ? JSON.stringify(work) : null)]
    },
    finish: async () => {
      const isFinished = await settleCopies(databases, tenantId, names)
      // If this fails, the cron trigger repeats it.
      if (hasWork && isFinished) await forgetWork(databases, tenantId, change).catch(() => undefined)
    },
    withdraw,
  }
}

async function settleCopies(databases: Databases, tenantId: string, names: readonly string[]) {
  const states = await Promise.allSettled(names.map((name) => settleCopy(databases, tenantId, name)))
  return states.every((state) => state.status === 'fulfilled' && state.value === 'settled')
}

/** Forgets the work that a change begins. It may name users, so it is kept only while needed (U8). */
const forgetWork = (databases: Databases, tenantId: string, change: string) =>
  databases.first.run(statement(FORGET_WORK, tenantId, change))

/**
 * Finishes changes of configurations whose Worker has ended after they were stored: each copy begins the work
 * on users, even if no request needs the copy. The cron trigger calls it. A change that needs a database that
 * can't be reached waits.
 */
export async function finishChanges(databases: Databases): Promise<void> {
  const { first } = databases
  for (const { id, change } of await first.list(Unfinished, UNFINISHED)) {
    if (!databases.hasRoom()) return
    const { names } = await toldOfChanges(first, id)
    const copies = names.filter((name) => name !== FIRST)
    if (await settleCopies(databases, id, copies)) await forgetWork(databases, id, change)
  }
}

/** Makes a copy expect the change. Null if another one is under way, or if a guard fails. */
async function prepare(
  databases: Databases,
  tenantId: string,
  name: string,
  { change, version, until, guards }: Change & { until: number; guards: readonly Statement[] },
): Promise<true | null> {
  const db = databases.named(name)
  const attempt = async () => {
    const prepared = db.statement(PREPARE, tenantId, change, until, version)
    return (await db.batchOf({ guards, prepared })).prepared.meta.changes > 0
  }
  try {
    if (await attempt()) return true
    // The copy may be behind, or not exist yet.
    const isSettled = (await settleCopy(databases, tenantId, name)) === 'settled'
    return isSettled && (await attempt()) ? true : null
  } catch (error) {
    if (isConflict(error)) return null
    throw error
  }
}

const PRESENT_VERSIONS = `
  SELECT t.id, t.config_version AS version
  FROM json_each(?1) asked CROSS JOIN tenants t ON t.id = asked.value`
const Version = z.object({ id: z.string(), version: z.number() })
const VERSIONS_UNCHANGED = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?1) asked WHERE NOT EXISTS (
    SELECT 1 FROM tenants WHERE id = asked.value ->> 'id' AND config_version = asked.value ->> 'version'))`)
const RAISE = `
  UPDATE tenants SET config_version = config_version + 1, config_change = ?2
  WHERE id IN (SELECT value ->> 'id' FROM json_each(?1))`
const LAST_CHANGE = 'SELECT 1 FROM tenants WHERE id = ?1 AND config_change = ?2'

/** Whether a change, by its random name, is the last one that a tenant's row in the first database has seen. */
export async function wasChangedBy(databases: Databases, tenantId: string, change: string): Promise<boolean> {
  const { first } = databases
  return (await first.rows(first.statement(LAST_CHANGE, tenantId, change))).length > 0
}

/** Statements around a change of tenants' own rows: `before` are guards, and `after` raises the versions. */
export type AroundChange = { before: readonly Statement[]; after: readonly Statement[] }

/** Pauses grow with the tries, since two changes of many tenants may collide more than once. */
const MOST_PAUSES = 20

/**
 * Changes tenants' own rows, such as their status, in the first database, and then in each copy, by the same
 * rule as the configuration (B4). `change` sends one batch for all of them, with these statements around it.
 * Throws 503 if a database of one of them can't be reached: then nothing is changed. With one database it
 * only calls `change`.
 */
export async function changeTenants<T>(
  databases: Databases,
  tenantIds: readonly string[],
  change: (around: AroundChange) => Promise<T>,
): Promise<T> {
  if (databases.others.length === 0) return change({ before: [], after: [] })
  const { first } = databases
  const begin = async () => {
    const asked = JSON.stringify([...new Set(tenantIds)])
    const tenants = await first.list(Version, PRESENT_VERSIONS, asked)
    const [one] = tenants
    if (one === undefined) return { ...NOTHING_TO_PREPARE, store: () => change({ before: [], after: [] }) }
    const name = crypto.randomUUID()
    const all = await prepareTenants(databases, tenants, name)
    if (all === null) return null
    const list = JSON.stringify(tenants)
    const around = {
      before: [first.statement(VERSIONS_UNCHANGED, list), ...all.flatMap(({ guards }) => guards)],
      after: [...all.flatMap(({ noting }) => noting([])), first.statement(RAISE, list, name)],
    }
    return {
      store: () => change(around),
      finish: () => Promise.all(all.map(({ finish }) => finish())),
      withdraw: () => withdrawAll(all),
      isStored: () => wasChangedBy(databases, one.id, name),
    }
  }
  const kept = 'The tenants kept changing while this change was made. Send it again.'
  return changeEverywhere(begin, () => errors.unprocessable(kept), MOST_PAUSES)
}

/** Prepares one change of several tenants, like `prepareCopies`. Without success, no copy expects it. */
function prepareTenants(
  databases: Databases,
  tenants: readonly z.infer<typeof Version>[],
  change: string,
): Promise<Prepared[] | null> {
  const sorted = tenants.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const preparing = ({ id, version }: (typeof tenants)[number]) =>
    prepareCopies(databases, id, { change, version })
  return prepareEach(sorted, preparing, withdrawAll)
}

const withdrawAll = (all: readonly Prepared[]) => Promise.all(all.map(({ withdraw }) => withdraw()))
