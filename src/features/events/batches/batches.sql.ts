import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { readTestClock } from '../../../access/clock.sql.ts'
import { tenantActive } from '../../../access/tenants.sql.ts'
import { DAY, type Instant, instant } from '../../../lib/clock'
import { firstIdAt } from '../../../lib/ids'
import { jsonRow, listOf, MOST_AT_ONCE, packed, packs } from '../../../lib/packed'
import { systemNow } from '../../../lib/system-clock'
import { type ColumnValues, columnList, Moment, readingOf } from '../../../platform/columns'
import type { Context } from '../../../platform/context'
import type { AccountDatabase, Statement, TenantDatabase } from '../../../platform/database'
import { guardSql } from '../../../platform/guard'
import { followEarliest, schedule } from '../../../time/due-work.sql.ts'

/** The progress of a step through the inbox. */
export type Progress = {
  /** Rows with all events done; and how far the last row is, if it is not done. */
  finished: readonly number[]
  advanced: { no: number; done: number } | null
  /** By batch id: how many events were recorded, left out and parked. */
  counts: ReadonlyMap<string, { processed: number; dropped: number; parked: number }>
  parked: readonly { batchId: string; position: number; event: string; reason: string }[]
}

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
    reason: text('reason').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.batchId, table.position] })],
)

/** The most events of one step, and of one row. */
export const EVENTS_A_STEP = 250
const ROWS_A_STEP = 20

/** Events count as sent when they are stored. The test clock may have moved since it was read (C1). */
const NOW = 'coalesce((SELECT now FROM test_clock WHERE ?3), ?4)'
const RECEIVE = `
  INSERT INTO event_batches (tenant_id, id, created, accepted) VALUES (?1, ?2, ${NOW}, ?5)`
const PUT = `
  INSERT INTO inbox (tenant_id, batch_id, count, "offset", events) VALUES (?1, ?2, ?3, ?4, ?5)`

/** Puts a batch into the inbox, and makes it due (E9). Raises a conflict unless the tenant is active. */
export function receive(
  db: TenantDatabase,
  batchId: string,
  events: readonly string[],
  now: Instant,
): Statement[] {
  const rows: { offset: number; part: readonly string[] }[] = []
  for (let from = 0; from < events.length; from += EVENTS_A_STEP) {
    let offset = from
    for (const part of packs(events.slice(from, from + EVENTS_A_STEP))) {
      rows.push({ offset, part })
      offset += part.length
    }
  }
  return [
    tenantActive(db),
    db.statement(RECEIVE, db.tenantId, batchId, db.testClock ? 1 : 0, now, events.length),
    ...rows.map(({ offset, part }) =>
      db.statement(PUT, db.tenantId, batchId, part.length, offset, listOf(part)),
    ),
    schedule(db, 'inbox', { at: now, on: 'once' }),
  ]
}

const COUNTERS = readingOf(eventBatches, ['id', 'accepted', 'processed', 'dropped', 'parked'])
const BATCH = `
  SELECT ${COUNTERS.columns('event_batches')} FROM event_batches WHERE tenant_id = ?1 AND id = ?2`

/** The counters of a batch so far (E9); null if no batch has this id. */
export async function findBatch(db: TenantDatabase, id: string) {
  return (await db.find(COUNTERS.row, BATCH, db.tenantId, id)) ?? null
}

const FIRST_BATCH = 'SELECT id FROM event_batches WHERE tenant_id = ?1 ORDER BY id LIMIT 1'

/** The id of the tenant's first batch; null if there is none. */
export async function firstBatch(db: TenantDatabase): Promise<string | null> {
  return (await db.find(z.object({ id: z.string() }), FIRST_BATCH, db.tenantId))?.id ?? null
}

const WAITING = readingOf(inbox, ['no', 'batchId', 'count', 'offset', 'done', 'seq', 'events'])

// The long column `events` is read only for the rows that the step takes.
const NEXT = `
  WITH ahead AS MATERIALIZED (
    SELECT no, sum(count - done) OVER (ORDER BY no) - (count - done) AS before,
      sum(bytes) OVER (ORDER BY no) - bytes AS bytes_before
    FROM (SELECT no, count, done, octet_length(events) AS bytes FROM inbox WHERE tenant_id = ?1
      ORDER BY no LIMIT ${ROWS_A_STEP}))
  SELECT ${WAITING.columns('i')},
    (SELECT b.created FROM event_batches b WHERE b.tenant_id = ?1 AND b.id = i.batch_id) AS sent
  FROM ahead CROSS JOIN inbox i ON i.no = ahead.no
  WHERE ahead.before < ?2 AND ahead.bytes_before < ${MOST_AT_ONCE} ORDER BY i.no`

const InboxRow = WAITING.row.extend({
  /** When the batch was sent. */
  sent: Moment,
  /** Empty if the JSON cannot be read. Then the events of the row are parked, and do not block others. */
  events: z.string().transform((text): readonly unknown[] => {
    try {
      return z.array(z.unknown()).parse(JSON.parse(text))
    } catch {
      return []
    }
  }),
})
/** A row of the inbox: events of a batch. */
export type InboxRow = z.output<typeof InboxRow>

/** Reads the oldest rows of the inbox: enough for a step's events, or fewer if they are long. */
export const inboxStatement = (db: TenantDatabase): Statement =>
  db.statement(NEXT, db.tenantId, EVENTS_A_STEP)

