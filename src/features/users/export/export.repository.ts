import * as z from 'zod'
import { BOOST_COLUMNS, BoostRow } from '../../../config/configuration.repository'
import { CORRECTION_TYPES } from '../../../config/enumerations.types'
import type { TenantDatabase } from '../../../db/database'
import { bytesOf, HexId, idOf } from '../../../db/short-ids'
import type { UserState } from '../../../engine/state.types'
import { type Instant, instant } from '../../../lib/clock'
import { micros } from '../../../lib/decimal'
import { MOST_AT_ONCE, packsOf } from '../../../lib/packed'
import { ReachedLevels } from '../../../store/awards.repository'
import { RUN_COLUMNS, StreakRunRow } from '../../../store/streaks/streaks.repository'
import { StoredHistoryRow, StoredStreakEntry } from '../../../store/user-changes.repository'
import { json, parseUser, userStatement } from '../../../store/users.repository'
import { PointsBoost } from '../../../wire/points.schemas'

const moment = z.number().transform(instant)

const OF_USER = 'user_iid = (SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'
const BOOSTS = `SELECT ${BOOST_COLUMNS}, deleted FROM points_boosts WHERE ${OF_USER} ORDER BY no`
const RUNS = `SELECT ${RUN_COLUMNS}, r.lost FROM streak_runs r WHERE ${OF_USER} ORDER BY first`
const PAUSES = `SELECT id, start, "end", deleted FROM streak_pauses WHERE ${OF_USER} ORDER BY start, id`
const KEYS = 'SELECT id, prefix, created FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2 ORDER BY no'

/** Rows of a page. A column that can be long is read with its row only up to `SHORT` bytes. */
const PAGE = 2_000
const SHORT = Math.floor(MOST_AT_ONCE / PAGE)

/** The SQL of a column that can be long: its text, or null if it is long, and its size in bytes. */
const textOf = (column: string, otherwise: string) => `
    CASE WHEN coalesce(octet_length(${column}), 0) <= ${SHORT} THEN coalesce(${column}, '${otherwise}') END AS
      text,
    coalesce(octet_length(${column}), 0) AS bytes`
const text = { text: z.string().nullable(), bytes: z.number() }
type Sized = { text: string | null; bytes: number }

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

const RunRows = z.array(StreakRunRow.extend({ lost: moment.nullable() }))
const BoostRows = z.array(BoostRow.extend({ deleted: moment.nullable() }))
const PauseRows = z.array(
  z.object({ id: z.string(), start: z.number(), end: z.number(), deleted: moment.nullable() }),
)
const KeyRows = z.array(z.object({ id: z.string(), prefix: z.string(), created: moment }))

