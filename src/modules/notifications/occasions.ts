import type * as z from 'zod'
import type { UserState } from '../../engine/state'
import { type Instant, iso } from '../../shared/clock'
import { namedId } from '../../shared/ids'
import { userAchievementAnswer } from '../achievements/achievements.answers'
import type { Achievement, Configuration } from '../configuration/configuration'
import { type Message, NOTIFICATION_MESSAGES } from '../outbox/outbox'
import type { Addressed } from '../outbox/outbox.repository'
import { parcelsOf } from '../outbox/split.rules'
import type { StreakResponse } from '../streaks/streaks.schemas'
import { userAnswer } from '../users/users.answers'
import { DUE_EVENTS, isToldByWebhook } from './eligibility.rules'
import type { AchievementOccasion, Occasion as Letter, RecapOccasion } from './notifications'
import type { Letters } from './notify'
import { templatesFor } from './templates.rules'

/** Why a user is told something (N2): what letters say of it is in `told`, and what else events do beside it. */
export type Occasion =
  | { told: AchievementOccasion; achievement: Achievement }
  | { told: RecapOccasion }
  | { told: Extract<Letter, { type: 'reactivation' }> }
  | { told: Extract<Letter, { type: 'streak_reminder' }>; streak: z.infer<typeof StreakResponse> }

/**
 * An occasion of a user. Its name, with the user and the type, is what there is one of; `named` is the moment for its ids, which must be
 * the same where the user has moved to another zone meanwhile.
 */
export type Due = { occasion: Occasion; at: Instant; name: string; named: Instant }

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
