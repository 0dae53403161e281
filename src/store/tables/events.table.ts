import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The log: one row for each event, never changed. A user's total in a metric is the sum of the values. For
 * ids, see db/short-ids.ts. WITHOUT ROWID.
 */
export const events = sqliteTable(
  'events',
  {
    userIid: blob('user_iid').notNull(),
    metricNo: integer('metric_no').notNull(),
    /** When the event happened, in milliseconds. */
    at: integer('at').notNull(),
    /** The user's `seq` after this change. */
    seq: integer('seq').notNull(),
    id: blob('id').notNull(),
    /** In millionths (E1). */
    value: integer('value').notNull(),
    /** Minutes ahead of UTC in the user's zone at that moment. Never changes (E8). */
    utcOffset: integer('utc_offset').notNull(),
    /** JSON: attribute id → value. Null if there are none. */
    attributes: text('attributes'),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricNo, table.at, table.seq] })],
)

/** Idempotency keys, kept for ever (E4). For ids, see db/short-ids.ts. WITHOUT ROWID. */
export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    userIid: blob('user_iid').notNull(),
    metricNo: integer('metric_no').notNull(),
    key: text('key').notNull(),
    eventId: blob('event_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricNo, table.key] })],
)
