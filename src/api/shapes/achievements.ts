import * as z from 'zod'
import type { Achievement, Configuration } from '../../configuration/model'
import { ACHIEVEMENT_TRIGGERS } from '../../configuration/trigger-types'
import { iso } from '../../lib/clock'
import type { Change } from '../../rules/change.rules'
import type { Completion } from '../../rules/state'
import { shownFilterFields, shownFilters, Timestamp } from '../fields'
import { UserAttributesQuery } from '../queries'
import { MetricEventPointsResponse } from './points'
import { UpsertedUser } from './users'

/** Selects the achievements to list: only those with user filters that match these attributes (A6). */
export const AchievementsQuery = z.object({ userAttributes: UserAttributesQuery.optional() })

/** Whether to list achievements that the user has not completed (A6). */
export const UserAchievementsQuery = z.object({ includeIncomplete: z.enum(['true']).optional() })

/** The user who completes an achievement. An unknown user is created (A3). */
export const AchievementCompletionRequest = z
  .object({ user: UpsertedUser })
  .meta({ id: 'AchievementCompletionRequest' })

/** An achievement as configured (A1). The singular `eventAttribute` is the first of the plural (G10). */
const AchievementResponse = z
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
    anniversaryYears: z.int32().optional(),
    ...shownFilterFields,
  })
  .meta({ id: 'AchievementResponse' })

/** An achievement of a user; `achievedAt` is null while it is not completed (A3). */
export const UserAchievementResponse = AchievementResponse.extend({
  achievedAt: Timestamp.nullable(),
}).meta({ id: 'UserAchievementResponse' })

/** An achievement with the number of users who have completed it, and their percentage (A5). */
export const AchievementWithStatsResponse = AchievementResponse.extend({
  completions: z.int32(),
  rarity: z.number(),
}).meta({ id: 'AchievementWithStatsResponse' })

/** An achievement of a user, with the number and the percentage of users who have completed it (A5, A6). */
export const UserAchievementWithStatsResponse = AchievementWithStatsResponse.extend({
  achievedAt: Timestamp.nullable(),
}).meta({ id: 'UserAchievementWithStatsResponse' })

export const AchievementsResponse = z.array(AchievementWithStatsResponse)
export const UserAchievementsResponse = z.array(UserAchievementWithStatsResponse)

/** The result of completing an achievement. The keys of `points` are the keys of points systems (A3). */
export const AchievementCompletionResponse = z
  .object({
    completionId: z.string(),
    achievement: UserAchievementResponse,
    points: z.record(z.string(), MetricEventPointsResponse),
  })
  .meta({ id: 'AchievementCompletionResponse' })

/** An achievement as the application interface shows it (A1, G10). */
export function achievementResponse(
  config: Configuration,
  achievement: Achievement,
): z.infer<typeof AchievementResponse> {
  const { id, key, name, trigger, badgeUrl, metricId, metricValue, streakLength, anniversaryYears } =
    achievement
  const metric = config.metrics.find((one) => one.id === metricId)
  return {
    id,
    name,
    trigger,
    description: achievement.description === '' ? null : achievement.description,
    badgeUrl,
    key,
    ...(streakLength !== null && { streakLength }),
    ...(trigger === 'achievement' && { achievementIds: [...achievement.achievementIds] }),
    ...(metricId !== null && { metricId }),
    ...(metricValue !== null && { metricValue }),
    ...(metric !== undefined && { metricName: metric.name }),
    ...(anniversaryYears !== null && { anniversaryYears }),
    ...shownFilters(config, achievement),
  }
}

/** An achievement with the user's completion. `achievedAt` is null without one. */
export function userAchievementResponse(
  config: Configuration,
  achievement: Achievement,
  completion: Completion | undefined,
): z.infer<typeof UserAchievementResponse> {
  return {
    ...achievementResponse(config, achievement),
    achievedAt: completion === undefined ? null : iso(completion.at),
  }
}

/** The achievements that a change has completed, in that order. */
export function completedResponses(
  config: Configuration,
  { completed, after }: Pick<Change, 'completed' | 'after'>,
): z.infer<typeof UserAchievementResponse>[] {
  return completed.flatMap((id) => {
    const achievement = config.achievements.find((one) => one.id === id)
    return achievement === undefined
      ? []
      : [userAchievementResponse(config, achievement, after.achievements.get(id))]
  })
}
