import type { Configuration } from '../../configuration/configuration.types'
import { DUE_EVENTS } from '../../webhooks/outbox/notifications.rules'
import { listens } from '../../webhooks/outbox/outbox.messages'
import type { NotificationType } from './notifications.types'
import { type Addressee, userWants } from './templates.rules'

/**
 * Whether webhooks get the event that a notification of this type is due for a user. The user needs no
 * address, and the tenant no template (N5).
 */
export function isSentByWebhook(
  config: Pick<Configuration, 'webhooks'>,
  user: Addressee,
  type: NotificationType,
): boolean {
  return (
    !user.control &&
    user.profile.subscribeToEmails &&
    userWants(user, type, 'email') &&
    listens(config, DUE_EVENTS[type])
  )
}
