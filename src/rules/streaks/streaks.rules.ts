import type { Instant } from '../../lib/clock'
import type { Micros } from '../../lib/decimal'
import { civilDateOfDay, dayIn, LAST_DAY, nextPeriod, periodStart, startOfDay } from '../../lib/zone'
import type { UserState } from '../state'
import { DAYS_BACK, endedBefore, Midnights, reasonToSpare } from './midnights.rules'
import {
  ANY_METRIC,
  NO_STREAK_EVENTS,
  type Pause,
  type PeriodSums,
  type StreakEvent,
  type Streaker,
  type StreakRun,
  type StreakState,
  type Terms,
} from './streak-state.rules'

/** A settled streak, the streaks that ended meanwhile (oldest first), and the webhook events that result. */
type StreakResult = {
  streak: StreakState
  ended: readonly StreakRun[]
  streakEvents: readonly StreakEvent[]
}

/** Whether a streak must be counted again from the log, since the tenant's settings changed (S9). */
export const isStale = (
  { frequency, epoch }: StreakState,
  terms: Pick<Terms, 'frequency' | 'epoch'>,
): boolean => frequency !== null && (frequency !== terms.frequency || epoch !== terms.epoch)

/** The length of a streak: 0 while the user has switched it off (U7). Ignores the tenant's switch. */
export const lengthOf = ({ streak, preferences }: Pick<UserState, 'streak' | 'preferences'>): number =>
  preferences.streak.enabled === false ? 0 : (streak.run?.length ?? 0)

/**
 * Settles a streak as of a moment and its local day: it decides every period that ended before that day. Freezes
 * are earned, periods whose sums meet the goal are satisfied (S2), and the others are judged in order (S3, S7,
 * S11). While the tenant's streaks are off, no period is missed, but freezes are earned.
 * Returns the same streak object if nothing changes.
 */
export function streakAsOf(user: Streaker, terms: Terms, today: number, at: Instant): StreakResult {
  const { streak } = user
  const isKnown = !isStale(streak, terms)
  const midnights = new Midnights(user, terms)
  const day = endedBefore(streak, today)
  const met = isKnown ? metPeriods(user, terms, today) : []
  for (const start of met) midnights.extend(start, today, at)
  if (isKnown) midnights.endUntil(day, today)
  midnights.earnUntil(day)
  const { run, missed, spared, freezes, earned, ended, streakEvents } = midnights
  const sums = met.length === 0 ? streak.sums : streak.sums.filter(([start]) => !met.includes(start))
  const since = periodStart(today - DAYS_BACK, terms.frequency)
  const isNeeded = ({ end }: Pause) => end >= since
  const pauses = streak.pauses.every(isNeeded) ? streak.pauses : streak.pauses.filter(isNeeded)
  const isSame =
    run === streak.run && freezes === streak.freezes && earned === streak.earned && pauses === streak.pauses
  return {
    streak: isSame ? streak : { ...streak, run, missed, spared, freezes, earned, sums, pauses },
    ended,
    // Users who have switched streaks off cause no events about them (U7).
    streakEvents: terms.isOn && streakEvents.length > 0 ? streakEvents : NO_STREAK_EVENTS,
  }
}

/**
 * The first days of the periods whose sums meet the goal now (S2). Closed ones are left out, and ones that were
 * over when the goal changed. At length 0, all periods before the current one are over.
 */
function metPeriods({ streak, profile }: Streaker, terms: Terms, today: number): number[] {
  const met = streak.sums.flatMap(([start, own]) =>
    !isClosed(streak, start) && isSatisfied(terms, own) ? [start] : [],
  )
  if (met.length === 0) return met
  const day = streak.run === null ? today : endedBefore(streak, dayIn(profile.tz, terms.goalSince))
  return met.filter((start) => start >= periodStart(day, terms.frequency))
}

/** Whether a period is satisfied, missed, or before such a one, so its events do not count (S2, S4). */
const isClosed = ({ run, missed }: StreakState, period: number): boolean =>
  [run?.last, missed].some((day) => day != null && period <= day)

