import { integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { jsonColumn, living, resource } from '../../platform/columns'
import { LEADERBOARD_STATUSES, RANK_BY, RUN_UNITS } from '../enumerations'
import { dayColumn, Ids } from './stored'

/**
 * The configuration of leaderboards. The scores of each one are in its own object, which can be rebuilt from
 * the log.
 */
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
    /** Null if it is perpetual. */
    runUnit: text('run_unit', { enum: RUN_UNITS }),
    runInterval: integer('run_interval'),
    /** When it was finished by hand, in milliseconds. */
    finished: integer('finished'),
    /**
     * JSON: how far the upkeep of its object had got (upkeep-note.types.ts). If the database is brought back
     * to an earlier moment, it says which runs were final (M2).
     */
    upkeep: text('upkeep'),
  },
  (table) => [uniqueIndex('leaderboards_key').on(table.tenantId, table.key).where(living)],
)
