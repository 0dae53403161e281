import * as z from 'zod'
import type { Configuration } from '../../configuration/configuration.types'
import { type Instant, instant } from '../../lib/clock'
import type { TenantContext } from '../../platform/context'

/**
 * A destination of messages: one webhook, or a tenant's users by one channel. Each destination has its own
 * object.
 */
export const Destination = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('webhook'), tenantId: z.string(), webhookId: z.string() }),
  z.object({ kind: z.literal('email'), tenantId: z.string() }),
  z.object({ kind: z.literal('push'), tenantId: z.string() }),
])
export type Destination = z.infer<typeof Destination>

/** The name of a destination's object, unique in a deployment. */
export function nameOf(destination: Destination): string {
  return destination.kind === 'webhook'
    ? `webhook:${destination.webhookId}`
    : `${destination.kind}:${destination.tenantId}`
}

/** A message for one destination. */
export const QueuedMessage = z.object({
  /** A UUID v7 of the moment `at`, unless `isNamed`. A message that is handed over twice changes nothing. */
  id: z.string(),
  /** When the event that it reports happened, in milliseconds of the service's clock. */
  at: z.number(),
  /** Together with `at`, the order of events of one user. */
  seq: z.number(),
  /**
   * The iid of the user that it is about. Messages about one user are sent in order, and are deleted when the
   * user is erased (U8). For a leaderboard: `board:` and its id. Those are sent in order too, and belong to
   * no user, since iids are UUIDs. Null: no subject.
   */
  subject: z.string().nullable(),
  /** The type of the event, or of the notification. */
  event: z.string(),
  /** The body that is sent, as JSON. */
  body: z.string(),
  /**
   * Whether its id is made from its content, not from its moment. If it is handed over again, it may have
   * another `at` and `seq`, for example if its user has moved to another time zone.
   */
  isNamed: z.boolean().default(false),
})
export type QueuedMessage = z.infer<typeof QueuedMessage>

/** A message that is being sent. */
export type OutgoingMessage = Omit<QueuedMessage, 'isNamed'>

/** The result of one attempt. */
export type Attempt =
  /** It has arrived. `status` is that of the response, if there is one. */
  | { kind: 'delivered'; status: number | null }
  /**
   * It failed, and is tried again, at the earliest after `retryAfter` milliseconds if the receiver asks for
   * that; with `isForAll`, all messages wait as long. A `body` replaces the old one: part of the message has
   * arrived.
   */
  | {
      kind: 'failed'
      status: number | null
      error: string
      retryAfter?: number
      isForAll?: boolean
      body?: string
    }
  /** The destination takes nothing for now. That is no failure, and uses up none of the message's tries. */
  | { kind: 'postponed'; status: number; error: string }
  /** It will never arrive. */
  | { kind: 'refused'; status: number | null; error: string }
  /** There is no way to send it. It is kept for the log. */
  | { kind: 'unsent'; error: string }

/** How messages are sent to one destination, by its present configuration. */
export type ChannelAdapter = {
  /** Sends a message once. `now` is the moment of the attempt by the service's clock. */
  attempt(message: OutgoingMessage, now: Instant): Promise<Attempt>
  /**
   * If it is unknown whether a message arrived: true sends it again (at least once), false gives it up (at
   * most once).
   */
  mayRepeat: boolean
}

/**
 * The channel adapter of each destination, by the present configuration. `waits` if it gets nothing now but
 * may later, `gone` if it was deleted.
 */
export type Channels = (
  context: TenantContext,
  config: Configuration,
  destination: Destination,
) => ChannelAdapter | 'waits' | 'gone'

const moment = z.number().transform(instant)

/**
 * Hands messages over for delivery. `now` is the moment by the service's clock. `epoch` is when the database
 * was last brought back to an earlier moment, as far as the caller knows (M1).
 */
export const AcceptRequest = z.object({
  destination: Destination,
  messages: z.array(QueuedMessage),
  now: moment,
  epoch: z.number().default(0),
})

/**
 * Makes a delivery queue send the messages that are due by `now`. With `wait`, it sends all of them, waits
 * for the end of every attempt, and asks to be called for nothing earlier (C1). Otherwise it only begins, and
 * returns at once.
 */
export const RunDueRequest = z.object({ now: moment, wait: z.boolean() })
/** When it must be called next; null if no message waits for a time. */
export const RunDueReply = z.object({ dueAt: moment.nullable() })

/** The place of a message in the log. */
export const Place = z.object({ at: z.number(), seq: z.number(), id: z.string() })
export type Place = z.infer<typeof Place>

/** A page of the log, newest first. */
export const ListRequest = z.object({
  limit: z.number(),
  skip: z.number(),
  /** Only messages before this place; null for all. */
  before: Place.nullable().default(null),
})

/** A page of the log with the bodies. */
export const LogRequest = ListRequest.required()

/** Asks for the moment of the message after the `skip` newest ones; null if there is none. */
export const MomentRequest = z.object({ skip: z.number() })
export const MomentReply = z.number().nullable()

/** A message as the log shows it. */
export const Delivery = z.object({
  id: z.string(),
  event: z.string(),
  /** pending, delivered, dead, or the reason why it was never sent, such as `unsent: no provider`. */
  status: z.string(),
  /** The number of all attempts. */
  attempts: z.number(),
  lastStatus: z.number().nullable(),
  lastError: z.string().nullable(),
  /** When it was handed over. */
  created: moment,
  /** When it is tried next, at the earliest; null if it is not pending. */
  nextAttempt: moment.nullable(),
})
export type Delivery = z.infer<typeof Delivery>
/** The same as the object returns it; null if there is none. */
export const DeliveryReply = Delivery.nullable()
/** The same with the body. */
export const WholeReply = Delivery.extend({ body: z.string() }).nullable()
/** Messages with their places. */
export const ListReply = z.array(Delivery.extend({ place: Place }))

/** As many messages as one call has room for. `hasMore` says whether more match the request. */
const Held = z.object({
  messages: z.array(Delivery.extend({ place: Place, body: z.string() })),
  hasMore: z.boolean(),
})
export const LogReply = Held

/** How many messages are pending, and how many of the newest ones are dead (G12). */
export const CountsReply = z.object({ pending: z.number(), dead: z.number() })

/** Makes a message pending again. */
export const RedeliverRequest = z.object({ id: z.string(), now: moment })

/**
 * Deletes the messages about a user, and the user's entries in rankings of other messages (U8). Those entries
 * have the id that the tenant has given the user.
 */
export const EraseRequest = z.object({ iid: z.string(), userId: z.string() })
export type EraseRequest = z.infer<typeof EraseRequest>
/** Asks for the next stored messages about a user, oldest first. */
export const HeldRequest = z.object({ iid: z.string(), after: Place.nullable() })
export const HeldReply = Held
/** Asks for the newest notifications to a user before a place (X2). */
export const NewestRequest = z.object({ iid: z.string(), before: Place, limit: z.number() })
