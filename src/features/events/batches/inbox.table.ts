import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The inbox: events of batches that wait for their turn (E9). A row has a part of one batch. With a row for
 * each event, each event would cost two more written rows. The batch that commits the last event of a row
 * deletes the row.
 */
export const inbox = sqliteTable(
  'inbox',
  {
    /** Counts up: the order in which events were sent. */
    no: integer('no').primaryKey({ autoIncrement: true }),
    tenantId: text('tenant_id').notNull(),
    batchId: text('batch_id').notNull(),
    /** The number of events in the row. */
    count: integer('count').notNull(),
    /** The place of the first event in the batch, from 0. */
    offset: integer('offset').notNull(),
    /** How many events are done, from the first on. */
    done: integer('done').notNull().default(0),
    /** Counts the changes of the row. A step uses it to see whether the row is still as it was read. */
    seq: integer('seq').notNull().default(0),
    /**
     * JSON: the events in the form that isolates send to each other (`Commands`). Null in place of an event
     * whose user was erased (U8). The last column, since it is long.
     */
    events: text('events').notNull(),
  },
  (table) => [index('inbox_by_tenant').on(table.tenantId, table.no)],
)

/** The counters of the batches (E9). WITHOUT ROWID. */
export const eventBatches = sqliteTable(
  'event_batches',
  {
    tenantId: text('tenant_id').notNull(),
    id: text('id').notNull(),
    created: integer('created').notNull(),
    /** Numbers of events: sent, recorded, left out, and parked. */
    accepted: integer('accepted').notNull(),
    processed: integer('processed').notNull().default(0),
    dropped: integer('dropped').notNull().default(0),
    parked: integer('parked').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

/** Events that Laurel could not process. They are parked, so that they do not block others. WITHOUT ROWID. */
export const parkedEvents = sqliteTable(
  'parked_events',
  {
    tenantId: text('tenant_id').notNull(),
    batchId: text('batch_id').notNull(),
    /** The place in the batch, from 0. */
    position: integer('position').notNull(),
    /** JSON: the event as it was sent. */
    event: text('event').notNull(),
    /** The error, for an operator. */
    reason: text('reason').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.batchId, table.position] })],
)
