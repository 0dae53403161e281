import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Sums of a user's log by local day, of days on which nothing can happen any more: so that an event summary reads a long log once (P12).
 * They can be made anew from the log at any time. Of ids see db/ids.ts. WITHOUT ROWID.
 */
export const daySums = sqliteTable(
  'day_sums',
  {
    userIid: blob('user_iid').notNull(),
    /** Whether events of a metric are summed up, or awards of a points system. */
    log: text('log', { enum: ['events', 'awards'] }).notNull(),
    /** The number of the metric or points system. */
    no: integer('no').notNull(),
    /** All days up to this one are summed up, in days since 1970-01-01. */
    through: integer('through').notNull(),
    /** JSON: `[[day, change]]`, ascending, of the days on which something happened; in millionths of a metric, or in points. */
    days: text('days').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.log, table.no] })],
)
