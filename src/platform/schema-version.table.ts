import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The version of the tables: one row, which each migration from 0012 on updates. It lets the Worker say at
 * `GET /health` that a migration is missing, or that a later version of Laurel has migrated the database
 * beyond what this version can serve.
 */
export const schemaVersion = sqliteTable('schema_version', {
  /** Always 1. */
  id: integer('id').primaryKey(),
  /** The number of the newest migration that was applied, such as 12. */
  migration: integer('migration').notNull(),
  /** Its name, such as `0012_schema_version`. */
  name: text('name').notNull(),
  /** The oldest `NEEDED_MIGRATION` of a Worker that can serve with these tables. */
  oldest: integer('oldest').notNull(),
})
