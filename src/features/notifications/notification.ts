import * as z from 'zod'
import type { StreakResponse } from '../../api/shapes/streaks'
import {
  type AggregationPeriod,
  NOTIFICATION_CHANNELS,
  NOTIFICATION_TYPES,
  type NotificationChannel,
  type NotificationType,
} from '../../configuration/enumerations'
import { filterProblem, keyTaken } from '../../configuration/keys.rules'
import { type Achievement, type Configuration, meets, type Template } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { MOST_TEMPLATES } from '../../lib/limits'
import type { CivilDate } from '../../lib/zone'
import type { UserState } from '../../rules/state'

/** The completed achievement. Its name is from the configuration, or from `called` if it is not there. */
export type AchievementReason = {
  type: 'achievement_completed'
  achievementId: string
  achievedAt: Instant
  called?: { key: string; name: string; description: string; badgeUrl: string | null }
}

/** The changes in a period with these first and last local dates, in the units of the API. */
export type RecapReason = {
  type: 'recap'
  periodStart: CivilDate
  periodEnd: CivilDate
  frequency: AggregationPeriod
  metrics: readonly { metricId: string; change: number; total: number }[]
  points: readonly { systemId: string; change: number; total: number }[]
}

type ReactivationReason = { type: 'reactivation'; messageNumber: number; daysSinceLastActive: number }
type ReminderReason = { type: 'streak_reminder' }

/** Why a user is notified: the content of a notification that is not in the user's state. */
export type NotificationReason = AchievementReason | RecapReason | ReactivationReason | ReminderReason

/** Why a user is notified (N2). `about` is for messages; webhook events need the other fields too. */
export type Reason =
  | { about: AchievementReason; achievement: Achievement }
  | { about: RecapReason | ReactivationReason }
  | { about: ReminderReason; streak: z.infer<typeof StreakResponse> }

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

/** The field with the title: `subject` for emails, `title` for push messages. */
export const titleIn = (
  item: { subject?: string | undefined; title?: string | undefined },
  channel: NotificationChannel,
) => (channel === 'email' ? item.subject : item.title)

/** Why the configuration can't have this template: its key, number or filters (G7, G9, O2); or null. */
export function templateProblem(config: Configuration, template: Template): string | null {
  const before = config.templates.find(({ id }) => id === template.id)
  if (before === undefined && config.templates.length >= MOST_TEMPLATES) {
    return `The limit of ${MOST_TEMPLATES} templates is reached. Delete one first.`
  }
  if (config.templates.some(({ id, key }) => id !== template.id && key === template.key)) {
    return keyTaken(template.key, 'template')
  }
  // A template may filter by an attribute that was deleted later. Other changes to it are accepted, but not
  // its activation (G9).
  const isKnown =
    before !== undefined &&
    JSON.stringify(before.userAttributes) === JSON.stringify(template.userAttributes) &&
    (before.status === 'active' || template.status !== 'active')
  return isKnown ? null : filterProblem(config, 'user', template.userAttributes)
}

/** The first active template, in order of creation, whose type, channel and filters fit. */
export function templateFor(
  { templates }: Pick<Configuration, 'templates'>,
  user: Pick<UserState, 'profile'>,
  type: NotificationType,
  channel: NotificationChannel,
): Template | undefined {
  return templates.find(
    (one) =>
      one.status === 'active' &&
      one.type === type &&
      one.channel === channel &&
      meets(one.userAttributes, user.profile.attributes),
  )
}

/** The parts of a user that decide about notifications (N1). */
export type Addressee = Pick<UserState, 'profile' | 'control' | 'preferences'>

/** The templates that would notify a user now: at most one for each channel that is open (N1). */
export function templatesFor(
  config: Pick<Configuration, 'templates'>,
  user: Addressee,
  type: NotificationType,
): Template[] {
  return NOTIFICATION_CHANNELS.flatMap((channel) =>
    isReachable(user, type, channel) ? (templateFor(config, user, type, channel) ?? []) : [],
  )
}

/** Whether a user wants notifications of a type by a channel, and can be reached by it (N1). */
export function isReachable(user: Addressee, type: NotificationType, channel: NotificationChannel): boolean {
  const { email, subscribeToEmails, deviceTokens } = user.profile
  if (user.control || !userWants(user, type, channel)) return false
  return channel === 'email' ? email !== null && subscribeToEmails : (deviceTokens ?? []).length > 0
}

/** Whether the user's preference allows a channel for a type. Without one, both are allowed (U7, N1). */
export const userWants = (
  { preferences }: Pick<UserState, 'preferences'>,
  type: NotificationType,
  channel: NotificationChannel,
): boolean => preferences.notifications[type]?.includes(channel) ?? true
