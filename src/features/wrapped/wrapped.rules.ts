import { periodsOf } from '../../engine/streaks/history.rules'
import type { StreakRun } from '../../engine/streaks/streak-state.types'
import { type Aggregation, type CivilDate, civilDate, civilDateOfDay, dayOf } from '../../lib/civil'
import { periodEnd, periodStart } from '../../lib/periods'

/** Days from the first to the last, as days since 1970-01-01; of a week, those inside the year. */
export type Days = { first: number; last: number }

/** The four periods that a wrapped tells of. */
export type Periods = { day: Days; week: Days; month: Days; year: Days }

/** What a user did on a local day in a metric or points system: how often, and the sum of the changes. */
export type DayChange = { subject: string; day: number; count: number; change: number }

/** The year of a day. */
export const yearOf = (day: number): number => Number(civilDateOfDay(day).slice(0, 4))

/** The days of a year between 1 and 9999. */
export function daysOfYear(year: number): Days {
  return { first: dayOf(dateIn(year, '01-01')), last: dayOf(dateIn(year, '12-31')) }
}

const dateIn = (year: number, rest: string): CivilDate =>
  civilDate(`${String(year).padStart(4, '0')}-${rest}`)

/** The weeks (from Monday) or months of a year, as far as they lie in it. */
export function periodsIn(year: Days, frequency: Aggregation): Days[] {
  const periods: Days[] = []
  for (let first = year.first; first <= year.last; ) {
    const period = inside(year, periodStart(first, frequency), frequency)
    periods.push(period)
    first = period.last + 1
  }
  return periods
}

/** What of the period that starts on a day lies in the year. */
function inside(year: Days, start: number, frequency: Aggregation): Days {
  const end = periodEnd(start, frequency)
  // The last month that can be written has no next one to end before.
  return { first: Math.max(start, year.first), last: end < start ? year.last : Math.min(end, year.last) }
}

export const isIn = ({ first, last }: Days, day: number): boolean => first <= day && day <= last

/** In how many periods of the year something happened, and the one in which most did: the earliest of equals, or the first of the year. */
type Activity = { active: number; most: Days }

function activityBy(
  frequency: Aggregation,
  year: Days,
  events: readonly Pick<DayChange, 'day' | 'count'>[],
): Activity {
  const counts = new Map<number, number>()
  for (const { day, count } of events) {
    const start = periodStart(day, frequency)
    counts.set(start, (counts.get(start) ?? 0) + count)
  }
  const [[start] = [periodStart(year.first, frequency)]] = [...counts].sort(
    ([one, some], [other, more]) => more - some || one - other,
  )
  return { active: counts.size, most: inside(year, start, frequency) }
}

/** How active someone was in a year, by the counts of the events on its days (R1). */
export function activityOf(year: Days, events: readonly Pick<DayChange, 'day' | 'count'>[]) {
  const ofYear = events.filter(({ day }) => isIn(year, day))
  const [days, weeks, months] = [
    activityBy('daily', year, ofYear),
    activityBy('weekly', year, ofYear),
    activityBy('monthly', year, ofYear),
  ]
  const periods: Periods = { day: days.most, week: weeks.most, month: months.most, year }
  return { daysActive: days.active, weeksActive: weeks.active, monthsActive: months.active, periods }
}

/** A change in a period and the running total at its end, in the unit of what was summed up. */
export type Sums = { total: number; change: number }

/**
 * What came of a metric or points system in a period; null where nothing happened in it. `changes` holds at least what happened
 * from its first day on, up to now, when the total is `present`.
 */
export function sumsIn(period: Days, changes: readonly DayChange[], present: number): Sums | null {
  const within = changes.filter(({ day }) => isIn(period, day))
  if (within.length === 0) return null
  const later = changes.filter(({ day }) => day > period.last)
  return { total: present - sum(later), change: sum(within) }
}

const sum = (changes: readonly DayChange[]) => changes.reduce((total, { change }) => total + change, 0)

/** By how many per cent a total has changed: to one decimal, half away from zero; from 0 by 100 (R1). */
export function percentChange({ total, change }: Sums): number {
  if (change === 0) return 0
  const before = total - change
  if (before === 0) return 100
  const tenths = (change / before) * 1_000
  return (Math.sign(tenths) * Math.round(Math.abs(tenths))) / 10 || 0
}

/** The whole per cent of users who have less (R2). */
export const percentile = (less: number, users: number): number => Math.floor((100 * less) / users)

/** The longest length with which a period ended, the first such period, and when that streak began. Days since 1970-01-01. */
export type LongestStreak = { length: number; start: number; end: number; started: number }

/** The longest streak of the periods that overlap a year; null where there is none. */
export function longestIn(
  year: Days,
  runs: readonly Pick<StreakRun, 'started' | 'first' | 'history'>[],
  frequency: Aggregation,
): LongestStreak | null {
  let longest: LongestStreak | null = null
  for (const run of runs.toSorted((one, other) => one.first - other.first)) {
    for (const { start, end, length } of periodsOf(run, frequency)) {
      if (start > year.last || end < year.first || length <= (longest?.length ?? 0)) continue
      longest = { length, start, end, started: run.started }
    }
  }
  return longest
}
