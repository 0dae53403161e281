import * as z from 'zod'
import { DateResponse, Timestamp } from '../../api/fields'
import { MetricEventPointsResponse, PointsLevel, PointsResponse } from '../../api/shapes/points'
import { DAY, instant, iso } from '../../lib/clock'
import { ROUNDINGS } from '../../lib/decimal'
import { addDays } from '../../lib/zone'
import { SAMPLE_ID, SAMPLE_SYSTEM, userEvent, webhookEvent } from './event'

const sampleLevel = (key: string, points: number, id: string) => ({
  id,
  key,
  name: `Sample level ${key}`,
  description: '',
  badgeUrl: null,
  points,
})

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

/** A boost began or ended. Both events differ only in the status and in the last day. */
const boostEvent = (status: 'active' | 'finished') =>
  webhookEvent({ timestamp: Timestamp, boost: PointsBoostWebhookPayload }, ({ now, today }) => ({
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
      rounding: 'down' as const,
    },
  }))

export const POINTS_EVENTS = {
  /** The points of a user changed (W5, W6). */
  'points.changed': userEvent({ points: MetricEventPointsResponse }, ({ now }) => ({
    points: {
      ...SAMPLE_SYSTEM,
      total: 110,
      added: 10,
      awards: [
        {
          id: `${SAMPLE_ID}5`,
          awarded: 10,
          date: iso(now),
          total: 110,
          trigger: {
            id: `${SAMPLE_ID}6`,
            type: 'user_creation' as const,
            points: 10,
            status: 'active' as const,
            userAttributes: [],
            created: iso(instant(now - DAY)),
            updated: iso(instant(now - DAY)),
          },
          boosts: [],
        },
      ],
    },
  })),
  /** Points took a user to another level (W6). Null means no level. */
  'points.level_changed': userEvent(
    {
      points: PointsResponse.extend({ total: z.int32() }),
      previousLevel: PointsLevel.nullable(),
      newLevel: PointsLevel.nullable(),
    },
    () => ({
      points: { ...SAMPLE_SYSTEM, total: 110 },
      previousLevel: sampleLevel('one', 50, `${SAMPLE_ID}3`),
      newLevel: sampleLevel('two', 100, `${SAMPLE_ID}4`),
    }),
  ),
  /** A boost began (W6). */
  'points.boost_started': boostEvent('active'),
  /** A boost ended (W6). */
  'points.boost_finished': boostEvent('finished'),
}
