import type { Configuration } from '../config/configuration.types'
import { NOTIFICATION_CHANNELS } from '../config/enumerations.types'
import type { Instant } from '../lib/clock'
import { MOST_AT_ONCE, utf8Bytes } from '../lib/packed'
import {
  isSubscribed,
  type Message,
  NOTIFICATION_MESSAGES,
  type OutboxEntry,
} from '../outbox/outbox.messages'
import type { TenantContext } from '../runtime/context'
import { type Destination, nameOf, type QueuedMessage } from './queue.messages'
import { enqueueMessages } from './queue.service'

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
        takes: ({ type }) => isSubscribed(webhook, type),
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
type Item = { outboxEntry: OutboxEntry; message: Message; queuedMessage: Omit<QueuedMessage, 'event'> }

const isNotification = ({ type }: Message): boolean => type.startsWith('notification.')

/** The letter of a message. Of a notification the body is the letter as it is; a webhook is told the type, too. */
function itemOf(outboxEntry: OutboxEntry, message: Message): Item {
  const { at, seq, userIid, subject = userIid } = outboxEntry
  const { id, type, body } = message
  const queuedMessage = {
    id,
    at,
    seq,
    subject,
    body: JSON.stringify(isNotification(message) ? body : { type, ...body }),
    isNamed: type.startsWith('emails.') || isNotification(message),
  }
  return { outboxEntry, message, queuedMessage }
}

/** What is to be carried by these ways, as much at a time as one call hands over: the letters of a single parcel may be longer than all memory. */
function* itemsOf(outboxEntries: readonly OutboxEntry[], ways: readonly Way[]): Generator<Item[]> {
  let items: Item[] = []
  let bytes = 0
  for (const outboxEntry of outboxEntries) {
    for (const message of outboxEntry.messages) {
      if (!ways.some(({ takes }) => takes(message))) continue
      const item = itemOf(outboxEntry, message)
      const own = utf8Bytes(item.queuedMessage.body)
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
  outboxEntries: readonly OutboxEntry[],
  now: Instant,
  unreachable: Map<string, unknown>,
): Promise<OutboxEntry[]> {
  const missed = new Set<OutboxEntry>()
  const ways = waysOf(context.db.tenantId, config)
  for (const items of itemsOf(outboxEntries, ways)) {
    const handTo = async ({ destination, takes, eventOf }: Way) => {
      const own = items.filter(({ message }) => takes(message))
      const queued = own.map(
        ({ message, queuedMessage }): QueuedMessage => ({ ...queuedMessage, event: eventOf(message) }),
      )
      try {
        if (!unreachable.has(nameOf(destination)))
          return await enqueueMessages(context, destination, queued, now)
      } catch (error) {
        unreachable.set(nameOf(destination), error)
      }
      for (const { outboxEntry } of own) missed.add(outboxEntry)
    }
    await Promise.all(ways.map(handTo))
  }
  return outboxEntries.filter((outboxEntry) => missed.has(outboxEntry))
}
