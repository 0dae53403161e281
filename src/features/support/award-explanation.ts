import * as z from 'zod'
import { UuidResponse } from '../../api/fields'
import { byIdOrKey } from '../../api/resources/drafts.rules'
import { PointsBoost, PointsTrigger } from '../../api/shapes/points'
import { configurationOf } from '../../configuration/configuration'
import { CORRECTION_TYPES } from '../../configuration/enumerations'
import { fromMicros, MICROS_PER_UNIT, multiply } from '../../lib/decimal'
import { errors } from '../../lib/errors'
import { timeOf } from '../../lib/ids'
import { bytesOf, idOf, LOGS, numberOf, numbersIn } from '../../platform/columns'
import type { Scope } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import { agreedRounding } from '../../rules/points/boosts.rules'
import { LEDGER_COLUMNS, LedgerRow, triggerForms } from '../../store/awards.sql.ts'
import { findUser } from '../../store/users/users.sql.ts'
import { EventRow } from './timeline.sql.ts'
import { eventResponse, LoggedEvent, moment, momentOf } from './timeline-entries'

const count = z.number().nullable()

/** Why an award is what it is (X1). */
export const AwardExplanation = z
  .object({
    award: z.object({ id: UuidResponse, awarded: z.int32(), total: z.int32(), ...moment }),
    event: LoggedEvent.extend({ idempotencyKey: z.string().nullable() })
      .meta({ id: 'ExplainedEvent' })
      .nullable(),
    trigger: PointsTrigger.nullable(),
    /** Only corrections have these three (V5). */
    type: z.enum(CORRECTION_TYPES).optional(),
    reason: z.string().nullable().optional(),
    reverses: UuidResponse.nullable().optional(),
    counter: z.object({ before: z.number(), after: z.number() }).nullable(),
    firings: count,
    base: count,
    boosts: z.array(PointsBoost),
    afterBoosts: count,
    limit: z.enum(['cap', 'floor']).nullable(),
    total: z.object({ before: z.int32(), after: z.int32() }),
  })
  .meta({ id: 'AwardExplanation' })

/** The steps from the trigger's points to the award's (X1): firings (P1), boosts (P5), cap and floor (P6). */
function arithmeticOf(award: AwardRow, trigger: z.input<typeof PointsTrigger> | null) {
  const boosts = award.boosts ?? []
  const firings = trigger === null ? null : firingsOf(award, trigger)
  const base = trigger === null || firings === null ? null : trigger.points * firings
  const multipliers = boosts.map(({ multiplier }) => multiplier)
  // Corrections are not boosted (V1).
  const afterBoosts =
    base === null || multipliers.length === 0
      ? (base ?? award.amount)
      : multiply(base, multipliers, agreedRounding(boosts))
  return {
    firings,
    base,
    afterBoosts,
    limit: afterBoosts === null || afterBoosts === award.awarded ? null : limitOf(afterBoosts),
    total: { before: award.total - award.awarded, after: award.total },
  }
}

/** The limit that changed these points: the cap makes them fewer, the floor makes a loss smaller (P6). */
const limitOf = (afterBoosts: number): 'cap' | 'floor' => (afterBoosts > 0 ? 'cap' : 'floor')

/** The highest totals before and after, in millionths. */
const counterOf = ({ counterBefore: before, counterAfter: after }: AwardRow) =>
  before === null || after === null ? null : { before, after }

/** How often the trigger fired. Null if the counter was not stored. */
function firingsOf(award: AwardRow, trigger: z.input<typeof PointsTrigger>): number | null {
  if (trigger.type !== 'metric') return 1
  const counter = counterOf(award)
  if (counter === null) return null
  const threshold = (trigger.metricThreshold ?? 1) * MICROS_PER_UNIT
  return Math.floor(counter.after / threshold) - Math.floor(counter.before / threshold)
}

const OWN = `user_iid = ${bytesOf('?1')}`

