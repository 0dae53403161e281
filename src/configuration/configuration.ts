import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { parseRequestSnapshot, requestSnapshotStatement } from '../access/tenants.sql.ts'
import { BoundedMap } from '../lib/bounded'
import type { Instant } from '../lib/clock'
import { errors } from '../lib/errors'
import { HIDDEN_COLUMNS, type Living, schemaOf } from '../platform/columns'
import { Instance, perInstance, type Scope, type TenantContext } from '../platform/context'
import type { Statement, TenantDatabase } from '../platform/database'
import { FIRST } from '../platform/databases/directory'
import { changeEverywhere } from '../platform/databases/everywhere'
import { configurationUnchanged, nullIfConflict, usersUnchanged } from '../platform/guard'
import type { Work } from '../time/due-work.sql.ts'
import { ensureAlarm } from '../time/timekeeper'
import type { AuditEntry } from './audit.rules'
import { auditEntries, isNoted } from './audit.sql.ts'
import { NOTHING_TO_PREPARE, prepareCopies, settleCopy, wasChangedBy } from './copies'
import { type Configuration, type Lists, storedSettings } from './model'
import { LISTS, pointsBoosts, pointsLevels, pointsSystems, pointsTriggers, UNREAD } from './tables.sql.ts'

/** Configurations by tenant id, at most 100; each is used only after D1 has confirmed its version. */
const configurationsOf = perInstance(() => new BoundedMap<string, Configuration>(100))

/** How the resources of a table that are not deleted are read. */
type Reading<R> = {
  /** The list of the columns of a SELECT, named as in `row`. */
  columns: string
  row: z.ZodObject<{ [Name in keyof R]: z.ZodType<R[Name]> }>
  /** The SQL of a JSON object that `row` parses; `called` is the name of the table in the query. */
  object: (called: string) => string
  /** The query of all resources of a tenant that are not deleted, in order of creation. */
  all: string
  parse: (result: D1Result) => R[]
}

