import type { Configuration } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { fromMicros } from '../../lib/decimal'
import { periodEnd, periodStart, periodsBefore } from '../../lib/periods'
import { unreachable } from '../../lib/unreachable'
import { dateOfDay, dayIn } from '../../lib/zone'
import type { UserState } from '../../rules/state.types'
import type {
  AchievementReason,
  NotificationReason,
  NotificationType,
  RecapReason,
} from './notifications.types'

/** An achievement for tenants that have none. */
const INVENTED = {
  key: 'first-steps',
  name: 'First steps',
  description: 'An example: you have configured no achievements.',
  badgeUrl: null,
}
/** The gain of a metric or points system, for users who have nothing. */
const GAIN = 5

/**
 * A reason for the preview of a template: from the user's state, or an invented one if the state has none.
 */
export function sampleReason(
  config: Configuration,
  user: UserState,
  type: NotificationType,
  now: Instant,
): NotificationReason {
  switch (type) {
    case 'achievement_completed':
      return achievement(config, user, now)
    case 'recap':
      return recap(config, user, now)
    case 'reactivation': {
      const since = user.activeDay === null ? 0 : dayIn(user.profile.tz, now) - user.activeDay
      return { type, messageNumber: 1, daysSinceLastActive: since > 0 ? since : 3 }
    }
    case 'streak_reminder':
      return { type }
    default:
      return unreachable(type)
  }
}

/** The achievement that the user completed last. Otherwise one that the user could complete. */
function achievement({ achievements }: Configuration, user: UserState, now: Instant): AchievementReason {
  const type = 'achievement_completed'
  const had = achievements.flatMap(({ id }) => {
    const completion = user.achievements.get(id)
    return completion === undefined ? [] : [{ id, at: completion.at }]
  })
  const [last] = had.sort((a, b) => b.at - a.at)
  if (last !== undefined) return { type, achievementId: last.id, achievedAt: last.at }
  const any = achievements.find(({ status }) => status === 'active') ?? achievements[0]
  return { type, achievementId: any?.id ?? user.iid, achievedAt: now, called: INVENTED }
}

/** The period that ended last, as if the user had gained everything in it. */
function recap({ settings, metrics, systems }: Configuration, user: UserState, now: Instant): RecapReason {
  const frequency = settings.recapFrequency === 'monthly' ? 'monthly' : 'weekly'
  const start = periodsBefore(periodStart(dayIn(user.profile.tz, now), frequency), 1, frequency)
  const gained = (total: number) => (total === 0 ? { change: GAIN, total: GAIN } : { change: total, total })
  return {
    type: 'recap',
    periodStart: dateOfDay(start),
    periodEnd: dateOfDay(periodEnd(start, frequency)),
    frequency,
    metrics: metrics.map(({ id }) => {
      const counter = user.metrics.get(id)
      return { metricId: id, ...gained(counter === undefined ? 0 : fromMicros(counter.total)) }
    }),
    points: systems.map(({ id }) => ({ systemId: id, ...gained(user.points.get(id) ?? 0) })),
  }
}
