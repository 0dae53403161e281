import * as z from 'zod'
import type { EventType } from '../../configuration/enumerations'
import type { Instant } from '../../lib/clock'
import { civilDateAt } from '../../lib/zone'
import { ACHIEVEMENT_EVENTS } from './achievements'
import { EMAIL_EVENTS } from './emails'
import type { WebhookEvent } from './event'
import { LEADERBOARD_EVENTS } from './leaderboards'
import { POINTS_EVENTS } from './points'
import { STREAK_EVENTS } from './streaks'

/** Every type of webhook event (W2). */
const EVENTS = {
  ...ACHIEVEMENT_EVENTS,
  ...EMAIL_EVENTS,
  ...LEADERBOARD_EVENTS,
  ...POINTS_EVENTS,
  ...STREAK_EVENTS,
} satisfies Record<EventType, WebhookEvent>

/** The body of a type, without `type`. */
export type EventBody<Type extends EventType = EventType> = z.infer<
  z.ZodObject<(typeof EVENTS)[Type]['fields']>
>

/** A message of a webhook event, without its id. */
export type EventDraft = { type: EventType; body: Record<string, unknown> }

/** The message of an event, without its id. The type check makes sure that the body fits the type. */
export const draftOf = <Type extends EventType>(type: Type, body: EventBody<Type>): EventDraft => ({
  type,
  body,
})

/** The schema of the whole body that is sent, by type. */
export const WEBHOOKS: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  Object.entries(EVENTS).map(([type, { fields }]) => [type, z.object({ type: z.literal(type), ...fields })]),
)

/** The body of a type with made-up data. Its dates are around `now` (W2). */
export function sampleOf(type: EventType, now: Instant): { type: EventType } & Record<string, unknown> {
  return { type, ...EVENTS[type].sample({ now, today: civilDateAt(now, 0) }) }
}
