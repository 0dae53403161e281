import type { Configuration } from '../configuration/configuration.types'
import { notificationAdapter } from '../features/notifications/notifications.adapter'
import type { TenantContext } from '../platform/context'
import type { ChannelAdapter, Destination } from '../webhooks/delivery/queue.messages'
import { webhookAdapter } from '../webhooks/webhook.adapter'
import { switchOff } from '../webhooks/webhooks.service'

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
