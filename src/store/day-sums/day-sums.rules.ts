import { FURTHEST_OFFSET, HOUR, type Instant } from '../../lib/clock'
import {
  type Aggregation,
  type CivilDate,
  civilDateOfDay,
  dayBegins,
  dayOf,
  localDay,
  nextPeriod,
  periodStart,
} from '../../lib/zone'

/** The range of a summary: all whole buckets that overlap the dates from `startDate` to `endDate` (P12). */
export type SummaryRange = { aggregation: Aggregation; startDate: CivilDate; endDate: CivilDate }

/** A bucket, named by its first day, with its change and the total at its end, in the values' unit. */
type Bucket = { date: CivilDate; total: number; change: number }

/**
 * Sums up changes by local day (days since 1970-01-01) in whole buckets, including empty ones (P12). `days`
 * holds at least every change since the first bucket's first day. `currentTotal` is the total now. To get a
 * bucket's own total, later changes are subtracted from it. Input and output are whole numbers: the caller
 * converts units at the end.
 */
export function summarise(
  days: readonly { day: number; change: number }[],
  range: SummaryRange,
  currentTotal: number,
): Bucket[] {
  const starts = bucketDays(range)
  const newestFirst = days.toSorted((a, b) => b.day - a.day)
  let at = 0
  /** The sum of the changes on or after this day that were not summed before. */
  const takeFrom = (day: number) => {
    let sum = 0
    for (let next = newestFirst[at]; next !== undefined && next.day >= day; next = newestFirst[at]) {
      sum += next.change
      at += 1
    }
    return sum
  }
  const buckets: Bucket[] = []
  let total = currentTotal - takeFrom(bucketEnd(range))
  for (const start of starts.toReversed()) {
    const change = takeFrom(start)
    buckets.push({ date: civilDateOfDay(start), total, change })
    total -= change
  }
  return buckets.reverse()
}

/** The buckets' first days, ascending, as numbers: the day after 9999-12-31 is not a valid date. */
function bucketDays({ aggregation, startDate, endDate }: SummaryRange): number[] {
  const starts: number[] = []
  const last = dayOf(endDate)
  let day = periodStart(dayOf(startDate), aggregation)
  while (day <= last) {
    starts.push(day)
    day = nextPeriod(day, aggregation)
  }
  return starts
}

function bucketEnd({ aggregation, endDate }: SummaryRange): number {
  return nextPeriod(periodStart(dayOf(endDate), aggregation), aggregation)
}

/** Nothing before this moment belongs to the summary's buckets, in any time zone. */
export function firstMoment({ startDate, aggregation }: SummaryRange): Instant {
  return dayBegins(periodStart(dayOf(startDate), aggregation), FURTHEST_OFFSET)
}

/** The most time from a row's moment to its commit to the log, in milliseconds. A commit may be slow. */
const GRACE = HOUR

/** The sum of the changes on a local day (days since 1970-01-01), in the unit of the log. */
export type DayChange = { day: number; change: number }

/** The stored sums of the days up to and including `through`, ascending. Days without rows are left out. */
export type KeptDays = { through: number; days: readonly DayChange[] }

/**
 * The last local day that is closed in all time zones: from now on, no row of this day or an earlier one is
 * logged. Ticks and events of a batch are logged after their time, so they may still add to earlier days.
 * `late` is the earliest time of such rows that are not logged yet, or null if there are none.
 */
export function lastClosedDay(now: Instant, late: Instant | null): number {
  const until = Math.min(now - GRACE, late ?? now)
  return localDay(until, -FURTHEST_OFFSET) - 1
}

/** The first moment that belongs to a later local day in any time zone. No earlier row is of a later day. */
export const firstMomentAfter = (day: number): number => dayBegins(day + 1, FURTHEST_OFFSET)

/** The sum of all changes. */
export const sumOf = (days: Iterable<DayChange>): number => {
  let sum = 0
  for (const { change } of days) sum += change
  return sum
}
