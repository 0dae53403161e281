import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Streaks that are over, one row each; the present one stands in the user's row. Days are days since 1970-01-01. WITHOUT ROWID. */
export const streakRuns = sqliteTable(
  'streak_runs',
  {
    userIid: text('user_iid').notNull(),
    /** First day of the first period that it holds. */
    first: integer('first').notNull(),
    /** First day of the last period that it holds. */
    last: integer('last').notNull(),
    /** As it was shown: before `first` where the streak was restored (S8). */
    started: integer('started').notNull(),
    /** What each period was, run-length encoded (see marks.ts). */
    history: text('history').notNull(),
    /** The length that it had when it was lost, which is the greatest that it ever had. */
    length: integer('length').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.first] })],
)

/** Pauses of streaks; the user's row has those that are not over. */
export const streakPauses = sqliteTable(
  'streak_pauses',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    /** The caller's id of the user, and ours. */
    userId: text('user_id').notNull(),
    userIid: text('user_iid').notNull(),
    /** First and last day, in days since 1970-01-01; a deleted one ends with the last period that was over by then (S7). */
    start: integer('start').notNull(),
    end: integer('end').notNull(),
    /** When it was deleted, in milliseconds; null while it counts. */
    deleted: integer('deleted'),
  },
  (table) => [index('streak_pauses_by_user').on(table.userIid)],
)
