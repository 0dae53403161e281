import type * as z from 'zod'
import type { Achievement, Configuration } from '../../config/configuration.types'
import type { Completion } from '../../engine/state.types'
import { iso } from '../../lib/clock'
import type { AchievementResponse, UserAchievementResponse } from '../achievement.schemas'
import { filtersAnswer } from './attributes.presenter'

/** An achievement as the application interface shows it (A1, G10). */
export function achievementAnswer(
  config: Configuration,
  achievement: Achievement,
): z.infer<typeof AchievementResponse> {
  const { id, key, name, trigger, badgeUrl, metricId, metricValue, streakLength } = achievement
  const metric = config.metrics.find((one) => one.id === metricId)
  const eventAttributes = filtersAnswer(config, achievement.eventAttributes)
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
    userAttributes: filtersAnswer(config, achievement.userAttributes),
    ...(eventAttribute !== undefined && { eventAttribute, eventAttributes }),
  }
}

/** An achievement as it stands for a user; not completed where there is no completion. */
export function userAchievementAnswer(
  config: Configuration,
  achievement: Achievement,
  completion: Completion | undefined,
): z.infer<typeof UserAchievementResponse> {
  return {
    ...achievementAnswer(config, achievement),
    achievedAt: completion === undefined ? null : iso(completion.at),
  }
}

/** Achievements that a change has completed, in that order. */
export function completedAnswers(
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
      : [userAchievementAnswer(config, achievement, after.achievements.get(id))]
  })
}
