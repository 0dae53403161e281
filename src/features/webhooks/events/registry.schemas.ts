import * as z from 'zod'
import type { EventType } from '../../../config/webhook-events.types'
import type { Instant } from '../../../lib/clock'
import { civilDateAt } from '../../../lib/zone'
import { achievementEvents } from './achievement.schemas'
import { emailsEvents } from './emails.schemas'
import type { WebhookEvent } from './event.types'
import { leaderboardEvents } from './leaderboard.schemas'
import { pointsEvents } from './points.schemas'
import { streakEvents } from './streak.schemas'

/** Every type of event (W2). A type of `EVENT_TYPES` that is missing fails the type check. */
export const EVENTS = {
  ...achievementEvents,
  ...emailsEvents,
  ...leaderboardEvents,
  ...pointsEvents,
  ...streakEvents,
} as const satisfies Record<EventType, WebhookEvent>

/** What is sent for each type of event, by type. */
export const WEBHOOKS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(EVENTS).map(([type, { body }]) => [
    type,
    z.object({ type: z.literal(type), ...body.shape }),
  ]),
)

/** A payload of a type with made-up data of nobody's, of the shape that the contract has for it; dates are around `now` (W2). */
export function sampleOf(type: EventType, now: Instant): { type: EventType } & Record<string, unknown> {
  return { type, ...EVENTS[type].sample({ now, today: civilDateAt(now, 0) }) }
}
