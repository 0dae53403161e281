import * as z from 'zod'
import type { TenantDatabase } from '../../db/database'
import { bytesOf, HexId, idOf } from '../../db/ids'
import type { UserState } from '../../engine/state'
import { type Instant, instant } from '../../shared/clock'
import { micros } from '../../shared/decimal'
import { BOOST_COLUMNS, BoostRow } from '../configuration/configuration.repository'
import { PointsBoost } from '../points/points.schemas'
import { StreakRunRow } from '../streaks/streaks.repository'
import { json, parseUser, userStatement } from './users.repository'

const moment = z.number().transform(instant)

const OF_USER = 'user_iid = (SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'
const BOOSTS = `SELECT ${BOOST_COLUMNS}, deleted FROM points_boosts WHERE ${OF_USER} ORDER BY no`
const RUNS = `SELECT first, last, started, marks, length FROM streak_runs WHERE ${OF_USER} ORDER BY first`
const PAUSES = `SELECT id, start, "end", deleted FROM streak_pauses WHERE ${OF_USER} ORDER BY start, id`
const KEYS = 'SELECT id, prefix, created FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2 ORDER BY no'
const WAITING = `
  SELECT i.batch_id AS batchId, i."offset" + e.key AS position, e.value AS event FROM inbox i, json_each(i.events) e
  WHERE i.tenant_id = ?1 AND instr(i.events, ?3) > 0 AND e.key >= i.done AND e.value ->> '$.body.user.id' = ?2
  ORDER BY i.no, e.key`
const PARKED = `
  SELECT batch_id AS batchId, position, event, reason FROM parked_events
  WHERE tenant_id = ?1 AND instr(event, ?3) > 0 AND event ->> '$.body.user.id' = ?2 ORDER BY batch_id, position`

const BoostRows = z.array(BoostRow.extend({ deleted: moment.nullable() }))
const PauseRows = z.array(
  z.object({ id: z.string(), start: z.number(), end: z.number(), deleted: moment.nullable() }),
)
const KeyRows = z.array(z.object({ id: z.string(), prefix: z.string(), created: moment }))

/** An event of a batch as the inbox has it (see events/commands.ts), as far as it was sent. */
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
const Waiting = z.object({ batchId: z.string(), position: z.number(), event: SentEvent })
const WaitingRows = z.array(Waiting)
const ParkedRows = z.array(Waiting.extend({ event: json(z.unknown()), reason: z.string() }))

/** All that is held of a user but the log, the ledger and idempotency keys, which may be long. */
export type Held = {
  user: UserState
  boosts: z.output<typeof BoostRows>
  runs: z.output<typeof StreakRunRow>[]
  pauses: z.output<typeof PauseRows>
  keys: z.output<typeof KeyRows>
  waiting: z.output<typeof WaitingRows>
  parked: z.output<typeof ParkedRows>
}

/** Reads what is held of a user as of one moment; null where there is none (U8). */
export async function readHeld(db: TenantDatabase, userId: string, systemNow: Instant): Promise<Held | null> {
  const { tenantId } = db
  const asJson = JSON.stringify(userId)
  const [user, boosts, runs, pauses, keys, waiting, parked] = await db.batch([
    userStatement(db, userId, systemNow),
    db.statement(BOOSTS, tenantId, userId),
    db.statement(RUNS, tenantId, userId),
    db.statement(PAUSES, tenantId, userId),
    db.statement(KEYS, tenantId, userId),
    db.statement(WAITING, tenantId, userId, asJson),
    db.statement(PARKED, tenantId, userId, asJson),
  ])
  const state = parseUser(user)
  if (state === null) return null
  return {
    user: state,
    boosts: BoostRows.parse(boosts?.results),
    runs: z.array(StreakRunRow).parse(runs?.results),
    pauses: PauseRows.parse(pauses?.results),
    keys: KeyRows.parse(keys?.results),
    waiting: WaitingRows.parse(waiting?.results),
    parked: ParkedRows.parse(parked?.results),
  }
}

/** Rows of a first page, most rows of any, and characters that a page of long ones is to have at most. */
const FIRST_PAGE = 500
const PAGE = 5_000
const CHARACTERS = 1_000_000

