import type { Configuration } from '../config/configuration.types'
import { NOTIFICATION_CHANNELS } from '../config/enumerations.types'
import type { Instant } from '../lib/clock'
import { MOST_AT_ONCE, utf8Bytes } from '../lib/packed'
import { isTold, type Message, NOTIFICATION_MESSAGES, type Parcel } from '../outbox/outbox.messages'
import type { TenantContext } from '../runtime/context'
import { type Destination, type Letter, nameOf } from './queue.messages'
import { carry } from './queue.service'

/** The ways to the users themselves. */

/** Where something is to be carried, which messages, and as what. */
type Way = {
  destination: Destination
  takes: (message: Message) => boolean
  eventOf: (message: Message) => string
}

function waysOf(tenantId: string, { webhooks }: Configuration): Way[] {
  return [
    ...webhooks.map(
      (webhook): Way => ({
        destination: { kind: 'webhook', tenantId, webhookId: webhook.id },
        takes: ({ type }) => isTold(webhook, type),
        eventOf: ({ type }) => type,
      }),
    ),
    ...NOTIFICATION_CHANNELS.map(
      (kind): Way => ({
        destination: { kind, tenantId },
        takes: ({ type }) => type === NOTIFICATION_MESSAGES[kind],
        eventOf: ({ body }) => String(body.type),
      }),
    ),
  ]
}

/** A message on its way to couriers: of which parcel it is, and the letter that it becomes, but for its event. */
type Item = { parcel: Parcel; message: Message; letter: Omit<Letter, 'event'> }

const isNotification = ({ type }: Message): boolean => type.startsWith('notification.')

/** The letter of a message. Of a notification the body is the letter as it is; a webhook is told the type, too. */
function itemOf(parcel: Parcel, message: Message): Item {
  const { at, seq, userIid, subject = userIid } = parcel
  const { id, type, body } = message
  const letter = {
    id,
    at,
    seq,
    subject,
    body: JSON.stringify(isNotification(message) ? body : { type, ...body }),
    isNamed: type.startsWith('emails.') || isNotification(message),
  }
  return { parcel, message, letter }
}

/** What is to be carried by these ways, as much at a time as one call hands over: the letters of a single parcel may be longer than all memory. */
function* itemsOf(parcels: readonly Parcel[], ways: readonly Way[]): Generator<Item[]> {
  let items: Item[] = []
  let bytes = 0
  for (const parcel of parcels) {
    for (const message of parcel.messages) {
      if (!ways.some(({ takes }) => takes(message))) continue
      const item = itemOf(parcel, message)
      const own = utf8Bytes(item.letter.body)
      if (items.length > 0 && bytes + own > MOST_AT_ONCE / 2) {
        yield items
        items = []
        bytes = 0
      }
      items.push(item)
      bytes += own
    }
  }
  if (items.length > 0) yield items
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
  const ways = waysOf(context.db.tenantId, config)
  for (const items of itemsOf(parcels, ways)) {
    const handTo = async ({ destination, takes, eventOf }: Way) => {
      const own = items.filter(({ message }) => takes(message))
      const letters = own.map(({ message, letter }): Letter => ({ ...letter, event: eventOf(message) }))
      try {
        if (!unreachable.has(nameOf(destination))) return await carry(context, destination, letters, now)
      } catch (error) {
        unreachable.set(nameOf(destination), error)
      }
      for (const { parcel } of own) missed.add(parcel)
    }
    await Promise.all(ways.map(handTo))
  }
  return parcels.filter((parcel) => missed.has(parcel))
}
