import { sql } from 'drizzle-orm'
import {
  customType,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { ROUNDINGS } from '../lib/decimal'
import { type CivilDate, civilDate } from '../lib/zone'
import { jsonColumn, living, momentColumn, pictureColumn, resource } from '../platform/columns'
import {
  ACHIEVEMENT_STATUSES,
  ATTRIBUTE_TYPES,
  ATTRIBUTE_WRITERS,
  BOOST_MOMENTS,
  LEADERBOARD_STATUSES,
  METRIC_UNIT_TYPES,
  NOTIFICATION_CHANNELS,
  NOTIFICATION_TYPES,
  RANK_BY,
  RUN_UNITS,
  SUBSCRIPTIONS,
  type Subscription,
  SWITCH_STATUSES,
  TIME_UNITS,
} from './enumerations'
import { ACHIEVEMENT_TRIGGERS, TRIGGER_TYPES } from './trigger-types'

/** A filter on an attribute, as stored: the attribute's id and the value that it must have. */
export type Filter = { attributeId: string; attributeValue: string }

/** The stored filters on attributes. */
export const Filters: z.ZodType<readonly Filter[]> = z.array(
  z.object({ attributeId: z.string(), attributeValue: z.string() }),
)

/** A stored list of ids. */
export const Ids: z.ZodType<readonly string[]> = z.array(z.string())

const dayColumn = customType<{ data: CivilDate; driverData: string }>({
  dataType: () => 'text',
  fromDriver: civilDate,
})

/** Metrics: the quantities that events count. */
export const metrics = sqliteTable(
  'metrics',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    unitType: text('unit_type', { enum: METRIC_UNIT_TYPES }).notNull(),
    units: text('units').notNull(),
  },
  (table) => [uniqueIndex('metrics_key').on(table.tenantId, table.key).where(living)],
)

/** Attributes of users and of events. */
export const attributes = sqliteTable(
  'attributes',
  {
    ...resource(),
    type: text('type', { enum: ATTRIBUTE_TYPES }).notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    /** The keys that may set it on users (K7). `user` for event attributes, where it has no meaning. */
    writableBy: text('writable_by', { enum: ATTRIBUTE_WRITERS }).notNull().default('user'),
  },
  (table) => [uniqueIndex('attributes_key').on(table.tenantId, table.type, table.key).where(living)],
)

/** Achievements; the trigger decides which columns are filled. Completions are in the users' rows. */
export const achievements = sqliteTable(
  'achievements',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    badgeUrl: pictureColumn('badge_url'),
    status: text('status', { enum: ACHIEVEMENT_STATUSES }).notNull(),
    trigger: text('trigger', { enum: ACHIEVEMENT_TRIGGERS }).notNull(),
    metricId: text('metric_id'),
    /** In the metric's unit. */
    metricValue: real('metric_value'),
    streakLength: integer('streak_length'),
    /** The ids of the achievements that make a composite complete. */
    achievementIds: jsonColumn('achievement_ids', Ids).notNull(),
    /** After how many years it is completed (A7). */
    anniversaryYears: integer('anniversary_years'),
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    eventAttributes: jsonColumn('event_attributes', Filters).notNull(),
    /** The id of users' own counters for it. It changes when the achievement counts something else (A2). */
    counterId: text('counter_id').notNull(),
    /** Whether all users' counters include the events of the log before its activation (A2, A4). */
    counted: integer('counted', { mode: 'boolean' }).notNull(),
  },
  (table) => [uniqueIndex('achievements_key').on(table.tenantId, table.key).where(living)],
)

/** Counts of users and of completions of achievements, so that no rows are counted (A5). WITHOUT ROWID. */
export const tenantCounters = sqliteTable(
  'tenant_counters',
  {
    tenantId: text('tenant_id').notNull(),
    /** `users`, or the id of an achievement. */
    name: text('name').notNull(),
    count: integer('count').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.name] })],
)

/** Leaderboards. Their scores are in their own objects, which can be rebuilt from the log. */
export const leaderboards = sqliteTable(
  'leaderboards',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    description: text('description'),
    /** The status as it was set. The present status is computed from it and the dates (L7). */
    status: text('status', { enum: LEADERBOARD_STATUSES }).notNull(),
    rankBy: text('rank_by', { enum: RANK_BY }).notNull(),
    metricId: text('metric_id'),
    systemId: text('system_id'),
    maxParticipants: integer('max_participants').notNull(),
    /** First and last local date. */
    start: dayColumn('start').notNull(),
    end: dayColumn('end'),
    /** The daily window in users' local time. */
    startTime: text('start_time'),
    endTime: text('end_time'),
    /** The ids of the user attributes that divide users into groups (L6). */
    breakdown: jsonColumn('breakdown', Ids).notNull(),
    /** Only users who match all of these take part (L13). */
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    /** Null if it is perpetual. */
    runUnit: text('run_unit', { enum: RUN_UNITS }),
    runInterval: integer('run_interval'),
    /** When it was finished by hand, in milliseconds. */
    finished: integer('finished'),
    /**
     * JSON: how far the upkeep of its object had got (`UpkeepNote`). If the database is brought back
     * to an earlier moment, it says which runs were final (M2).
     */
    upkeep: text('upkeep').notNull(),
  },
  (table) => [uniqueIndex('leaderboards_key').on(table.tenantId, table.key).where(living)],
)

