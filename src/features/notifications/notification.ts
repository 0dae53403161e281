import * as z from 'zod'
import type { RecapFrequency } from '../../access/tenants.sql.ts'
import type { StreakResponse } from '../../api/shapes/streaks'
import { NOTIFICATION_TYPES } from '../../configuration/enumerations'
import type { Achievement, Template } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import type { CivilDate } from '../../lib/zone'

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

/** Why a user is notified (N2). `about` is for messages; webhook events need the other fields too. */
export type Reason =
  | { about: AchievementReason; achievement: Achievement }
  | { about: RecapReason }
  | { about: Extract<NotificationReason, { type: 'reactivation' }> }
  | {
      about: Extract<NotificationReason, { type: 'streak_reminder' }>
      streak: z.infer<typeof StreakResponse>
    }

/**
 * A reason to notify a user at a moment. There is one notification for each user, type and `name`. `named` is
 * the moment in the ids of its messages; it stays the same if the user moves to another zone in between.
 */
export type Due = { reason: Reason; at: Instant; name: string; named: Instant }

const common = {
  userId: z.string(),
  iid: z.string(),
  type: z.enum(NOTIFICATION_TYPES),
  /** The subject of an email, the title of a push message. */
  title: z.string(),
  /** HTML of an email, text of a push message. */
  body: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Why the template could not be rendered. Such a notification goes to the log only and is never sent. */
  fault: z.string().optional(),
}

/** A notification in a delivery queue: the `body` of a message, as JSON. */
export const Notification = z.discriminatedUnion('channel', [
  z.object({ ...common, channel: z.literal('email'), to: z.string() }),
  z.object({
    ...common,
    channel: z.literal('push'),
    /** The devices that it has not reached yet. */
    tokens: z.array(z.string()),
    /** The number of devices that it has reached. */
    taken: z.number(),
  }),
])
export type Notification = z.infer<typeof Notification>
export type PushNotification = Extract<Notification, { channel: 'push' }>

/** The notification in a message. */
export const notificationIn = ({ body }: { body: string }): Notification =>
  Notification.parse(JSON.parse(body))
