import type { UserState } from '../../engine/state'
import { type Configuration, meets, type Template } from '../configuration/configuration'
import { listens } from '../outbox/outbox'
import type { EventType } from '../webhooks/events'

/** What users are told of, and by which ways. */
export type NotificationType = Template['type']
export type Channel = Template['channel']

export const CHANNELS = ['email', 'push'] as const satisfies readonly Channel[]

/** The events by which webhooks hear of what is due (N5). */
export const DUE_EVENTS = {
  achievement_completed: 'emails.achievement_due',
  recap: 'emails.recap_due',
  reactivation: 'emails.reactivation_due',
  streak_reminder: 'emails.streak_reminder_due',
} as const satisfies Record<NotificationType, EventType>

/** What of a user decides on what is told. */
export type Addressee = Pick<UserState, 'control' | 'preferences' | 'profile'>

/** Whether a user's preference allows a type on a channel; no preference is both (N1, U7). */
function allows({ preferences }: Addressee, type: NotificationType, channel: Channel): boolean {
  return preferences.notifications[type]?.includes(channel) ?? true
}

/** Whether there is somewhere to send to (N1). */
function isReachable({ profile }: Addressee, channel: Channel): boolean {
  return channel === 'email'
    ? profile.email !== null && profile.subscribeToEmails
    : (profile.deviceTokens ?? []).length > 0
}

/** The first active template of a type and channel whose filters a user meets, or null (N3). */
function templateFor(
  { templates }: Pick<Configuration, 'templates'>,
  { profile }: Addressee,
  type: NotificationType,
  channel: Channel,
): Template | null {
  const isTheirs = (one: Template) =>
    one.type === type &&
    one.channel === channel &&
    one.status === 'active' &&
    meets(one.userAttributes, profile.attributes)
  return templates.find(isTheirs) ?? null
}

/** The template by which a user is told of a type on a channel; null where nothing is told (N1). */
export function templateToTell(
  config: Pick<Configuration, 'templates'>,
  user: Addressee,
  type: NotificationType,
  channel: Channel,
): Template | null {
  if (user.control || !allows(user, type, channel) || !isReachable(user, channel)) return null
  return templateFor(config, user, type, channel)
}

/** Whether webhooks are told that a type is due for a user; an address is not needed, nor a template (N5). */
export function isToldByWebhook(
  config: Pick<Configuration, 'webhooks'>,
  user: Addressee,
  type: NotificationType,
): boolean {
  return (
    !user.control &&
    user.profile.subscribeToEmails &&
    allows(user, type, 'email') &&
    listens(config, DUE_EVENTS[type])
  )
}
