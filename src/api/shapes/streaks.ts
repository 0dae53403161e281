import * as z from 'zod'
import { STREAK_FREQUENCIES } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import { type Instant, iso, isoOrNull } from '../../lib/clock'
import { isLonger } from '../../lib/errors'
import { MOST_ID_CHARACTERS, MOST_STREAK_USERS, PAGES } from '../../lib/limits'
import { dateOfDay, dayIn, periodEnd, periodStart, periodsBefore } from '../../lib/zone'
import type { UserState } from '../../rules/state'
import { historyOf } from '../../rules/streaks/history.rules'
import { type Pause, type StreakRun, termsOf } from '../../rules/streaks/streak-state.rules'
import { firstUnsafePeriod, isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { DateResponse, Timestamp, USER_ID_TEXT, UserId, UuidResponse } from '../fields'
import { integerQuery } from '../queries'

export const StreakFrequency = z.enum(STREAK_FREQUENCIES).meta({ id: 'StreakFrequency' })

/** A streak. Dates are null without length, and there are freeze fields only while freezes are on (S5). */
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

/** A streak with the time of its last extension, its last periods (oldest first) and pauses (S5, S6). */
export const StreakResponse = BaseStreakResponse.extend({
  extended: Timestamp.nullable(),
  streakHistory: z.array(
    z.object({
      periodStart: DateResponse,
      periodEnd: DateResponse,
      length: z.int32(),
      usedFreeze: z.boolean().optional(),
      usedPause: z.boolean(),
      dayOff: z.boolean().optional(),
      resetAt: Timestamp.optional(),
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

const ID = { type: 'string', ...USER_ID_TEXT } as const
/** The users of the streaks: a repeated parameter. Ids may have commas: only a longer text is split here (S6). */
export const StreaksQuery = z.object({
  userIds: z
    .custom<string | string[]>((given) => given !== undefined, 'must be user ids, and is missing')
    .meta({ type: 'array', items: ID, minItems: 1, maxItems: MOST_STREAK_USERS })
    .transform((given) =>
      [given].flat().flatMap((text) => (isLonger(text, MOST_ID_CHARACTERS) ? text.split(',') : [text])),
    )
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

/** A user's streak at a moment, by the rules and not as stored (S3). */
export function streakResponse(
  config: Configuration,
  user: Pick<UserState, 'created' | 'streak' | 'preferences' | 'profile'>,
  at: Instant,
): z.infer<typeof BaseStreakResponse> {
  const terms = termsOf(config, user.preferences)
  const today = dayIn(user.profile.tz, at)
  const { streak } = streakAsOf(user, terms, today, at)
  const { frequency, freezes } = terms
  const run = terms.isOn && !isStale(streak, terms) ? streak.run : null
  const inHand = freezes !== null && {
    freezes: streak.freezes,
    maxFreezes: freezes.maxCount,
    ...(freezes.autoEarnInterval !== null &&
      freezes.autoEarnAmount !== null && {
        freezeAutoEarnInterval: freezes.autoEarnInterval,
        freezeAutoEarnAmount: freezes.autoEarnAmount,
      }),
  }
  if (run === null) {
    const nothing = { started: null, periodStart: null, periodEnd: null, expires: null }
    return { length: 0, frequency, ...nothing, ...inHand }
  }
  const start = periodStart(today, frequency)
  return {
    length: run.length,
    frequency,
    started: dateOfDay(run.started),
    periodStart: dateOfDay(start),
    periodEnd: dateOfDay(periodEnd(start, frequency)),
    expires: dateOfDay(periodEnd(firstUnsafePeriod({ ...user, streak }, terms, today), frequency)),
    ...inHand,
  }
}

/** A pause with its dates. */
export const pauseFields = ({ id, start, end }: Pause) => ({
  id,
  start: dateOfDay(start),
  end: dateOfDay(end),
})

/** The first day of the history of `wholeStreakResponse`: of `historyPeriods` periods up to the moment. */
export function historyBegins(
  config: Configuration,
  tz: string | null,
  at: Instant,
  historyPeriods: number,
): number {
  const { frequency } = config.streaks
  return periodsBefore(periodStart(dayIn(tz, at), frequency), historyPeriods - 1, frequency)
}

/**
 * A user's streak of the tenant's frequency at a moment, by the rules. With the last `historyPeriods`
 * periods, and the pauses that touch them or are still to come (S5, S6).
 * `past` are the past streaks, `pauses` the pauses that are not deleted.
 */
export function wholeStreakResponse(
  config: Configuration,
  user: Pick<UserState, 'created' | 'streak' | 'preferences' | 'profile'>,
  at: Instant,
  shown: { historyPeriods: number; past: readonly StreakRun[]; pauses: readonly Pause[] },
): z.infer<typeof StreakResponse> {
  const { historyPeriods, past, pauses } = shown
  const terms = termsOf(config, user.preferences)
  const { frequency, isOn, freezes } = terms
  const today = dayIn(user.profile.tz, at)
  const { streak, ended } = streakAsOf(user, terms, today, at)
  const { run } = streak
  const runs = [...past, ...ended, ...(run === null ? [] : [run])]
  const length = isOn ? (run?.length ?? 0) : 0
  const since = historyBegins(config, user.profile.tz, at, historyPeriods)
  const extended = isOn ? (run?.extended ?? null) : null
  return {
    ...streakResponse(config, { ...user, streak }, at),
    extended: isoOrNull(extended),
    streakHistory: historyOf({ runs, resets: streak.resets }, length, frequency, today, historyPeriods).map(
      ({ start, end, length, kind, resetAt }) => ({
        periodStart: dateOfDay(start),
        periodEnd: dateOfDay(end),
        length,
        ...(freezes !== null && { usedFreeze: kind === 'f' }),
        usedPause: kind === 'p' || kind === 'd',
        ...((kind === 'd' || kind === 'x') && { dayOff: true }),
        ...(resetAt !== null && { resetAt: iso(resetAt) }),
      }),
    ),
    pauses: pauses.filter(({ end }) => end >= since).map(pauseFields),
  }
}
