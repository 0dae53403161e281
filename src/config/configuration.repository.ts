import { getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { RECAP_FREQUENCIES } from '../access/tenants.types'
import type { TenantDatabase } from '../db/database'
import { civilDate } from '../lib/civil'
import { ROUNDINGS } from '../lib/decimal'
import type { Instance } from '../runtime/instance'
import { configurationsOf } from './configuration.cache'
import type {
  Achievement,
  Attribute,
  Boost,
  Configuration,
  Leaderboard,
  Level,
  Metric,
  Template,
  Trigger,
  Webhook,
} from './configuration.types'
import {
  ACHIEVEMENT_STATUSES,
  ACHIEVEMENT_TRIGGERS,
  ATTRIBUTE_TYPES,
  ATTRIBUTE_WRITERS,
  LEADERBOARD_STATUSES,
  METRIC_UNIT_TYPES,
  NOTIFICATION_CHANNELS,
  NOTIFICATION_TYPES,
  RANK_BY,
  RUN_UNITS,
  SWITCH_STATUSES,
  TIME_UNITS,
  TRIGGER_TYPES,
} from './enumerations.types'
import { streakSettings } from './streak-settings.types'
import { achievements as achievementsTable } from './tables/achievements.table'
import { attributes as attributesTable } from './tables/attributes.table'
import { leaderboards as leaderboardsTable } from './tables/leaderboards.table'
import { metrics as metricsTable } from './tables/metrics.table'
import { pointsBoosts, pointsLevels, pointsSystems, pointsTriggers } from './tables/points.table'
import { notificationTemplates } from './tables/templates.table'
import { webhooks as webhooksTable } from './tables/webhooks.table'
import { SUBSCRIPTIONS } from './webhook-events.types'

const filters = z
  .string()
  .transform((text) => JSON.parse(text))
  .pipe(z.array(z.object({ attributeId: z.string(), attributeValue: z.string() })))

/** The columns of a resource that only SQL looks at. */
type Hidden = 'no' | 'tenantId' | 'deleted'

/**
 * How the living resources of a table are read, in order of creation: each of its columns, but for some, must have a schema, so that a
 * column that is added to the table can't be forgotten here.
 */
function reading<
  T extends SQLiteTable,
  const S extends Record<Exclude<keyof T['$inferSelect'], Hidden | Left>, z.ZodType>,
  Left extends keyof T['$inferSelect'] = never,
>(table: T, schemas: S, _left: readonly Left[] = []) {
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => name in schemas)
  const selected = columns.map(([name, column]) => `"${column.name}" AS "${name}"`).join(', ')
  const row = z.object(schemas)
  const rows = z.array(row)
  return {
    /** The list of columns of a SELECT, named as in `row`. */
    columns: selected,
    row,
    /** The SQL that makes `row` of a row of the table that is called so, as an object of JSON. */
    object: (called: string) =>
      `json_object(${columns.map(([name, column]) => `'${name}', ${called}."${column.name}"`).join(', ')})`,
    all: `SELECT ${selected} FROM ${getTableName(table)} WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
    parse: ({ results }: D1Result) => rows.parse(results),
  }
}

const resource = { id: z.string(), created: z.number(), updated: z.number() }

const TenantRow = z.object({
  version: z.number(),
  controlRatio: z.number(),
  recapFrequency: z.enum(RECAP_FREQUENCIES),
  streaks: streakSettings,
})
const Attributes = reading(attributesTable, {
  ...resource,
  type: z.enum(ATTRIBUTE_TYPES),
  key: z.string(),
  name: z.string(),
  writableBy: z.enum(ATTRIBUTE_WRITERS),
})
const Metrics = reading(metricsTable, {
  ...resource,
  key: z.string(),
  name: z.string(),
  unitType: z.enum(METRIC_UNIT_TYPES),
  units: z.string(),
})
const Systems = reading(pointsSystems, {
  ...resource,
  key: z.string(),
  name: z.string(),
  description: z.string(),
  badgeUrl: z.string().nullable(),
  maxPoints: z.number().nullable(),
})
const Levels = reading(pointsLevels, {
  ...resource,
  systemId: z.string(),
  key: z.string(),
  name: z.string(),
  description: z.string(),
  badgeUrl: z.string().nullable(),
  points: z.number(),
})
const Triggers = reading(pointsTriggers, {
  ...resource,
  systemId: z.string(),
  type: z.enum(TRIGGER_TYPES),
  points: z.number(),
  status: z.enum(SWITCH_STATUSES),
  userAttributes: filters,
  eventAttributes: filters,
  metricId: z.string().nullable(),
  metricThreshold: z.number().nullable(),
  achievementId: z.string().nullable(),
  streakLength: z.number().nullable(),
  timeUnit: z.enum(TIME_UNITS).nullable(),
  timeInterval: z.number().nullable(),
  blockIfOutOfPoints: z.number().transform((n) => n === 1),
  counterId: z.string(),
  version: z.number(),
  anchor: z.number().nullable(),
})
const StoredDate = z.string().transform(civilDate)
const Leaderboards = reading(leaderboardsTable, {
  ...resource,
  key: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  status: z.enum(LEADERBOARD_STATUSES),
  rankBy: z.enum(RANK_BY),
  metricId: z.string().nullable(),
  systemId: z.string().nullable(),
  maxParticipants: z.number(),
  start: StoredDate,
  end: StoredDate.nullable(),
  startTime: z.string().nullable(),
  endTime: z.string().nullable(),
  breakdown: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(z.string())),
  runUnit: z.enum(RUN_UNITS).nullable(),
  runInterval: z.number().nullable(),
  finished: z.number().nullable(),
})
const Achievements = reading(achievementsTable, {
  ...resource,
  key: z.string(),
  name: z.string(),
  description: z.string(),
  badgeUrl: z.string().nullable(),
  status: z.enum(ACHIEVEMENT_STATUSES),
  trigger: z.enum(ACHIEVEMENT_TRIGGERS),
  metricId: z.string().nullable(),
  metricValue: z.number().nullable(),
  streakLength: z.number().nullable(),
  achievementIds: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(z.string())),
  userAttributes: filters,
  eventAttributes: filters,
  counterId: z.string(),
  counted: z.number().transform((n) => n === 1),
})
const Webhooks = reading(webhooksTable, {
  ...resource,
  url: z.string(),
  events: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(z.enum(SUBSCRIPTIONS))),
  status: z.enum(SWITCH_STATUSES),
  secret: z.string(),
})
const Templates = reading(notificationTemplates, {
  ...resource,
  type: z.enum(NOTIFICATION_TYPES),
  channel: z.enum(NOTIFICATION_CHANNELS),
  title: z.string(),
  body: z.string(),
  userAttributes: filters,
  status: z.enum(SWITCH_STATUSES),
  origin: z.string(),
})
const Boosts = reading(
  pointsBoosts,
  {
    ...resource,
    systemId: z.string(),
    userId: z.string().nullable(),
    userIid: z.string().nullable(),
    name: z.string(),
    start: z.string(),
    end: z.string(),
    multiplier: z.number(),
    rounding: z.enum(ROUNDINGS),
    userAttributes: filters,
  },
  ['told'],
)
/** A boost's row, of those for everyone and of users' own. */
export const BoostRow = Boosts.row

/** The columns that make a `BoostRow`. */
export const BOOST_COLUMNS = Boosts.columns

/** The SQL of the boosts `b` as a list of JSON, each an object that makes a `BoostRow`. */
export const BOOST_LIST = `json_group_array(${Boosts.object('b')})`

const TENANT = `
  SELECT config_version AS version, control_ratio AS controlRatio, recap_frequency AS recapFrequency, streaks
  FROM tenants WHERE id = ?1`
const BOOSTS_OF_ALL = `
  SELECT ${BOOST_COLUMNS} FROM points_boosts
  WHERE tenant_id = ?1 AND user_iid IS NULL AND deleted IS NULL ORDER BY no`

/** Where a tenant's configuration comes from: D1, and what this instance remembers. */
export type ConfigurationSource = { db: TenantDatabase; instance: Instance }

/** Reads a tenant's whole configuration, in one round trip and as of one version, and remembers it. */
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
  if (row === undefined) throw new Error('the tenant is gone')
  const { version, streaks, ...settings } = TenantRow.parse(row)
  const levels: Level[] = Levels.parse(found.levels)
  const triggers: Trigger[] = Triggers.parse(found.triggers)
  const boosts: Boost[] = Boosts.parse(found.boosts)
  const systems = Systems.parse(found.systems).map((system) => ({
    ...system,
    levels: levels.filter(({ systemId }) => systemId === system.id),
    triggers: triggers.filter(({ systemId }) => systemId === system.id),
    boosts: boosts.filter(({ systemId }) => systemId === system.id),
  }))
  const attributes: Attribute[] = Attributes.parse(found.attributes)
  const metrics: Metric[] = Metrics.parse(found.metrics)
  const leaderboards: Leaderboard[] = Leaderboards.parse(found.leaderboards)
  const achievements: Achievement[] = Achievements.parse(found.achievements)
  const webhooks: Webhook[] = Webhooks.parse(found.webhooks)
  const templates: Template[] = Templates.parse(found.templates)
  const config = {
    tenantId,
    version,
    settings,
    streaks,
    attributes,
    metrics,
    systems,
    leaderboards,
    achievements,
    webhooks,
    templates,
  }
  configurationsOf(source.instance).set(tenantId, config)
  return config
}

/** The configuration at this version, or a later one: from memory if it has it, else from D1 in one round trip. */
export async function configurationAt(source: ConfigurationSource, version: number): Promise<Configuration> {
  const remembered = rememberedConfiguration(source)
  return remembered?.version === version ? remembered : loadConfiguration(source)
}

/** The configuration that this instance has in memory, of whatever version; undefined if it has none. */
export const rememberedConfiguration = ({ db, instance }: ConfigurationSource): Configuration | undefined =>
  configurationsOf(instance).get(db.tenantId)

/** The configuration of some recent version: from memory, else from D1 in one round trip. Whoever relies on it has a guard confirm its version. */
export async function recentConfiguration(source: ConfigurationSource): Promise<Configuration> {
  return rememberedConfiguration(source) ?? loadConfiguration(source)
}
