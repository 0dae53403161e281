import * as z from 'zod'
import { BOOST_COLUMNS, BoostRow } from '../../../configuration/configuration.sql.ts'
import { type Instant, instant } from '../../../lib/clock'
import { MOST_AT_ONCE, packsOf } from '../../../lib/packed'
import { json, Moment } from '../../../platform/columns'
import { KEY_SCOPES } from '../../../platform/context'
import type { TenantDatabase } from '../../../platform/database'
import type { UserState } from '../../../rules/state'
import { parseRecordedAmong, recordedAmongStatement } from '../../../store/events.sql.ts'
import { LostRunRow, RUN_COLUMNS } from '../../../store/users/streaks.sql.ts'
import { parseUser, userStatement } from '../../../store/users/users.sql.ts'

/** Rows of a page. A column that can be long is read with its row only up to `SHORT` bytes. */
export const PAGE = 2_000
const SHORT = Math.floor(MOST_AT_ONCE / PAGE)

/** The SQL of a column that can be long: its text, or null if it is long, and its size in bytes. */
export const textOf = (column: string, otherwise: string) => `
    CASE WHEN coalesce(octet_length(${column}), 0) <= ${SHORT} THEN coalesce(${column}, '${otherwise}') END AS
      text,
    coalesce(octet_length(${column}), 0) AS bytes`
/** The columns of `textOf`. */
export const text = { text: z.string().nullable(), bytes: z.number() }
type Sized = { text: string | null; bytes: number }

const LongRows = z.array(z.object({ n: z.number(), text: z.string() }))

/**
 * Reads pages one after another, each after the last row of the page before, until one has fewer rows than
 * `PAGE`.
 */
export async function* pagesOf<R>(read: (after: R | null) => Promise<R[]>): AsyncGenerator<R[]> {
  for (let after: R | null = null; ; ) {
    const rows: R[] = await read(after)
    yield rows
    after = rows.at(-1) ?? null
    if (rows.length < PAGE) return
  }
}

/**
 * The same for rows with a column that can be long. Long columns are read separately, as many rows at once as
 * fit. `long` reads them: it returns `text`, and `n`, the index among the rows that it gets. Throws if a row
 * was deleted in between.
 */
export async function* longPagesOf<R extends Sized>(
  read: (after: R | null) => Promise<R[]>,
  long: (rows: readonly R[]) => Promise<unknown[]>,
): AsyncGenerator<(R & { text: string })[]> {
  for await (const rows of pagesOf(read))
    for (const some of packsOf(rows, MOST_AT_ONCE, ({ bytes }) => bytes)) yield await whole(some, long)
}

async function whole<R extends Sized>(
  rows: readonly R[],
  long: (rows: readonly R[]) => Promise<unknown[]>,
): Promise<(R & { text: string })[]> {
  const missing = rows.filter(({ text }) => text === null)
  const found = LongRows.parse(missing.length === 0 ? [] : await long(missing))
  const texts = new Map(found.map(({ n, text }) => [missing[n], text]))
  return rows.map((row) => {
    const text = row.text ?? texts.get(row)
    if (text === undefined) throw new Error('a part of the export was deleted while it was read')
    return { ...row, text }
  })
}

const OF_USER = 'user_iid = (SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'
const BOOSTS = `SELECT ${BOOST_COLUMNS}, deleted FROM points_boosts WHERE ${OF_USER} ORDER BY no`
const RUNS = `SELECT ${RUN_COLUMNS}, r.lost FROM streak_runs r WHERE ${OF_USER} ORDER BY first`
const PAUSES = `SELECT id, start, "end", deleted FROM streak_pauses WHERE ${OF_USER} ORDER BY start, id`
const KEYS = `
  SELECT id, prefix, scope, expires, created FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2 ORDER BY no`

const WAITING = `
  SELECT i.no, e.key AS nth, i.batch_id AS batchId, i."offset" + e.key AS position, ${textOf('e.value', '')}
  FROM inbox i, json_each(i.events) e
  WHERE i.tenant_id = ?1 AND i.no >= ?4 AND instr(i.events, ?3) > 0 AND e.key >= i.done
    AND (i.no > ?4 OR e.key > ?5) AND e.value ->> '$.body.user.id' = ?2
  ORDER BY i.no, e.key LIMIT ${PAGE}`
const LONG_WAITING = `
  SELECT asked.key AS n, i.events -> ('$[' || (asked.value ->> 1) || ']') AS text FROM json_each(?2) asked
  CROSS JOIN inbox i ON i.no = asked.value ->> 0 AND i.tenant_id = ?1`
const PARKED = `
  SELECT batch_id AS batchId, position, reason, ${textOf('event', '')} FROM parked_events
  WHERE tenant_id = ?1 AND (batch_id, position) > (?4, ?5) AND instr(event, ?3) > 0
    AND event ->> '$.body.user.id' = ?2
  ORDER BY batch_id, position LIMIT ${PAGE}`
const LONG_PARKED = `
  SELECT asked.key AS n, p.event AS text FROM json_each(?2) asked CROSS JOIN parked_events p
    ON p.tenant_id = ?1
    AND p.batch_id = asked.value ->> 0 AND p.position = asked.value ->> 1`

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
const WaitingRows = z.array(z.object({ no: z.number(), nth: z.number(), ...place, ...text }))
const ParkedRows = z.array(z.object({ ...place, reason: z.string(), ...text }))
type Waiting = z.output<typeof WaitingRows>[number]
type Parked = z.output<typeof ParkedRows>[number]

