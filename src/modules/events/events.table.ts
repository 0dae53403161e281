import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** The log: one row an event, never changed. A user's total in a metric is the sum of them. WITHOUT ROWID. */
export const events = sqliteTable(
  'events',
  {
    userIid: text('user_iid').notNull(),
    metricId: text('metric_id').notNull(),
    /** When it happened, in milliseconds. */
    at: integer('at').notNull(),
    /** The user's `seq` of this change. */
    seq: integer('seq').notNull(),
    id: text('id').notNull(),
    /** In millionths (E1). */
    value: integer('value').notNull(),
    /** Minutes ahead of UTC in the user's zone at that moment, frozen (E8). */
    utcOffset: integer('utc_offset').notNull(),
    /** JSON: attribute id → value; null where there are none. */
    attributes: text('attributes'),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricId, table.at, table.seq] })],
)

/** Idempotency keys, for ever (E4). WITHOUT ROWID. */
export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    userIid: text('user_iid').notNull(),
    metricId: text('metric_id').notNull(),
    key: text('key').notNull(),
    eventId: text('event_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricId, table.key] })],
)