/** A settled streak with the day from which freezes are earned, for when the user leaves the zone (S7). */
export function anchored(user: Streaker, terms: Terms): StreakState {
  const { streak } = user
  if (terms.freezes === null || terms.freezes.autoEarnInterval === null) return streak
  return { ...streak, earned: [new Midnights(user, terms).anchor, terms.freezes.since] }
}

/** The first day of the next period that is expected to be satisfied, and is not: its end may end the streak (S5). */
export function firstUnsafePeriod(user: Streaker, terms: Terms, today: number): number {
  const { run } = user.streak
  const { frequency } = terms
  const current = periodStart(today, frequency)
  let start = run === null ? current : Math.max(current, nextPeriod(run.last, frequency))
  while (reasonToSpare(user, start, terms) !== null) start = nextPeriod(start, frequency)
  return start
}

/** A settled streak with the moment at which it next changes by itself: a period ends, a freeze is earned. */
export function scheduled(user: Streaker, streak: StreakState, terms: Terms, today: number): StreakState {
  const due = dueOf({ ...user, streak }, terms, today)
  return due === streak.due ? streak : { ...streak, due }
}

function dueOf(user: Streaker, terms: Terms, today: number): Instant | null {
  const { streak, profile } = user
  const isAlive = terms.isJudged && streak.run !== null
  const day = endedBefore(streak, today)
  const end = !isAlive ? null : nextPeriod(firstUnsafePeriod(user, terms, day), terms.frequency)
  const earning = terms.freezes === null ? null : new Midnights(user, terms).nextEarning(day)
  const next = Math.min(end ?? Number.POSITIVE_INFINITY, earning ?? Number.POSITIVE_INFINITY)
  // What a change of zone has skipped happens at the next midnight (S11).
  return next > LAST_DAY ? null : startOfDay(civilDateOfDay(Math.max(next, today + 1)), profile.tz ?? 'UTC')
}

/** An event as streaks count it. `day` is its local day in days since 1970-01-01. */
export type Activity = { day: number; metricId: string; value: Micros }

/**
 * A settled streak with an event in the sums of its period, unless that period is closed. It counts whether
 * streaks are on or off (S10). If the sums then meet the goal, settling the streak again extends it (S2).
 */
export function withEvent(streak: StreakState, terms: Terms, event: Activity): StreakState {
  const { frequency, epoch } = terms
  const period = periodStart(event.day, frequency)
  if (event.value === 0 || isClosed(streak, period)) return streak
  // A traveller may come back to earlier periods.
  const since = periodStart(event.day - DAYS_BACK, frequency)
  const others = streak.sums.filter(([start]) => start !== period && start >= since)
  const own = streak.sums.find(([start]) => start === period)?.[1] ?? []
  const sums = [...others, [period, added(own, event, 1)] as const].sort(([a], [b]) => a - b)
  return { ...streak, frequency, epoch, sums }
}

/** The sums of a period with an event (`sign` 1), or without it again (-1). */
export function added(
  sums: PeriodSums[1],
  { metricId, value }: Pick<Activity, 'metricId' | 'value'>,
  sign: 1 | -1,
): PeriodSums[1] {
  const own = new Map(sums)
  own.set(metricId, (own.get(metricId) ?? 0) + sign * value)
  if (value > 0) own.set(ANY_METRIC, (own.get(ANY_METRIC) ?? 0) + sign)
  return [...own]
}

function isSatisfied({ metrics, mode }: Terms, list: PeriodSums[1]): boolean {
  const sums = new Map(list)
  if (metrics.length === 0) return (sums.get(ANY_METRIC) ?? 0) > 0
  const isMet = ({ metricId, threshold }: { metricId: string; threshold: number }) =>
    (sums.get(metricId) ?? 0) >= threshold
  return mode === 'OR' ? metrics.some(isMet) : metrics.every(isMet)
}
