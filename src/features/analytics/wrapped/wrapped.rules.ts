import { type Aggregation, type CivilDate, civilDate, dayOf, periodEnd, periodStart } from '../../../lib/zone'
import { periodsOfAll } from '../../../rules/streaks/history.rules'
import type { StreakRun } from '../../../rules/streaks/streak-state.rules'

/** A change, and how many users made it. */
export type Count = readonly [change: number, users: number]

/** Most different changes in memory, of a distribution and a year. Each may have at least `SOME_VALUES`. */
const MOST_VALUES = 5_000
const MOST_IN_ALL = 1_000_000
const SOME_VALUES = 500

/** The most different changes of each distribution, by the number of distributions. */
export const mostValues = (distributions: number): number =>
  Math.max(SOME_VALUES, Math.min(MOST_VALUES, Math.floor(MOST_IN_ALL / distributions)))

/**
 * Joins lists of counts, ascending. If there are more than `most` different changes, joins neighbours to at
 * most half as many groups, with about the same number of users each. A group gets the change that most of
 * its users made, so earlier groups keep their place. If 300,000 users all have different changes, no user is
 * off by 0.1 percentage points.
 */
export function merged(lists: readonly (readonly Count[])[], most: number): Count[] {
  const counts = new Map<number, number>()
  for (const list of lists)
    for (const [change, users] of list) counts.set(change, (counts.get(change) ?? 0) + users)
  const all = [...counts].sort(([one], [other]) => one - other)
  return all.length <= most ? all : grouped(all, Math.floor(most / 2))
}

function grouped(counts: readonly Count[], groups: number): Count[] {
  const total = counts.reduce((sum, [, users]) => sum + users, 0)
  const result: Count[] = []
  let [less, last, heaviest] = [0, -1, 0]
  for (const [change, users] of counts) {
    // The group is decided by the middle user with this change.
    const group = Math.floor(((less + users / 2) * groups) / total)
    const [kept, some] = group === last ? (result.pop() ?? [change, 0]) : [change, 0]
    if (group !== last) heaviest = 0
    result.push([users > heaviest ? change : kept, some + users])
    heaviest = Math.max(heaviest, users)
    last = group
    less += users
  }
  return result
}

/** The distribution of the changes of `users` users: each different change, and how many users have less. */
export type Distribution = { users: number; distribution: [change: number, less: number][] }

/** The distribution of a subject among all active users. Users without a change count as 0 (R2). */
export function distributionOf(counts: readonly Count[], active: number): Distribution {
  const others = active - counts.reduce((sum, [, users]) => sum + users, 0)
  const all = merged([counts, others > 0 ? [[0, others]] : []], Number.POSITIVE_INFINITY)
  let less = 0
  const distribution = all.map(([change, users]): [number, number] => {
    const place: [number, number] = [change, less]
    less += users
    return place
  })
  return { users: active, distribution }
}

/** Days from the first to the last, as days since 1970-01-01. Of a week, only its days in the year. */
export type Days = { first: number; last: number }

/** The four periods of a wrapped. */
export type Periods = { day: Days; week: Days; month: Days; year: Days }

/** A user's changes on a local day in a metric or points system: how many, and their sum. */
export type DayChange = { subject: string; day: number; count: number; change: number }

/** The days of a year between 1 and 9999. */
export function daysOfYear(year: number): Days {
  return { first: dayOf(dateIn(year, '01-01')), last: dayOf(dateIn(year, '12-31')) }
}

const dateIn = (year: number, rest: string): CivilDate =>
  civilDate(`${String(year).padStart(4, '0')}-${rest}`)

/** The weeks (from Monday) or months of a year, without their days outside the year. */
export function periodsIn(year: Days, frequency: Aggregation): Days[] {
  const periods: Days[] = []
  for (let first = year.first; first <= year.last; ) {
    const period = inside(year, periodStart(first, frequency), frequency)
    periods.push(period)
    first = period.last + 1
  }
  return periods
}

/** The part of a period in the year. `start` is the period's first day. */
function inside(year: Days, start: number, frequency: Aggregation): Days {
  const end = periodEnd(start, frequency)
  // The last month that can be written has no next month, so its end is not known.
  return { first: Math.max(start, year.first), last: end < start ? year.last : Math.min(end, year.last) }
}

export const isIn = ({ first, last }: Days, day: number): boolean => first <= day && day <= last

/** How many periods have events, and which has most: the earliest of equals; without events, the first. */
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

/** A user's activity in a year, by the numbers of events on its days (R1). */
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

/** A change in a period and the running total at its end, in the unit of the summed values. */
export type Sums = { total: number; change: number }

/**
 * The sums in a period; null without a change. `changes` has all since its first day; `present` is the total
 * now.
 */
export function sumsIn(period: Days, changes: readonly DayChange[], present: number): Sums | null {
  const within = changes.filter(({ day }) => isIn(period, day))
  if (within.length === 0) return null
  const later = changes.filter(({ day }) => day > period.last)
  return { total: present - sum(later), change: sum(within) }
}

const sum = (changes: readonly DayChange[]) => changes.reduce((total, { change }) => total + change, 0)

/** By how many percent a total changed: one decimal, half away from zero; 100 from a total of 0 (R1). */
export function percentChange({ total, change }: Sums): number {
  if (change === 0) return 0
  const before = total - change
  if (before === 0) return 100
  // Whole numbers, since a fraction would be rounded twice: 323 of 80 are 403.75 %, and 403.8.
  const [size, base] = [BigInt(Math.abs(change)) * 1_000n, BigInt(Math.abs(before))]
  const tenths = Number((2n * size + base) / (2n * base))
  return (Math.sign(change) * Math.sign(before) * tenths) / 10 || 0
}

/** The percentage of the active `users` of a period with a smaller change, rounded down (R2). */
export const percentile = (less: number, users: number): number => Math.floor((100 * less) / users)

/** The longest length at the end of a period, the first such period, and when the streak began, in days. */
type LongestStreak = { length: number; start: number; end: number; started: number }

/** The longest streak of the periods that overlap a year; null if there is none. */
export function longestIn(
  year: Days,
  runs: readonly Pick<StreakRun, 'started' | 'first' | 'history'>[],
  frequency: Aggregation,
): LongestStreak | null {
  let longest: LongestStreak | null = null
  const inOrder = runs.toSorted((one, other) => one.first - other.first)
  for (const { start, end, length, started } of periodsOfAll(inOrder, frequency)) {
    if (start > year.last || end < year.first || length <= (longest?.length ?? 0)) continue
    longest = { length, start, end, started }
  }
  return longest
}
