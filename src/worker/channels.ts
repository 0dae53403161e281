import type { Configuration } from '../config/configuration.types'
import type { ChannelAdapter, Destination } from '../delivery/queue.messages'
import { notificationAdapter } from '../features/notifications/channels/notifications.adapter'
import { webhookAdapter } from '../features/webhooks/webhook.adapter'
import { switchOff } from '../features/webhooks/webhooks.service'
import type { TenantContext } from '../runtime/context'

/**
 * The adapter that sends messages to a destination, by the present configuration. `waits` if the destination
 * gets no messages now but may get them later, `gone` if it was deleted.
 */
export function channelTo(
  context: TenantContext,
  config: Configuration,
  destination: Destination,
): ChannelAdapter | 'waits' | 'gone' {
  switch (destination.kind) {
    case 'webhook': {
      const webhook = config.webhooks.find(({ id }) => id === destination.webhookId)
      if (webhook === undefined) return 'gone'
      if (webhook.status !== 'active') return 'waits'
      return webhookAdapter(context, webhook, (now) => switchOff(context, webhook, now))
    }
    case 'email':
    case 'push':
      return notificationAdapter(context, destination.kind)
  }
}
