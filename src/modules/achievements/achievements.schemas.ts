import { z } from 'zod'
import { Timestamp } from '../../http/fields'

/** An attribute filter as the application interface shows it: by key. */
export const AttributeFilterAnswer = z.object({ key: z.string(), value: z.string() })

/** An achievement as configured (A1); the singular `eventAttribute` carries the first of the plural (G10). */
export const AchievementResponse = z
  .object({
    id: z.string(),
    name: z.string(),
    trigger: z.enum(['metric', 'streak', 'api', 'achievement']),
    description: z.string().nullable(),
    badgeUrl: z.string().nullable(),
    key: z.string().optional(),
    streakLength: z.int32().optional(),
    achievementIds: z.array(z.string()).optional(),
    metricId: z.string().optional(),
    metricValue: z.number().optional(),
    metricName: z.string().optional(),
    userAttributes: z.array(AttributeFilterAnswer),
    eventAttribute: AttributeFilterAnswer.optional(),
    eventAttributes: z.array(AttributeFilterAnswer).optional(),
  })
  .meta({ id: 'AchievementResponse' })

/** An achievement of a user; `achievedAt` is null while it is not completed (A3). */
export const UserAchievementResponse = AchievementResponse.extend({
  achievedAt: Timestamp.nullable(),
}).meta({ id: 'UserAchievementResponse' })
