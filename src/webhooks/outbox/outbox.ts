import * as z from 'zod'
import { ANY_EVENT, EVENT_TYPES, type EventType } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { jsonBytes, packsOf } from '../../lib/packed'

/** The types of notifications to users, by channel. Webhooks never receive them (N1). */
export const NOTIFICATION_MESSAGES = { email: 'notification.email', push: 'notification.push' } as const

/**
 * One message (W2). `body` is the sent body without `type`. The `id` never changes on the way.
 * The `body` of a notification is the email or push message. Its `type` is the type of notification.
 */
export const Message = z.object({
  id: z.string(),
  type: z.enum([...EVENT_TYPES, ...Object.values(NOTIFICATION_MESSAGES)]),
  body: z.record(z.string(), z.unknown()),
})
export type Message = z.infer<typeof Message>

/**
 * Messages as in a row of the outbox. The row is a list of messages, or an object with a user and a list. The
 * object is used if several messages have the same user: then `user` is null in each of them. The user is
 * stored once, because it may take more than a megabyte.
 */
export const StoredMessages = z.union([
  z.array(Message),
  z
    .object({ user: z.record(z.string(), z.unknown()), messages: z.array(Message) })
    .transform(({ user, messages }) =>
      messages.map((message) =>
        message.body.user === null ? { ...message, body: { ...message.body, user } } : message,
      ),
    ),
])

/** The user of the first of several messages. Others share it if they have the same object. */
const sharedUser = (messages: readonly Message[]): unknown =>
  messages.length > 1 ? (messages[0]?.body.user ?? null) : null

const withoutShared = (message: Message, user: unknown): Message =>
  user !== null && message.body.user === user
    ? { ...message, body: { ...message.body, user: null } }
    : message

/** The JSON value of messages that `StoredMessages` reads. */
export function storedMessages(messages: readonly Message[]): unknown {
  const user = sharedUser(messages)
  return user === null ? messages : { user, messages: messages.map((one) => withoutShared(one, user)) }
}

/**
 * The messages of one change, as a row of the outbox: when it happened, the user's `seq` after it (0 if it is
 * not about a user), a UUID v7 of that moment, and the user's internal id. `at` and then `seq` is the order
 * of a user's changes.
 */
export type OutboxEntry = {
  at: Instant
  seq: number
  id: string
  userIid: string | null
  /** Of messages that are about no user. Those with the same subject are delivered in order. */
  subject?: string
  messages: readonly Message[]
}

/** An outbox entry with the caller's id of its user, which finds the user. */
export type AddressedEntry = { outboxEntry: OutboxEntry; userId: string | null }

/** Whether an active webhook receives events of a type (W2). */
export function listens({ webhooks }: Pick<Configuration, 'webhooks'>, type: EventType): boolean {
  return webhooks.some((webhook) => isSubscribed(webhook, type))
}

/** Whether a webhook receives messages of a type. It never receives notifications. */
export function isSubscribed(
  { status, events }: Pick<Configuration['webhooks'][number], 'status' | 'events'>,
  type: Message['type'],
): boolean {
  if (status !== 'active' || type === 'notification.email' || type === 'notification.push') return false
  return events.includes(ANY_EVENT) || events.includes(type)
}

/** The queue message: this tenant has entries in the outbox. It does not contain them. */
export const DrainRequest = z.strictObject({ tenantId: z.string() })
export type DrainRequest = z.infer<typeof DrainRequest>

declare module '../../platform/env' {
  interface Bindings {
    OUTBOX: Queue<DrainRequest>
  }
}

/** Bytes of JSON in a row, without its shared user. With the longest user, it is still below D1's limit. */
const MOST_BYTES = 300_000

/**
 * Splits the messages of one change into as many entries as their length requires, in their order. `idOf`
 * makes the id of the n-th entry, from 0. The ids must be ascending.
 */
export function splitIntoEntries(
  { at, seq, userIid }: Pick<OutboxEntry, 'at' | 'seq' | 'userIid'>,
  messages: readonly Message[],
  idOf: (n: number) => string,
): OutboxEntry[] {
  const user = sharedUser(messages)
  const parts =
    messages.length === 1
      ? [messages]
      : packsOf(messages, MOST_BYTES, (message) => jsonBytes(withoutShared(message, user)))
  return parts.map((part, n) => ({ at, seq, id: idOf(n), userIid, messages: part }))
}