/** Points systems, such as XP or energy. */
export const pointsSystems = sqliteTable(
  'points_systems',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    badgeUrl: pictureColumn('badge_url'),
    maxPoints: integer('max_points'),
  },
  (table) => [uniqueIndex('points_systems_key').on(table.tenantId, table.key).where(living)],
)

export const pointsLevels = sqliteTable(
  'points_levels',
  {
    ...resource(),
    systemId: text('system_id').notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    badgeUrl: pictureColumn('badge_url'),
    points: integer('points').notNull(),
  },
  (table) => [
    uniqueIndex('points_levels_key').on(table.systemId, table.key).where(living),
    index('points_levels_by_tenant').on(table.tenantId).where(living),
  ],
)

/** Triggers of a points system; which columns are filled depends on the type. */
export const pointsTriggers = sqliteTable(
  'points_triggers',
  {
    ...resource(),
    systemId: text('system_id').notNull(),
    key: text('key').notNull(),
    type: text('type', { enum: TRIGGER_TYPES }).notNull(),
    points: integer('points').notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    eventAttributes: jsonColumn('event_attributes', Filters).notNull(),
    metricId: text('metric_id'),
    metricThreshold: integer('metric_threshold'),
    achievementId: text('achievement_id'),
    streakLength: integer('streak_length'),
    timeUnit: text('time_unit', { enum: TIME_UNITS }),
    timeInterval: integer('time_interval'),
    blockIfOutOfPoints: integer('block_if_out_of_points', { mode: 'boolean' }).notNull(),
    /** The id of users' own counters for it. It changes when the trigger counts something else (P1). */
    counterId: text('counter_id').notNull(),
    /** Counts the forms in which the trigger was shown. An award names the form that fired (P10). */
    version: integer('version').notNull(),
    /** From when a time trigger's ticks are counted, in milliseconds; null while it has none (P4). */
    anchor: integer('anchor'),
  },
  (table) => [
    index('points_triggers_by_tenant').on(table.tenantId).where(living),
    uniqueIndex('points_triggers_key').on(table.systemId, table.key).where(living),
  ],
)

/** Every form in which a trigger was shown, so that an award can show the form that made it (P10). */
export const triggerVersions = sqliteTable(
  'trigger_versions',
  {
    triggerId: text('trigger_id').notNull(),
    version: integer('version').notNull(),
    /** JSON: the trigger as the application interface shows it. */
    document: text('document').notNull(),
  },
  (table) => [primaryKey({ columns: [table.triggerId, table.version] })],
)

/** Boosts of a points system: for everyone, for users with certain attributes, or for one user. */
export const pointsBoosts = sqliteTable(
  'points_boosts',
  {
    ...resource(),
    systemId: text('system_id').notNull(),
    /** The one user of the boost, by the caller's id and the internal one; null for other boosts. */
    userId: text('user_id'),
    userIid: text('user_iid'),
    key: text('key').notNull(),
    name: text('name').notNull(),
    /** First local date on which it applies. */
    start: text('start').notNull(),
    /** Last local date on which it applies; `9999-12-31` if none, so that a range of an index finds it. */
    end: text('end').notNull(),
    multiplier: real('multiplier').notNull(),
    rounding: text('rounding', { enum: ROUNDINGS }).notNull(),
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    /** The last moment of it of which webhooks were notified; null if there is none (W6). */
    notified: text('notified', { enum: BOOST_MOMENTS }),
  },
  (table) => [
    // Includes deleted boosts, so that all boosts of an erased user are found (U8).
    index('points_boosts_by_user').on(table.userIid, table.end).where(sql`user_iid IS NOT NULL`),
    index('points_boosts_for_all').on(table.tenantId).where(sql`user_iid IS NULL AND deleted IS NULL`),
    uniqueIndex('points_boosts_key').on(table.systemId, table.key).where(living),
    index('points_boosts_by_system').on(table.tenantId, table.systemId).where(living),
    // For users' own boosts that begin or end around a day (W6).
    index('points_boosts_by_start')
      .on(table.tenantId, table.start)
      .where(sql`user_iid IS NOT NULL AND deleted IS NULL`),
    index('points_boosts_by_end')
      .on(table.tenantId, table.end)
      .where(sql`user_iid IS NOT NULL AND deleted IS NULL`),
  ],
)

