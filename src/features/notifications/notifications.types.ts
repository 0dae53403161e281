import type { RecapFrequency } from '../../access/tenants.types'
import type { Template } from '../../configuration/configuration.types'
import type { CivilDate } from '../../lib/civil'
import type { Instant } from '../../lib/clock'

/** The types of notifications, and the channels (N1). */
export type NotificationType = Template['type']
export type Channel = Template['channel']

/**
 * The completed achievement, and when it was completed. Its name comes from the configuration, or from
 * `called` if it is not in the configuration.
 */
export type AchievementReason = {
  type: 'achievement_completed'
  achievementId: string
  achievedAt: Instant
  called?: { key: string; name: string; description: string; badgeUrl: string | null }
}

/**
 * The changes in a period: the period's first and last local date, and the values to show, in the units of
 * the API.
 */
export type RecapReason = {
  type: 'recap'
  periodStart: CivilDate
  periodEnd: CivilDate
  frequency: Exclude<RecapFrequency, 'none'>
  metrics: readonly { metricId: string; change: number; total: number }[]
  points: readonly { systemId: string; change: number; total: number }[]
}

/** Why a user is notified: the content of a notification that is not in the user's state. */
export type NotificationReason =
  | AchievementReason
  | RecapReason
  | { type: 'reactivation'; messageNumber: number; daysSinceLastActive: number }
  | { type: 'streak_reminder' }