export const parseInbox = (result: D1Result): InboxRow[] => z.array(InboxRow).parse(result.results)

const UNCHANGED = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?2) asked WHERE NOT EXISTS (SELECT 1 FROM inbox
    WHERE no = asked.value ->> 0 AND tenant_id = ?1 AND seq = asked.value ->> 1))`)

/** Holds while these rows of the inbox are as they were read (see src/platform/guard.ts). */
export function inboxUnchanged(db: TenantDatabase, rows: readonly Pick<InboxRow, 'no' | 'seq'>[]): Statement {
  return db.statement(UNCHANGED, db.tenantId, JSON.stringify(rows.map(({ no, seq }) => [no, seq])))
}

const EMPTY = 'DELETE FROM inbox WHERE tenant_id = ?1 AND no IN (SELECT value FROM json_each(?2))'
const ADVANCE = 'UPDATE inbox SET done = ?3, seq = seq + 1 WHERE tenant_id = ?1 AND no = ?2'
const COUNT = `
  WITH asked AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS processed, value ->> 2 AS dropped,
    value ->> 3 AS parked FROM json_each(?2))
  UPDATE event_batches SET processed = event_batches.processed + asked.processed,
    dropped = event_batches.dropped + asked.dropped, parked = event_batches.parked + asked.parked
  FROM asked WHERE event_batches.tenant_id = ?1 AND event_batches.id = asked.id`
const PARK_VALUES: ColumnValues<typeof parkedEvents, Progress['parked'][number], 'tenantId'> = {
  batchId: ({ batchId }) => batchId,
  position: ({ position }) => position,
  // As a string of JSON: a value of JSON would lose its form, and null would become no value at all.
  event: ({ event }) => event,
  reason: ({ reason }) => reason,
}
const PARK_LIST = columnList(parkedEvents, PARK_VALUES)
const PARK = `
  INSERT INTO parked_events (tenant_id, ${PARK_LIST.columns}) SELECT ?1, ${PARK_LIST.sql()}
    FROM json_each(?2)`
/** When the rest is due: at the moment ?3. Under a test clock, at the time it was sent, if earlier. */
const AGAIN = '(SELECT ?3 FROM inbox WHERE tenant_id = ?1 LIMIT 1)'
const AGAIN_AS_SENT = `(SELECT min(?3, b.created) FROM inbox i CROSS JOIN event_batches b
  ON b.tenant_id = i.tenant_id AND b.id = i.batch_id WHERE i.tenant_id = ?1 ORDER BY i.no LIMIT 1)`

/**
 * Stores the progress of a step. The rest of the inbox is due at `again`. Under a test clock (`isClockSet`),
 * it is due at the time it was sent, if that is earlier.
 */
export function advance(
  db: TenantDatabase,
  { finished, advanced, counts, parked }: Progress,
  { again, isClockSet }: { again: Instant; isClockSet: boolean },
): Statement[] {
  const counted = [...counts].map(([id, count]) => [id, count.processed, count.dropped, count.parked])
  const aside = parked.map((event) => jsonRow(PARK_LIST.values(event)))
  return [
    ...(finished.length === 0 ? [] : [db.statement(EMPTY, db.tenantId, JSON.stringify(finished))]),
    ...(advanced === null ? [] : [db.statement(ADVANCE, db.tenantId, advanced.no, advanced.done)]),
    db.statement(COUNT, db.tenantId, JSON.stringify(counted)),
    ...packed(aside).map((list) => db.statement(PARK, db.tenantId, list)),
    ...followEarliest(db, 'inbox', isClockSet ? AGAIN_AS_SENT : AGAIN, again),
  ]
}

const MOST_DELETED = 1_000

// The recursion goes from tenant to tenant by the table's key, so the number of batches does not matter.
const outdated = (table: string, key: string, id: string, isDone: string) => `
  WITH RECURSIVE sender(tenant) AS (
    SELECT min(tenant_id) FROM ${table}
    UNION ALL SELECT (SELECT min(b.tenant_id) FROM ${table} b WHERE b.tenant_id > tenant) FROM sender
      WHERE tenant IS NOT NULL)
  DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${key} FROM sender CROSS JOIN ${table} b ON b.tenant_id = tenant AND b.${id} < ?1${isDone}
    LIMIT ${MOST_DELETED})`
const OUTDATED_BATCHES = outdated(
  'event_batches',
  'tenant_id, id',
  'id',
  ' AND b.accepted <= b.processed + b.dropped + b.parked',
)
const OUTDATED_EVENTS = outdated('parked_events', 'tenant_id, batch_id, position', 'batch_id', '')

/** Deletes batches from before a moment that are done, and their parked events: 1,000 of each at most. */
export async function deleteBatchesBefore(db: AccountDatabase, at: Instant): Promise<void> {
  const first = firstIdAt(at)
  await db.batch([db.statement(OUTDATED_BATCHES, first), db.statement(OUTDATED_EVENTS, first)])
}

/** Deletes a part of the batches that are done and older than BATCH_LOG_DAYS, if that is set (E9). */
export async function deleteOutdatedBatches(context: Context): Promise<void> {
  const { BATCH_LOG_DAYS: days } = context.variables
  if (days === undefined) return
  const now = (await readTestClock(context.db)) ?? systemNow()
  await deleteBatchesBefore(context.db, instant(now - days * DAY))
}
