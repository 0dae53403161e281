import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Which database holds which buckets of a tenant; only in the first database (B2). WITHOUT ROWID. */
export const directory = sqliteTable('directory', {
  tenantId: text('tenant_id').primaryKey(),
  version: integer('version').notNull(),
  /** JSON: `[[first bucket, name of the database]]`, ascending. */
  places: text('places').notNull(),
  /** JSON: name of a database → how often the buckets that it holds have changed. */
  placements: text('placements').notNull(),
  /** The database to which users are moving. Changes of the configuration are prepared there, too (B4). */
  moving: text('moving'),
})

/**
 * Since when each database but the first is bound, as far as this service has seen; only in the first one.
 * An isolate of the version before may know fewer databases, and may still serve a request. WITHOUT ROWID.
 */
export const knownDatabases = sqliteTable('known_databases', {
  name: text('name').primaryKey(),
  /** In milliseconds of real time. */
  since: integer('since').notNull(),
})

/** The weights of databases that an operator has set; only in the first database (B3). WITHOUT ROWID. */
export const databaseWeights = sqliteTable('database_weights', {
  name: text('name').primaryKey(),
  weight: real('weight').notNull(),
})

/**
 * Which databases hold users, and of how many tenants; only in the first database. Triggers on `directory`
 * keep it, so that it is always exact (B3). WITHOUT ROWID.
 */
export const heldDatabases = sqliteTable('held_databases', {
  name: text('name').primaryKey(),
  tenants: integer('tenants').notNull(),
})

/**
 * Deleted keys, in each database. Only the first database has the keys themselves. The other ones refuse the
 * keys that are listed here, and accept all others. The cron trigger copies missing rows from the first
 * database (K2, B4). WITHOUT ROWID.
 */
export const deletedKeys = sqliteTable(
  'deleted_keys',
  {
    prefix: text('prefix').primaryKey(),
    /** When it was deleted, in milliseconds of real time. */
    at: integer('at').notNull(),
    /**
     * In the first database: since when its record in KV is deleted for sure, in milliseconds of real time. While
     * it is null, the key is not forgotten.
     */
    dropped: integer('dropped'),
  },
  (table) => [index('deleted_keys_by_time').on(table.dropped, table.at)],
)

/**
 * Users whose rows were copied to a database before it holds them (B3). As long as a user is here, the rows
 * belong to nobody: requests find them only through a row of `users`. WITHOUT ROWID.
 */
export const arrivingUsers = sqliteTable(
  'arriving_users',
  {
    tenantId: text('tenant_id').notNull(),
    userIid: text('user_iid').notNull(),
    /** The user's `seq` up to which the rows are copied; -1 while the first copy is not complete. */
    seq: integer('seq').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.userIid] })],
)
