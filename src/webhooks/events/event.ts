import type * as z from 'zod'
import type { UserAchievementResponse } from '../../api/shapes/achievements'
import type { BaseStreakResponse } from '../../api/shapes/streaks'
import type { User } from '../../api/shapes/users'
import type { EventType } from '../../configuration/enumerations'
import { DAY, type Instant, instant, iso } from '../../lib/clock'
import { addDays, type CivilDate } from '../../lib/zone'

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

/* Parts that samples of several types share: made-up data of no real user. */

/** The ids in samples, without the last digit. No configured resource has such an id. */
export const SAMPLE_ID = '00000000-0000-7000-8000-00000000000'

/** The user of samples. */
export const sampleUser = ({ now }: When): UserPayload => ({
  id: 'sample-user',
  email: 'sample-user@example.com',
  name: 'Sample user',
  tz: 'UTC',
  deviceTokens: null,
  subscribeToEmails: true,
  attributes: { sample: 'yes' },
  control: false,
  created: iso(instant(now - DAY)),
  updated: iso(now),
})

/** An achievement that the user has just completed. */
export const sampleAchievement = ({ now }: When): z.infer<typeof UserAchievementResponse> => ({
  id: `${SAMPLE_ID}1`,
  name: 'Sample achievement',
  trigger: 'api',
  description: null,
  badgeUrl: null,
  key: 'sample-achievement',
  userAttributes: [],
  achievedAt: iso(now),
})

/** A daily streak that was extended today. */
export const sampleStreak = ({ today }: When, length: number): z.infer<typeof BaseStreakResponse> => ({
  length,
  frequency: 'daily',
  started: addDays(today, 1 - length),
  periodStart: today,
  periodEnd: today,
  expires: addDays(today, 1),
})

/** The points system of samples. */
export const SAMPLE_SYSTEM = {
  id: `${SAMPLE_ID}2`,
  key: 'sample-points',
  name: 'Sample points',
  description: null,
  badgeUrl: null,
  maxPoints: null,
}
