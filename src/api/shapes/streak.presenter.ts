import type * as z from 'zod'
import type { Configuration } from '../../configuration/configuration.types'
import { type Instant, iso } from '../../lib/clock'
import { periodEnd, periodStart } from '../../lib/periods'
import { dateOfDay, dayIn } from '../../lib/zone'
import type { UserState } from '../../rules/state.types'
import { historyOf } from '../../rules/streaks/history.rules'
import type { Pause, StreakRun } from '../../rules/streaks/streak-state.types'
import { endangered, isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { termsOf } from '../../rules/streaks/terms.rules'
import type { BaseStreakResponse, StreakResponse } from './streak.schemas'

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
  const isOver = !terms.isOn || streak.run === null || isStale(streak, terms)
  const inHand = freezes !== null && {
    freezes: streak.freezes,
    maxFreezes: freezes.max,
    ...(freezes.autoEarnInterval !== null && {
      freezeAutoEarnInterval: freezes.autoEarnInterval,
      freezeAutoEarnAmount: freezes.autoEarnAmount,
    }),
  }
  if (isOver || streak.run === null) {
    const nothing = { started: null, periodStart: null, periodEnd: null, expires: null }
    return { length: 0, frequency, ...nothing, ...inHand }
  }
  const start = periodStart(today, frequency)
  return {
    length: streak.run.length,
    frequency,
    started: dateOfDay(streak.run.started),
    periodStart: dateOfDay(start),
    periodEnd: dateOfDay(periodEnd(start, frequency)),
    expires: dateOfDay(periodEnd(endangered(streak, terms, today), frequency)),
    ...inHand,
  }
}

/**
 * The first day of the history that `wholeStreakResponse` returns: `historyPeriods` periods, up to the one
 * that contains the moment.
 */
export function historyBegins(
  config: Configuration,
  user: Pick<UserState, 'preferences'> & { profile: Pick<UserState['profile'], 'tz'> },
  at: Instant,
  historyPeriods: number,
): number {
  const today = dayIn(user.profile.tz, at)
  const [first] = historyOf([], 0, termsOf(config, user.preferences).frequency, today, historyPeriods)
  return first?.start ?? today
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
  {
    historyPeriods,
    past,
    pauses,
  }: { historyPeriods: number; past: readonly StreakRun[]; pauses: readonly Pause[] },
): z.infer<typeof StreakResponse> {
  const terms = termsOf(config, user.preferences)
  const { frequency, isOn, freezes } = terms
  const today = dayIn(user.profile.tz, at)
  const { streak, ended } = streakAsOf(user, terms, today, at)
  const { run } = streak
  const runs = [...past, ...ended, ...(run === null ? [] : [run])]
  const length = isOn ? (run?.length ?? 0) : 0
  const since = historyBegins(config, user, at, historyPeriods)
  const extended = isOn ? (run?.extended ?? null) : null
  return {
    ...streakResponse(config, { ...user, streak }, at),
    extended: extended === null ? null : iso(extended),
    streakHistory: historyOf(runs, length, frequency, today, historyPeriods).map(
      ({ start, end, length, kind }) => ({
        periodStart: dateOfDay(start),
        periodEnd: dateOfDay(end),
        length,
        ...(freezes !== null && { usedFreeze: kind === 'f' }),
        usedPause: kind === 'p',
      }),
    ),
    pauses: pauses
      .filter(({ end }) => end >= since)
      .map(({ id, start, end }) => ({ id, start: dateOfDay(start), end: dateOfDay(end) })),
  }
}
