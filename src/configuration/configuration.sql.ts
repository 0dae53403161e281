import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { RECAP_FREQUENCIES } from '../access/tenants.sql.ts'
import { BoundedMap } from '../lib/bounded'
import { errors } from '../lib/errors'
import { HIDDEN_COLUMNS, type Living } from '../platform/columns'
import { type Instance, perInstance } from '../platform/context'
import type { TenantDatabase } from '../platform/database'
import { type Configuration, streakSettings } from './model'
import {
  achievements as achievementsTable,
  attributes as attributesTable,
  leaderboards as leaderboardsTable,
  metrics as metricsTable,
  notificationTemplates,
  pointsBoosts,
  pointsLevels,
  pointsSystems,
  pointsTriggers,
  webhooks as webhooksTable,
} from './tables.sql.ts'

/** Configurations by tenant id, at most 100; each is used only after D1 has confirmed its version. */
const configurationsOf = perInstance(() => new BoundedMap<string, Configuration>(100))

function schemaOf(column: SQLiteColumn): z.ZodType {
  const { name, dataType, enumValues, notNull } = column
  const present = () => {
    if (enumValues !== undefined) return z.enum(enumValues)
    if (dataType === 'string') return z.string()
    if (dataType === 'number') return z.number()
    if (dataType === 'boolean') return z.number().transform((n) => n === 1)
    if (dataType === 'custom') return z.unknown().transform((stored) => column.mapFromDriverValue(stored))
    throw new Error(`the column ${name} has a type that is not read yet`)
  }
  return notNull ? present() : present().nullable()
}

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

/**
 * Reads all columns of a table, except the hidden ones and the ones in `left`. The schemas are made from the
 * table, so a new column can't be forgotten here.
 */
function reading<T extends SQLiteTable, Left extends keyof T['$inferSelect'] = never>(
  table: T,
  left?: readonly Left[],
): Reading<Omit<Living<T>, Left>>
function reading(table: SQLiteTable, left: readonly string[] = []): Reading<Record<string, unknown>> {
  const unread = new Set<string>([...HIDDEN_COLUMNS, ...left])
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
  controlRatio: z.number(),
  recapFrequency: z.enum(RECAP_FREQUENCIES),
  streaks: streakSettings,
})
const Attributes = reading(attributesTable)
const Metrics = reading(metricsTable)
const Systems = reading(pointsSystems)
const Levels = reading(pointsLevels)
const Triggers = reading(pointsTriggers)
const Leaderboards = reading(leaderboardsTable, ['upkeep'])
const Achievements = reading(achievementsTable)
const Webhooks = reading(webhooksTable)
const Templates = reading(notificationTemplates)
const Boosts = reading(pointsBoosts, ['notified'])

/** The row of a boost: for everyone, or of one user. */
export const BoostRow = Boosts.row

/** The columns that make a `BoostRow`. */
export const BOOST_COLUMNS = Boosts.columns

/** The SQL of the boosts `b` as a JSON list. `BoostRow` parses its items. */
export const BOOST_LIST = `json_group_array(${Boosts.object('b')})`

const TENANT = `
  SELECT config_version AS version, (SELECT epoch FROM restores) AS epoch, control_ratio AS controlRatio,
    recap_frequency AS recapFrequency, streaks
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
    attributes: db.statement(Attributes.all, tenantId),
    metrics: db.statement(Metrics.all, tenantId),
    systems: db.statement(Systems.all, tenantId),
    levels: db.statement(Levels.all, tenantId),
    triggers: db.statement(Triggers.all, tenantId),
    boosts: db.statement(BOOSTS_OF_ALL, tenantId),
    leaderboards: db.statement(Leaderboards.all, tenantId),
    achievements: db.statement(Achievements.all, tenantId),
    webhooks: db.statement(Webhooks.all, tenantId),
    templates: db.statement(Templates.all, tenantId),
  })
  const [row] = found.tenant.results
  if (row === undefined) throw errors.tenantUnknown()
  const { version, epoch, streaks, ...settings } = TenantRow.parse(row)
  const levels = Levels.parse(found.levels)
  const triggers = Triggers.parse(found.triggers)
  const boosts = Boosts.parse(found.boosts)
  const config: Configuration = {
    tenantId,
    version,
    epoch,
    settings,
    streaks,
    attributes: Attributes.parse(found.attributes),
    metrics: Metrics.parse(found.metrics),
    systems: Systems.parse(found.systems).map((system) => ({
      ...system,
      levels: levels.filter(({ systemId }) => systemId === system.id),
      triggers: triggers.filter(({ systemId }) => systemId === system.id),
      boosts: boosts.filter(({ systemId }) => systemId === system.id),
    })),
    leaderboards: Leaderboards.parse(found.leaderboards),
    achievements: Achievements.parse(found.achievements),
    webhooks: Webhooks.parse(found.webhooks),
    templates: Templates.parse(found.templates),
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

/**
 * The configuration of some recent version: from memory, else from D1 in one round trip. A caller that relies
 * on it needs a guard that confirms its version.
 */
export async function recentConfiguration(source: ConfigurationSource): Promise<Configuration> {
  return rememberedConfiguration(source) ?? loadConfiguration(source)
}
