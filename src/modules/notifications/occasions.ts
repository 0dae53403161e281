import type { z } from 'zod'
import type { TenantContext } from '../../context'
import type { UserState } from '../../engine/state'
import { type Instant, iso } from '../../shared/clock'
import { namedId } from '../../shared/ids'
import { userAchievementAnswer } from '../achievements/achievements.answers'
import type { Achievement, Configuration } from '../configuration/configuration'
import { type Message, NOTIFICATION_MESSAGES } from '../outbox/outbox'
import type { StreakResponse } from '../streaks/streaks.schemas'
import { userAnswer } from '../users/users.answers'
import { CHANNELS, DUE_EVENTS, isToldByWebhook, templateToTell } from './eligibility.rules'
import { letterFor } from './notify'

/** Why a user is told something (N2). */
export type Occasion =
  | { type: 'achievement_completed'; achievement: Achievement }
  | { type: 'recap'; recap: { periodStart: string; periodEnd: string } }
  | { type: 'reactivation'; reactivation: { messageNumber: number; daysSinceLastActive: number } }
  | { type: 'streak_reminder'; streak: z.infer<typeof StreakResponse> }

/**
 * An occasion of a user. Its name, with the user and the type, is what there is one of; `named` is the moment for its ids, which must be
 * the same where the user has moved to another zone meanwhile.
 */
export type Due = { occasion: Occasion; at: Instant; name: string; named: Instant }

/** All that a user is told at an occasion: to webhooks, and by the channels that are open (N1, N5). Ids are the same each time. */
export async function messagesOf(
  context: TenantContext,
  config: Configuration,
  user: UserState,
  due: Due,
): Promise<Message[]> {
  const { occasion, at, name, named } = due
  const { type } = occasion
  const idOf = (way: string) => namedId(named, JSON.stringify([user.iid, type, way, name]))
  const messages: Message[] = []
  if (isToldByWebhook(config, user, type)) {
    const body = { timestamp: iso(at), user: userAnswer(config, user), ...payload(config, user, occasion) }
    messages.push({ id: idOf('webhook'), type: DUE_EVENTS[type], body })
  }
  for (const channel of CHANNELS) {
    const template = templateToTell(config, user, type, channel)
    const letter = template && (await letterFor(context, config, user, due, template))
    if (letter !== null)
      messages.push({ id: idOf(channel), type: NOTIFICATION_MESSAGES[channel], body: { ...letter, type } })
  }
  return messages
}

/** What of an occasion the event says beside its user. */
function payload(config: Configuration, user: UserState, occasion: Occasion): Record<string, unknown> {
  if (occasion.type !== 'achievement_completed') {
    const { type: _type, ...rest } = occasion
    return rest
  }
  const { achievement } = occasion
  const completion = user.achievements.get(achievement.id)
  return { achievement: userAchievementAnswer(config, achievement, completion) }
}
