import { z } from 'zod'

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
export const Letter = z.object({
  /** A UUID v7 of the moment `at`. Whoever hands a letter over twice changes nothing. */
  id: z.string(),
  /** When what it tells of happened, in milliseconds of the service's clock. */
  at: z.number(),
  /** Beside `at`, the order of what happened to one user. */
  seq: z.number(),
  /** Our id of the user whom it is about: letters about one user are carried in their order, and go with an erased one (U8). Null: nobody. */
  subject: z.string().nullable(),
  /** The type of the event, or of the notification. */
  event: z.string(),
  /** JSON: what is carried. */
  body: z.string(),
})
export type Letter = z.infer<typeof Letter>

/** What came of carrying a letter once. */
export type Attempt =
  /** It has arrived; `status` is the answer's, where there is one. */
  | { kind: 'delivered'; status: number | null }
  /** It has not, and is to be tried again; not before so many milliseconds where the other side asks for it. */
  | { kind: 'failed'; status: number | null; error: string; retryAfter?: number }
  /** It never will. */
  | { kind: 'refused'; status: number | null; error: string }
  /** There is nothing to carry it by: it is kept, for the log. */
  | { kind: 'unsent'; error: string }

/** How letters are carried to one destination, as it is configured at present. */
export type Carrier = {
  attempt(letter: Letter): Promise<Attempt>
  /** Whether a letter of which nobody knows whether it arrived is carried again (at least once), or given up (at most once). */
  mayRepeat: boolean
}
