import type { Configuration } from '../../configuration/model'
import type { FreezeSettings, StreakSettings } from '../../configuration/settings'
import type { Aggregation } from '../../lib/zone'
import type { UserState } from '../state'

/** The data of a user that decides about the streak. */
export type Streaker = Pick<UserState, 'created' | 'streak' | 'preferences'> & {
  profile: { tz: string | null }
}

/** The settings by which a user's streak is counted: the tenant's, with the user's own choices (S1, U7). */
export type Terms = {
  /**
   * Whether the user's streak is shown and causes webhook events: it is on for the tenant and for the user.
   * It is counted in any case (S10).
   */
  isOn: boolean
  /** Whether the tenant's streaks are on, so that periods may be missed. */
  isJudged: boolean
  frequency: Aggregation
  epoch: number
  metrics: StreakSettings['metrics']
  mode: 'ALL' | 'OR'
  /** When the tenant's settings last changed what satisfies a period. */
  goalSince: number
  freezes: FreezeSettings | null
  off: StreakSettings['off']
}

/** The terms of a user. Deleted metrics do not count (G9). */
export function termsOf(
  { streaks, metrics }: Pick<Configuration, 'streaks' | 'metrics'>,
  { streak: own }: UserState['preferences'],
): Terms {
  const alive = (list: StreakSettings['metrics']) =>
    list.filter(({ metricId }) => metrics.some(({ id }) => id === metricId))
  const tenants = alive(streaks.metrics)
  const isTheirs = ({ metricId }: { metricId: string }) =>
    tenants.length === 0 || tenants.some((one) => one.metricId === metricId)
  const owns = streaks.personalisation ? alive(own.metrics ?? []).filter(isTheirs) : []
  const mode = (streaks.personalisation && own.evaluationMode) || streaks.evaluationMode
  return {
    isOn: streaks.enabled && own.enabled !== false,
    isJudged: streaks.enabled,
    frequency: streaks.frequency,
    epoch: streaks.epoch,
    metrics: owns.length > 0 ? owns : tenants,
    mode: mode === 'OR' ? 'OR' : 'ALL',
    goalSince: streaks.goalSince,
    freezes: streaks.freezes,
    off: streaks.off,
  }
}
