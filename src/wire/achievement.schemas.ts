import * as z from 'zod'
import { ACHIEVEMENT_TRIGGERS } from '../config/enumerations.types'
import { Timestamp } from '../http/fields'
import { UserAttributesQuery } from '../http/queries'
import { AttributeFilterResponse } from './attribute.schemas'
import { MetricEventPointsResponse } from './points.schemas'
import { UpsertedUser } from './user.schemas'

/** Whose achievements to list: only those whose user filters these attributes meet (A6). */
export const AchievementsQuery = z.object({ userAttributes: UserAttributesQuery.optional() })

/** Whether to list those too that the user has yet to complete (A6). */
export const UserAchievementsQuery = z.object({ includeIncomplete: z.enum(['true']).optional() })

/** Who completes an achievement; the user is made if unknown (A3). */
export const AchievementCompletionRequest = z
  .object({ user: UpsertedUser })
  .meta({ id: 'AchievementCompletionRequest' })

/** An achievement as configured (A1); the singular `eventAttribute` carries the first of the plural (G10). */
export const AchievementResponse = z
  .object({
    id: z.string(),
    name: z.string(),
    trigger: z.enum(ACHIEVEMENT_TRIGGERS),
    description: z.string().nullable(),
    badgeUrl: z.string().nullable(),
    key: z.string().optional(),
    streakLength: z.int32().optional(),
    achievementIds: z.array(z.string()).optional(),
    metricId: z.string().optional(),
    metricValue: z.number().optional(),
    metricName: z.string().optional(),
    userAttributes: z.array(AttributeFilterResponse),
    eventAttribute: AttributeFilterResponse.optional(),
    eventAttributes: z.array(AttributeFilterResponse).optional(),
  })
  .meta({ id: 'AchievementResponse' })

/** An achievement of a user; `achievedAt` is null while it is not completed (A3). */
export const UserAchievementResponse = AchievementResponse.extend({
  achievedAt: Timestamp.nullable(),
}).meta({ id: 'UserAchievementResponse' })

/** An achievement with how many users have completed it, and how many of a hundred that is (A5). */
export const AchievementWithStatsResponse = AchievementResponse.extend({
  completions: z.int32(),
  rarity: z.number(),
}).meta({ id: 'AchievementWithStatsResponse' })

/** An achievement of a user, and how many others have it (A5, A6). */
export const UserAchievementWithStatsResponse = AchievementWithStatsResponse.extend({
  achievedAt: Timestamp.nullable(),
}).meta({ id: 'UserAchievementWithStatsResponse' })

export const AchievementsResponse = z.array(AchievementWithStatsResponse)
export const UserAchievementsResponse = z.array(UserAchievementWithStatsResponse)

/** What completing an achievement came to: the points are by key of the points system (A3). */
export const AchievementCompletionResponse = z
  .object({
    completionId: z.string(),
    achievement: UserAchievementResponse,
    points: z.record(z.string(), MetricEventPointsResponse),
  })
  .meta({ id: 'AchievementCompletionResponse' })
