import type { Instant } from '../../lib/clock'
import type { Micros } from '../../lib/decimal'
import { civilDateOfDay, dayIn, LAST_DAY, nextPeriod, periodStart, startOfDay } from '../../lib/zone'
import type { UserState } from '../state'
import { DAYS_BACK, firstOpen, joined, latest, maySpare, skippedAt, untilOpen } from './journeys.rules'
import { Midnights } from './midnights.rules'
import { marked } from './period-history.rules'
import { NO_STREAK_EVENTS, type StreakEvent } from './streak-events.types'
import {
  ANY_METRIC,
  type LiveRun,
  type Pause,
  type PeriodSums,
  type StreakRun,
  type StreakState,
} from './streak-state.types'
import type { Streaker, Terms } from './terms.rules'

/** A settled streak, the streaks that ended meanwhile (oldest first), and the webhook events that result. */
export type StreakResult = {
  streak: StreakState
  ended: readonly StreakRun[]
  streakEvents: readonly StreakEvent[]
}

/**
 * Whether a streak has another frequency or epoch than the tenant's settings. Then it must be counted again
 * from the log (S9).
 */
export const isStale = (
  { frequency, epoch }: StreakState,
  terms: Pick<Terms, 'frequency' | 'epoch'>,
): boolean => frequency !== null && (frequency !== terms.frequency || epoch !== terms.epoch)

/** The first day of the period after a streak's last known one. */
const afterRun = (run: StreakRun, { frequency }: Pick<Terms, 'frequency'>) => nextPeriod(run.last, frequency)

/** Whether a pause includes a day from `start` up to `end` (S7). `end` is exclusive. */
const isPaused = (pauses: readonly Pause[], start: number, end: number): boolean =>
  pauses.some((pause) => pause.start < end && pause.end >= start)

/** Whether streaks were off when the period before `end` ended: at midnight, or `skipped` by travel (S1). */
function wasOff({ profile: { tz } }: Streaker, end: number, skipped: number | null, { off }: Terms): boolean {
  if (skipped !== null) return off.some(({ from, to }) => from <= skipped && (to === null || skipped < to))
  return off.some(({ from, to }) => end > dayIn(tz, from) && (to === null || end <= dayIn(tz, to)))
}

/**
 * The length of a streak as its user sees it: 0 while the user has switched it off (U7). Ignores the tenant's
 * switch.
 */
export const lengthOf = ({ streak, preferences }: Pick<UserState, 'streak' | 'preferences'>): number =>
  preferences.streak.enabled === false ? 0 : (streak.run?.length ?? 0)

/**
 * A user's streak as of a moment and its local day. It is then called settled: freezes are earned, periods
 * are satisfied if their sums meet the goal (S2), and the other periods that ended before that day are judged
 * in order (S3, S7). While the tenant's streaks are off, no period is missed, but freezes are earned. Returns
 * the same streak object if nothing changes. `isActive`: a positive event has come. It counts even on a day
 * that had ended before, at length 0 (S4).
 */
export function streakAsOf(
  user: Streaker,
  terms: Terms,
  today: number,
  at: Instant,
  isActive = false,
): StreakResult {
  const { streak } = user
  const midnights = new Midnights(user, terms)
  const met = isStale(streak, terms) ? [] : metPeriods(user, terms, today, isActive)
  const judged = isStale(streak, terms) ? streak : judgedUntil(user, terms, { today, at, met }, midnights)
  midnights.earnUntil(today)
  const { freezes, earned } = midnights
  const sent = terms.isOn ? midnights.notifiedEarning : streak.notifiedEarning
  // Only an earning that a journey may undo, or has undone, can come again.
  const mayRepeat = judged.journeys.length > 0 || (sent ?? 0) > (earned?.[0] ?? 0)
  const notifiedEarning = mayRepeat ? sent : null
  const isAsJudged =
    freezes === judged.freezes && earned === judged.earned && notifiedEarning === judged.notifiedEarning
  return {
    streak: isAsJudged ? judged : { ...judged, freezes, earned, notifiedEarning },
    ended: midnights.ended,
    // Users who have switched streaks off cause no events about them (U7).
    streakEvents: terms.isOn && midnights.streakEvents.length > 0 ? midnights.streakEvents : NO_STREAK_EVENTS,
  }
}

