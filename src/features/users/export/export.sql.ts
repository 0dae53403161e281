import * as z from 'zod'
import { PointsBoost } from '../../../api/shapes/points'
import { BOOST_COLUMNS, BoostRow } from '../../../configuration/configuration'
import { type Instant, instant } from '../../../lib/clock'
import { micros } from '../../../lib/decimal'
import { MOST_AT_ONCE, packsOf } from '../../../lib/packed'
import { bytesOf, HexId, idOf, json, Moment } from '../../../platform/columns'
import { KEY_SCOPES } from '../../../platform/context'
import type { TenantDatabase } from '../../../platform/database'
import type { UserState } from '../../../rules/state'
import { LEDGER_COLUMNS, LedgerRow, ReachedLevels } from '../../../store/awards.sql.ts'
import {
  parseRecorded,
  recordedAmongStatement,
  StoredHistoryRow,
  StoredStreakEntry,
} from '../../../store/events.sql.ts'
import { LostRunRow, RUN_COLUMNS } from '../../../store/users/streaks.sql.ts'
import { parseUser, userStatement } from '../../../store/users/users.sql.ts'

/** Rows of a page. A column that can be long is read with its row only up to `SHORT` bytes. */
const PAGE = 2_000
const SHORT = Math.floor(MOST_AT_ONCE / PAGE)

/** The SQL of a column that can be long: its text, or null if it is long, and its size in bytes. */
const textOf = (column: string, otherwise = '') => `
    CASE WHEN coalesce(octet_length(${column}), 0) <= ${SHORT} THEN coalesce(${column}, '${otherwise}') END AS
      text,
    coalesce(octet_length(${column}), 0) AS bytes`
/** The columns of `textOf`. */
const text = { text: z.string().nullable(), bytes: z.number() }
type Sized = { text: string | null; bytes: number }

/** A table, or a part of one, that is read page by page in the order of its key. */
type Source<R extends object> = {
  /** Reads a page. The last parameters are the key of the last row before it. */
  sql: string
  rows: z.ZodType<R[]>
  key: readonly (keyof R)[]
  /** A key before all rows. */
  begin: readonly (string | number)[]
}

/** The same with a column that can be long: JSON with this content. */
type LongSource<R extends Sized, C> = Source<R> & {
  /** Reads long columns as `text`. ?2 is a list of keys, and `n` is the index in it. */
  long: string
  content: z.ZodType<C, string>
}

/** Reads the page after a row, or the first one. `own` are the parameters before the key. */
const pageAfter = <R extends object>(
  db: TenantDatabase,
  { sql, key, begin }: Omit<Source<R>, 'rows'>,
  own: readonly unknown[],
  last?: R,
) => db.statement(sql, ...own, ...(last === undefined ? begin : key.map((name) => last[name])))

/** Reads all pages. `first` is the first one if it is read already. */
async function* pagesOf<R extends object>(
  db: TenantDatabase,
  source: Source<R>,
  own: readonly unknown[],
  first?: R[],
): AsyncGenerator<R[]> {
  const read = async (last?: R) => source.rows.parse(await db.rows(pageAfter(db, source, own, last)))
  for (let rows = first ?? (await read()); ; rows = await read(rows.at(-1))) {
    yield rows
    if (rows.length < PAGE) return
  }
}

const LongRows = z.array(z.object({ n: z.number(), text: z.string() }))

/** Reads all pages with the content of the long column. Throws if a row was deleted in between. */
async function* longPagesOf<R extends Sized, C>(
  db: TenantDatabase,
  source: LongSource<R, C>,
  own: readonly unknown[],
  first?: R[],
): AsyncGenerator<(R & { content: C })[]> {
  for await (const page of pagesOf(db, source, own, first))
    for (const rows of packsOf(page, MOST_AT_ONCE, ({ bytes }) => bytes)) {
      const missing = rows.filter(({ text }) => text === null)
      const keys = missing.map((row) => source.key.map((name) => row[name]))
      const read = db.statement(source.long, own[0], JSON.stringify(keys))
      const found = LongRows.parse(missing.length === 0 ? [] : await db.rows(read))
      const texts = new Map(found.map(({ n, text }) => [missing[n], text]))
      yield rows.map((row) => {
        const text = row.text ?? texts.get(row)
        if (text === undefined) throw new Error('a part of the export was deleted while it was read')
        return { ...row, content: source.content.parse(text) }
      })
    }
}

const OWN = `user_iid = ${bytesOf('?1')}`

/** How a table of users is read. `column` can be long. */
type OfUser<R extends Sized, C> = Pick<LongSource<R, C>, 'rows' | 'key' | 'content'> & {
  columns: string
  column: string
  otherwise?: string
}