/** Reads pages one after another, each behind the last row of the one before; the longer the rows, the fewer to a page. */
async function* pages<R extends { length: number }>(
  read: (after: R | null, limit: number) => Promise<R[]>,
): AsyncGenerator<R[]> {
  let after: R | null = null
  let limit = FIRST_PAGE
  for (;;) {
    const rows: R[] = await read(after, limit)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < limit) return
    after = last
    const average = rows.reduce((sum, { length }) => sum + length, 0) / rows.length
    limit = Math.max(1, Math.min(PAGE, Math.floor(CHARACTERS / (average + 1))))
  }
}

/** Whose rows are read, and up to which of their changes. */
type Person = Pick<UserState, 'iid' | 'seq'>

const EVENTS = `
  SELECT hex(id) AS id, metric_no AS metricNo, ${idOf('metrics', 'metric_no')} AS metricId, at, seq, value,
    utc_offset AS utcOffset, coalesce(attributes, '{}') AS attributes, coalesce(length(attributes), 0) AS length
  FROM events WHERE user_iid = ${bytesOf('?1')} AND (metric_no, at, seq) > (?3, ?4, ?5) AND seq <= ?2
  ORDER BY metric_no, at, seq LIMIT ?6`

const EventRows = z.array(
  z.object({
    id: HexId,
    metricNo: z.number(),
    metricId: z.string(),
    at: moment,
    seq: z.number(),
    value: z.number().transform(micros),
    utcOffset: z.number(),
    attributes: json(z.record(z.string(), z.string())),
    length: z.number(),
  }),
)

/** A user's events, by metric and time. */
export function eventPages(db: TenantDatabase, { iid, seq }: Person) {
  return pages<z.output<typeof EventRows>[number]>(async (after, limit) => {
    const from = [after?.metricNo ?? 0, after?.at ?? 0, after?.seq ?? 0]
    return EventRows.parse(await db.rows(db.statement(EVENTS, iid, seq, ...from, limit)))
  })
}

const AWARDS = `
  SELECT hex(id) AS id, system_no AS systemNo, ${idOf('points_systems', 'system_no')} AS systemId, at, seq, position, awarded,
    total, utc_offset AS utcOffset, ${idOf('points_triggers', 'trigger_no')} AS triggerId,
    coalesce(boosts, '[]') AS boosts, coalesce(length(boosts), 0) AS length
  FROM awards WHERE user_iid = ${bytesOf('?1')} AND (system_no, at, seq, position) > (?3, ?4, ?5, ?6) AND seq <= ?2
  ORDER BY system_no, at, seq, position LIMIT ?7`

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
    triggerId: z.string(),
    boosts: json(z.array(PointsBoost)),
    length: z.number(),
  }),
)

/** A user's awards, by points system and time. */
export function awardPages(db: TenantDatabase, { iid, seq }: Person) {
  return pages<z.output<typeof AwardRows>[number]>(async (after, limit) => {
    const from = [after?.systemNo ?? 0, after?.at ?? 0, after?.seq ?? 0, after?.position ?? 0]
    return AwardRows.parse(await db.rows(db.statement(AWARDS, iid, seq, ...from, limit)))
  })
}

const USED_KEYS = `
  SELECT metric_no AS metricNo, ${idOf('metrics', 'metric_no')} AS metricId, key, hex(event_id) AS eventId, length(key) AS length
  FROM idempotency_keys WHERE user_iid = ${bytesOf('?1')} AND (metric_no, key) > (?2, ?3) ORDER BY metric_no, key LIMIT ?4`

const UsedKeyRows = z.array(
  z.object({
    metricNo: z.number(),
    metricId: z.string(),
    key: z.string(),
    eventId: HexId,
    length: z.number(),
  }),
)

/** A user's idempotency keys, by metric and key; those that are used meanwhile may be among them. */
export function usedKeyPages(db: TenantDatabase, { iid }: Person) {
  return pages<z.output<typeof UsedKeyRows>[number]>(async (after, limit) => {
    const from = [after?.metricNo ?? 0, after?.key ?? '']
    return UsedKeyRows.parse(await db.rows(db.statement(USED_KEYS, iid, ...from, limit)))
  })
}

const PRESENT = 'SELECT 1 FROM users WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3'

/** Whether a user has not been erased since. */
export async function isPresent(
  db: TenantDatabase,
  { id, iid }: Pick<UserState, 'id' | 'iid'>,
): Promise<boolean> {
  return (await db.rows(db.statement(PRESENT, db.tenantId, id, iid))).length > 0
}
