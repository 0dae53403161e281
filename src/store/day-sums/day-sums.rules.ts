import type { Instant } from '../../lib/clock'
import { FURTHEST_OFFSET, HOUR } from '../../lib/units'
import { dayBegins, localDay } from '../../lib/zone'

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

/**
 * The first moment that belongs to a later local day than `day` in any time zone. No row from before this
 * moment belongs to a later day.
 */
export const firstMomentAfter = (day: number): number => dayBegins(day + 1, FURTHEST_OFFSET)

/** The sum of all changes. */
export const sumOf = (days: Iterable<DayChange>): number => {
  let sum = 0
  for (const { change } of days) sum += change
  return sum
}