/**
 * A streak with each period judged that ended before a day. Open periods before a later satisfied one are
 * judged in their order (S11), and so are periods whose sums meet the goal: they extend the streak (S2).
 */
function judgedUntil(
  user: Streaker,
  terms: Terms,
  { today, at, met }: { today: number; at: Instant; met: readonly number[] },
  midnights: Midnights,
): StreakState {
  const { streak } = user
  const { frequency } = terms
  const isOver = (start: number) => nextPeriod(start, frequency) <= today
  const isMet = (start: number) => met.includes(start)
  let { run, missed, spared } = streak
  let ahead: readonly number[] = met
  const extended = met.length > 0 ? at : (run?.extended ?? null)
  const parts = run === null ? null : untilOpen(run, frequency)
  if (parts !== null && parts.open !== null && (met.length > 0 || isOver(parts.open))) {
    run = parts.known
    ahead = [...parts.ahead, ...met].sort((a, b) => a - b)
  }
  for (;;) {
    const [next, ...later] = ahead
    const start: number = run === null ? firstOpen(today, missed, frequency) : afterRun(run, terms)
    if (run === null || next === start || !isOver(start)) {
      if (next === undefined) break
      run = joined(run, [next], { open: start, extended, frequency })
      ahead = later
      if (!isMet(next)) continue
      // Later periods that were satisfied before are a part of the length.
      const length = (run?.length ?? 0) + later.filter((one) => !isMet(one)).length
      midnights.streakEvents.push({ kind: length === 1 ? 'started' : 'extended', length })
      continue
    }
    const skipped = skippedAt(streak.jumps, nextPeriod(start, frequency) - 1)
    midnights.earnUntil(nextPeriod(start, frequency))
    if (wasOff(user, nextPeriod(start, frequency), skipped, terms)) run = kept(run, start, 's')
    else if (isPaused(streak.pauses, start, nextPeriod(start, frequency))) run = kept(run, start, 'p')
    else if (skipped !== null && maySpare(start, spared, frequency)) {
      run = kept(run, start, 's')
      spared = start
    } else if (midnights.consume(start)) run = kept(run, start, 'f')
    else {
      midnights.lose(run, start)
      if (start === streak.lent) spared = start
      missed = start
      run = null
    }
  }
  // The following days count as open, even if they ended before a change of zone led back to this day.
  const reached = isMet(periodStart(today, frequency)) ? null : streak.reached
  const sums = met.length === 0 ? streak.sums : streak.sums.filter(([start]) => !isMet(start))
  return unchanged(streak, {
    ...{ ...streak, run, missed, spared, reached, sums },
    ...remaining(streak, terms, today, midnights),
  })
}

/**
 * The first days of the periods whose sums meet the goal, and that are not closed, or over when the goal
 * changed (S2). A period that ended at length 0 is over, even if the user comes back to it. Only a positive
 * event on it opens it (S4).
 */
function metPeriods({ streak, profile }: Streaker, terms: Terms, today: number, isActive: boolean): number[] {
  const { run, reached, sums } = streak
  const { frequency } = terms
  const met = sums.flatMap(([start, own]) =>
    !isClosed(streak, terms, start) && isSatisfied(terms, own) ? [start] : [],
  )
  if (met.length === 0) return met
  const isOpened = isActive && met.includes(periodStart(today, frequency))
  const over = isOpened ? today : run === null ? latest(today, reached) : reached
  const first = periodStart(latest(over, dayIn(profile.tz, terms.goalSince)) ?? today, frequency)
  return met.filter((start) => start >= first)
}

/** Whether a period is satisfied, missed, or before such a one, so its events do not count (S2, S4). */
function isClosed({ run, missed }: StreakState, { frequency }: Terms, period: number): boolean {
  const parts = run === null ? null : untilOpen(run, frequency)
  if (parts !== null && parts.open !== null && period >= parts.open) return parts.ahead.includes(period)
  return period <= Math.max(run?.last ?? period - 1, missed ?? period - 1)
}

