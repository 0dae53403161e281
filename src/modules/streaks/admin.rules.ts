import { civilDateOfDay, dayOf, isCivilDate } from '../../shared/civil'
import { periodStart, periodsBefore } from '../../shared/periods'
import { longestSince } from './history.rules'
import { marked } from './marks'
import type { Terms } from './streaks.rules'
import type { LiveRun, Pause, StreakRun, StreakState } from './streaks.state'

/** The days in which the longest streak is looked for, today included, where it is daily (S8). */
const RESTORED_DAYS = 90

/** A settled streak with one freeze more; null where its user has as many as there may be (S7). */
export function withFreeze(streak: StreakState, { freezes }: Pick<Terms, 'freezes'>): StreakState | null {
  return freezes === null || streak.freezes >= freezes.max ? null : { ...streak, freezes: streak.freezes + 1 }
}

/** A settled streak with a pause (S7). */
export function withPause(streak: StreakState, pause: Pause): StreakState {
  return { ...streak, pauses: [...streak.pauses, pause] }
}

/** A settled streak without a pause: no period that is over changes, since those are judged (S7). */
export function withoutPause(streak: StreakState, id: string): StreakState {
  return { ...streak, pauses: streak.pauses.filter((pause) => pause.id !== id) }
}

/** Up to which day a pause counts that is deleted today: the last one of the periods that are over (S7). */
export const lastDayOver = (today: number, { frequency }: Pick<Terms, 'frequency'>): number =>
  periodStart(today, frequency) - 1

/** The first day of the time in which the longest streak is looked for (S8). */
export function restorableSince(today: number, { frequency }: Pick<Terms, 'frequency'>): number {
  if (frequency === 'daily') return today - RESTORED_DAYS + 1
  const year = Number(civilDateOfDay(today).slice(0, 4)) - (frequency === 'monthly' ? 1 : 0)
  const first = `${String(year).padStart(4, '0')}-01-01`
  return isCivilDate(first) ? dayOf(first) : today
}

/**
 * A settled streak restored to the longest length of late; null where that is not greater than the present one (S8). What the periods
 * before were stays as it was: the length jumps at the end of the last one, or of the previous one, which counts as satisfied.
 */
export function restored(
  streak: StreakState,
  terms: Pick<Terms, 'frequency'>,
  today: number,
  past: readonly StreakRun[],
): StreakState | null {
  const { frequency } = terms
  const { run } = streak
  const runs = run === null ? past : [...past, run]
  const longest = longestSince(runs, restorableSince(today, terms), frequency)
  const gained = longest - (run?.length ?? 0)
  if (gained <= 0) return null
  const current = periodStart(today, frequency)
  const started = periodsBefore(run?.started ?? current, gained, frequency)
  const previous = periodsBefore(current, 1, frequency)
  const alive: LiveRun = run ?? {
    started,
    first: previous,
    last: previous,
    marks: '1e',
    length: 1,
    extended: null,
  }
  const jump = longest - alive.length
  const marks = jump > 0 ? marked(alive.marks, 'r', jump) : alive.marks
  return { ...streak, frequency, run: { ...alive, started, marks, length: longest } }
}
