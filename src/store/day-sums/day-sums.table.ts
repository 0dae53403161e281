import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Sums of a user's log by local day, for days that can't change any more. With them, an event summary reads a
 * long log only once (P12). They can be made again from the log at any time. db/ids.ts explains the ids.
 * WITHOUT ROWID.
 */
export const daySums = sqliteTable(
  'day_sums',
  {
    userIid: blob('user_iid').notNull(),
    /** Whether the sums are of events of a metric, or of awards of a points system. */
    log: text('log', { enum: ['events', 'awards'] }).notNull(),
    /** The number of the metric or points system. */
    no: integer('no').notNull(),
    /** The last day that is summed up, in days since 1970-01-01. */
    through: integer('through').notNull(),
    /**
     * JSON: `[[day, change]]`, ascending, for days that have rows. In millionths of a metric, or in points.
     */
    days: text('days').notNull(),
    /**
     * The user's `seq` as of which the sums are right. A correction raises it and empties the sums, so that
     * sums that were read before it are not kept (V2).
     */
    seq: integer('seq').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.log, table.no] })],
)
