import type { Instant } from '../../lib/clock'
import { FURTHEST_OFFSET, HOUR } from '../../lib/units'
import { dayBegins, localDay } from '../../lib/zone'

/**
 * The most time between the moment of a row and its commit to the log, in milliseconds. The commit of an
 * event may be slow.
 */
const GRACE = HOUR

/** The change on a local day (days since 1970-01-01), in the unit of the log. */
export type DayChange = { day: number; change: number }

/** The sums of all days up to and including `through`, for days that have rows, ascending. */
export type KeptDays = { through: number; days: readonly DayChange[] }

/**
 * The last local day that is closed: no row that is logged from now on can be of this day or an earlier one,
 * in any time zone. Ticks and events of a batch are logged after their time. `late` is the earliest time of
 * such rows that are still to come, or null if there are none.
 */
export function lastClosedDay(now: Instant, late: Instant | null): number {
  const until = Math.min(now - GRACE, late ?? now)
  return localDay(until, -FURTHEST_OFFSET) - 1
}

/** A moment before which no row is of a day after this one. */
export const firstMomentAfter = (day: number): number => dayBegins(day + 1, FURTHEST_OFFSET)

/** The sum of all changes. */
export const sumOf = (days: Iterable<DayChange>): number => {
  let sum = 0
  for (const { change } of days) sum += change
  return sum
}
