import type { Configuration } from '../../../config/configuration.types'
import { DUE_EVENTS } from '../../../outbox/notifications.rules'
import { listens } from '../../../outbox/outbox.messages'
import type { NotificationType } from '../notifications.types'
import { type Addressee, isWanted } from '../templates/templates.rules'

/** Whether webhooks are told that a type is due for a user; an address is not needed, nor a template (N5). */
export function isSentByWebhook(
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
