import type { Instant } from '../../lib/clock'
import {
  type Aggregation,
  civilDateOfDay,
  dayOf,
  isCivilDate,
  nextPeriod,
  periodStart,
  periodsBefore,
} from '../../lib/zone'
import { longestSince } from './history.rules'
import { joined, untilOpen } from './journeys.rules'
import { marked, restoredBeforeLast } from './period-history.rules'
import type { LiveRun, Pause, StreakRun, StreakState } from './streak-state.types'
import type { Terms } from './terms.rules'

/** The number of days, today included, in which the longest length of a daily streak is searched (S8). */
const RESTORED_DAYS = 90

/**
 * A settled streak with one freeze more, which an admin grants (S7). Journeys get it too, so that it stays if
 * a journey is undone (S11). Null if the user has the most freezes already (S7). streaks.rules.ts has the
 * freezes that are earned and used at midnights.
 */
export function withFreeze(streak: StreakState, { freezes }: Pick<Terms, 'freezes'>): StreakState | null {
  if (freezes === null || streak.freezes >= freezes.max) return null
  const { max } = freezes
  const journeys = streak.journeys.map((journey) =>
    journey.freezes >= max ? journey : { ...journey, freezes: journey.freezes + 1 },
  )
  return { ...streak, freezes: streak.freezes + 1, journeys }
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

/**
 * The last day on which a pause still counts that is deleted today: the last day of the periods that are over
 * (S7).
 */
export const lastDayOver = (today: number, { frequency }: Pick<Terms, 'frequency'>): number =>
  periodStart(today, frequency) - 1

/** The first day of the time in which the longest length is searched (S8). */
export function restorableSince(today: number, { frequency }: Pick<Terms, 'frequency'>): number {
  if (frequency === 'daily') return today - RESTORED_DAYS + 1
  const year = Number(civilDateOfDay(today).slice(0, 4)) - (frequency === 'monthly' ? 1 : 0)
  const first = `${String(year).padStart(4, '0')}-01-01`
  return isCivilDate(first) ? dayOf(first) : today
}

/**
 * A settled streak, restored at a moment to the longest recent length, or null if that is not more than the
 * present one (S8). The marks of earlier periods stay. If the streak was lost, the previous period counts as
 * satisfied.
 */
export function restored(
  streak: StreakState,
  terms: Pick<Terms, 'frequency' | 'epoch'>,
  { at, today }: { at: Instant; today: number },
  past: readonly StreakRun[],
): StreakState | null {
  const { frequency } = terms
  const runs = streak.run === null ? past : [...past, streak.run]
  const longest = longestSince(runs, restorableSince(today, terms), frequency)
  const gained = longest - (streak.run?.length ?? 0)
  if (gained <= 0) return null
  // Later periods that are satisfied already stay satisfied (S11).
  const { known: run, ahead } =
    streak.run === null ? { known: null, ahead: [] } : untilOpen(streak.run, frequency)
  const current = periodStart(today, frequency)
  const started = periodsBefore(run?.started ?? current, gained, frequency)
  const previous = periodsBefore(current, 1, frequency)
  // The new length begins in the current period, which the history may contain already.
  const history =
    run === null
      ? restoredBeforeLast('1e', gained - 1)
      : run.last >= current
        ? restoredBeforeLast(run.history, gained, periodsFrom(current, run.last, frequency))
        : marked(run.history, 'r', gained)
  const alive: LiveRun = {
    started,
    first: run?.first ?? previous,
    last: run?.last ?? previous,
    history,
    length: (run?.length ?? 0) + gained,
    extended: streak.run?.extended ?? null,
    restored: at,
  }
  const joining = { open: current, extended: alive.extended, frequency }
  // After a restore, a journey that is undone must not bring back an old streak. A streak that was lost
  // begins on this day, even if the day had ended before.
  return {
    ...streak,
    ...{ frequency, epoch: terms.epoch, missed: null, journeys: [] },
    reached: streak.run === null ? null : streak.reached,
    run: joined(alive, ahead, joining),
  }
}

/** The number of periods from `first` to `last`, both included. */
function periodsFrom(first: number, last: number, frequency: Aggregation): number {
  let count = 1
  for (let start = first; start < last; start = nextPeriod(start, frequency)) count += 1
  return count
}
