import type * as z from 'zod'
import type { User } from '../../api/shapes/user.schemas'
import type { EventType } from '../../configuration/webhook-events.types'
import type { CivilDate } from '../../lib/civil'
import type { Instant } from '../../lib/clock'

/** The moment of a sample, and its local date in UTC. */
export type When = { now: Instant; today: CivilDate }

/** A user as payloads show them. All messages of one change share the same object. */
export type UserPayload = z.infer<typeof User>

/** A type of webhook event (W2). Its payload is the body that is sent, without `type`. */
export type WebhookEvent<
  Type extends EventType = EventType,
  Payload extends z.ZodObject = z.ZodObject,
  Facts extends readonly unknown[] = never[],
> = {
  type: Type
  schema: Payload
  /** A payload with made-up data of no real user. */
  sample: (when: When) => z.infer<Payload>
  /**
   * Makes the payload from the facts. A pure function that parses nothing. The type check makes sure that the
   * payload fits the schema.
   */
  build: (...facts: Facts) => z.infer<Payload>
}

/** A type of webhook event whose sample and payload fit its schema. */
export const webhookEvent = <
  Type extends EventType,
  Payload extends z.ZodObject,
  Facts extends readonly unknown[],
>(
  event: WebhookEvent<Type, Payload, Facts>,
): WebhookEvent<Type, Payload, Facts> => event

/** A message of a webhook event, without its id. */
export type EventDraft = { type: EventType; body: Record<string, unknown> }

/** The message of an event, without its id: its type, and the payload made from the facts. */
export const draftOf = <
  Type extends EventType,
  Payload extends z.ZodObject,
  Facts extends readonly unknown[],
>(
  { type, build }: WebhookEvent<Type, Payload, Facts>,
  ...facts: Facts
): { type: Type; body: z.infer<Payload> } => ({ type, body: build(...facts) })
