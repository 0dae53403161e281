import type { Instant } from '../../lib/clock'
import {
  type Aggregation,
  dayOf,
  isCivilDate,
  nextPeriod,
  periodEnd,
  periodStart,
  periodsBefore,
  yearOf,
} from '../../lib/zone'
import { longestSince, marked, restoredBeforeLast, withoutLast } from './history.rules'
import type { LiveRun, Pause, StreakRun, StreakState, Terms } from './streak-state.rules'

/** The number of days, today included, in which the longest length of a daily streak is searched (S8). */
const RESTORED_DAYS = 90
/** The most resets that are kept of a user. */
const MOST_RESETS = 100

/**
 * A settled streak with one freeze more. Null if the user has the most freezes already (S7).
 * midnights.rules.ts has the freezes that are earned and used at midnights.
 */
export function withFreeze(streak: StreakState, { freezes }: Pick<Terms, 'freezes'>): StreakState | null {
  if (freezes === null || streak.freezes >= freezes.maxCount) return null
  return { ...streak, freezes: streak.freezes + 1 }
}

/** A settled streak with a pause that an admin creates (S7). */
export function withPause(streak: StreakState, pause: Pause): StreakState {
  return { ...streak, pauses: [...streak.pauses, pause] }
}

/**
 * A settled streak without the days of a pause after `last`, the last day that is over. Earlier days keep the
 * pause, so periods that are over do not change, even if the user comes back to them (S7, S11).
 */
export function withoutPause(streak: StreakState, id: string, last: number): StreakState {
  const pauses = streak.pauses.flatMap((pause) => {
    if (pause.id !== id) return [pause]
    const end = Math.min(pause.end, last)
    return end < pause.start ? [] : [{ ...pause, end }]
  })
  return { ...streak, pauses }
}

/** The last day on which a pause still counts that is deleted today: periods up to it are over (S7). */
export const lastDayOver = (today: number, { frequency }: Pick<Terms, 'frequency'>): number =>
  periodStart(today, frequency) - 1

/**
 * A settled streak after a reset, and the streak that ends by it (S13). Nothing that was done in the present
 * period or later ones counts. Earlier periods stay.
 */
export function withReset(
  streak: StreakState,
  { frequency }: Pick<Terms, 'frequency'>,
  { at, today, seq }: { at: Instant; today: number; seq: number },
): { streak: StreakState; ended: readonly StreakRun[] } {
  const { run } = streak
  const current = periodStart(today, frequency)
  const previous = periodsBefore(current, 1, frequency)
  const closed = run?.last ?? streak.missed
  const reset = [at, today, seq, run?.length ?? 0, run?.last ?? null] as const
  return {
    streak: {
      ...streak,
      run: null,
      missed: closed === null ? null : Math.min(closed, previous),
      sums: streak.sums.filter(([start]) => start < current),
      resets: [...streak.resets, reset].slice(-MOST_RESETS),
    },
    ended: run === null ? [] : [cutBefore(run, current, frequency)],
  }
}

/** A past streak without its periods from a day on. */
function cutBefore(run: LiveRun, day: number, frequency: Aggregation): StreakRun {
  const { started, first, length } = run
  const count = periodsFrom(day, run.last, frequency)
  const last = periodsBefore(run.last, count, frequency)
  return { started, first, last, history: withoutLast(run.history, count), length }
}

/** The number of periods from one to another, both included. 0 if the first one is later. */
function periodsFrom(start: number, last: number, frequency: Aggregation): number {
  let count = 0
  for (let period = start; period <= last; period = nextPeriod(period, frequency)) count += 1
  return count
}

/** The first day of the time in which the longest length is searched (S8). */
export function restorableSince(today: number, { frequency }: Pick<Terms, 'frequency'>): number {
  if (frequency === 'daily') return today - RESTORED_DAYS + 1
  const year = yearOf(today) - (frequency === 'monthly' ? 1 : 0)
  const first = `${String(year).padStart(4, '0')}-01-01`
  return isCivilDate(first) ? dayOf(first) : today
}

/**
 * A settled streak, restored to the longest recent length, or null if that is not more than the present one
 * (S8). If the streak was lost, the previous period counts as satisfied, and the present one too if it did when
 * the streak was reset in it (S13). If not, earlier periods that have not ended are kept (S11).
 */
export function restored(
  streak: StreakState,
  terms: Pick<Terms, 'frequency' | 'epoch'>,
  { at, today }: { at: Instant; today: number },
  past: readonly StreakRun[],
): StreakState | null {
  const { run, resets } = streak
  const { frequency } = terms
  const runs = run === null ? past : [...past, run]
  const since = restorableSince(today, terms)
  const lost = resets.flatMap(([, day, , length]) =>
    periodEnd(periodStart(day, frequency), frequency) >= since ? [length] : [],
  )
  const gained = Math.max(longestSince(runs, since, frequency), ...lost) - (run?.length ?? 0)
  if (gained <= 0) return null
  const current = periodStart(today, frequency)
  const previous = periodsBefore(current, 1, frequency)
  const now = resets.flatMap(([, day, , , last]) =>
    periodStart(day, frequency) === current ? (last ?? []) : [],
  )
  const satisfied = Math.max(previous, ...now)
  const history =
    run === null ? restoredBeforeLast('1e', gained - 1) : lengthened(run, gained, current, frequency)
  const alive: LiveRun = {
    started: periodsBefore(run?.started ?? nextPeriod(satisfied, frequency), gained, frequency),
    first: run?.first ?? satisfied,
    last: run === null ? satisfied : Math.max(run.last, previous),
    history,
    length: (run?.length ?? 0) + gained,
    extended: run?.extended ?? null,
    restored: at,
    judged: current,
  }
  return { ...streak, frequency, epoch: terms.epoch, missed: null, run: alive }
}

/** A history with a restore of `count` before the current period, which it may contain already. */
function lengthened(
  { last, history }: LiveRun,
  count: number,
  current: number,
  frequency: Aggregation,
): string {
  let kept = history
  for (let start = nextPeriod(last, frequency); start < current; start = nextPeriod(start, frequency))
    kept = marked(kept, 's')
  const later = periodsFrom(current, last, frequency)
  return later > 0 ? restoredBeforeLast(kept, count, later) : marked(kept, 'r', count)
}
