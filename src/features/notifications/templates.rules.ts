import { type Configuration, meets, type Template } from '../../configuration/configuration.types'
import { freeKey, keyTaken, templateKey } from '../../configuration/derived-keys.rules'
import { type Clearable, type Optional, revised } from '../../configuration/drafts.rules'
import { NOTIFICATION_CHANNELS } from '../../configuration/enumerations'
import { filterProblem } from '../../configuration/filters.rules'
import type { Instant } from '../../lib/clock'
import { MOST_TEMPLATES } from '../../lib/limits'
import type { UserState } from '../../rules/state'
import type { Channel, NotificationType } from './notification'

type Always = Pick<Template, 'type' | 'channel' | 'body' | 'status'>
type Sometimes = Clearable<Pick<Template, 'userAttributes'>> & {
  key?: string | undefined
  subject?: string | undefined
  title?: string | undefined
}
type CreateItem = Always & Sometimes
type UpdateItem = Optional<Always> & Sometimes

/** The template for a create request's item. Without a key it gets a derived one that is not `taken` (O2). */
export function templateFrom(
  id: string,
  now: Instant,
  origin: string,
  item: CreateItem,
  taken: ReadonlySet<string>,
): Template {
  const { type, channel, body, status } = item
  return {
    id,
    created: now,
    updated: now,
    key: item.key ?? freeKey(templateKey(item), taken),
    type,
    channel,
    title: titleIn(item, channel) ?? '',
    body,
    userAttributes: item.userAttributes ?? [],
    status,
    origin,
  }
}

/**
 * The template after a change; the same object if nothing changes. If the channel changes, the title stays.
 */
export function templatePatched(before: Template, now: Instant, origin: string, item: UpdateItem): Template {
  const { type = before.type, channel = before.channel, status = before.status, body = before.body } = item
  const { key = before.key } = item
  const title = titleIn(item, channel) ?? before.title
  const userAttributes =
    item.userAttributes === undefined ? before.userAttributes : (item.userAttributes ?? [])
  const after = revised(before, { ...before, key, type, channel, title, body, userAttributes, status }, now)
  return after === before ? before : { ...after, origin }
}

/** The field with the title: `subject` for emails, `title` for push messages. */
const titleIn = (item: { subject?: string | undefined; title?: string | undefined }, channel: Channel) =>
  channel === 'email' ? item.subject : item.title

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
