import type { Configuration } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import type { Instant } from '../../../lib/clock'
import { namedId } from '../../../lib/ids'
import { unreachable } from '../../../lib/unreachable'
import { emailsAchievementDue } from '../../../outbox/events/emails/emails-achievement-due.event'
import { emailsReactivationDue } from '../../../outbox/events/emails/emails-reactivation-due.event'
import { emailsRecapDue } from '../../../outbox/events/emails/emails-recap-due.event'
import { emailsStreakReminderDue } from '../../../outbox/events/emails/emails-streak-reminder-due.event'
import { draftOf, type EventDraft } from '../../../outbox/events/event.builder'
import { type Addressed, type Message, NOTIFICATION_MESSAGES } from '../../../outbox/outbox.messages'
import { parcelsOf } from '../../../outbox/split.rules'
import type { Due, Occasion } from '../occasions.types'
import type { Letters } from '../templates/letters.service'
import { templatesFor } from '../templates/templates.rules'
import { isToldByWebhook } from './eligibility.rules'

/** All that a user is told at an occasion: to webhooks, and by the channels that are open (N1, N5). Ids are the same each time. */
export async function messagesOf(
  letters: Letters,
  config: Configuration,
  user: UserState,
  due: Due,
): Promise<Message[]> {
  const { occasion, at, name, named } = due
  const { type } = occasion.told
  const idOf = (way: string) => namedId(named, JSON.stringify([user.iid, type, way, name]))
  const messages: Message[] = []
  if (isToldByWebhook(config, user, type)) {
    messages.push({ id: idOf('webhook'), ...draftOfOccasion(config, user, at, occasion) })
  }
  for (const template of templatesFor(config, user, type)) {
    const { channel } = template
    const body = await letters(user, due, template)
    messages.push({ id: idOf(channel), type: NOTIFICATION_MESSAGES[channel], body })
  }
  return messages
}

/** What a user is told at a moment, in as many parcels as its length demands. They have the same ids whenever they are made for this name. */
export function addressed(
  { id: userId, iid: userIid, seq }: Pick<UserState, 'id' | 'iid' | 'seq'>,
  at: Instant,
  name: string,
  messages: readonly Message[],
): Addressed[] {
  const idOf = (n: number) => namedId(at, n === 0 ? name : `${name} ${n}`)
  return parcelsOf({ at, seq, userIid }, messages, idOf).map((parcel) => ({ parcel, userId }))
}

/** The event of an occasion, without its id. */
function draftOfOccasion(
  config: Configuration,
  user: UserState,
  at: Instant,
  occasion: Occasion,
): EventDraft {
  if ('achievement' in occasion) {
    return draftOf(emailsAchievementDue, config, user, at, occasion.achievement)
  }
  if ('streak' in occasion) return draftOf(emailsStreakReminderDue, config, user, at, occasion.streak)
  const { told } = occasion
  switch (told.type) {
    case 'recap':
      return draftOf(emailsRecapDue, config, user, at, told)
    case 'reactivation':
      return draftOf(emailsReactivationDue, config, user, at, told)
    default:
      return unreachable(told)
  }
}
