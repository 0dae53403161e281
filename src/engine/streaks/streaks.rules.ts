import { civilDateOfDay } from '../../lib/civil'
import type { Instant } from '../../lib/clock'
import type { Micros } from '../../lib/decimal'
import { LAST_DAY, nextPeriod, periodStart } from '../../lib/periods'
import { dayIn, startOfDay } from '../../lib/zone'
import type { UserState } from '../state.types'
import { DAYS_BACK, joined, latest, maySpare, skippedAt, untilOpen } from './journeys.rules'
import { Midnights } from './midnights.rules'
import { marked } from './period-history.rules'
import { NO_STREAK_EVENTS, type StreakEvent } from './streak-events.types'
import type { LiveRun, Pause, PeriodSums, StreakRun, StreakState } from './streak-state.types'
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

/**
 * Whether streaks were off when the period before the day `end` ended: at its midnight, or at the moment
 * `skipped`, when a change of zone skipped it (S1).
 */
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
 * A user's streak as of a local day. It is then called settled: freezes are earned, and the periods that
 * ended before that day without being satisfied are judged in order (S3, S7). While the tenant's streaks are
 * off, no period is missed, but freezes are earned. Returns the same streak object if nothing changes.
 */
export function streakAsOf(user: Streaker, terms: Terms, today: number): StreakResult {
  const { streak } = user
  const midnights = new Midnights(user, terms)
  const judged = isStale(streak, terms) ? streak : judgedUntil(user, terms, today, midnights)
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
 * judged in their order (S11).
 */
function judgedUntil(user: Streaker, terms: Terms, today: number, midnights: Midnights): StreakState {
  const { streak } = user
  const { frequency } = terms
  const isOver = (start: number) => nextPeriod(start, frequency) <= today
  let { run, missed, spared } = streak
  let ahead: readonly number[] = []
  const extended = run?.extended ?? null
  const parts = run === null ? null : untilOpen(run, frequency)
  if (parts !== null && parts.open !== null && isOver(parts.open)) {
    run = parts.known
    ahead = parts.ahead
  }
  for (;;) {
    const [next] = ahead
    if (run === null) {
      run = joined(null, ahead.slice(0, 1), { open: periodStart(today, frequency), extended, frequency })
      ahead = ahead.slice(1)
      if (run === null) break
      continue
    }
    const start = afterRun(run, terms)
    if (next === start || !isOver(start)) {
      if (next === undefined) break
      run = joined(run, [next], { open: start, extended, frequency })
      ahead = ahead.slice(1)
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
  return unchanged(streak, { ...streak, run, missed, spared, ...remaining(streak, terms, today, midnights) })
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

/** An event that may extend a streak. `day` is its local day in days since 1970-01-01. */
export type Activity = { at: Instant; day: number; metricId: string; value: Micros }

/**
 * A settled streak after an event. It is extended if the event satisfies a period that was not satisfied
 * (S2), whether streaks are on or off (S10).
 */
export function extended(
  streak: StreakState,
  terms: Terms,
  { at, day, metricId, value }: Activity,
): { streak: StreakState; isExtended: boolean } {
  const { frequency, epoch } = terms
  const period = periodStart(day, frequency)
  const { run } = streak
  const parts = run === null ? null : untilOpen(run, frequency)
  const isOpen =
    parts !== null && parts.open !== null && period >= parts.open && !parts.ahead.includes(period)
  const isClosed = !isOpen && period <= Math.max(run?.last ?? period - 1, streak.missed ?? period - 1)
  if (value === 0 || isClosed) return { streak, isExtended: false }
  const { own, others } = summed(streak.sums, period, {
    metricId,
    value,
    since: periodStart(day - DAYS_BACK, frequency),
  })
  if (!isSatisfied(terms, new Map(own), value)) {
    const sums = [...others, [period, own] as const].sort(([a], [b]) => a - b)
    return { streak: { ...streak, frequency, epoch, sums }, isExtended: false }
  }
  const ahead = [period, ...(parts?.ahead ?? [])].sort((a, b) => a - b)
  const grown = joined(parts?.known ?? null, ahead, { open: parts?.open ?? period, extended: at, frequency })
  // The following days count as open, even if they ended before a change of zone led back to this day.
  const known = { ...streak, frequency, epoch, reached: null }
  return { streak: { ...known, run: grown, sums: others }, isExtended: true }
}

/**
 * The sums of a period after an event, and the sums of other periods from the day `since`, because a
 * traveller may come back to them.
 */
function summed(
  sums: StreakState['sums'],
  period: number,
  { metricId, value, since }: { metricId: string; value: number; since: number },
): { own: PeriodSums[1]; others: PeriodSums[] } {
  const own = new Map(sums.find(([start]) => start === period)?.[1])
  own.set(metricId, (own.get(metricId) ?? 0) + value)
  return { own: [...own], others: sums.filter(([start]) => start !== period && start >= since) }
}

/** Whether the sums of a period are enough. `value` is the event's value in millionths (S1, S2). */
function isSatisfied({ metrics, mode }: Terms, sums: ReadonlyMap<string, number>, value: number): boolean {
  if (metrics.length === 0) return value > 0
  const isMet = ({ metricId, threshold }: { metricId: string; threshold: number }) =>
    (sums.get(metricId) ?? 0) >= threshold
  return mode === 'OR' ? metrics.some(isMet) : metrics.every(isMet)
}
