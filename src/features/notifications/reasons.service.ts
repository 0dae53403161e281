import type { Configuration } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { unreachable } from '../../lib/unreachable'
import type { UserState } from '../../rules/state.types'
import { emailsAchievementDue } from '../../webhooks/events/emails-achievement-due.event'
import { emailsReactivationDue } from '../../webhooks/events/emails-reactivation-due.event'
import { emailsRecapDue } from '../../webhooks/events/emails-recap-due.event'
import { emailsStreakReminderDue } from '../../webhooks/events/emails-streak-reminder-due.event'
import { draftOf, type EventDraft } from '../../webhooks/events/event.builder'
import {
  type AddressedEntry,
  type Message,
  NOTIFICATION_MESSAGES,
} from '../../webhooks/outbox/outbox.messages'
import { splitIntoEntries } from '../../webhooks/outbox/split.rules'
import type { Due, NotificationReason } from './reasons.types'
import type { MessageBuilder } from './render.service'
import { isSentByWebhook } from './sent-by-webhook.rules'
import { templatesFor } from './templates.rules'

/**
 * All messages to a user for one reason: to webhooks, and by the user's open channels (N1, N5). The same
 * reason gives the same ids each time.
 */
export async function messagesOf(
  build: MessageBuilder,
  config: Configuration,
  user: UserState,
  due: Due,
): Promise<Message[]> {
  const { reason, at, name, named } = due
  const { type } = reason.about
  const idOf = (way: string) => namedId(named, JSON.stringify([user.iid, type, way, name]))
  const messages: Message[] = []
  if (isSentByWebhook(config, user, type)) {
    messages.push({ id: idOf('webhook'), ...draftOfReason(config, user, at, reason) })
  }
  for (const template of templatesFor(config, user, type)) {
    const { channel } = template
    const body = await build(user, due, template)
    messages.push({ id: idOf(channel), type: NOTIFICATION_MESSAGES[channel], body })
  }
  return messages
}

/**
 * Outbox entries for a user's messages at a moment: as many as their length needs. The same `name` gives the
 * same ids each time.
 */
export function addressedEntry(
  { id: userId, iid: userIid, seq }: Pick<UserState, 'id' | 'iid' | 'seq'>,
  at: Instant,
  name: string,
  messages: readonly Message[],
): AddressedEntry[] {
  const idOf = (n: number) => namedId(at, n === 0 ? name : `${name} ${n}`)
  return splitIntoEntries({ at, seq, userIid }, messages, idOf).map((outboxEntry) => ({
    outboxEntry,
    userId,
  }))
}

/** The webhook event for a reason, without its id. */
function draftOfReason(
  config: Configuration,
  user: UserState,
  at: Instant,
  reason: NotificationReason,
): EventDraft {
  if ('achievement' in reason) {
    return draftOf(emailsAchievementDue, config, user, at, reason.achievement)
  }
  if ('streak' in reason) return draftOf(emailsStreakReminderDue, config, user, at, reason.streak)
  const { about } = reason
  switch (about.type) {
    case 'recap':
      return draftOf(emailsRecapDue, config, user, at, about)
    case 'reactivation':
      return draftOf(emailsReactivationDue, config, user, at, about)
    default:
      return unreachable(about)
  }
}
