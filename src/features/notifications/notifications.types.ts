import type { RecapFrequency } from '../../access/tenants.types'
import type { Template } from '../../config/configuration.types'
import type { CivilDate } from '../../lib/civil'
import type { Instant } from '../../lib/clock'

/** What users are told of, and by what (N1). */
export type NotificationType = Template['type']
export type Channel = Template['channel']

/** The achievement that was completed, and when; what it is called comes from the configuration, and from `called` where it isn't there. */
export type AchievementReason = {
  type: 'achievement_completed'
  achievementId: string
  achievedAt: Instant
  called?: { key: string; name: string; description: string; badgeUrl: string | null }
}

/** What changed in a period: the period's local dates, both inclusive, and what is to be shown of it, in the units of the wire. */
export type RecapReason = {
  type: 'recap'
  periodStart: CivilDate
  periodEnd: CivilDate
  frequency: Exclude<RecapFrequency, 'none'>
  metrics: readonly { metricId: string; change: number; total: number }[]
  points: readonly { systemId: string; change: number; total: number }[]
}

/** Why a user is told something: what a notification says beside what is known of the user. */
export type NotificationReason =
  | AchievementReason
  | RecapReason
  | { type: 'reactivation'; messageNumber: number; daysSinceLastActive: number }
  | { type: 'streak_reminder' }