const IN_SYSTEM = `${OWN} AND system_no = ${numberOf('points_systems', '?2')} AND id = ${bytesOf('?4')}`
const COLUMNS = `SELECT ${LEDGER_COLUMNS}, trigger_version AS triggerVersion, boosts`
// A reversal has the moment of the award that it reverses. So the first read is of the corrections, which
// have an index. Another award is not before the time in its id. So the second read begins at that time,
// and ends at the award. It is left out if the first one has found a row.
const ENTRY = `
  SELECT * FROM (${COLUMNS} FROM awards INDEXED BY awards_corrections WHERE ${IN_SYSTEM} AND type IS NOT NULL)
  UNION ALL
  SELECT * FROM (${COLUMNS} FROM awards WHERE ${IN_SYSTEM} AND at >= ?3 ORDER BY at LIMIT 1)
  LIMIT 1`

type AwardRow = z.output<typeof LedgerRow>

/** An award or a correction of a user in a system, or null. */
async function findAward(
  db: TenantDatabase,
  userIid: string,
  { systemId, awardId }: { systemId: string; awardId: string },
): Promise<AwardRow | null> {
  const find = (from: number) => db.find(LedgerRow, ENTRY, userIid, systemId, from, awardId)
  // Under a test clock that real time has passed, an award may be long before the time in its id (C1).
  return (await find(timeOf(awardId))) ?? (db.testClock ? await find(0) : null) ?? null
}

const EVENT_COLUMNS = `
    hex(e.id) AS id, ${idOf('metrics', 'e.metric_no')} AS metricId, e.at, e.value,
    e.utc_offset AS utcOffset, coalesce(e.attributes, '{}') AS attributes,
    (SELECT i.key FROM idempotency_keys i WHERE i.user_iid = e.user_iid AND i.metric_no = e.metric_no
      AND i.event_id = e.id LIMIT 1) AS idempotencyKey`
// The log of a user is ordered by metric. So the read looks for the change once in each metric of the user.
const EVENT = `
  WITH RECURSIVE ${numbersIn(LOGS.events, bytesOf('?1'))}
  SELECT ${EVENT_COLUMNS}
  FROM used CROSS JOIN events e ON e.user_iid = ${bytesOf('?1')} AND e.metric_no = used.no AND e.at = ?2
    AND e.seq = ?3
  UNION ALL SELECT ${EVENT_COLUMNS} FROM voided_events e
  WHERE e.user_iid = ${bytesOf('?1')} AND e.at = ?2 AND e.seq = ?3`

const EventRows = z.array(
  EventRow.omit({ seq: true, position: true, streak: true, voidedAt: true }).extend({
    idempotencyKey: z.string().nullable(),
  }),
)

/** The event of a user's change, voided or not, with its idempotency key. Null if the change had no event. */
async function eventOfChange(
  db: TenantDatabase,
  userIid: string,
  { at, seq }: { at: number; seq: number },
): Promise<z.output<typeof EventRows>[number] | null> {
  return EventRows.parse(await db.rows(db.statement(EVENT, userIid, at, seq)))[0] ?? null
}

/** Finds an award. `key` is the key or the id of its points system. Throws 404 if it does not exist. */
export async function findExplained(
  scope: Scope,
  { id, key, awardId }: { id: string; key: string; awardId: string },
) {
  const { iid: userIid } = await findUser(scope, id)
  const config = await configurationOf(scope)
  const { id: systemId } = byIdOrKey(config.systems, key, 'This points system')
  const award = await findAward(scope.db, userIid, { systemId, awardId })
  if (award === null) throw errors.notFound('This award')
  return { config, userIid, award }
}

/** Why an award is what it is (X1). */
export async function explain(
  { db }: Scope,
  { config, userIid, award }: Awaited<ReturnType<typeof findExplained>>,
): Promise<z.input<typeof AwardExplanation>> {
  const { id, awarded, total, type, reason, reverses, triggerId, triggerVersion } = award
  const [event, forms] = await Promise.all([
    type === null ? eventOfChange(db, userIid, award) : null,
    triggerForms(db, [award]),
  ])
  const trigger = forms.get(`${triggerId} ${triggerVersion}`) ?? null
  const counter = counterOf(award)
  return {
    award: { id, awarded, total, ...momentOf(award) },
    event: event && { ...eventResponse(config, event), idempotencyKey: event.idempotencyKey },
    trigger,
    ...(type !== null && { type, reason, reverses }),
    counter: counter && { before: fromMicros(counter.before), after: fromMicros(counter.after) },
    boosts: award.boosts ?? [],
    ...arithmeticOf(award, trigger),
  }
}
