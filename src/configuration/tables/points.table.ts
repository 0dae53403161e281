import { sql } from 'drizzle-orm'
import {
  blob,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'
import { ROUNDINGS } from '../../lib/decimal'
import { jsonColumn, living, resource } from '../../platform/columns'
import { BOOST_MOMENTS, CORRECTION_TYPES, SWITCH_STATUSES, TIME_UNITS, TRIGGER_TYPES } from '../enumerations'
import { Filters } from './stored'

/** Points systems, such as XP or energy. */
export const pointsSystems = sqliteTable(
  'points_systems',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    badgeUrl: text('badge_url'),
    maxPoints: integer('max_points'),
  },
  (table) => [uniqueIndex('points_systems_key').on(table.tenantId, table.key).where(living)],
)

/** Levels of a points system. */
export const pointsLevels = sqliteTable(
  'points_levels',
  {
    ...resource(),
    systemId: text('system_id').notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    description: text('description').notNull(),
    badgeUrl: text('badge_url'),
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
    /** Unique in its points system (O2). */
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
    /**
     * Counts the different forms in which the trigger was shown. An award names the form that fired (P10).
     */
    version: integer('version').notNull(),
    /**
     * The moment from which a time trigger's ticks are counted, in milliseconds; null while it has no ticks
     * (P4).
     */
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
    /**
     * The one user of the boost: the caller's id, and the internal id, which is no longer used after an
     * erasure. Null if the boost is not for one user.
     */
    userId: text('user_id'),
    userIid: text('user_iid'),
    /** Unique in its points system (O2). */
    key: text('key').notNull(),
    name: text('name').notNull(),
    /** First local date on which it applies. */
    start: text('start').notNull(),
    /**
     * Last local date on which it applies; `9999-12-31` if it has no end, so that a range of an index finds
     * it.
     */
    end: text('end').notNull(),
    multiplier: real('multiplier').notNull(),
    rounding: text('rounding', { enum: ROUNDINGS }).notNull(),
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    /**
     * The last moment of it that webhooks were notified of: started, or finished; null if there is none (W6).
     */
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

/**
 * The ledger: one row for each award, adjustment and reversal, never changed. A user's total in a system is
 * the sum of these rows (P8, V5). For the ids, see src/platform/short-ids.ts. WITHOUT ROWID.
 */
export const awards = sqliteTable(
  'awards',
  {
    userIid: blob('user_iid').notNull(),
    systemNo: integer('system_no').notNull(),
    /**
     * When it was made; for a time trigger, when it was due; for a reversal, the moment of the award that it
     * reverses. Milliseconds.
     */
    at: integer('at').notNull(),
    /** The `seq` of the user's change that the award is part of. */
    seq: integer('seq').notNull(),
    /** Its position among the awards of that change. */
    position: integer('position').notNull(),
    id: blob('id').notNull(),
    /** The points that were applied, after boosts, cap and floor (P6). */
    awarded: integer('awarded').notNull(),
    /** The user's total in the system after it. */
    total: integer('total').notNull(),
    /** Minutes ahead of UTC in the user's zone at that moment. It never changes (E8). */
    utcOffset: integer('utc_offset').notNull(),
    /** The trigger that fired. A reversal has that of its award, and an adjustment has 0. */
    triggerNo: integer('trigger_no').notNull(),
    triggerVersion: integer('trigger_version').notNull(),
    /** JSON: the boosts that applied, as they were then; null if none applied. */
    boosts: text('boosts'),
    /** Null for an award of a trigger (V5). */
    type: text('type', { enum: CORRECTION_TYPES }),
    /** The points of a correction before cap and floor (X1). Null for an award of a trigger. */
    amount: integer('amount'),
    /** The reason that an admin gave for a correction, or null. */
    reason: text('reason'),
    /** The id of the award that a reversal reverses, or null. */
    reverses: blob('reverses'),
    /**
     * The highest total of the trigger's counter before and after, in millionths (X1). Null if the trigger
     * has no counter, and for awards of versions that did not store it.
     */
    counterBefore: integer('counter_before'),
    counterAfter: integer('counter_after'),
    /**
     * JSON: the user's level before and after, as they were then (`ReachedLevel`). Null if the level stayed,
     * and for awards of versions that did not store it (X2).
     */
    levels: text('levels'),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.systemNo, table.at, table.seq, table.position] }),
    // Reversals have moments of the past, so they are found by their `seq`. Awards of triggers are not in it.
    index('awards_corrections').on(table.userIid, table.seq).where(sql`type IS NOT NULL`),
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
    /** JSON: the summary as in the response. */
    document: text('document').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.systemId, table.kind, table.filter] })],
)
