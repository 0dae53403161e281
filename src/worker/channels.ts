import type { Configuration } from '../config/configuration.types'
import type { ChannelAdapter, Destination } from '../delivery/queue.messages'
import { notificationAdapter } from '../features/notifications/channels/notifications.adapter'
import { webhookAdapter } from '../features/webhooks/webhook.adapter'
import type { TenantContext } from '../runtime/context'

/**
 * How letters are carried to a destination as it is configured at present; `waits` while it is to get none but may get them later, `gone` where it
 * was deleted.
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
      return webhook.status === 'active' ? webhookAdapter(context, webhook) : 'waits'
    }
    case 'email':
    case 'push':
      return notificationAdapter(context, destination.kind)
  }
}
