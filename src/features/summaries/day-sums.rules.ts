import type { Instant } from '../../lib/clock'
import { FURTHEST_OFFSET, HOUR } from '../../lib/units'
import { dayBegins, localDay } from '../../lib/zone'

/** How long after it happened something is in the log at the latest, in milliseconds: the commit of an event may be slow. */
const GRACE = HOUR

/** The change on a local day (days since 1970-01-01), in the unit of what is summed up. */
export type DayChange = { day: number; change: number }

/** Sums of all days up to and including `through`, of the days on which something happened, ascending. */
export type KeptDays = { through: number; days: readonly DayChange[] }

/**
 * The last local day that is closed: nothing that is logged from now on can fall on it or on an earlier day, whatever zone the user is in
 * then. Some things are logged after they happen: ticks, and events of a batch. `late` is the earliest moment of those that are still to
 * be logged; null if there are none.
 */
export function lastClosedDay(now: Instant, late: Instant | null): number {
  const until = Math.min(now - GRACE, late ?? now)
  return localDay(until, -FURTHEST_OFFSET) - 1
}

/** A moment before which nothing happened that falls on a day after this one. */
export const firstMomentAfter = (day: number): number => dayBegins(day + 1, FURTHEST_OFFSET)

/** The sum of all changes. */
export const sumOf = (days: Iterable<DayChange>): number => {
  let sum = 0
  for (const { change } of days) sum += change
  return sum
}
