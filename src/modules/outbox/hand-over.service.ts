import type { TenantContext } from '../../context'
import type { Instant } from '../../shared/clock'
import type { Configuration } from '../configuration/configuration'
import { type Destination, type Letter, nameOf } from '../couriers/courier.messages'
import { carry } from '../couriers/couriers.service'
import { isTold, type Message, NOTIFICATION_MESSAGES, type Parcel } from './outbox'

/** The ways to the users themselves. */
const CHANNELS = ['email', 'push'] as const

/** Where something is to be carried, which messages, and as what. */
type Way = {
  destination: Destination
  takes: (message: Message) => boolean
  eventOf: (message: Message) => string
  bodyOf: (message: Message) => object
}

function waysOf(tenantId: string, { webhooks }: Configuration): Way[] {
  return [
    ...webhooks.map(
      (webhook): Way => ({
        destination: { kind: 'webhook', tenantId, webhookId: webhook.id },
        takes: ({ type }) => isTold(webhook, type),
        eventOf: ({ type }) => type,
        bodyOf: ({ type, body }) => ({ type, ...body }),
      }),
    ),
    ...CHANNELS.map(
      (kind): Way => ({
        destination: { kind, tenantId },
        takes: ({ type }) => type === NOTIFICATION_MESSAGES[kind],
        eventOf: ({ body }) => String(body.type),
        bodyOf: ({ body }) => body,
      }),
    ),
  ]
}

/**
 * Hands what is to be told over to the couriers of the webhooks that listen to it, and notifications to those of their channels, each message
 * once however often this is called. A courier that can't be reached is noted in `unreachable`, and is handed nothing more, so that nothing
 * overtakes what it has missed; it holds up nobody else. Answers the parcels that it has still to get.
 */
export async function handOver(
  context: TenantContext,
  config: Configuration,
  parcels: readonly Parcel[],
  now: Instant,
  unreachable: Map<string, unknown>,
): Promise<Parcel[]> {
  const missed = new Set<Parcel>()
  const handTo = async ({ destination, takes, eventOf, bodyOf }: Way) => {
    const concerned = parcels.filter(({ messages }) => messages.some(takes))
    const letters = concerned.flatMap(({ at, seq, userIid, subject = userIid, messages }) =>
      messages.filter(takes).map(
        (message): Letter => ({
          id: message.id,
          at,
          seq,
          subject,
          event: eventOf(message),
          body: JSON.stringify(bodyOf(message)),
          isNamed: message.type.startsWith('emails.') || message.type.startsWith('notification.'),
        }),
      ),
    )
    try {
      if (!unreachable.has(nameOf(destination))) return await carry(context, destination, letters, now)
    } catch (error) {
      unreachable.set(nameOf(destination), error)
    }
    for (const parcel of concerned) missed.add(parcel)
  }
  await Promise.all(waysOf(context.db.tenantId, config).map(handTo))
  return parcels.filter((parcel) => missed.has(parcel))
}
