import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The inbox: events of batches that wait for their turn (E9). A row holds a part of one batch, since a row for each event would cost two
 * written ones more; it goes with its last event, in the batch that commits that one.
 */
export const inbox = sqliteTable(
  'inbox',
  {
    /** Counts up: the order in which events were sent. */
    no: integer('no').primaryKey({ autoIncrement: true }),
    tenantId: text('tenant_id').notNull(),
    batchId: text('batch_id').notNull(),
    /** How many there are. */
    count: integer('count').notNull(),
    /** The place in the batch of the first of them, from 0. */
    offset: integer('offset').notNull(),
    /** How many of them are done, from the first on. */
    done: integer('done').notNull().default(0),
    /** Counts the changes to the row: whoever works on it sees whether it is as it was read. */
    seq: integer('seq').notNull().default(0),
    /** JSON: the events as isolates send them to each other (`Commands`); null in the place of one whose user was erased (U8). Last, since it is long. */
    events: text('events').notNull(),
  },
  (table) => [index('inbox_by_tenant').on(table.tenantId, table.no)],
)

/** What became of the batches (E9). WITHOUT ROWID. */
export const eventBatches = sqliteTable(
  'event_batches',
  {
    tenantId: text('tenant_id').notNull(),
    id: text('id').notNull(),
    created: integer('created').notNull(),
    /** Events: how many were sent, recorded, left out, and put aside. */
    accepted: integer('accepted').notNull(),
    processed: integer('processed').notNull().default(0),
    dropped: integer('dropped').notNull().default(0),
    parked: integer('parked').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

/** Events that could not even be decided, put aside so that they hold up nothing else. WITHOUT ROWID. */
export const parkedEvents = sqliteTable(
  'parked_events',
  {
    tenantId: text('tenant_id').notNull(),
    batchId: text('batch_id').notNull(),
    /** The place in the batch, from 0. */
    position: integer('position').notNull(),
    /** JSON: the event as it was sent. */
    event: text('event').notNull(),
    /** The fault, for whoever looks into it. */
    reason: text('reason').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.batchId, table.position] })],
)
