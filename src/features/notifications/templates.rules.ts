import { NOTIFICATION_CHANNELS } from '../../configuration/enumerations'
import { filterProblem, keyTaken } from '../../configuration/keys.rules'
import { type Configuration, meets, type Template } from '../../configuration/model'
import { MOST_TEMPLATES } from '../../lib/limits'
import type { UserState } from '../../rules/state'
import type { Channel, NotificationType } from './notification'

/** The field with the title: `subject` for emails, `title` for push messages. */
export const titleIn = (
  item: { subject?: string | undefined; title?: string | undefined },
  channel: Channel,
) => (channel === 'email' ? item.subject : item.title)

/**
 * Why the configuration can't have this template, new or changed: its key is taken, there are too many, or
 * a filter names no attribute (G7, G9, O2). Null if it can.
 */
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

/**
 * The template for a user, a type and a channel: the first active one, in order of creation, whose filters
 * match.
 */
export function templateFor(
  { templates }: Pick<Configuration, 'templates'>,
  user: Pick<UserState, 'profile'>,
  type: NotificationType,
  channel: Channel,
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

/**
 * The templates that would notify a user now: at most one for each channel that the user wants and can be
 * reached by (N1).
 */
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
export function isReachable(user: Addressee, type: NotificationType, channel: Channel): boolean {
  const { email, subscribeToEmails, deviceTokens } = user.profile
  if (user.control || !userWants(user, type, channel)) return false
  return channel === 'email' ? email !== null && subscribeToEmails : (deviceTokens ?? []).length > 0
}

/**
 * Whether the user's preference allows a channel for a type. Without a preference, both channels are allowed
 * (U7, N1).
 */
export const userWants = (
  { preferences }: Pick<UserState, 'preferences'>,
  type: NotificationType,
  channel: Channel,
): boolean => preferences.notifications[type]?.includes(channel) ?? true
