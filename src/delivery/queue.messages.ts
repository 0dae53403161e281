import * as z from 'zod'
import type { Configuration } from '../config/configuration.types'
import { type Instant, instant } from '../lib/clock'
import type { TenantContext } from '../runtime/context'

/** Where a courier carries letters: to one webhook, or to a tenant's users by one channel. Each destination has an object of its own. */
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

/** One thing to carry. */
export const QueuedMessage = z.object({
  /** A UUID v7 of the moment `at`, unless it is named. Whoever hands a letter over twice changes nothing. */
  id: z.string(),
  /** When what it tells of happened, in milliseconds of the service's clock. */
  at: z.number(),
  /** Beside `at`, the order of what happened to one user. */
  seq: z.number(),
  /**
   * Our id of the user whom it is about: letters about one user are carried in their order, and go with an erased one (U8). `board:` and
   * an id where it is about a leaderboard: they are carried in order too, and are no user's, whose ids are UUIDs. Null: nobody.
   */
  subject: z.string().nullable(),
  /** The type of the event, or of the notification. */
  event: z.string(),
  /** JSON: what is carried. */
  body: z.string(),
  /**
   * Its id is made of what it is about, not of its moment: handed over again, it may have another `at` and `seq`, as when its user has moved to
   * another time zone.
   */
  isNamed: z.boolean().default(false),
})
export type QueuedMessage = z.infer<typeof QueuedMessage>

/** A letter on its way. */
export type OutgoingMessage = Omit<QueuedMessage, 'isNamed'>

/** What came of carrying a letter once. */
export type Attempt =
  /** It has arrived; `status` is the answer's, where there is one. */
  | { kind: 'delivered'; status: number | null }
  /**
   * It has not, and is to be tried again; not before so many milliseconds where the other side asks for it. With a `body`, that is what is
   * carried from now on: a part of it has arrived.
   */
  | { kind: 'failed'; status: number | null; error: string; retryAfter?: number; body?: string }
  /** It never will. */
  | { kind: 'refused'; status: number | null; error: string }
  /** There is nothing to carry it by: it is kept, for the log. */
  | { kind: 'unsent'; error: string }

/** How letters are carried to one destination, as it is configured at present. */
export type ChannelAdapter = {
  /** Carries a letter once; `now` is the moment of it by the service's clock. */
  attempt(message: OutgoingMessage, now: Instant): Promise<Attempt>
  /** Whether a letter of which nobody knows whether it arrived is carried again (at least once), or given up (at most once). */
  mayRepeat: boolean
}

/** How each kind of destination is reached, as it is configured at present: `waits` if it gets nothing now but may later, `gone` if it was deleted. */
export type Channels = (
  context: TenantContext,
  config: Configuration,
  destination: Destination,
) => ChannelAdapter | 'waits' | 'gone'

const moment = z.number().transform(instant)

/** Hands letters over to be carried; `now` is the moment by the service's clock. */
export const AcceptRequest = z.object({
  destination: Destination,
  messages: z.array(QueuedMessage),
  now: moment,
})

/**
 * Has a courier see to what is due by `now`: either it only begins, and answers at once, or it carries all of it, waits for the end of
 * every attempt, and asks for no more than that (C1).
 */
export const RunDueRequest = z.object({ now: moment, wait: z.boolean() })
/** When it wants to be called next; null where nothing waits for a time. */
export const RunDueReply = z.object({ dueAt: moment.nullable() })

/** Where a letter stands in the log. */
export const Place = z.object({ at: z.number(), seq: z.number(), id: z.string() })
export type Place = z.infer<typeof Place>

/** A page of the log, newest first. */
export const ListRequest = z.object({ limit: z.number(), skip: z.number() })

/** The same with what was carried, of the letters before one, if that is given. */
export const LogRequest = ListRequest.extend({ before: Place.nullable() })

/** Asks when the letter happened that has so many newer ones; null if there is none. */
export const MomentRequest = z.object({ skip: z.number() })
export const MomentReply = z.number().nullable()

/** A letter as the log has it. */
export const Delivery = z.object({
  id: z.string(),
  event: z.string(),
  /** pending, delivered, dead, or why it was never sent, such as `unsent: no provider`. */
  status: z.string(),
  /** How often it was tried in all. */
  attempts: z.number(),
  lastStatus: z.number().nullable(),
  lastError: z.string().nullable(),
  /** When it was handed over. */
  created: moment,
  /** When it is tried next, at the earliest; null where it is not pending. */
  nextAttempt: moment.nullable(),
})
export type Delivery = z.infer<typeof Delivery>
/** The same, as it comes from the object; null where there is none. */
export const DeliveryReply = Delivery.nullable()
export const ListReply = z.array(Delivery)

/** Letters with what was carried, and where they stand: as many as one call has room for; whether there are more of those asked for. */
const Held = z.object({
  messages: z.array(Delivery.extend({ place: Place, body: z.string() })),
  hasMore: z.boolean(),
})
export const LogReply = Held

/** Makes a letter pending again. */
export const RedeliverRequest = z.object({ id: z.string(), now: moment })

/** Has the letters about a user forgotten, and their places in rankings (U8): those name users by the ids that their tenant has given them. */
export const EraseRequest = z.object({ iid: z.string(), userId: z.string() })
export type EraseRequest = z.infer<typeof EraseRequest>
/** Asks for the next letters about a user that are kept, oldest first. */
export const HeldRequest = z.object({ iid: z.string(), after: Place.nullable() })
export const HeldReply = Held
