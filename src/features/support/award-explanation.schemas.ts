import * as z from 'zod'
import { DateResponse, IdOrKey, Timestamp, UserId, Uuid, UuidResponse } from '../../api/fields'
import { PointsBoost, PointsTrigger } from '../../api/shapes/points.schemas'
import { CORRECTION_TYPES } from '../../configuration/enumerations.types'

export const AwardExplanationParams = z.object({
  id: UserId,
  /** The id or the key of the points system. */
  key: IdOrKey,
  awardId: Uuid,
})

/** A moment: in UTC, and on the user's clock at that time (E8). */
export const moment = { at: Timestamp, localDate: DateResponse, utcOffsetMinutes: z.int() }

/** An event of the log. `metricKey` is null if the metric was deleted. */
export const LoggedEvent = z
  .object({
    id: UuidResponse,
    metricId: UuidResponse,
    metricKey: z.string().nullable(),
    value: z.number(),
    attributes: z.record(z.string(), z.string()),
    ...moment,
  })
  .meta({ id: 'LoggedEvent' })

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