/**
 * The pauses and journeys that are still needed, since the user may come back to a date. Notes in each
 * journey the last period with an event.
 */
function remaining(
  { pauses, journeys, notified }: StreakState,
  { frequency, isOn }: Terms,
  today: number,
  midnights: Midnights,
): Pick<StreakState, 'pauses' | 'journeys' | 'notified'> {
  const since = periodStart(today - DAYS_BACK, frequency)
  const isNeeded = ({ until }: { until: number }) => until >= today - DAYS_BACK
  const needed = journeys.every(isNeeded) ? journeys : journeys.filter(isNeeded)
  const hasEvent = isOn && midnights.notified !== null && needed.length > 0
  return {
    pauses: pauses.every(({ end }) => end >= since) ? pauses : pauses.filter(({ end }) => end >= since),
    journeys: hasEvent
      ? needed.map((journey) => ({ ...journey, notified: latest(journey.notified, midnights.notified) }))
      : needed,
    notified: notified !== null && notified < since ? null : notified,
  }
}

/** The old streak object if nothing of it changed. */
function unchanged(before: StreakState, after: StreakState): StreakState {
  const isSame =
    after.run === before.run &&
    after.missed === before.missed &&
    after.pauses === before.pauses &&
    after.journeys === before.journeys &&
    after.notified === before.notified
  return isSame ? before : after
}

const kept = (run: LiveRun, start: number, kind: 'f' | 'p' | 's'): LiveRun => ({
  ...run,
  last: start,
  history: marked(run.history, kind),
})

/**
 * A settled streak with the day of the present zone from which freezes are earned. Used when the user leaves
 * that zone (S7).
 */
export function anchored(user: Streaker, terms: Terms): StreakState {
  const { streak } = user
  if (terms.freezes === null || terms.freezes.autoEarnInterval === null) return streak
  return { ...streak, earned: [new Midnights(user, terms).anchor, terms.freezes.since] }
}

/**
 * The first day of the period at whose end the streak may be lost: the first one that is neither satisfied
 * nor paused (S5).
 */
export function endangered({ run, pauses }: StreakState, terms: Terms, today: number): number {
  const { frequency } = terms
  const current = periodStart(today, frequency)
  const open = run === null ? null : (untilOpen(run, frequency).open ?? afterRun(run, terms))
  let start = open === null ? current : Math.max(current, open)
  let end = nextPeriod(start, frequency)
  while (isPaused(pauses, start, end)) {
    start = end
    end = nextPeriod(start, frequency)
  }
  return start
}

/**
 * A settled streak with `due`, the moment at which it next changes by itself: the end of a period, or an
 * earned freeze.
 */
export function scheduled(user: Streaker, streak: StreakState, terms: Terms, today: number): StreakState {
  const due = dueOf({ ...user, streak }, terms, today)
  return due === streak.due ? streak : { ...streak, due }
}

function dueOf(user: Streaker, terms: Terms, today: number): Instant | null {
  const { streak, profile } = user
  const isAlive = terms.isJudged && streak.run !== null
  const end = !isAlive ? null : nextPeriod(endangered(streak, terms, today), terms.frequency)
  const earning = terms.freezes === null ? null : new Midnights(user, terms).nextEarning(today)
  const day = Math.min(end ?? Number.POSITIVE_INFINITY, earning ?? Number.POSITIVE_INFINITY)
  return day > LAST_DAY ? null : startOfDay(civilDateOfDay(day), profile.tz ?? 'UTC')
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
  if (event.value === 0 || isClosed(streak, terms, period)) return streak
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

/** Whether the sums of a period meet the goal (S1, S2). */
function isSatisfied({ metrics, mode }: Terms, list: PeriodSums[1]): boolean {
  // Any sum above 0 has a positive event. Sums of older versions do not count such events.
  if (metrics.length === 0) return list.some(([, sum]) => sum > 0)
  const sums = new Map(list)
  const isMet = ({ metricId, threshold }: { metricId: string; threshold: number }) =>
    (sums.get(metricId) ?? 0) >= threshold
  return mode === 'OR' ? metrics.some(isMet) : metrics.every(isMet)
}
