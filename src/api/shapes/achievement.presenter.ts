import type * as z from 'zod'
import type { Achievement, Configuration } from '../../configuration/configuration.types'
import { iso } from '../../lib/clock'
import type { Completion } from '../../rules/state.types'
import type { AchievementResponse, UserAchievementResponse } from './achievement.schemas'
import { filtersResponse } from './attributes.presenter'

/** An achievement as the application interface shows it (A1, G10). */
export function achievementResponse(
  config: Configuration,
  achievement: Achievement,
): z.infer<typeof AchievementResponse> {
  const { id, key, name, trigger, badgeUrl, metricId, metricValue, streakLength } = achievement
  const metric = config.metrics.find((one) => one.id === metricId)
  const eventAttributes = filtersResponse(config, achievement.eventAttributes)
  const [eventAttribute] = eventAttributes
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
    userAttributes: filtersResponse(config, achievement.userAttributes),
    ...(eventAttribute !== undefined && { eventAttribute, eventAttributes }),
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
  {
    completed,
    after,
  }: { completed: readonly string[]; after: { achievements: ReadonlyMap<string, Completion> } },
): z.infer<typeof UserAchievementResponse>[] {
  return completed.flatMap((id) => {
    const achievement = config.achievements.find((one) => one.id === id)
    return achievement === undefined
      ? []
      : [userAchievementResponse(config, achievement, after.achievements.get(id))]
  })
}
