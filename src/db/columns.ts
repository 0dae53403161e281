import { sql } from 'drizzle-orm'
import { integer, text } from 'drizzle-orm/sqlite-core'

/** The columns of every configured resource. `no` counts up and so is the order of creation; ids alone don't give it, since the test clock stands still. */
export const resource = () => ({
  no: integer('no').primaryKey({ autoIncrement: true }),
  id: text('id').notNull().unique(),
  tenantId: text('tenant_id').notNull(),
  created: integer('created').notNull(),
  updated: integer('updated').notNull(),
  /** When it was deleted, in milliseconds; null while it lives. Its row stays, since history refers to its id (G5). */
  deleted: integer('deleted'),
})

/** For unique indexes: the rows of resources that live, whose keys are taken. */
export const living = sql`deleted IS NULL`
