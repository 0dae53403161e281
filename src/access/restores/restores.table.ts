import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Whether the database was brought back to an earlier moment (M1): one row. `npm run restored` changes it,
 * and `npm run serve` after a backup was restored.
 */
export const restores = sqliteTable('restores', {
  /** Always 1. */
  id: integer('id').primaryKey(),
  /**
   * The last time at which the database was brought back, in milliseconds of real time; 0 if never. It only
   * rises, also if the database is brought back to a moment before an earlier restore.
   */
  epoch: integer('epoch').notNull(),
  /** The epoch for which all deletions since the backup were done again (M3). */
  redone: integer('redone').notNull(),
  /** JSON: the last deletion that was done again for the present epoch; null at the beginning. */
  progress: text('progress'),
  /**
   * The last moment that the cron trigger has noted, the same in all databases, in milliseconds of real time.
   * It says to which moment a database was brought back. Null before the first one.
   */
  moment: integer('moment'),
  /**
   * Only in the first database: a moment that all databases have noted, or a later one. A write may not have
   * arrived in all of them. Null before the first one.
   */
  confirmed: integer('confirmed'),
})
