import * as z from 'zod'
import { Timestamp } from '../../../http/fields'
import { iso } from '../../../lib/clock'
import { MetricEventPointsResponse, PointsLevel, PointsResponse } from '../../../wire/points.schemas'
import { User } from '../../../wire/user.schemas'
import { PointsBoostWebhookPayload } from '../../../wire/webhook.schemas'
import { webhookEvent } from './event.types'
import { award, boost, ID, level, system, user } from './parts.builder'

/** The events of points (W2). */
export const pointsEvents = {
  'points.boost_finished': webhookEvent(
    z.object({ timestamp: Timestamp, boost: PointsBoostWebhookPayload }),
    (when) => ({ timestamp: iso(when.now), boost: boost(when, 'finished') }),
  ),
  'points.boost_started': webhookEvent(
    z.object({ timestamp: Timestamp, boost: PointsBoostWebhookPayload }),
    (when) => ({ timestamp: iso(when.now), boost: boost(when, 'active') }),
  ),
  'points.changed': webhookEvent(z.object({ user: User, points: MetricEventPointsResponse }), (when) => ({
    user: user(when),
    points: { ...system, total: 110, added: 10, awards: [award(when)] },
  })),
  'points.level_changed': webhookEvent(
    z.object({
      user: User,
      points: PointsResponse.extend({ total: z.int32() }),
      previousLevel: PointsLevel.nullable(),
      newLevel: PointsLevel.nullable(),
    }),
    (when) => ({
      user: user(when),
      points: { ...system, total: 110 },
      previousLevel: level('one', 50, `${ID}3`),
      newLevel: level('two', 100, `${ID}4`),
    }),
  ),
} as const
