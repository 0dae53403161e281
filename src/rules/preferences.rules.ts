import { type Configuration, metricByKey } from '../configuration/model'
import type { Preferences } from '../configuration/settings'
import type { Micros } from '../lib/decimal'
import { ApiError, type FieldError, throwIfInvalid } from '../lib/errors'
import type { UserState } from './state'

/**
 * The preferences that a call sets. Absent fields stay. Each notification type and each field of the streak
 * is set separately (U7).
 */
export type PreferencesChange = {
  notifications?: Preferences['notifications'] | undefined
  streak?:
    | {
        enabled?: boolean | undefined
        evaluationMode?: 'ALL' | 'AND' | 'OR' | undefined
        metrics?: readonly { key: string; threshold: Micros }[] | undefined
      }
    | undefined
}

/**
 * The user with the changed preferences, or the same object if nothing changes (U7). Throws 403 for fields
 * that need personalisation while it is off, and 422 for metrics that do not count for streaks.
 */
export function withPreferences(
  config: Configuration,
  user: UserState,
  { notifications, streak }: PreferencesChange,
): UserState {
  const { preferences } = user
  const own = streak === undefined ? {} : streakChange(config, streak)
  const next: Preferences = {
    notifications: { ...preferences.notifications, ...notifications },
    streak: { ...preferences.streak, ...own },
  }
  if (JSON.stringify(next) === JSON.stringify(preferences)) return user
  return { ...user, preferences: next }
}

type StreakChange = NonNullable<PreferencesChange['streak']>

function streakChange(config: Configuration, change: StreakChange): Partial<Preferences['streak']> {
  const { enabled, evaluationMode, metrics } = change
  if (!config.streaks.personalisation && (evaluationMode !== undefined || metrics !== undefined)) {
    throw new ApiError(
      403,
      "Streaks can't be personalised: leave out metrics and evaluationMode, or switch personalisation on in the streak settings.",
    )
  }
  throwIfInvalid(streakErrors(config, metrics?.map(({ key }) => key) ?? []))
  const found = metrics?.flatMap(({ key, threshold }) => {
    const metric = metricByKey(config, key)
    return metric === undefined ? [] : [{ metricId: metric.id, threshold }]
  })
  return {
    ...(enabled !== undefined && { enabled }),
    ...(evaluationMode !== undefined && { evaluationMode }),
    ...(found !== undefined && { metrics: found }),
  }
}

/**
 * The field errors of metrics that do not count for streaks (U7). Metrics are given by key. An undefined key
 * could not be read and is skipped.
 */
export function streakErrors(config: Configuration, metrics: readonly (string | undefined)[]): FieldError[] {
  const counting = new Set(config.streaks.metrics.map(({ metricId }) => metricId))
  const isAny = !config.metrics.some(({ id }) => counting.has(id))
  return metrics.flatMap((key, index) => {
    const metric = key === undefined ? undefined : metricByKey(config, key)
    if (key === undefined || (metric !== undefined && (isAny || counting.has(metric.id)))) return []
    const message = `${JSON.stringify(key)} is not a metric that streaks count. Take one of the streak settings' metrics`
    return [{ path: `streak.metrics.${index}.key`, message }]
  })
}
