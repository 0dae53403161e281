import { integer, primaryKey, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { jsonColumn, living, resource } from '../../platform/columns'
import { ACHIEVEMENT_STATUSES, ACHIEVEMENT_TRIGGERS } from '../enumerations'
import { Filters, Ids } from './stored'

/**
 * Achievements; which columns are filled depends on the trigger. Users' completions are in the users' rows.
 */
export const achievements = sqliteTable(
  'achievements',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    badgeUrl: text('badge_url'),
    status: text('status', { enum: ACHIEVEMENT_STATUSES }).notNull(),
    trigger: text('trigger', { enum: ACHIEVEMENT_TRIGGERS }).notNull(),
    metricId: text('metric_id'),
    /** In the metric's unit. */
    metricValue: real('metric_value'),
    streakLength: integer('streak_length'),
    /** The ids of the achievements that make a composite complete. */
    achievementIds: jsonColumn('achievement_ids', Ids).notNull(),
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    eventAttributes: jsonColumn('event_attributes', Filters).notNull(),
    /** The id of users' own counters for it. It changes when the achievement counts something else (A2). */
    counterId: text('counter_id').notNull(),
    /**
     * Whether all users' counters for it include the events that the log had when it was activated (A2, A4).
     */
    counted: integer('counted', { mode: 'boolean' }).notNull(),
  },
  (table) => [uniqueIndex('achievements_key').on(table.tenantId, table.key).where(living)],
)

/**
 * Stored counts, so that reads need not count rows (A5): of a tenant's users, and of the completions of each
 * achievement. WITHOUT ROWID.
 */
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