/** The rows of the user ?1 in a table, up to the user's change ?2. */
function ofUser<R extends Sized, C>(
  table: string,
  { columns, column, otherwise, ...source }: OfUser<R, C>,
): LongSource<R, C> {
  const key = source.key.map(String)
  return {
    ...source,
    begin: key.map(() => -1),
    sql: `
  SELECT ${columns}, ${textOf(column, otherwise)}
  FROM ${table} WHERE ${OWN} AND (${key.join(', ')}) > (${key.map((_, n) => `?${n + 3}`).join(', ')})
    AND seq <= ?2 ORDER BY ${key.join(', ')} LIMIT ${PAGE}`,
    long: `
  SELECT asked.key AS n, l.${column} AS text FROM json_each(?2) asked CROSS JOIN ${table} l
    ON l.user_iid = ${bytesOf('?1')} AND ${key.map((name, n) => `l.${name} = asked.value ->> ${n}`).join(' AND ')}`,
  }
}

const OF_USER = 'user_iid = (SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'
const BOOSTS = `SELECT ${BOOST_COLUMNS}, deleted FROM points_boosts WHERE ${OF_USER} ORDER BY no`
const RUNS = `SELECT ${RUN_COLUMNS}, r.lost FROM streak_runs r WHERE ${OF_USER} ORDER BY first`
const PAUSES = `SELECT id, start, "end", deleted FROM streak_pauses WHERE ${OF_USER} ORDER BY start, id`
const KEYS = `
  SELECT id, prefix, scope, expires, created FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2 ORDER BY no`

const RunRows = z.array(LostRunRow)
const BoostRows = z.array(BoostRow.extend({ deleted: Moment.nullable() }))
const PauseRows = z.array(
  z.object({ id: z.string(), start: z.number(), end: z.number(), deleted: Moment.nullable() }),
)
const KeyRows = z.array(
  z.object({
    id: z.string(),
    prefix: z.string(),
    scope: z.enum(KEY_SCOPES),
    expires: Moment.nullable(),
    created: Moment,
  }),
)

/** A batch event as the inbox stores it (see events/commands.ts), with the fields that the caller sent. */
const SentEvent = json(
  z.object({
    eventId: z.string(),
    metricKey: z.string(),
    idempotencyKey: z.string().nullable(),
    body: z.object({
      user: z.record(z.string(), z.unknown()),
      value: z.number(),
      attributes: z.record(z.string(), z.string()),
    }),
  }),
)
const place = { batchId: z.string(), position: z.number() }
const Waiting = z.object({ no: z.number(), nth: z.number(), ...place, ...text })
const Parked = z.object({ ...place, reason: z.string(), ...text })
type Waiting = z.output<typeof Waiting>
type Parked = z.output<typeof Parked>

// `instr` skips rows that can't contain an event of the user: most rows. They are not parsed.
const WAITING = {
  sql: `
  SELECT i.no, e.key AS nth, i.batch_id AS batchId, i."offset" + e.key AS position, ${textOf('e.value')}
  FROM inbox i, json_each(i.events) e
  WHERE i.tenant_id = ?1 AND i.no >= ?4 AND instr(i.events, ?3) > 0 AND e.key >= i.done
    AND (i.no > ?4 OR e.key > ?5) AND e.value ->> '$.body.user.id' = ?2
  ORDER BY i.no, e.key LIMIT ${PAGE}`,
  rows: z.array(Waiting),
  key: ['no', 'nth'],
  begin: [0, -1],
  long: `
  SELECT asked.key AS n, i.events -> ('$[' || (asked.value ->> 1) || ']') AS text FROM json_each(?2) asked
  CROSS JOIN inbox i ON i.no = asked.value ->> 0 AND i.tenant_id = ?1`,
  content: SentEvent,
} satisfies LongSource<Waiting, unknown>
const PARKED = {
  sql: `
  SELECT batch_id AS batchId, position, reason, ${textOf('event')} FROM parked_events
  WHERE tenant_id = ?1 AND (batch_id, position) > (?4, ?5) AND instr(event, ?3) > 0
    AND event ->> '$.body.user.id' = ?2
  ORDER BY batch_id, position LIMIT ${PAGE}`,
  rows: z.array(Parked),
  key: ['batchId', 'position'],
  begin: ['', -1],
  long: `
  SELECT asked.key AS n, p.event AS text FROM json_each(?2) asked CROSS JOIN parked_events p
    ON p.tenant_id = ?1 AND p.batch_id = asked.value ->> 0 AND p.position = asked.value ->> 1`,
  content: json(z.unknown()),
} satisfies LongSource<Parked, unknown>
/** The parameters of both before the key. */
const sentBy = (db: TenantDatabase, userId: string) => [db.tenantId, userId, JSON.stringify(userId)]

