import * as z from 'zod'
import { STREAK_FREQUENCIES } from '../../configuration/enumerations.types'
import { MOST_STREAK_USERS, PAGES } from '../../lib/limits'
import { DateResponse, Timestamp, UserId, UuidResponse } from '../fields'
import { integerQuery } from '../queries'

export const StreakFrequency = z.enum(STREAK_FREQUENCIES).meta({ id: 'StreakFrequency' })

/**
 * A streak. The dates are null if the length is 0. The freeze fields are present only while freezes are on
 * (S5).
 */
export const BaseStreakResponse = z
  .object({
    length: z.int32(),
    frequency: StreakFrequency,
    started: DateResponse.nullable(),
    periodStart: DateResponse.nullable(),
    periodEnd: DateResponse.nullable(),
    expires: DateResponse.nullable(),
    freezes: z.int32().optional(),
    maxFreezes: z.int32().optional(),
    freezeAutoEarnInterval: z.int32().optional(),
    freezeAutoEarnAmount: z.int32().optional(),
  })
  .meta({ id: 'BaseStreakResponse' })

/** The streak in an event's response. `extended` is whether this event extended it (S2). */
export const MetricEventStreakResponse = BaseStreakResponse.extend({ extended: z.boolean() }).meta({
  id: 'MetricEventStreakResponse',
})

/**
 * A user's streak with the time of its last extension, its last periods (oldest first), and its pauses (S5,
 * S6).
 */
export const StreakResponse = BaseStreakResponse.extend({
  extended: Timestamp.nullable(),
  streakHistory: z.array(
    z.object({
      periodStart: DateResponse,
      periodEnd: DateResponse,
      length: z.int32(),
      usedFreeze: z.boolean().optional(),
      usedPause: z.boolean(),
    }),
  ),
  pauses: z.array(z.object({ id: UuidResponse, start: DateResponse, end: DateResponse })),
}).meta({ id: 'StreakResponse' })

/** The streaks of several users, the longest first (S6). */
export const BulkStreakResponse = z
  .array(z.object({ userId: z.string(), streakLength: z.int32(), extended: z.string().nullable() }))
  .meta({ id: 'BulkStreakResponse' })

/** The number of periods of history (S6). */
export const StreakQuery = z.object({ historyPeriods: integerQuery({ min: 1, ...PAGES.streakHistory }) })

/**
 * The users with the requested streaks. The parameter is repeated and never split at commas, since ids may
 * contain commas (S6).
 */
export const StreaksQuery = z.object({
  userIds: z
    .custom<string | string[]>((given) => given !== undefined, 'must be user ids, and is missing')
    .meta({ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MOST_STREAK_USERS })
    .transform((given) => [given].flat())
    .pipe(z.array(UserId).max(MOST_STREAK_USERS)),
})

/** Which streaks are ranked: the present ones, or each user's longest one ever. */
export const StreakRankingsQuery = z.object({
  limit: integerQuery({ min: 1, ...PAGES.streakRankings }),
  type: z
    .enum(['active', 'longest'])
    .meta({ default: 'active' })
    .optional()
    .transform((type) => type ?? 'active'),
})

/** The users with the longest streaks, longest first, then by user id. */
export const StreakRankingsResponse = z
  .array(
    z
      .object({ userId: z.string(), name: z.string().nullable(), streakLength: z.int32() })
      .meta({ id: 'StreakRankingUser' }),
  )
  .meta({ id: 'StreakRankingsResponse' })