/**
 * The stored data of a user, without the log, the ledger and idempotency keys, which may be long. Of waiting
 * and parked events, only the first page.
 */
export type Held = {
  user: UserState
  boosts: z.output<typeof BoostRows>
  runs: z.output<typeof RunRows>
  pauses: z.output<typeof PauseRows>
  keys: z.output<typeof KeyRows>
  waiting: Waiting[]
  parked: Parked[]
}

const waitingAfter = (db: TenantDatabase, userId: string, after: Waiting | null) =>
  db.statement(WAITING, db.tenantId, userId, JSON.stringify(userId), after?.no ?? 0, after?.nth ?? -1)

const parkedAfter = (db: TenantDatabase, userId: string, after: Parked | null) =>
  db.statement(
    PARKED,
    db.tenantId,
    userId,
    JSON.stringify(userId),
    after?.batchId ?? '',
    after?.position ?? -1,
  )

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
  waiting: waitingAfter(home, userId, null),
  parked: parkedAfter(home, userId, null),
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
    if (held === null || tries === TRIES || (await isUnchanged(db, held.user))) return held
  }
}

type Part = keyof ReturnType<typeof ownParts> | keyof ReturnType<typeof firstParts>

function heldOf(results: Record<Part, D1Result>): Held | null {
  const { user, boosts, runs, pauses, keys, waiting, parked } = results
  const state = parseUser(user)
  if (state === null) return null
  return {
    user: state,
    boosts: BoostRows.parse(boosts.results),
    runs: RunRows.parse(runs.results),
    pauses: PauseRows.parse(pauses.results),
    keys: KeyRows.parse(keys.results),
    waiting: WaitingRows.parse(waiting.results),
    parked: ParkedRows.parse(parked.results),
  }
}

/**
 * A user's events that wait in the inbox. Throws if some were processed before they were read, because then
 * no part of the export has them.
 */
export async function* waitingPages(
  db: TenantDatabase,
  home: TenantDatabase,
  { user, waiting }: Pick<Held, 'user' | 'waiting'>,
) {
  const isLater = waiting.length === PAGE || waiting.some(({ text }) => text === null)
  const found = longPagesOf<Waiting>(
    async (after) =>
      after === null ? waiting : WaitingRows.parse(await home.rows(waitingAfter(home, user.id, after))),
    (rows) => {
      const places = rows.map(({ no, nth }) => [no, nth])
      return home.rows(home.statement(LONG_WAITING, home.tenantId, JSON.stringify(places)))
    },
  )
  for await (const page of found) {
    const events = page.map(({ batchId, position, text }) => {
      return { batchId, position, event: SentEvent.parse(text) }
    })
    const counted = db.name === home.name ? new Set() : await recordedOf(db, user, events)
    yield events.filter(({ event }) => !counted.has(event.eventId))
  }
  if (isLater && !(await isUnchanged(db, user))) throw new Error('events were processed while they were read')
}

/** A step of the inbox has stored these in the log and not removed them yet (B6). The log exports them. */
async function recordedOf(
  db: TenantDatabase,
  { id: userId, seq }: UserState,
  events: readonly { event: { eventId: string } }[],
): Promise<ReadonlySet<string>> {
  if (events.length === 0) return new Set()
  const sought = events.map(({ event }) => ({ userId, since: instant(0), id: event.eventId }))
  const found = parseRecordedAmong(await db.run(recordedAmongStatement(db, sought)))
  return new Set([...found].flatMap(([id, place]) => (place.seq <= seq ? [id] : [])))
}

/** A user's parked events. */
export async function* parkedPages(db: TenantDatabase, { user, parked }: Pick<Held, 'user' | 'parked'>) {
  const found = longPagesOf<Parked>(
    async (after) =>
      after === null ? parked : ParkedRows.parse(await db.rows(parkedAfter(db, user.id, after))),
    (rows) => {
      const places = rows.map(({ batchId, position }) => [batchId, position])
      return db.rows(db.statement(LONG_PARKED, db.tenantId, JSON.stringify(places)))
    },
  )
  for await (const page of found) {
    yield page.map(({ batchId, position, reason, text }) => ({
      batchId,
      position,
      event: JSON.parse(text),
      reason,
    }))
  }
}

const UNCHANGED = 'SELECT 1 FROM users WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3 AND seq = ?4'

async function isUnchanged(
  db: TenantDatabase,
  { id, iid, seq }: Pick<UserState, 'id' | 'iid' | 'seq'>,
): Promise<boolean> {
  return (await db.rows(db.statement(UNCHANGED, db.tenantId, id, iid, seq))).length > 0
}

const PRESENT = 'SELECT 1 FROM users WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3'

/** Whether the user has not been erased since. */
export async function isPresent(
  db: TenantDatabase,
  { id, iid }: Pick<UserState, 'id' | 'iid'>,
): Promise<boolean> {
  return (await db.rows(db.statement(PRESENT, db.tenantId, id, iid))).length > 0
}