/** The statements of the parts that are in the user's own database. */
const ownParts = (db: TenantDatabase, userId: string, systemNow: Instant) => ({
  user: userStatement(db, userId, systemNow),
  boosts: db.statement(BOOSTS, db.tenantId, userId),
  runs: db.statement(RUNS, db.tenantId, userId),
  pauses: db.statement(PAUSES, db.tenantId, userId),
})

/** The statements of the parts that are in the first database. */
const firstParts = (home: TenantDatabase, userId: string) => ({
  keys: home.statement(KEYS, home.tenantId, userId),
  waiting: pageAfter(home, WAITING, sentBy(home, userId)),
  parked: pageAfter(home, PARKED, sentBy(home, userId)),
})

/** How often a user is read again because the user changed while the first database was read. */
const TRIES = 20

/**
 * Reads the stored data of a user at one moment; null if there is no such user (U8). `home` is the first
 * database. If the user is in another one, the user is read again until nothing has changed in between.
 */
export async function readHeld(
  db: TenantDatabase,
  home: TenantDatabase,
  userId: string,
  systemNow: Instant,
): Promise<Held | null> {
  if (db.name === home.name) {
    const all = await db.batchOf({ ...ownParts(db, userId, systemNow), ...firstParts(home, userId) })
    return heldOf(all)
  }
  for (let tries = 1; ; tries += 1) {
    const own = await db.batchOf(ownParts(db, userId, systemNow))
    const first = await home.batchOf(firstParts(home, userId))
    const held = heldOf({ ...own, ...first })
    if (held === null || tries === TRIES || (await isPresent(db, held.user, held.user.seq))) return held
  }
}

type Part = keyof ReturnType<typeof ownParts> | keyof ReturnType<typeof firstParts>

function heldOf(results: Record<Part, D1Result>) {
  const { user, boosts, runs, pauses, keys, waiting, parked } = results
  const state = parseUser(user)
  if (state === null) return null
  return {
    user: state,
    boosts: BoostRows.parse(boosts.results),
    runs: RunRows.parse(runs.results),
    pauses: PauseRows.parse(pauses.results),
    keys: KeyRows.parse(keys.results),
    waiting: WAITING.rows.parse(waiting.results),
    parked: PARKED.rows.parse(parked.results),
  }
}

/** All but the log, the ledger and idempotency keys. Of waiting and parked events, only the first page. */
export type Held = NonNullable<ReturnType<typeof heldOf>>

/** A user's events in the inbox. Throws if some were processed before: no part of the export has them. */
export async function* waitingPages(
  db: TenantDatabase,
  home: TenantDatabase,
  { user, waiting }: Pick<Held, 'user' | 'waiting'>,
) {
  const isLater = waiting.length === PAGE || waiting.some(({ text }) => text === null)
  for await (const page of longPagesOf(home, WAITING, sentBy(home, user.id), waiting)) {
    const events = page.map(({ batchId, position, content: event }) => ({ batchId, position, event }))
    const counted = db.name === home.name ? new Set() : await recordedOf(db, user, events)
    yield events.filter(({ event }) => !counted.has(event.eventId))
  }
  if (isLater && !(await isPresent(db, user, user.seq)))
    throw new Error('events were processed while they were read')
}

/** A step of the inbox has stored these in the log and not removed them yet (B6). The log exports them. */
async function recordedOf(
  db: TenantDatabase,
  { id: userId, seq }: UserState,
  events: readonly { event: { eventId: string } }[],
): Promise<ReadonlySet<string>> {
  if (events.length === 0) return new Set()
  const sought = events.map(({ event }) => ({ userId, since: instant(0), id: event.eventId }))
  const found = parseRecorded(await db.run(recordedAmongStatement(db, sought)))
  return new Set([...found].flatMap(([id, place]) => (place.seq <= seq ? [id] : [])))
}

/** A user's parked events. */
export async function* parkedPages(db: TenantDatabase, { user, parked }: Pick<Held, 'user' | 'parked'>) {
  for await (const page of longPagesOf(db, PARKED, sentBy(db, user.id), parked))
    yield page.map(({ batchId, position, content, reason }) => ({
      batchId,
      position,
      event: content,
      reason,
    }))
}

const PRESENT = `
  SELECT 1 FROM users WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3 AND (?4 IS NULL OR seq = ?4)`

/** Whether the user has not been erased since, and with a `seq`, not changed either. */
export async function isPresent(
  db: TenantDatabase,
  { id, iid }: Pick<UserState, 'id' | 'iid'>,
  seq: number | null = null,
): Promise<boolean> {
  return (await db.rows(db.statement(PRESENT, db.tenantId, id, iid, seq))).length > 0
}

const EVENT_COLUMNS = `
    hex(id) AS id, metric_no, ${idOf('metrics', 'metric_no')} AS metricId, at, seq, value,
    utc_offset AS utcOffset, streak`
