import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Past streaks, one row each. The present one is in the user's row. Days are days since 1970-01-01. WITHOUT
 * ROWID.
 */
export const streakRuns = sqliteTable(
  'streak_runs',
  {
    userIid: text('user_iid').notNull(),
    /** First day of its first period. */
    first: integer('first').notNull(),
    /** First day of its last period. */
    last: integer('last').notNull(),
    /** The first day as shown. It is before `first` if the streak was restored (S8). */
    started: integer('started').notNull(),
    /** The kinds of the periods, run-length encoded (see period-history.rules.ts). */
    history: text('history').notNull(),
    /** The length when it was lost. This is the greatest length that it ever had. */
    length: integer('length').notNull(),
    /**
     * When it was lost, in milliseconds (X2). Null if that is not known: it was counted again from the log,
     * or it was lost before this was stored.
     */
    lost: integer('lost'),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.first] })],
)

/** Pauses of streaks. The user's row has the pauses that are not over. */
export const streakPauses = sqliteTable(
  'streak_pauses',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    /** The caller's id of the user, and the internal id. */
    userId: text('user_id').notNull(),
    userIid: text('user_iid').notNull(),
    /**
     * First and last day, in days since 1970-01-01. A deleted pause ends with the last period that was over
     * then (S7).
     */
    start: integer('start').notNull(),
    end: integer('end').notNull(),
    /** When it was deleted, in milliseconds. Null while it counts. */
    deleted: integer('deleted'),
  },
  (table) => [index('streak_pauses_by_user').on(table.userIid)],
)
