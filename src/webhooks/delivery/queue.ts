import { NOTIFICATION_CHANNELS } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { MOST_AT_ONCE, utf8Bytes } from '../../lib/packed'
import type { AccountScope, Context, TenantContext } from '../../platform/context'
import { logProblem } from '../../platform/log'
import { isSubscribed, type Message, NOTIFICATION_MESSAGES, type OutboxEntry } from '../outbox/outbox'
import { type Condition, type Destination, nameOf, type QueuedMessage } from './messages'
import type { DeliveryQueueObject } from './queue.object'

/** The object that delivers to a destination. */
export function deliveryQueueOf(
  { env }: Pick<Context, 'env'>,
  destination: Destination,
): DurableObjectStub<DeliveryQueueObject> {
  return env.DELIVERY_QUEUE.getByName(nameOf(destination))
}

/** Hands messages over, each only once. Throws if the delivery queue cannot be reached. */
export async function enqueueMessages(
  context: Pick<Context, 'env'>,
  destination: Destination,
  messages: readonly QueuedMessage[],
  present: { now: Instant; epoch: number },
): Promise<void> {
  if (messages.length > 0)
    await deliveryQueueOf(context, destination).accept({ destination, messages: [...messages], ...present })
}

/**
 * Notifies delivery queues that the configuration of their destinations has changed (`refresh`), or makes those
 * of deleted destinations delete everything (`forget`). Never throws: their due work is also in D1, and a
 * queue that was missed finds out by itself.
 */
export async function notifyDeliveryQueues(
  context: Pick<Context, 'env'>,
  change: 'refresh' | 'forget',
  destinations: readonly Destination[],
): Promise<void> {
  const calls = destinations.map(async (destination) => deliveryQueueOf(context, destination)[change]())
  for (const result of await Promise.allSettled(calls)) {
    if (result.status === 'rejected')
      logProblem('warn', { error: `delivery queue not reached: ${String(result.reason)}` })
  }
}

/** How the destination of a delivery queue does, by the name of the queue (W4, G12). */
export const conditionOf = async (
  { env, now }: Pick<AccountScope, 'env' | 'now'>,
  name: string,
): Promise<Condition> => env.DELIVERY_QUEUE.getByName(name).condition(now)

/** A destination, the messages that it takes, and the event that its log shows for a message. */
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

/** A message on its way to delivery queues: its outbox entry, and the queued message without its event. */
type Item = { outboxEntry: OutboxEntry; message: Message; queuedMessage: Omit<QueuedMessage, 'event'> }

/** The types of webhook events whose ids are made from their subject: they may happen twice. */
const NAMED: readonly string[] = ['leaderboard.started', 'leaderboard.finished']

const isNotification = ({ type }: Message): boolean => type.startsWith('notification.')

/** The body of a notification is sent as it is. The body for a webhook also has the type. */
function itemOf(outboxEntry: OutboxEntry, message: Message): Item {
  const { at, seq, userIid, subject = userIid } = outboxEntry
  const { id, type, body } = message
  const queuedMessage = {
    id,
    at,
    seq,
    subject,
    body: JSON.stringify(isNotification(message) ? body : { type, ...body }),
    isNamed: NAMED.includes(type) || type.startsWith('emails.') || isNotification(message),
  }
  return { outboxEntry, message, queuedMessage }
}

/** Messages in parts that one call can hand over. Those of a single entry may be larger than all memory. */
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
 * Hands webhook events over to the delivery queues of the subscribed webhooks, and notifications to the
 * queues of their channels. A queue takes each message once, even if this is called again. If a queue cannot
 * be reached, the error is put into `unreachable`, and the queue gets nothing more, so that later messages do
 * not overtake the missed ones. Other queues are not affected. Returns the outbox entries that a queue has
 * not received yet.
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
          return await enqueueMessages(context, destination, queued, { now, epoch: config.epoch })
      } catch (error) {
        unreachable.set(nameOf(destination), error)
      }
      for (const { outboxEntry } of own) missed.add(outboxEntry)
    }
    await Promise.all(ways.map(handTo))
  }
  return outboxEntries.filter((outboxEntry) => missed.has(outboxEntry))
}
