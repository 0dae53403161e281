import * as z from 'zod'
import { RECAP_FREQUENCIES } from '../access/tenants.types'
import type { TenantDatabase } from '../db/database'
import { civilDate } from '../lib/civil'
import { ROUNDINGS } from '../lib/decimal'
import type { Instance } from '../runtime/instance'
import { configurationsOf } from './configuration.cache'
import type {
  Achievement,
  Boost,
  Configuration,
  Leaderboard,
  Level,
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
import { SUBSCRIPTIONS } from './webhook-events.types'

const filters = z
  .string()
  .transform((text) => JSON.parse(text))
  .pipe(z.array(z.object({ attributeId: z.string(), attributeValue: z.string() })))

const resource = { id: z.string(), created: z.number(), updated: z.number() }

const TenantRow = z.object({
  version: z.number(),
  controlRatio: z.number(),
  recapFrequency: z.enum(RECAP_FREQUENCIES),
  streaks: streakSettings,
})
const AttributeRow = z.object({
  ...resource,
  type: z.enum(ATTRIBUTE_TYPES),
  key: z.string(),
  name: z.string(),
  writableBy: z.enum(ATTRIBUTE_WRITERS),
})
const MetricRow = z.object({
  ...resource,
  key: z.string(),
  name: z.string(),
  unitType: z.enum(METRIC_UNIT_TYPES),
  units: z.string(),
})
const SystemRow = z.object({
  ...resource,
  key: z.string(),
  name: z.string(),
  description: z.string(),
  badgeUrl: z.string().nullable(),
  maxPoints: z.number().nullable(),
})
const LevelRow = z.object({
  ...resource,
  systemId: z.string(),
  key: z.string(),
  name: z.string(),
  description: z.string(),
  badgeUrl: z.string().nullable(),
  points: z.number(),
})
const TriggerRow = z.object({
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
const LeaderboardRow = z.object({
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
const AchievementRow = z.object({
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
const WebhookRow = z.object({
  ...resource,
  url: z.string(),
  events: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.array(z.enum(SUBSCRIPTIONS))),
  status: z.enum(SWITCH_STATUSES),
  secret: z.string(),
})
const TemplateRow = z.object({
  ...resource,
  type: z.enum(NOTIFICATION_TYPES),
  channel: z.enum(NOTIFICATION_CHANNELS),
  title: z.string(),
  body: z.string(),
  userAttributes: filters,
  status: z.enum(SWITCH_STATUSES),
  origin: z.string(),
})
/** A boost's row, of those for everyone and of users' own. */
export const BoostRow = z.object({
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
})

/** The columns that make a `BoostRow`. */
export const BOOST_COLUMNS = `id, created, updated, system_id AS systemId, user_id AS userId, user_iid AS userIid, name,
  start, "end", multiplier, rounding, user_attributes AS userAttributes`

const LOAD = [
  `SELECT config_version AS version, control_ratio AS controlRatio, recap_frequency AS recapFrequency, streaks
     FROM tenants WHERE id = ?1`,
  `SELECT id, created, updated, type, key, name, writable_by AS writableBy FROM attributes
     WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, key, name, unit_type AS unitType, units FROM metrics
     WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, key, name, description, badge_url AS badgeUrl, max_points AS maxPoints
     FROM points_systems WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, system_id AS systemId, key, name, description, badge_url AS badgeUrl, points
     FROM points_levels WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, system_id AS systemId, type, points, status, user_attributes AS userAttributes,
     event_attributes AS eventAttributes, metric_id AS metricId, metric_threshold AS metricThreshold,
     achievement_id AS achievementId, streak_length AS streakLength, time_unit AS timeUnit,
     time_interval AS timeInterval, block_if_out_of_points AS blockIfOutOfPoints, counter_id AS counterId, version, anchor
     FROM points_triggers WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT ${BOOST_COLUMNS} FROM points_boosts
     WHERE tenant_id = ?1 AND user_iid IS NULL AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, key, name, description, status, rank_by AS rankBy, metric_id AS metricId,
     system_id AS systemId, max_participants AS maxParticipants, start, "end", start_time AS startTime,
     end_time AS endTime, breakdown, run_unit AS runUnit, run_interval AS runInterval, finished
     FROM leaderboards WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, key, name, description, badge_url AS badgeUrl, status, "trigger", metric_id AS metricId,
     metric_value AS metricValue, streak_length AS streakLength, achievement_ids AS achievementIds,
     user_attributes AS userAttributes, event_attributes AS eventAttributes, counter_id AS counterId, counted
     FROM achievements WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, url, events, status, secret FROM webhooks
     WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
  `SELECT id, created, updated, type, channel, title, body, user_attributes AS userAttributes, status, origin
     FROM notification_templates WHERE tenant_id = ?1 AND deleted IS NULL ORDER BY no`,
] as const

/** Where a tenant's configuration comes from: D1, and what this instance remembers. */
export type ConfigurationSource = { db: TenantDatabase; instance: Instance }

/** Reads a tenant's whole configuration, in one round trip and as of one version, and remembers it. */
export async function loadConfiguration(source: ConfigurationSource): Promise<Configuration> {
  const { db } = source
  const { tenantId } = db
  const results = await db.batch(LOAD.map((sql) => db.statement(sql, tenantId)))
  const rows = <S extends z.ZodType>(index: number, schema: S) =>
    z.array(schema).parse(results[index]?.results ?? [])
  const [row] = results[0]?.results ?? []
  if (row === undefined) throw new Error('the tenant is gone')
  const { version, streaks, ...settings } = TenantRow.parse(row)
  const levels: Level[] = rows(4, LevelRow)
  const triggers: Trigger[] = rows(5, TriggerRow)
  const boosts: Boost[] = rows(6, BoostRow)
  const systems = rows(3, SystemRow).map((system) => ({
    ...system,
    levels: levels.filter(({ systemId }) => systemId === system.id),
    triggers: triggers.filter(({ systemId }) => systemId === system.id),
    boosts: boosts.filter(({ systemId }) => systemId === system.id),
  }))
  const attributes = rows(1, AttributeRow)
  const metrics = rows(2, MetricRow)
  const leaderboards: Leaderboard[] = rows(7, LeaderboardRow)
  const achievements: Achievement[] = rows(8, AchievementRow)
  const webhooks: Webhook[] = rows(9, WebhookRow)
  const templates: Template[] = rows(10, TemplateRow)
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
