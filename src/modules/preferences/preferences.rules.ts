import type { UserState } from '../../engine/state'
import { Refusal, refusals } from '../../errors'
import type { Micros } from '../../shared/decimal'
import { type Configuration, metricByKey } from '../configuration/configuration'
import type { Preferences } from './preferences'

/** What a call sets: absent fields stay, each notification type and each field of the streak on its own (U7). */
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
 * The user after a call has set preferences; the very same object where nothing changes (U7). Throws 403 for what only personalisation
 * allows while it is off, 422 for metrics that don't count.
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
    throw new Refusal(
      403,
      "Streaks can't be personalised: leave out metrics and evaluationMode, or switch personalisation on in the streak settings.",
    )
  }
  return {
    ...(enabled !== undefined && { enabled }),
    ...(evaluationMode !== undefined && { evaluationMode }),
    ...(metrics !== undefined && { metrics: metricsChange(config, metrics) }),
  }
}

function metricsChange(config: Configuration, metrics: NonNullable<StreakChange['metrics']>) {
  const counting = new Set(config.streaks.metrics.map(({ metricId }) => metricId))
  const isAny = !config.metrics.some(({ id }) => counting.has(id))
  const faults: string[] = []
  const found = metrics.flatMap(({ key, threshold }, index) => {
    const metric = metricByKey(config, key)
    if (metric !== undefined && (isAny || counting.has(metric.id)))
      return [{ metricId: metric.id, threshold }]
    faults.push(
      `streak.metrics.${index}.key: ${JSON.stringify(key)} is not a metric that streaks count. Take one of the streak settings' metrics.`,
    )
    return []
  })
  if (faults.length > 0) throw refusals.unprocessable(faults.join(' '))
  return found
}
