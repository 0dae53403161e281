import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** The test clock (C1): one row while it is set, none in real time. */
export const testClock = sqliteTable('test_clock', {
  /** Always 1. */
  id: integer('id').primaryKey(),
  now: integer('now').notNull(),
  /**
   * In a database that is not the first one: while a change of the clock is under way, until when it may be
   * stored, in milliseconds of real time. Else null (B4).
   */
  changing: integer('changing'),
  /** The random name of that change; null while none is under way. */
  change: text('change'),
})
