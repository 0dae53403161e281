import { type Aggregation, nextPeriod, periodEnd, periodStart, periodsBefore } from '../../lib/zone'
import { type PeriodKind, parseHistory } from './period-history.rules'
import type { StreakRun, StreakState } from './streak-state.types'

/** One period of a streak: its first and last day (since 1970-01-01), its mark, and the length at its end. */
export type Period = { start: number; end: number; kind: PeriodKind; length: number }

/** The periods of a streak, oldest first. */
export function periodsOf(run: Pick<StreakRun, 'first' | 'history'>, frequency: Aggregation): Period[] {
  const periods: Period[] = []
  let start = run.first
  let length = 0
  for (const [count, kind] of parseHistory(run.history)) {
    if (kind === 'r') {
      length += count
      continue
    }
    for (let n = 0; n < count; n += 1) {
      if (kind === 'e') length += 1
      periods.push({ start, end: periodEnd(start, frequency), kind, length })
      start = nextPeriod(start, frequency)
    }
  }
  return periods
}

/**
 * The periods of several streaks, the oldest streak first, with the first day of the streak as shown. From
 * its first period on, a streak replaces the earlier ones. An earlier one may have later periods if it ended
 * on a journey that was undone (S11), or if its user came back to an earlier date and restored it (S8).
 */
export function periodsOfAll(
  runs: readonly Pick<StreakRun, 'started' | 'first' | 'history'>[],
  frequency: Aggregation,
): (Period & { started: number })[] {
  return runs.flatMap((run, n) => {
    const until = runs[n + 1]?.first ?? Number.POSITIVE_INFINITY
    const periods = periodsOf(run, frequency).filter(({ start }) => start < until)
    return periods.map((period) => ({ ...period, started: run.started }))
  })
}

/** A period of a streak's history as served (S6). */
export type HistoryPeriod = { start: number; end: number; length: number; kind: PeriodKind | null }

/**
 * The last `count` periods up to the one that contains today, oldest first, each with the length at its end
 * (S6). `runs` are past streaks and the present one, oldest first. The current period has the present length.
 */
export function historyOf(
  runs: readonly StreakRun[],
  presentLength: number,
  frequency: Aggregation,
  today: number,
  count: number,
): HistoryPeriod[] {
  const known = new Map(periodsOfAll(runs, frequency).map((period) => [period.start, period]))
  const current = periodStart(today, frequency)
  const history: HistoryPeriod[] = []
  for (let n = count - 1; n >= 0; n -= 1) {
    const start = n === 0 ? current : periodsBefore(current, n, frequency)
    const period = known.get(start)
    const length = n === 0 ? presentLength : (period?.length ?? 0)
    history.push({ start, end: periodEnd(start, frequency), length, kind: period?.kind ?? null })
  }
  return history
}

/**
 * The longest length at the end of any period that ended on a day or later, or 0 if there is none. `runs` are
 * oldest first.
 */
export function longestSince(runs: readonly StreakRun[], day: number, frequency: Aggregation): number {
  const lengths = periodsOfAll(runs, frequency)
    .filter(({ end }) => end >= day)
    .map(({ length }) => length)
  return lengths.reduce((most, length) => Math.max(most, length), 0)
}

/**
 * The length of a user's streak on a day. It needs the present streak, and the newest past streak that began
 * by that day.
 */
export function lengthOn({ frequency, run }: StreakState, past: StreakRun | null, day: number): number {
  if (frequency === null || frequency === 'unknown') return 0
  if (run !== null && run.last <= day) return run.length
  const held = run !== null && run.first <= day ? run : past
  if (held === null) return 0
  // The streak was lost at the end of the period after its last one.
  const lost = nextPeriod(nextPeriod(held.last, frequency), frequency)
  const period = periodsOf(held, frequency).findLast(({ start }) => start <= day)
  return day < lost ? (period?.length ?? 0) : 0
}
