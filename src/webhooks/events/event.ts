import type * as z from 'zod'
import { User } from '../../api/shapes/users'
import { DAY, type Instant, instant, iso } from '../../lib/clock'
import { addDays, type CivilDate } from '../../lib/zone'

/** The moment of a sample, and its local date in UTC. */
export type When = { now: Instant; today: CivilDate }

type Fields = z.core.$ZodShape

/** Makes data of no real user. */
type Sample<F extends Fields> = (when: When) => z.infer<z.ZodObject<F>>

/** A type of webhook event (W2): the fields of its body without `type`, and a sample of them. */
export type WebhookEvent = { fields: Fields; sample: (when: When) => Record<string, unknown> }

/** Declares the types of a family, which all have the `shared` fields. Each declaration adds its own. */
export const eventsWith =
  <Shared extends Fields>(shared: Shared, sampleOfShared: Sample<Shared>) =>
  <Own extends Fields>(own: Own, sampleOfOwn: Sample<Own>) => ({
    fields: { ...shared, ...own },
    sample: (when: When) => ({ ...sampleOfShared(when), ...sampleOfOwn(when) }),
  })

/** Declares a type of event. */
export const webhookEvent = eventsWith({}, () => ({}))

/** Declares a type of event about a user. */
export const userEvent = eventsWith({ user: User }, (when) => ({ user: sampleUser(when) }))

/* Parts that samples of several types share. */

/** The ids in samples, without the last digit. No configured resource has such an id. */
export const SAMPLE_ID = '00000000-0000-7000-8000-00000000000'

export const sampleUser = ({ now }: When): z.infer<typeof User> => ({
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
export const sampleAchievement = ({ now }: When) => ({
  id: `${SAMPLE_ID}1`,
  name: 'Sample achievement',
  trigger: 'api' as const,
  description: null,
  badgeUrl: null,
  key: 'sample-achievement',
  userAttributes: [],
  achievedAt: iso(now),
})

/** A daily streak that was extended today. */
export const sampleStreak = ({ today }: When, length: number) => ({
  length,
  frequency: 'daily' as const,
  started: addDays(today, 1 - length),
  periodStart: today,
  periodEnd: today,
  expires: addDays(today, 1),
})

/** A points system. */
export const SAMPLE_SYSTEM = {
  id: `${SAMPLE_ID}2`,
  key: 'sample-points',
  name: 'Sample points',
  description: null,
  badgeUrl: null,
  maxPoints: null,
}
