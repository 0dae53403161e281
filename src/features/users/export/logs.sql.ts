import * as z from 'zod'
import { PointsBoost } from '../../../api/shapes/points'
import { CORRECTION_TYPES, NOTIFICATION_CHANNELS } from '../../../configuration/enumerations'
import type { Configuration } from '../../../configuration/model'
import { iso, isoOrNull } from '../../../lib/clock'
import { micros } from '../../../lib/decimal'
import { json, Moment } from '../../../platform/columns'
import type { Scope } from '../../../platform/context'
import type { TenantDatabase } from '../../../platform/database'
import { bytesOf, HexId, idOf } from '../../../platform/short-ids'
import type { UserState } from '../../../rules/state'
import { ReachedLevels } from '../../../store/awards.sql.ts'
import { StoredHistoryRow, StoredStreakEntry } from '../../../store/events.sql.ts'
import type { Destination, Held, Place } from '../../../webhooks/delivery/messages'
import { deliveryQueueOf } from '../../../webhooks/delivery/queue'
import { longPagesOf, PAGE, pagesOf, text, textOf } from './export.sql.ts'
import type { UserExport } from './shape'

/** The user whose rows are read, up to the change `seq`. */
type ReadUser = Pick<UserState, 'iid' | 'seq'>

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
    at: Moment,
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
  const found = longPagesOf<z.output<typeof EventRows>[number]>(
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

const VoidedRows = z.array(EventRows.element.extend({ voidedAt: Moment, reason: z.string().nullable() }))

/** A user's voided events, in order of their ids. */
export async function* voidedPages(db: TenantDatabase, { iid, seq }: ReadUser) {
  const found = longPagesOf<z.output<typeof VoidedRows>[number]>(
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
    at: Moment,
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
  const found = longPagesOf<z.output<typeof AwardRows>[number]>(
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

const ChangeRows = z.array(z.object({ at: Moment, seq: z.number(), position: z.number(), ...text }))
const Entries = json(StoredHistoryRow)

/** A user's history without the log, the ledger and past streaks, by time (X2). */
export async function* changePages(db: TenantDatabase, { iid, seq }: ReadUser) {
  const found = longPagesOf<z.output<typeof ChangeRows>[number]>(
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
export const usedKeyPages = (db: TenantDatabase, { iid }: ReadUser) =>
  pagesOf<z.output<typeof UsedKeyRows>[number]>(async (after) => {
    const from = [after?.metricNo ?? 0, after?.key ?? '']
    return UsedKeyRows.parse(await db.rows(db.statement(USED_KEYS, iid, ...from)))
  })

const ADJUSTMENT_KEYS = `
  SELECT system_no AS systemNo, ${idOf('points_systems', 'system_no')} AS systemId, key,
    hex(award_id) AS awardId
  FROM adjustment_keys WHERE user_iid = ${bytesOf('?1')} AND (system_no, key) > (?2, ?3)
    ORDER BY system_no, key LIMIT ${PAGE}`

const AdjustmentKeyRows = z.array(
  z.object({ systemNo: z.number(), systemId: z.string(), key: z.string(), awardId: HexId }),
)

/** The idempotency keys of a user's adjustments, by points system and key (V1). */
export const adjustmentKeyPages = (db: TenantDatabase, { iid }: ReadUser) =>
  pagesOf<z.output<typeof AdjustmentKeyRows>[number]>(async (after) => {
    const from = [after?.systemNo ?? 0, after?.key ?? '']
    return AdjustmentKeyRows.parse(await db.rows(db.statement(ADJUSTMENT_KEYS, iid, ...from)))
  })

type Export = z.input<typeof UserExport>
type User = Pick<UserState, 'iid'>

/** Deliveries of webhook events about a user, sent and pending, by webhook, oldest first. */
export async function* deliveries(
  scope: Scope,
  { webhooks }: Pick<Configuration, 'webhooks'>,
  user: User,
): AsyncGenerator<Export['deliveries']> {
  const tenantId = scope.tenant.id
  for (const { id: webhookId } of webhooks) {
    for await (const page of messages(scope, { kind: 'webhook', tenantId, webhookId }, user))
      yield page.map(({ event, delivery }) => ({ webhookId, event, ...delivery }))
  }
}

/** Notifications to a user, sent and pending, by channel, oldest first. */
export async function* notifications(scope: Scope, user: User): AsyncGenerator<Export['notifications']> {
  for (const channel of NOTIFICATION_CHANNELS) {
    for await (const page of messages(scope, { kind: channel, tenantId: scope.tenant.id }, user))
      yield page.map(({ event, delivery }) => ({ channel, type: event, ...delivery }))
  }
}

async function* messages(scope: Scope, destination: Destination, { iid }: User) {
  let after: Place | null = null
  for (;;) {
    const found: Held = await deliveryQueueOf(scope, destination).held({ iid, after })
    yield found.messages.map(({ place: _, event, body, created, nextAttempt, ...rest }) => ({
      event,
      delivery: {
        ...rest,
        created: iso(created),
        nextAttempt: isoOrNull(nextAttempt),
        payload: JSON.parse(body),
      },
    }))
    after = found.messages.at(-1)?.place ?? null
    if (!found.hasMore) return
  }
}
