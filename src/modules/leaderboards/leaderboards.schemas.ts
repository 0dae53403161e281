import { z } from 'zod'
import { DateAnswer } from '../../http/fields'
import { AttributeFilterAnswer } from '../achievements/achievements.schemas'

const TimeOfDay = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$/)

/** A leaderboard as configured (seed 2.11); the singular `breakdownAttribute` carries the first of the plural (G10). */
export const LeaderboardResponse = z
  .object({
    id: z.string(),
    name: z.string(),
    key: z.string(),
    rankBy: z.enum(['points', 'streak', 'metric']),
    breakdownAttribute: z.string().nullable(),
    breakdownAttributes: z.array(z.string()),
    metricKey: z.string().optional(),
    metricName: z.string().optional(),
    pointsSystemKey: z.string().optional(),
    pointsSystemName: z.string().optional(),
    description: z.string().nullable(),
    start: DateAnswer,
    end: DateAnswer.nullable(),
    startTime: TimeOfDay.nullable(),
    endTime: TimeOfDay.nullable(),
    maxParticipants: z.int32().nullable(),
    runUnit: z.enum(['day', 'month', 'year']).nullable(),
    runInterval: z.int32().nullable(),
  })
  .meta({ id: 'LeaderboardResponse' })

/** What an event did to the user's place on a leaderboard; `start` and `end` are those of the run (L2, L5). */
export const MetricEventLeaderboardResponse = LeaderboardResponse.extend({
  rank: z.int32().nullable(),
  previousRank: z.int32().nullable(),
  threshold: z.int32(),
  breakdownAttributeValue: z.string().optional(),
  breakdownAttributeValues: z.array(AttributeFilterAnswer).optional(),
}).meta({ id: 'MetricEventLeaderboardResponse' })
