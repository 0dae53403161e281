import * as z from 'zod'
import {
  createResponse,
  DateResponse,
  IdOrKey,
  items,
  optional,
  Timestamp,
  text,
  UserId,
  Uuid,
  UuidResponse,
  wholeNumber,
  withIssues,
} from '../../api/fields'
import type { Achievement, Configuration, Metric } from '../../configuration/configuration.types'
import { iso } from '../../lib/clock'
import { fromMicros } from '../../lib/decimal'
import { MOST_ADJUSTMENT_POINTS, MOST_ID_CHARACTERS, MOST_REASON_CHARACTERS } from '../../lib/limits'
import { civilDateAt } from '../../lib/zone'
import type { CorrectionChange, Occasion } from '../../rules/corrections.rules'
import { NEW_COUNTER } from '../../rules/metrics.rules'
import type { Completion } from '../../rules/state'
import type { LoggedEvent } from './voids.sql.ts'

const Reason = optional(text(MOST_REASON_CHARACTERS))
/** An idempotency key. Unpaired surrogates would make different keys equal (E4). */
const AdjustmentKey = z
  .string()
  .min(1)
  .max(MOST_ID_CHARACTERS)
  .refine(
    (key) => key.isWellFormed() && !key.includes('\uFFFD'),
    'must have no U+FFFD and no unpaired surrogates',
  )

const CreatePointsAdjustmentRequestItem = z
  .object({
    userId: UserId,
    amount: wholeNumber(-MOST_ADJUSTMENT_POINTS, MOST_ADJUSTMENT_POINTS).refine(
      (amount) => amount !== 0,
      'must not be 0',
    ),
    reason: Reason,
    idempotencyKey: optional(AdjustmentKey),
  })
  .meta({ id: 'CreatePointsAdjustmentRequestItem' })

/** Adjustments of points, 1 to 100 (V1). */
export const CreatePointsAdjustmentsRequest = items(CreatePointsAdjustmentRequestItem).meta({
  id: 'CreatePointsAdjustmentsRequest',
})

/** An adjustment that is in the ledger. `awarded` is what was really applied (P6). */
const PointsAdjustment = z
  .object({ id: UuidResponse, userId: z.string(), awarded: z.int32(), total: z.int32() })
  .meta({ id: 'PointsAdjustment' })

export const CreatePointsAdjustmentsResponse = createResponse(
  'CreatePointsAdjustmentsResponse',
  PointsAdjustment,
)

export const AdjustedSystemParams = z.object({ systemId: IdOrKey })

export const VoidEventParams = z.object({ id: UserId, eventId: Uuid })
export const VoidEventRequest = z.object({ reason: Reason }).meta({ id: 'VoidEventRequest' })

const Totals = z.object({ before: z.number(), after: z.number() })
const PointsTotals = z.record(z.string(), z.object({ before: z.int32(), after: z.int32() }))

/** A voided event, and what the void changed. It is stored, so that each further void answers it (V2). */
export const VoidedEvent = z.object({
  event: z.object({
    id: UuidResponse,
    metricId: UuidResponse,
    metricKey: z.string(),
    value: z.number(),
    attributes: z.record(z.string(), z.string()),
    at: Timestamp,
    localDate: DateResponse,
    utcOffsetMinutes: z.int(),
    voided: Timestamp,
    reason: z.string().nullable(),
  }),
  metric: Totals,
  points: PointsTotals,
})

export const VoidEventResponse = withIssues('VoidEventResponse', VoidedEvent)

export const RevokeAchievementParams = z.object({ id: UserId, key: IdOrKey })
export const RevokeAchievementQuery = z.object({
  points: z.literal('revoke', 'must be revoke, or be left out').optional(),
})

/** A completion that was taken back (V4). `points` has the systems whose awards were reversed. */
export const RevokeAchievementResponse = z
  .object({
    id: UuidResponse,
    key: z.string(),
    completionId: UuidResponse,
    achievedAt: Timestamp,
    points: PointsTotals,
  })
  .meta({ id: 'RevokeAchievementResponse' })

/** The totals of points before and after a correction, by the key of each system with these ids. */
function pointsTotals(
  config: Configuration,
  { before, after }: CorrectionChange,
  systemIds: ReadonlySet<string>,
) {
  const affected = config.systems.filter(({ id }) => systemIds.has(id))
  return Object.fromEntries(
    affected.map(({ id, key }) => [
      key,
      { before: before.points.get(id) ?? 0, after: after.points.get(id) ?? 0 },
    ]),
  )
}

/** A voided event as the response shows it (V2). `systemIds` are the systems that gave points for it. */
export function voidResponse(
  config: Configuration,
  metric: Metric,
  event: LoggedEvent,
  change: CorrectionChange,
  { at, reason, systemIds }: Occasion & { systemIds: ReadonlySet<string> },
): z.infer<typeof VoidedEvent> {
  const totalOf = ({ metrics }: CorrectionChange['after']) =>
    fromMicros((metrics.get(metric.id) ?? NEW_COUNTER).total)
  const keys = new Map(config.attributes.map(({ id, key }) => [id, key]))
  const attributes = [...event.attributes].flatMap(([id, value]) => {
    const key = keys.get(id)
    return key === undefined ? [] : [[key, value] as const]
  })
  return {
    event: {
      id: event.id,
      metricId: metric.id,
      metricKey: metric.key,
      value: fromMicros(event.value),
      attributes: Object.fromEntries(attributes),
      at: iso(event.at),
      localDate: civilDateAt(event.at, event.utcOffset),
      utcOffsetMinutes: event.utcOffset,
      voided: iso(at),
      reason,
    },
    metric: { before: totalOf(change.before), after: totalOf(change.after) },
    points: pointsTotals(config, change, systemIds),
  }
}

/** A completion that was taken back, as the response shows it (V4). */
export function revokeResponse(
  config: Configuration,
  { id, key }: Achievement,
  completion: Completion,
  change: CorrectionChange,
  systemIds: ReadonlySet<string>,
): z.infer<typeof RevokeAchievementResponse> {
  return {
    id,
    key,
    completionId: completion.id,
    achievedAt: iso(completion.at),
    points: pointsTotals(config, change, systemIds),
  }
}