const EventRow = z.object({
  id: HexId,
  metric_no: z.number(),
  metricId: z.string(),
  at: Moment,
  seq: z.number(),
  value: z.number().transform(micros),
  utcOffset: z.number(),
  streak: json(z.array(StoredStreakEntry)).nullable(),
  ...text,
})
const VoidedRow = EventRow.extend({ voidedAt: Moment, reason: z.string().nullable() })
const Attributes = json(z.record(z.string(), z.string()))

/** A user's events, by metric and time. `content` is the attributes. */
export const EVENTS = ofUser('events', {
  columns: EVENT_COLUMNS,
  column: 'attributes',
  otherwise: '{}',
  rows: z.array(EventRow),
  key: ['metric_no', 'at', 'seq'],
  content: Attributes,
})

/** A user's voided events, in order of their ids. `content` is the attributes. */
export const VOIDED = {
  sql: `
  SELECT ${EVENT_COLUMNS}, voided_at AS voidedAt, reason, ${textOf('attributes', '{}')}
  FROM voided_events WHERE ${OWN} AND id > unhex(?3, '-') AND voided_seq <= ?2 ORDER BY id LIMIT ${PAGE}`,
  rows: z.array(VoidedRow),
  key: ['id'],
  begin: [''],
  long: `
  SELECT asked.key AS n, l.attributes AS text FROM json_each(?2) asked CROSS JOIN voided_events l
    ON l.user_iid = ${bytesOf('?1')} AND l.id = ${bytesOf('asked.value ->> 0')}`,
  content: Attributes,
} satisfies LongSource<z.output<typeof VoidedRow>, unknown>

/** A user's awards, by points system and time. `content` is the boosts. */
export const AWARDS = ofUser('awards', {
  columns: `${LEDGER_COLUMNS}, system_no, ${idOf('points_systems', 'system_no')} AS systemId, position, levels`,
  column: 'boosts',
  otherwise: '[]',
  rows: z.array(
    LedgerRow.omit({ triggerVersion: true, boosts: true }).extend({
      system_no: z.number(),
      systemId: z.string(),
      position: z.number(),
      levels: json(ReachedLevels).nullable(),
      ...text,
    }),
  ),
  key: ['system_no', 'at', 'seq', 'position'],
  content: json(z.array(PointsBoost)),
})

/** A user's history without the log, the ledger and past streaks, by time (X2). */
export const CHANGES = ofUser('user_changes', {
  columns: 'at, seq, position',
  column: 'entries',
  rows: z.array(z.object({ at: Moment, seq: z.number(), position: z.number(), ...text })),
  key: ['at', 'seq', 'position'],
  content: json(StoredHistoryRow),
})

/** Reads all pages of one of these, up to the change `seq` of the user. */
export const pagesOfUser = <R extends Sized, C>(
  db: TenantDatabase,
  source: LongSource<R, C>,
  { iid, seq }: Pick<UserState, 'iid' | 'seq'>,
) => longPagesOf(db, source, [iid, seq])

/** A row of such a source, with the content of its long column. */
export type RowOf<S> = S extends LongSource<infer R, infer C> ? R & { content: C } : never

const USED_KEYS = `
  SELECT metric_no AS no, ${idOf('metrics', 'metric_no')} AS metricId, key, hex(event_id) AS eventId
  FROM idempotency_keys WHERE ${OWN} AND (metric_no, key) > (?2, ?3) ORDER BY metric_no, key LIMIT ${PAGE}`
const ADJUSTMENT_KEYS = `
  SELECT system_no AS no, ${idOf('points_systems', 'system_no')} AS systemId, key, hex(award_id) AS awardId
  FROM adjustment_keys WHERE ${OWN} AND (system_no, key) > (?2, ?3) ORDER BY system_no, key LIMIT ${PAGE}`

const key = { no: z.number(), key: z.string() }
const UsedKeys = z.array(z.object({ ...key, metricId: z.string(), eventId: HexId }))
const AdjustmentKeys = z.array(z.object({ ...key, systemId: z.string(), awardId: HexId }))

/** A user's idempotency keys, by metric and key. May include keys that were first used during the export. */
export const usedKeyPages = (db: TenantDatabase, { iid }: Pick<UserState, 'iid'>) =>
  pagesOf(db, { sql: USED_KEYS, rows: UsedKeys, key: ['no', 'key'], begin: [0, ''] }, [iid])

/** The idempotency keys of a user's adjustments, by points system and key (V1). */
export const adjustmentKeyPages = (db: TenantDatabase, { iid }: Pick<UserState, 'iid'>) =>
  pagesOf(db, { sql: ADJUSTMENT_KEYS, rows: AdjustmentKeys, key: ['no', 'key'], begin: [0, ''] }, [iid])
