'use client'
import type { MetricResponse, UserAchievementWithStatsResponse } from '@laurel/client/app'
import { useMemo } from 'react'
import type { Progress, Resource } from '../view/data.ts'
import { useStreakRead } from './reads.ts'
import { type InitialData, useRead } from './resource.ts'

export interface AchievementsOptions extends InitialData<UserAchievementWithStatsResponse[]> {
  /** Also those that the user has not completed. True if absent. */
  includeIncomplete?: boolean | undefined
}

type Achievement = UserAchievementWithStatsResponse

/**
 * The user's achievements (A6). Those by a metric, the streak or other achievements that are not completed yet have
 * the progress of the user.
 */
export function useAchievements({
  includeIncomplete = true,
  ...given
}: AchievementsOptions = {}): Resource<(Achievement & { progress?: Progress })[]> {
  const achievements = useRead<Achievement[]>({
    ...given,
    parts: ['achievements', includeIncomplete],
    read: ({ client, userId }, signal) =>
      client.users.achievements.list(userId, { includeIncomplete }, { signal }),
  })
  const needs = (trigger: Achievement['trigger']) =>
    achievements.data?.some((one) => one.trigger === trigger && one.achievedAt === null) ?? false
  const metrics = useRead<MetricResponse[]>({
    parts: ['metrics'],
    read: ({ client, userId }, signal) => client.users.metrics.list(userId, { signal }),
    isEnabled: needs('metric'),
  })
  const streak = useStreakRead({}, needs('streak'))
  const isGiven = given.initialData !== undefined
  return useMemo(() => {
    const isWaiting = !isGiven && (metrics.isLoading || streak.isLoading)
    return {
      ...achievements,
      data: isWaiting
        ? undefined
        : achievements.data?.map((one) => {
            const progress = progressOf(one, achievements.data ?? [], metrics.data, streak.data?.length)
            return progress === undefined ? one : { ...one, progress }
          }),
      isLoading: achievements.isLoading || isWaiting,
    }
  }, [achievements, metrics, streak, isGiven])
}

/** How far the user is. Undefined if that is not known, or if the achievement is completed. */
function progressOf(
  { trigger, achievedAt, metricId, metricValue, eventAttributes, streakLength, achievementIds }: Achievement,
  all: readonly Achievement[],
  metrics: readonly MetricResponse[] | undefined,
  streak: number | undefined,
): Progress | undefined {
  if (achievedAt !== null) return undefined
  const of = (value: number | undefined, goal: number | undefined) =>
    value === undefined || goal === undefined ? undefined : { value, goal }
  if (trigger === 'streak') return of(streak, streakLength)
  if (trigger === 'achievement')
    return of(
      all.filter((one) => one.achievedAt !== null && achievementIds?.includes(one.id)).length,
      achievementIds?.length,
    )
  // The total of a metric has all events, and not only those with some attributes.
  if (trigger === 'metric' && !eventAttributes?.length)
    return of(metrics?.find(({ id }) => id === metricId)?.current, metricValue)
  return undefined
}
