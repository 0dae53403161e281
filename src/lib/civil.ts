import { type Instant, instant, iso, parseIso } from './clock'
import { DAY } from './units'

/** A calendar date, `YYYY-MM-DD`, without a time zone (G4). */
export type CivilDate = string & { readonly civilDate: unique symbol }

/** The lengths of calendar periods (P12, S1). */
export const AGGREGATIONS = ['daily', 'weekly', 'monthly'] as const
export type Aggregation = (typeof AGGREGATIONS)[number]

/** Whether the text is a calendar date between the years 0001 and 9999, written `YYYY-MM-DD`. */
export function isCivilDate(text: string): text is CivilDate {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false
  const midnight = parseIso(`${text}T00:00:00Z`)
  // The platform reads the 30th of February as a day in March.
  return midnight !== null && iso(midnight).startsWith(text)
}

/** Brands a date. Throws a RangeError if the text is not a date. */
export function civilDate(text: string): CivilDate {
  if (!isCivilDate(text)) throw new RangeError(`not a date: ${text}`)
  return text
}

/** Days from 1970-01-01 to the date; negative before. */
export function dayOf(date: CivilDate): number {
  return (parseIso(`${date}T00:00:00Z`) ?? 0) / DAY
}

/** The date `day` days after 1970-01-01. Throws a RangeError outside the years 0001 to 9999. */
export function civilDateOfDay(day: number): CivilDate {
  return civilDate(iso(instant(day * DAY)).slice(0, 10))
}

/** The date `days` days later, or earlier if `days` is negative. */
export function addDays(date: CivilDate, days: number): CivilDate {
  return civilDateOfDay(dayOf(date) + days)
}

/** Midnight UTC of a date. */
export function utcMidnight(date: CivilDate): Instant {
  return instant(dayOf(date) * DAY)
}
