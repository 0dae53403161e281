import * as z from 'zod'
import { Timestamp } from '../../api/fields'
import type { Configuration } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import type { TenantContext } from '../../platform/context'

/** One webhook, or a tenant's users by one channel. Each destination has its own object. */
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
export type QueuedMessage = {
  /** A UUID v7 of the moment `at`, unless `isNamed`. A message that is handed over twice changes nothing. */
  id: string
  /** When the event that it reports happened, in milliseconds of the service's clock. */
  at: number
  /** Together with `at`, the order of events of one user. */
  seq: number
  /**
   * The iid of the user that it is about. Messages about one user are sent in order, and are deleted when the
   * user is erased (U8). For a leaderboard: `board:` and its id. Those are sent in order too, and belong to
   * no user, since iids are UUIDs. Null: no subject.
   */
  subject: string | null
  /** The type of the event, or of the notification. */
  event: string
  /** The body that is sent, as JSON. */
  body: string
  /**
   * Whether its id is made from its content, not from its moment. If it is handed over again, it may have
   * another `at` and `seq`, for example if its user has moved to another time zone.
   */
  isNamed?: boolean
}

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
  /**
   * The destination takes nothing for now. That uses up none of the message's tries. With `retryAfter`, all
   * messages wait for so many milliseconds, as after a failure.
   */
  | { kind: 'postponed'; status: number | null; error: string; retryAfter?: number }
  /** It will never arrive. */
  | { kind: 'refused'; status: number | null; error: string }
  /** There is no way to send it. It is kept for the log. */
  | { kind: 'unsent'; error: string }

/** What a receiver answered: the status, the time that it took, and the beginning of the body. */
export type Answered = { status: number; milliseconds: number; body: string }

/** How messages are sent to one destination, by its present configuration. */
export type ChannelAdapter = {
  /**
   * Sends a message once. `now` is the moment of the attempt by the service's clock. `seen` gets the answer, if
   * there is one.
   */
  attempt(message: OutgoingMessage, now: Instant, seen?: (answer: Answered) => void): Promise<Attempt>
  /** If it is unknown whether a message arrived: true sends it again, false gives it up. */
  mayRepeat: boolean
}

/** How a destination is reached now: `waits` if it gets nothing yet, `gone` if it was deleted. */
export type Channels = (
  context: TenantContext,
  config: Configuration,
  destination: Destination,
) => ChannelAdapter | 'waits' | 'gone'

/*
 * The calls of a delivery queue's object. Only Laurel's own code makes them, so the type check is enough. During
 * a deploy, one of both sides may be of the version before: a new field may be missing.
 */

/**
 * Hands messages over for delivery. `now` is the moment by the service's clock. `epoch` is when the database
 * was last brought back to an earlier moment, as far as the caller knows (M1).
 */
export type Accepting = {
  destination: Destination
  messages: QueuedMessage[]
  now: Instant
  epoch: number
}

/** The place of a message in the log. */
export type Place = { at: number; seq: number; id: string }

export const DeliveryStatus = z.enum(['pending', 'delivered', 'dead'])
type DeliveryStatus = z.infer<typeof DeliveryStatus>

/**
 * A page of the log, newest first: only messages before this place, null for all, and in a list only those with
 * this status and this event.
 */
export type LogPage = {
  limit: number
  skip: number
  before: Place | null
  status?: DeliveryStatus | undefined
  event?: string | undefined
}

/** A message as the log shows it. */
export type Delivery = {
  id: string
  event: string
  /** pending, delivered, dead, or the reason why it was never sent, such as `unsent: no provider`. */
  status: string
  attempts: number
  lastStatus: number | null
  lastError: string | null
  created: Instant
  /** When it is tried next, at the earliest; null if it is not pending. */
  nextAttempt: Instant | null
}

/** A message of the log with its place and its body. */
export type HeldMessage = Delivery & { place: Place; body: string }

/**
 * How a destination does (W4, G12). Of the messages since `since`, `tried` have a result, and `failed` are those of
 * them whose last attempt failed. `pending` and `dead` are of any age.
 */
export const Condition = z
  .object({
    failing: z.boolean(),
    tried: z.int(),
    failed: z.int(),
    since: Timestamp,
    pending: z.int(),
    dead: z.int(),
    restsUntil: Timestamp.nullable(),
  })
  .meta({ id: 'WebhookHealth' })
export type Condition = z.infer<typeof Condition>

/**
 * Messages that are sent again after one call: those that were handed over since `since`, with a status; null for
 * those that failed. They are looked at in the order of the log, up to the newest one of that time: `last`.
 */
export type Resend = {
  since: number
  status: DeliveryStatus | null
  sent: number
  done: Place | null
  last: Place | null
  running: boolean
}

/** As many messages as one call has room for. `hasMore` says whether more match the request. */
export type Held = { messages: HeldMessage[]; hasMore: boolean }