/** Reads all columns of a table that a configuration has. The schemas are made from the table. */
function reading<T extends SQLiteTable>(table: T): Reading<Omit<Living<T>, (typeof UNREAD)[number]>>
function reading(table: SQLiteTable): Reading<Record<string, unknown>> {
  const unread = new Set<string>([...HIDDEN_COLUMNS, ...UNREAD])
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => !unread.has(name))
  const selected = columns.map(([name, column]) => `"${column.name}" AS "${name}"`).join(', ')
  const row = z.object(Object.fromEntries(columns.map(([name, column]) => [name, schemaOf(column)])))
  const rows = z.array(row)
  return {
    columns: selected,
    row,
    object: (called) =>
      `json_object(${columns.map(([name, column]) => `'${name}', ${called}."${column.name}"`).join(', ')})`,
    all: `SELECT ${selected} FROM ${getTableName(table)} WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
    parse: ({ results }) => rows.parse(results),
  }
}

const TenantRow = z.object({
  version: z.number(),
  epoch: z.number(),
  ...storedSettings,
})
const Systems = reading(pointsSystems)
const Levels = reading(pointsLevels)
const Triggers = reading(pointsTriggers)
const Boosts = reading(pointsBoosts)
const ALL_LISTS = Object.entries(LISTS).map(([name, table]) => ({ name, ...reading<SQLiteTable>(table) }))

/** The lists of a configuration from the results of their queries. */
function listsFrom(results: readonly D1Result[]): Lists
function listsFrom(results: readonly D1Result[]): object {
  return Object.fromEntries(ALL_LISTS.map(({ name, parse }, n) => [name, results[n] && parse(results[n])]))
}

/** The row of a boost: for everyone, or of one user. */
export const BoostRow = Boosts.row

/** The columns that make a `BoostRow`. */
export const BOOST_COLUMNS = Boosts.columns

/** The SQL of the boosts `b` as a JSON list. `BoostRow` parses its items. */
export const BOOST_LIST = `json_group_array(${Boosts.object('b')})`

const TENANT = `
  SELECT config_version AS version, (SELECT epoch FROM restores) AS epoch, settings, streaks
  FROM tenants WHERE id = ?1`
const BOOSTS_OF_ALL = `
  SELECT ${BOOST_COLUMNS} FROM points_boosts
  WHERE tenant_id = ?1 AND user_iid IS NULL AND deleted IS NULL ORDER BY no`

type ConfigurationSource = { db: TenantDatabase; instance: Instance }

/** Reads and remembers a tenant's configuration, in one round trip. Throws 404 if the tenant is gone. */
export async function loadConfiguration(source: ConfigurationSource): Promise<Configuration> {
  const { db } = source
  const { tenantId } = db
  const found = await db.batchOf({
    tenant: db.statement(TENANT, tenantId),
    systems: db.statement(Systems.all, tenantId),
    levels: db.statement(Levels.all, tenantId),
    triggers: db.statement(Triggers.all, tenantId),
    boosts: db.statement(BOOSTS_OF_ALL, tenantId),
    lists: ALL_LISTS.map(({ all }) => db.statement(all, tenantId)),
  })
  const [row] = found.tenant.results
  if (row === undefined) throw errors.tenantUnknown()
  const { version, epoch, settings, streaks } = TenantRow.parse(row)
  const levels = Levels.parse(found.levels)
  const triggers = Triggers.parse(found.triggers)
  const boosts = Boosts.parse(found.boosts)
  const config: Configuration = {
    tenantId,
    version,
    epoch,
    settings,
    streaks,
    ...listsFrom(found.lists),
    systems: Systems.parse(found.systems).map((system) => ({
      ...system,
      levels: levels.filter(({ systemId }) => systemId === system.id),
      triggers: triggers.filter(({ systemId }) => systemId === system.id),
      boosts: boosts.filter(({ systemId }) => systemId === system.id),
    })),
  }
  configurationsOf(source.instance).set(tenantId, config)
  return config
}

/** The configuration at this version or a later one: from memory, else from D1 in one round trip. */
export async function configurationAt(source: ConfigurationSource, version: number): Promise<Configuration> {
  const remembered = rememberedConfiguration(source)
  return remembered?.version === version ? remembered : loadConfiguration(source)
}

/** The configuration that this instance has in memory, at any version; undefined if it has none. */
export const rememberedConfiguration = ({ db, instance }: ConfigurationSource): Configuration | undefined =>
  configurationsOf(instance).get(db.tenantId)

/** A recent configuration: from memory, else from D1. A caller needs a guard that confirms its version. */
export async function recentConfiguration(source: ConfigurationSource): Promise<Configuration> {
  return rememberedConfiguration(source) ?? loadConfiguration(source)
}

/** The memory of an isolate or object that begins. Its databases keep copies of the configuration (B4). */
export const newInstance = () => new Instance(settleCopy)

/**
 * Does one step of due work in one guarded batch. `decide` makes the statements from the configuration. If
 * the step was already done, or if the configuration has changed, nothing is stored: the work is still due,
 * and is read again.
 */
export async function guardedStep(
  context: TenantContext,
  work: Pick<Work<unknown>, 'unchanged'>,
  decide: (config: Configuration) => Promise<readonly Statement[]>,
): Promise<void> {
  const { db } = context
  const config = await recentConfiguration(context)
  const guards = [configurationUnchanged(db, config.version), work.unchanged()]
  const stored = await db.batch([...guards, ...(await decide(config))]).catch(nullIfConflict)
  if (stored === null) await loadConfiguration(context)
}

type ReadUser = { id: string; iid: string; seq: number }

/** The result of deciding a change of the configuration. */
export type Decision<T> = {
  statements: readonly Statement[]
  /** Statements in the same batch that change no configuration, and so do not raise its version. */
  beside?: readonly Statement[]
  audit: readonly AuditEntry[]
  users?: readonly ReadUser[]
  /**
   * Further guards, for other data that must still be as the decision saw it. Those of work on users must
   * hold in each database (B4), the others in the first one.
   */
  guards?: readonly Statement[]
  result: T
}

/** The tenant's present configuration, as of the version that the request's first read has seen. */
export function configurationOf(scope: Scope): Promise<Configuration> {
  return configurationAt(scope, scope.tenant.configVersion)
}

/** The tenant's present configuration, for background work. It costs a round trip to read the version. */
export async function presentConfiguration(context: TenantContext): Promise<Configuration> {
  const { config } = await presentState(context)
  if (config === null) throw new Error('the tenant is gone')
  return config
}

/** The same with the time of the test clock, if set. Null if the tenant is not active (T3, C1). */
export async function presentState(
  context: TenantContext,
): Promise<{ config: Configuration | null; clock: Instant | null }> {
  const { db } = context
  const result = await db.run(requestSnapshotStatement(db, db.tenantId, []))
  const { tenant, clock } = parseRequestSnapshot(result)
  const config = tenant && (await configurationAt(context, tenant.configVersion))
  return { config, clock }
}

const RAISE_VERSION =
  'UPDATE tenants SET config_version = config_version + 1, config_change = ?2 WHERE id = ?1'

/** Raises the version in the batch that changes a configuration. Without a request, a change has no name. */
export function raiseVersion(db: TenantDatabase, change: string | null = null): Statement {
  return db.statement(RAISE_VERSION, db.tenantId, change)
}

/**
 * Changes the configuration. `decide` gets the present configuration, and returns the statements. They are
 * stored only if no other change came in between. They go to the first database, and then to the copies in
 * the others (B4). They raise the version, so that no event that was evaluated before is stored after. On a
 * conflict, `decide` is called again with the newer configuration. If D1's reply is lost, it looks whether the change
 * is stored: in the tenant's row, or if the version stays, in the audit log. Throws 404 if the tenant is not active
 * any more.
 */
export async function configure<T>(
  scope: Scope,
  decide: (config: Configuration) => Decision<T> | Promise<Decision<T>>,
): Promise<T> {
  const { databases } = scope
  const db = databases.home(scope.tenant.id)
  const begin = async (isAgain: boolean) => {
    const config = await (isAgain ? stillActive({ ...scope, db }) : configurationOf(scope))
    const { statements, beside = [], audit, users = [], guards = [], result } = await decide(config)
    if (statements.length + beside.length === 0) return { ...NOTHING_TO_PREPARE, store: async () => result }
    const change = crypto.randomUUID()
    // Users' own boosts leave the version as it is, unless users may be in other databases.
    const isOfAll = statements.length > 0 || databases.mustTell(beside)
    const told = { change, version: config.version, statements: [...guards, ...statements] }
    const prepared = isOfAll ? await prepareCopies(databases, db.tenantId, told) : NOTHING_TO_PREPARE
    if (prepared === null) return null
    const store = async () => {
      await db.batch([
        configurationUnchanged(db, config.version),
        ...prepared.guards,
        ...(await usersGuards(scope, users)),
        ...guards,
        ...[...statements, ...beside].filter(({ isForCopies }) => isForCopies !== true),
        ...auditEntries(scope, audit),
        ...prepared.noting([...statements, ...beside]),
        ...(isOfAll ? [raiseVersion(db, change)] : []),
      ])
      return result
    }
    const finish = async () => {
      await prepared.finish()
      // These statements may have made work due at once, or added messages to the outbox.
      if (beside.length > 0) scope.waitUntil(ensureAlarm(scope, db.tenantId))
    }
    const isStored = () => (isOfAll ? wasChangedBy(databases, db.tenantId, change) : isNoted(scope, db))
    return { store, finish, withdraw: prepared.withdraw, isStored, known: { result } }
  }
  const kept = 'The configuration kept changing while this change was made. Send it again.'
  return changeEverywhere(begin, () => errors.unprocessable(kept))
}

async function stillActive(context: TenantContext): Promise<Configuration> {
  const { config } = await presentState(context)
  if (config === null) throw errors.tenantUnknown()
  return config
}

/**
 * Guards for users in the first database. Those in others are read now: each of these databases expects the
 * change already, so nothing of its users can change before the end (B4).
 */
async function usersGuards({ databases, tenant }: Scope, users: readonly ReadUser[]): Promise<Statement[]> {
  const groups = await databases.usersOf(tenant.id).groups(users, ({ id }) => id)
  const guards = groups.map(async ({ name, items }) => {
    const db = databases.named(name).of(tenant.id)
    const were = items.map((user) => ({ id: user.id, was: user }))
    const guard = usersUnchanged(db, were)
    if (name === FIRST) return [guard]
    await db.run(guard)
    return []
  })
  return (await Promise.all(guards)).flat()
}
