import type { TenantContext } from '../../context'
import type { Configuration } from '../configuration/configuration'
import { notificationCarrier } from '../notifications/carrier'
import { webhookCarrier } from '../webhooks/webhook.carrier'
import type { Carrier, Destination } from './courier.messages'

/**
 * How letters are carried to a destination as it is configured at present; `waits` while it is to get none but may get them later, `gone` where it
 * was deleted.
 */
export function carrierTo(
  context: TenantContext,
  config: Configuration,
  destination: Destination,
): Carrier | 'waits' | 'gone' {
  switch (destination.kind) {
    case 'webhook': {
      const webhook = config.webhooks.find(({ id }) => id === destination.webhookId)
      if (webhook === undefined) return 'gone'
      return webhook.status === 'active' ? webhookCarrier(context, webhook) : 'waits'
    }
    case 'email':
    case 'push':
      return notificationCarrier(context, destination.kind)
  }
}