/** A batch event as the inbox stores it (see events/commands.ts), with the fields that the caller sent. */
const SentEvent = json(
  z.object({
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

/** The statement for a user's waiting events after this one. */
const waitingAfter = (db: TenantDatabase, userId: string, after: Waiting | null) =>
  db.statement(WAITING, db.tenantId, userId, JSON.stringify(userId), after?.no ?? 0, after?.nth ?? -1)

/** The statement for a user's parked events after this one. */
const parkedAfter = (db: TenantDatabase, userId: string, after: Parked | null) =>
  db.statement(
    PARKED,
    db.tenantId,
    userId,
    JSON.stringify(userId),
    after?.batchId ?? '',
    after?.position ?? -1,
  )

/** Reads the stored data of a user at one moment; null if there is no such user (U8). */
export async function readHeld(db: TenantDatabase, userId: string, systemNow: Instant): Promise<Held | null> {
  const { tenantId } = db
  const { user, boosts, runs, pauses, keys, waiting, parked } = await db.batchOf({
    user: userStatement(db, userId, systemNow),
    boosts: db.statement(BOOSTS, tenantId, userId),
    runs: db.statement(RUNS, tenantId, userId),
    pauses: db.statement(PAUSES, tenantId, userId),
    keys: db.statement(KEYS, tenantId, userId),
    waiting: waitingAfter(db, userId, null),
    parked: parkedAfter(db, userId, null),
  })
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

const LongRows = z.array(z.object({ n: z.number(), text: z.string() }))

/**
 * Reads pages one after another, each after the last row of the page before. Long columns are read
 * separately, as many rows at once as fit. `long` reads them: it returns `text`, and `n`, the index among the
 * rows that it gets. Throws if a row was deleted in between.
 */
async function* pages<R extends Sized>(
  read: (after: R | null) => Promise<R[]>,
  long: (rows: readonly R[]) => Promise<unknown[]>,
): AsyncGenerator<(R & { text: string })[]> {
  for (let after: R | null = null; ; ) {
    const rows: R[] = await read(after)
    for (const some of packsOf(rows, MOST_AT_ONCE, ({ bytes }) => bytes)) yield await whole(some, long)
    after = rows.at(-1) ?? null
    if (rows.length < PAGE) return
  }
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

/** The user whose rows are read, up to the change `seq`. */
type ReadUser = Pick<UserState, 'iid' | 'seq'>

/**
 * A user's events that wait in the inbox. Throws if some were processed before they were read, because then
 * no part of the export has them.
 */
export async function* waitingPages(db: TenantDatabase, { user, waiting }: Pick<Held, 'user' | 'waiting'>) {
  const isLater = waiting.length === PAGE || waiting.some(({ text }) => text === null)
  const found = pages<Waiting>(
    async (after) =>
      after === null ? waiting : WaitingRows.parse(await db.rows(waitingAfter(db, user.id, after))),
    (rows) => {
      const places = rows.map(({ no, nth }) => [no, nth])
      return db.rows(db.statement(LONG_WAITING, db.tenantId, JSON.stringify(places)))
    },
  )
  for await (const page of found) {
    yield page.map(({ batchId, position, text }) => ({ batchId, position, event: SentEvent.parse(text) }))
  }
  if (isLater && !(await isUnchanged(db, user))) throw new Error('events were processed while they were read')
}

/** A user's parked events. */
export async function* parkedPages(db: TenantDatabase, { user, parked }: Pick<Held, 'user' | 'parked'>) {
  const found = pages<Parked>(
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

const EVENTS = `
  SELECT hex(id) AS id, metric_no AS metricNo, ${idOf('metrics', 'metric_no')} AS metricId, at, seq, value,
    utc_offset AS utcOffset, streak, ${textOf('attributes', '{}')}
  FROM events WHERE user_iid = ${bytesOf('?1')} AND (metric_no, at, seq) > (?3, ?4, ?5) AND seq <= ?2
  ORDER BY metric_no, at, seq LIMIT ${PAGE}`
const VOIDED = `
  SELECT hex(id) AS id, metric_no AS metricNo, ${idOf('metrics', 'metric_no')} AS metricId, at, seq, value,
    utc_offset AS utcOffset, streak, voided_at AS voidedAt, reason, ${textOf('attributes', '{}')}
  FROM voided_events WHERE user_iid = ${bytesOf('?1')} AND id > unhex(?3, '-') AND voided_seq <= ?2
  ORDER BY id LIMIT ${PAGE}`
const LONG_VOIDED = `
  SELECT asked.key AS n, e.attributes AS text FROM json_each(?2) asked CROSS JOIN voided_events e
    ON e.user_iid = ${bytesOf('?1')} AND e.id = ${bytesOf('asked.value')}`
const LONG_EVENTS = `
  SELECT asked.key AS n, e.attributes AS text FROM json_each(?2) asked CROSS JOIN events e
    ON e.user_iid = ${bytesOf('?1')}
    AND e.metric_no = asked.value ->> 0 AND e.at = asked.value ->> 1 AND e.seq = asked.value ->> 2`

const EventRows = z.array(
  z.object({
    id: HexId,
    metricNo: z.number(),
    metricId: z.string(),
    at: moment,
    seq: z.number(),
    value: z.number().transform(micros),
    utcOffset: z.number(),
    streak: json(z.array(StoredStreakEntry)).nullable(),
    ...text,
  }),
)
const Attributes = json(z.record(z.string(), z.string()))

/** A user's events, by metric and time. */
export async function* eventPages(db: TenantDatabase, { iid, seq }: ReadUser) {
  const found = pages<z.output<typeof EventRows>[number]>(
    async (after) => {
      const from = [after?.metricNo ?? 0, after?.at ?? 0, after?.seq ?? 0]
      return EventRows.parse(await db.rows(db.statement(EVENTS, iid, seq, ...from)))
    },
    (rows) => {
      const keys = rows.map((row) => [row.metricNo, row.at, row.seq])
      return db.rows(db.statement(LONG_EVENTS, iid, JSON.stringify(keys)))
    },
  )
  for await (const page of found)
    yield page.map(({ text, ...row }) => ({ ...row, attributes: Attributes.parse(text) }))
}

const VoidedRows = z.array(EventRows.element.extend({ voidedAt: moment, reason: z.string().nullable() }))

/** A user's voided events, in order of their ids. */
export async function* voidedPages(db: TenantDatabase, { iid, seq }: ReadUser) {
  const found = pages<z.output<typeof VoidedRows>[number]>(
    async (after) => VoidedRows.parse(await db.rows(db.statement(VOIDED, iid, seq, after?.id ?? ''))),
    (rows) => db.rows(db.statement(LONG_VOIDED, iid, JSON.stringify(rows.map(({ id }) => id)))),
  )
  for await (const page of found)
    yield page.map(({ text, ...row }) => ({ ...row, attributes: Attributes.parse(text) }))
}

const AWARDS = `
  SELECT hex(id) AS id, system_no AS systemNo, ${idOf('points_systems', 'system_no')} AS systemId, at, seq,
    position, awarded,
    total, utc_offset AS utcOffset, ${idOf('points_triggers', 'trigger_no')} AS triggerId,
      type, amount, reason, hex(reverses) AS reverses,
      counter_before AS counterBefore, counter_after AS counterAfter, levels, ${textOf('boosts', '[]')}
  FROM awards WHERE user_iid = ${bytesOf('?1')} AND (system_no, at, seq, position) > (?3, ?4, ?5, ?6)
    AND seq <= ?2
  ORDER BY system_no, at, seq, position LIMIT ${PAGE}`
const LONG_AWARDS = `
  SELECT asked.key AS n, a.boosts AS text FROM json_each(?2) asked CROSS JOIN awards a
    ON a.user_iid = ${bytesOf('?1')}
    AND a.system_no = asked.value ->> 0 AND a.at = asked.value ->> 1 AND a.seq = asked.value ->> 2
    AND a.position = asked.value ->> 3`

const AwardRows = z.array(
  z.object({
    id: HexId,
    systemNo: z.number(),
    systemId: z.string(),
    at: moment,
    seq: z.number(),
    position: z.number(),
    awarded: z.number(),
    total: z.number(),
    utcOffset: z.number(),
    triggerId: z.string().nullable(),
    type: z.enum(CORRECTION_TYPES).nullable(),
    amount: z.number().nullable(),
    reason: z.string().nullable(),
    reverses: HexId.or(z.literal('').transform(() => null)),
    counterBefore: z.number().transform(micros).nullable(),
    counterAfter: z.number().transform(micros).nullable(),
    levels: json(ReachedLevels).nullable(),
    ...text,
  }),
)
const Boosts = json(z.array(PointsBoost))

/** A user's awards, by points system and time. */
export async function* awardPages(db: TenantDatabase, { iid, seq }: ReadUser) {
  const found = pages<z.output<typeof AwardRows>[number]>(
    async (after) => {
      const from = [after?.systemNo ?? 0, after?.at ?? 0, after?.seq ?? 0, after?.position ?? 0]
      return AwardRows.parse(await db.rows(db.statement(AWARDS, iid, seq, ...from)))
    },
    (rows) => {
      const keys = rows.map((row) => [row.systemNo, row.at, row.seq, row.position])
      return db.rows(db.statement(LONG_AWARDS, iid, JSON.stringify(keys)))
    },
  )
  for await (const page of found)
    yield page.map(({ text, ...row }) => ({ ...row, boosts: Boosts.parse(text) }))
}

const CHANGES = `
  SELECT at, seq, position, ${textOf('entries', '')} FROM user_changes
  WHERE user_iid = ${bytesOf('?1')} AND (at, seq, position) > (?3, ?4, ?5) AND seq <= ?2
  ORDER BY at, seq, position LIMIT ${PAGE}`
const LONG_CHANGES = `
  SELECT asked.key AS n, c.entries AS text FROM json_each(?2) asked CROSS JOIN user_changes c
    ON c.user_iid = ${bytesOf('?1')} AND c.at = asked.value ->> 0 AND c.seq = asked.value ->> 1
    AND c.position = asked.value ->> 2`

const ChangeRows = z.array(z.object({ at: moment, seq: z.number(), position: z.number(), ...text }))
const Entries = json(StoredHistoryRow)

/** A user's history without the log, the ledger and past streaks, by time (X2). */
export async function* changePages(db: TenantDatabase, { iid, seq }: ReadUser) {
  const found = pages<z.output<typeof ChangeRows>[number]>(
    async (after) => {
      const from = [after?.at ?? 0, after?.seq ?? 0, after?.position ?? -1]
      return ChangeRows.parse(await db.rows(db.statement(CHANGES, iid, seq, ...from)))
    },
    (rows) => {
      const keys = rows.map((row) => [row.at, row.seq, row.position])
      return db.rows(db.statement(LONG_CHANGES, iid, JSON.stringify(keys)))
    },
  )
  for await (const page of found) yield page.map(({ text, at }) => ({ at, ...Entries.parse(text) }))
}

const USED_KEYS = `
  SELECT metric_no AS metricNo, ${idOf('metrics', 'metric_no')} AS metricId, key, hex(event_id) AS eventId
  FROM idempotency_keys WHERE user_iid = ${bytesOf('?1')} AND (metric_no, key) > (?2, ?3)
    ORDER BY metric_no, key LIMIT ${PAGE}`

const UsedKeyRows = z.array(
  z.object({ metricNo: z.number(), metricId: z.string(), key: z.string(), eventId: HexId }),
)

/**
 * A user's idempotency keys, by metric and key. May include keys that were first used during the export. Each
 * is short.
 */
export async function* usedKeyPages(db: TenantDatabase, { iid }: ReadUser) {
  for (let from: [number, string] = [0, '']; ; ) {
    const rows = UsedKeyRows.parse(await db.rows(db.statement(USED_KEYS, iid, ...from)))
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    from = [last.metricNo, last.key]
  }
}

const ADJUSTMENT_KEYS = `
  SELECT system_no AS systemNo, ${idOf('points_systems', 'system_no')} AS systemId, key,
    hex(award_id) AS awardId
  FROM adjustment_keys WHERE user_iid = ${bytesOf('?1')} AND (system_no, key) > (?2, ?3)
    ORDER BY system_no, key LIMIT ${PAGE}`

const AdjustmentKeyRows = z.array(
  z.object({ systemNo: z.number(), systemId: z.string(), key: z.string(), awardId: HexId }),
)

/** The idempotency keys of a user's adjustments, by points system and key (V1). */
export async function* adjustmentKeyPages(db: TenantDatabase, { iid }: ReadUser) {
  for (let from: [number, string] = [0, '']; ; ) {
    const rows = AdjustmentKeyRows.parse(await db.rows(db.statement(ADJUSTMENT_KEYS, iid, ...from)))
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    from = [last.systemNo, last.key]
  }
}

const UNCHANGED = 'SELECT 1 FROM users WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3 AND seq = ?4'

/** Whether the user has not changed since `seq`. */
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
