import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The log: one row for each event that counts, never changed. A user's total in a metric is the sum of the
 * values. A void moves the row to `voided_events` (V2). For ids, see db/short-ids.ts. WITHOUT ROWID.
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
    /**
     * JSON: the ids of the triggers' own counters that counted the event (P1, V2). Null for events of
     * versions that did not note them.
     */
    counterIds: text('counter_ids'),
    /**
     * JSON: the effects of the event on the streak (`StreakEntry[]`), without a loss. Null if there are none
     * (X2).
     */
    streak: text('streak'),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricNo, table.at, table.seq] })],
)

/**
 * Events that were voided: their rows of the log, and the void (V2). No code that counts the log reads them.
 * For ids, see db/short-ids.ts. WITHOUT ROWID.
 */
export const voidedEvents = sqliteTable(
  'voided_events',
  {
    userIid: blob('user_iid').notNull(),
    id: blob('id').notNull(),
    metricNo: integer('metric_no').notNull(),
    at: integer('at').notNull(),
    seq: integer('seq').notNull(),
    value: integer('value').notNull(),
    utcOffset: integer('utc_offset').notNull(),
    attributes: text('attributes'),
    counterIds: text('counter_ids'),
    streak: text('streak'),
    /** When it was voided, in milliseconds. */
    voidedAt: integer('voided_at').notNull(),
    /** The user's `seq` after the void. The reversals in the ledger have the same. */
    voidedSeq: integer('voided_seq').notNull(),
    reason: text('reason'),
    /** JSON: the response, which a repeated void gets again. */
    response: text('response').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.id] }),
    // A timeline has the event at its moment, and the void at its own (X2).
    index('voided_events_moments').on(table.userIid, table.at, table.seq),
    index('voided_events_voids').on(table.userIid, table.voidedAt, table.voidedSeq),
  ],
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

/**
 * Idempotency keys of adjustments, kept for ever, each with its entry of the ledger (V1). For ids, see
 * db/short-ids.ts. WITHOUT ROWID.
 */
export const adjustmentKeys = sqliteTable(
  'adjustment_keys',
  {
    userIid: blob('user_iid').notNull(),
    systemNo: integer('system_no').notNull(),
    key: text('key').notNull(),
    awardId: blob('award_id').notNull(),
    /** The points that were applied, and the total after them. */
    awarded: integer('awarded').notNull(),
    total: integer('total').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.systemNo, table.key] })],
)
