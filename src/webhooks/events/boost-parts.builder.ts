import * as z from 'zod'
import { DateResponse, Timestamp } from '../../api/fields'
import type { Boost, System } from '../../configuration/configuration.types'
import { addDays } from '../../lib/civil'
import { type Instant, iso } from '../../lib/clock'
import { ROUNDINGS } from '../../lib/decimal'
import { shown } from '../../rules/points/boosts.rules'
import type { When } from './event.builder'
import { SAMPLE_ID, SAMPLE_SYSTEM } from './samples.builder'

/* Parts that both events of boosts share. The events differ only in the status. */

type Status = 'active' | 'finished'

/** A boost as webhooks receive it (W6). */
const PointsBoostWebhookPayload = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['active', 'finished']),
    userId: z.string().nullable(),
    pointsSystemId: z.string(),
    pointsSystemKey: z.string(),
    pointsSystemName: z.string(),
    start: DateResponse,
    end: DateResponse.nullable(),
    multiplier: z.number(),
    rounding: z.enum(ROUNDINGS),
  })
  .meta({ id: 'PointsBoostWebhookPayload' })

/** The schema of the payload of both events. */
export const BoostPayload = z.object({ timestamp: Timestamp, boost: PointsBoostWebhookPayload })
/** A payload of one of both events. */
export type BoostPayload = z.infer<typeof BoostPayload>

/** The payload for a boost that starts or finishes at a moment. */
export const boostPayload = (
  system: Pick<System, 'id' | 'key' | 'name'>,
  boost: Boost,
  status: Status,
  at: Instant,
): BoostPayload => ({
  timestamp: iso(at),
  boost: {
    ...shown(boost),
    status,
    userId: boost.userId,
    pointsSystemId: system.id,
    pointsSystemKey: system.key,
    pointsSystemName: system.name,
  },
})

/** A payload with made-up data. */
export const sampleBoostPayload = ({ now, today }: When, status: Status): BoostPayload => ({
  timestamp: iso(now),
  boost: {
    id: `${SAMPLE_ID}7`,
    name: 'Sample boost',
    status,
    userId: null,
    pointsSystemId: SAMPLE_SYSTEM.id,
    pointsSystemKey: SAMPLE_SYSTEM.key,
    pointsSystemName: SAMPLE_SYSTEM.name,
    start: addDays(today, -1),
    end: status === 'finished' ? addDays(today, -1) : null,
    multiplier: 2,
    rounding: 'down',
  },
})
