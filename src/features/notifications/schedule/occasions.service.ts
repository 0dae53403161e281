import type { Configuration } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import { type Instant, iso } from '../../../lib/clock'
import { namedId } from '../../../lib/ids'
import { DUE_EVENTS } from '../../../outbox/notifications.rules'
import type { Addressed } from '../../../outbox/outbox.messages'
import { type Message, NOTIFICATION_MESSAGES } from '../../../outbox/outbox.messages'
import { parcelsOf } from '../../../outbox/split.rules'
import { userAchievementAnswer } from '../../../wire/presenters/achievement.presenter'
import { userAnswer } from '../../../wire/presenters/user.presenter'
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
    const body = { timestamp: iso(at), user: userAnswer(config, user), ...payload(config, user, occasion) }
    messages.push({ id: idOf('webhook'), type: DUE_EVENTS[type], body })
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

/** What of an occasion the event says beside its user. */
function payload(config: Configuration, user: UserState, occasion: Occasion): Record<string, unknown> {
  if ('achievement' in occasion) {
    const { achievement } = occasion
    const completion = user.achievements.get(achievement.id)
    return { achievement: userAchievementAnswer(config, achievement, completion) }
  }
  if ('streak' in occasion) return { streak: occasion.streak }
  const { told } = occasion
  if (told.type === 'recap') return { recap: { periodStart: told.periodStart, periodEnd: told.periodEnd } }
  const { messageNumber, daysSinceLastActive } = told
  return { reactivation: { messageNumber, daysSinceLastActive } }
}
