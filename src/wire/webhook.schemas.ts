import * as z from 'zod'
import { ROUNDINGS } from '../lib/decimal'
import { AttributeFilterAnswer } from './attribute.schemas'
import { LeaderboardResponseWithRankings, UserLeaderboardResponse } from './leaderboard.schemas'

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
