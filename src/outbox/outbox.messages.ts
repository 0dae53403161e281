import * as z from 'zod'
import type { Configuration } from '../config/configuration.types'
import { ANY_EVENT, EVENT_TYPES, type EventType } from '../config/webhook-events.types'
import type { Instant } from '../lib/clock'

/** Notifications on their way to the users themselves, by channel: no webhook is ever told of them (N1). */
export const NOTIFICATION_MESSAGES = { email: 'notification.email', push: 'notification.push' } as const

/**
 * One thing to be told (W2). `body` is what is sent, but for `type`; `id` stays the same whatever happens to it on the way. Of a notification,
 * `body` is the letter, whose `type` is that of the notification.
 */
export const Message = z.object({
  id: z.string(),
  type: z.enum([...EVENT_TYPES, ...Object.values(NOTIFICATION_MESSAGES)]),
  body: z.record(z.string(), z.unknown()),
})
export type Message = z.infer<typeof Message>

/**
 * Messages as a row of the outbox holds them: a list, or, if several tell of the same user, that user once and the list, in which `user` is
 * null for each of them. A user may take more than a megabyte.
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

/** The user that the first of several messages tells of; they share it if it is the same object. Null for a single message, which shares nothing. */
export const sharedUser = (messages: readonly Message[]): unknown =>
  messages.length > 1 ? (messages[0]?.body.user ?? null) : null

/** A message without the user that it shares with others. */
export const withoutShared = (message: Message, user: unknown): Message =>
  user !== null && message.body.user === user
    ? { ...message, body: { ...message.body, user: null } }
    : message

/** Messages as `StoredMessages` reads them, before they are made JSON. */
export function storedMessages(messages: readonly Message[]): unknown {
  const user = sharedUser(messages)
  return user === null ? messages : { user, messages: messages.map((one) => withoutShared(one, user)) }
}

/**
 * What one change has to tell, as a row of the outbox: when it happened, the user's `seq` of it (0 where it is no user's), a UUID v7 of
 * that moment, and whose it is. Of one user, `at` and then `seq` is the order in which things happened.
 */
export type OutboxEntry = {
  at: Instant
  seq: number
  id: string
  userIid: string | null
  /** What its messages are about, where that is no user: they are carried in order all the same. */
  subject?: string
  messages: readonly Message[]
}

/** A parcel, and the caller's id of the user whose it is, by which the user is found. */
export type AddressedEntry = { outboxEntry: OutboxEntry; userId: string | null }

/** Whether an active webhook wants to be told of events of a type (W2). */
export function listens({ webhooks }: Pick<Configuration, 'webhooks'>, type: EventType): boolean {
  return webhooks.some((webhook) => isSubscribed(webhook, type))
}

/** Whether a webhook is told of messages of a type; never of notifications. */
export function isSubscribed(
  { status, events }: Pick<Configuration['webhooks'][number], 'status' | 'events'>,
  type: Message['type'],
): boolean {
  if (status !== 'active' || type === 'notification.email' || type === 'notification.push') return false
  return events.includes(ANY_EVENT) || events.includes(type)
}

/** The message of the queue: this tenant has something to tell. What it is stands in the outbox. */
export const DrainRequest = z.strictObject({ tenantId: z.string() })
export type DrainRequest = z.infer<typeof DrainRequest>

declare module '../runtime/env' {
  interface Bindings {
    /** Tells that a tenant has something in the outbox. */
    OUTBOX: Queue<DrainRequest>
  }
}
