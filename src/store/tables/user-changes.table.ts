import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The part of users' history that no other table has (X2): changes of the profile and the preferences,
 * completions that were taken back, and changes of the streak without an event. WITHOUT ROWID.
 */
export const userChanges = sqliteTable(
  'user_changes',
  {
    userIid: blob('user_iid').notNull(),
    /** When it happened, in milliseconds. */
    at: integer('at').notNull(),
    /** The user's `seq` after the change. */
    seq: integer('seq').notNull(),
    /** Its position among the rows of that change. There are several only if the fields are very long. */
    position: integer('position').notNull(),
    /** JSON: the changed fields and the entries about the streak (`HistoryRow`). */
    entries: text('entries').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.at, table.seq, table.position] })],
)
