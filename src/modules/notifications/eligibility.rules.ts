import type { Configuration } from '../configuration/configuration'
import { listens } from '../outbox/outbox'
import type { EventType } from '../webhooks/events'
import type { NotificationType } from './notifications'
import { type Addressee, isWanted } from './templates.rules'

/** The events by which webhooks hear of what is due (N5). */
export const DUE_EVENTS = {
  achievement_completed: 'emails.achievement_due',
  recap: 'emails.recap_due',
  reactivation: 'emails.reactivation_due',
  streak_reminder: 'emails.streak_reminder_due',
} as const satisfies Record<NotificationType, EventType>

/** Whether webhooks are told that a type is due for a user; an address is not needed, nor a template (N5). */
export function isToldByWebhook(
  config: Pick<Configuration, 'webhooks'>,
  user: Addressee,
  type: NotificationType,
): boolean {
  return (
    !user.control &&
    user.profile.subscribeToEmails &&
    isWanted(user, type, 'email') &&
    listens(config, DUE_EVENTS[type])
  )
}