/** Points summaries that were expensive to make, kept for a minute (P11). WITHOUT ROWID. */
export const pointsSummaries = sqliteTable(
  'points_summaries',
  {
    tenantId: text('tenant_id').notNull(),
    systemId: text('system_id').notNull(),
    kind: text('kind', { enum: ['ranges', 'levels'] }).notNull(),
    /** JSON: the attribute filters, sorted. */
    filter: text('filter').notNull(),
    configVersion: integer('config_version').notNull(),
    computed: integer('computed').notNull(),
    document: text('document').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.systemId, table.kind, table.filter] })],
)

/** Templates of notifications (N3). */
export const notificationTemplates = sqliteTable(
  'notification_templates',
  {
    ...resource(),
    key: text('key').notNull(),
    type: text('type', { enum: NOTIFICATION_TYPES }).notNull(),
    channel: text('channel', { enum: NOTIFICATION_CHANNELS }).notNull(),
    /** The subject of an email, the title of a push message. Liquid. */
    title: text('title').notNull(),
    /** HTML of an email, text of a push message. Liquid. */
    body: text('body').notNull(),
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    /** The address through which the template was last written. Links use it while PUBLIC_URL is not set. */
    origin: text('origin').notNull(),
  },
  (table) => [
    index('notification_templates_by_tenant').on(table.tenantId).where(living),
    uniqueIndex('notification_templates_key').on(table.tenantId, table.key).where(living),
  ],
)

/**
 * Notifications that are not sent yet (N2): of completed achievements, each with its time in the user's day,
 * and of changes of zone that skip the hour of other notifications, due at once. WITHOUT ROWID.
 */
export const pendingNotifications = sqliteTable(
  'pending_notifications',
  {
    tenantId: text('tenant_id').notNull(),
    dueAt: momentColumn('due_at').notNull(),
    /** The completion's id, or the id of the change of zone. */
    id: text('id').notNull(),
    userId: text('user_id').notNull(),
    userIid: text('user_iid').notNull(),
    /** Empty for a change of zone. */
    achievementId: text('achievement_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.dueAt, table.id] })],
)

const Subscriptions: z.ZodType<readonly Subscription[]> = z.array(z.enum(SUBSCRIPTIONS))
const PreviousSecret = z.object({ secret: z.string(), until: z.number() })

/** Webhooks: the addresses that receive a tenant's events (W1). */
export const webhooks = sqliteTable(
  'webhooks',
  {
    ...resource(),
    key: text('key').notNull(),
    url: text('url').notNull(),
    /** The types of events that it receives, each once, or `*` alone. */
    events: jsonColumn('events', Subscriptions).notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    /** `whsec_` and base64. It signs, so it is no hash. Empty after the webhook is deleted. */
    secret: text('secret').notNull(),
    /** The secret before, and until when it signs too, in milliseconds. Null if there is none (W3). */
    previous: jsonColumn('previous_secret', PreviousSecret),
    /** When the receiver answered 410, in milliseconds, if that switched it off (W4). */
    goneAt: integer('gone_at'),
  },
  (table) => [
    index('webhooks_by_tenant').on(table.tenantId).where(living),
    uniqueIndex('webhooks_key').on(table.tenantId, table.key).where(living),
  ],
)

/**
 * The lists of a configuration with their tables. A new kind of resource is one more line at the end: an
 * erasure of a tenant that is under way has stored its place in this order. Points systems have tables in
 * which other lists are, so they are apart.
 */
export const LISTS = {
  achievements,
  leaderboards,
  webhooks,
  templates: notificationTemplates,
  metrics,
  attributes,
}

/** The kinds of resources that have entries in an audit log (Z1). */
export const AUDIT_KINDS = [
  'attribute',
  'metric',
  'event_batch',
  'event',
  'points_system',
  'points_level',
  'points_trigger',
  'points_boost',
  'points_adjustment',
  'achievement',
  'achievement_completion',
  'leaderboard',
  'streak_settings',
  'streak',
  'streak_freezes',
  'streak_pause',
  'user',
  'settings',
  'webhook',
  'notification_template',
  'application_key',
  'admin_key',
  'tenant',
  'test_clock',
  'databases',
] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

/** Columns of resources that no configuration has. */
export const UNREAD = ['upkeep', 'notified'] as const
