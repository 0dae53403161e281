import * as z from 'zod'
import type { EventType } from '../config/webhook-events.types'
import { Timestamp } from '../http/fields'
import { ROUNDINGS } from '../lib/decimal'
import { UserAchievementResponse } from './achievement.schemas'
import { AttributeFilterAnswer } from './attribute.schemas'
import { LeaderboardResponseWithRankings, UserLeaderboardResponse } from './leaderboard.schemas'
import { MetricEventPointsResponse, PointsLevel, PointsResponse } from './points.schemas'
import { BaseStreakResponse, StreakResponse } from './streak.schemas'
import { User } from './user.schemas'

const date = z.string().meta({ format: 'date' })

/** The group that an event is about: the values of the breakdown attributes, in the breakdown's order (L6). */
const userAttributes = z.array(AttributeFilterAnswer).optional()

/** The first places of a group of a leaderboard in a run (W6). */
export const WebhookLeaderboardResponse = LeaderboardResponseWithRankings.extend({ userAttributes }).meta({
  id: 'WebhookLeaderboardResponse',
})

/** A user's place on a leaderboard as webhooks are told of it: now, and when they were last told of it (W5). */
export const WebhookUserLeaderboardResponse = UserLeaderboardResponse.extend({
  previousRank: z.int32().nullable(),
  previousValue: z.int32().nullable(),
  userAttributes,
}).meta({ id: 'WebhookUserLeaderboardResponse' })

/** A boost as webhooks are told of it (W6). */
export const PointsBoostWebhookPayload = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['active', 'finished']),
    userId: z.string().nullable(),
    pointsSystemId: z.string(),
    pointsSystemKey: z.string(),
    pointsSystemName: z.string(),
    start: date,
    end: date.nullable(),
    multiplier: z.number(),
    rounding: z.enum(ROUNDINGS),
  })
  .meta({ id: 'PointsBoostWebhookPayload' })

/** What is sent for each type of event, besides `type` (W2). */
export const BODIES = {
  'achievement.completed': z.object({ user: User, achievement: UserAchievementResponse }),
  'emails.achievement_due': z.object({
    timestamp: Timestamp,
    user: User,
    achievement: UserAchievementResponse,
  }),
  'emails.reactivation_due': z.object({
    timestamp: Timestamp,
    user: User,
    reactivation: z.object({ messageNumber: z.int32(), daysSinceLastActive: z.int32() }),
  }),
  'emails.recap_due': z.object({
    timestamp: Timestamp,
    user: User,
    recap: z.object({ periodStart: date, periodEnd: date }),
  }),
  'emails.streak_reminder_due': z.object({ timestamp: Timestamp, user: User, streak: StreakResponse }),
  'leaderboard.changed': z.object({ leaderboard: WebhookLeaderboardResponse }),
  'leaderboard.finished': z.object({ leaderboard: WebhookLeaderboardResponse }),
  'leaderboard.rank_changed': z.object({ user: User, leaderboard: WebhookUserLeaderboardResponse }),
  'leaderboard.started': z.object({ leaderboard: LeaderboardResponseWithRankings }),
  'points.boost_finished': z.object({ timestamp: Timestamp, boost: PointsBoostWebhookPayload }),
  'points.boost_started': z.object({ timestamp: Timestamp, boost: PointsBoostWebhookPayload }),
  'points.changed': z.object({ user: User, points: MetricEventPointsResponse }),
  'points.level_changed': z.object({
    user: User,
    points: PointsResponse.extend({ total: z.int32() }),
    previousLevel: PointsLevel.nullable(),
    newLevel: PointsLevel.nullable(),
  }),
  'streak.extended': z.object({ user: User, streak: BaseStreakResponse }),
  'streak.freeze_consumed': z.object({ user: User, consumed: z.int32(), freezes: z.int32() }),
  'streak.freeze_earned': z.object({ user: User, earned: z.int32(), freezes: z.int32() }),
  'streak.lost': z.object({ user: User, length: z.int32() }),
  'streak.started': z.object({ user: User, streak: BaseStreakResponse }),
} as const satisfies Record<EventType, z.ZodObject>

/** What is sent for each type of event, by type. */
export const WEBHOOKS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(BODIES).map(([type, body]) => [type, z.object({ type: z.literal(type), ...body.shape })]),
)
