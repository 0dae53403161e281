import { Temporal } from 'temporal-polyfill'
import { BoundedMap } from './bounded'
import { DAY, type Instant, instant, iso, MINUTE, parseIso } from './clock'

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

/** The day, since 1970-01-01, some years after a date: of 29 February, the 28th in other years (A7). */
export function dayAfterYears(date: CivilDate, years: number): number {
  const later = Temporal.PlainDate.from(date).add({ years })
  return (parseIso(`${later}T00:00:00Z`) ?? Number.POSITIVE_INFINITY) / DAY
}

/** The first anniversary of a date after a day, since 1970-01-01. */
export function nextAnniversary(date: CivilDate, after: number): number {
  const years = yearOf(after) - Number(date.slice(0, 4))
  return Math.min(...[years, years + 1].map((n) => dayAfterYears(date, n)).filter((day) => day > after))
}

/** Midnight UTC of a date. */
export function utcMidnight(date: CivilDate): Instant {
  return instant(dayOf(date) * DAY)
}

/** 0001-01-01 and 9999-12-31: the first and the last valid date, in days since 1970-01-01. */
export const FIRST_DAY = -719_162
export const LAST_DAY = 2_932_896

/** The first day of a week: Monday, as 1 of ISO 8601's 1 to 7. */
const WEEK_STARTS = 1
/** The day of the week of 1970-01-01: Thursday. */
const EPOCH_WEEKDAY = 4

/** The day of the week of a day since 1970-01-01, from 0 (Sunday) to 6. */
export const weekdayOf = (day: number): number => (((day + EPOCH_WEEKDAY) % 7) + 7) % 7

/**
 * The first day of the period that contains a day: the day itself, the first day of its week, or the first of
 * its month. Days since 1970-01-01.
 */
export function periodStart(day: number, frequency: Aggregation): number {
  if (frequency === 'daily') return day
  if (frequency === 'weekly') return day - weekdayOf(day - WEEK_STARTS)
  const first = `${civilDateOfDay(day).slice(0, 8)}01`
  return isCivilDate(first) ? dayOf(first) : day
}

/** The first date of the period that contains a date (P12). */
export const periodStartDate = (date: CivilDate, frequency: Aggregation): CivilDate =>
  civilDateOfDay(periodStart(dayOf(date), frequency))

/** The first day of the period after the one that starts on a day. */
export function nextPeriod(start: number, frequency: Aggregation): number {
  if (frequency === 'daily') return start + 1
  if (frequency === 'weekly') return start + 7
  return start + 31 > LAST_DAY ? LAST_DAY + 1 : periodStart(start + 31, 'monthly')
}

/**
 * The first day of the period that is `count` periods before the one that starts on `start`. A negative
 * `count` goes forward.
 */
export function periodsBefore(start: number, count: number, frequency: Aggregation): number {
  if (frequency === 'daily') return start - count
  if (frequency === 'weekly') return start - 7 * count
  const [year = 0, month = 0] = civilDateOfDay(start).split('-').map(Number)
  const months = year * 12 + (month - 1) - count
  const text = `${String(Math.floor(months / 12)).padStart(4, '0')}-${String((((months % 12) + 12) % 12) + 1).padStart(2, '0')}-01`
  return isCivilDate(text) ? dayOf(text) : start
}

/** The last day of the period that starts on a day. */
export const periodEnd = (start: number, frequency: Aggregation): number =>
  frequency === 'monthly' ? nextPeriod(start, frequency) - 1 : start + (frequency === 'weekly' ? 6 : 0)

/** All zones change their offset at a full quarter of an hour in UTC, so it is valid that long. */
const QUARTER = 15 * MINUTE
/** Offsets in minutes by `zone|quarter of an hour`. */
const offsets = new BoundedMap<string, number>(2_000)

type Named = {
  /** The name in IANA's letter case; an alias stays an alias. */
  name: string
  /** The one name that all aliases of the zone share. */
  canonical: string
}
/** Names by their spelling in any letter case. IANA has about 600 names. */
const named = new BoundedMap<string, Named>(1_000)

/** The zone of a name; null if it is no IANA time zone. An offset such as `+02:00` is none (U1). */
function zoneNamed(given: string): Named | null {
  const known = named.get(given)
  if (known !== undefined) return known
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(given) || given.length > 64) return null
  try {
    // The run time also accepts names that are not IANA zones, such as PST. Temporal throws for them.
    const { timeZone: canonical } = new Intl.DateTimeFormat('en-US', { timeZone: given }).resolvedOptions()
    const { timeZoneId } = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(given)
    // Temporal's polyfill writes `Systemv/EST5`. Intl knows better, but answers another name for an alias.
    const name = timeZoneId.toLowerCase() === canonical.toLowerCase() ? canonical : timeZoneId
    named.set(given, { name, canonical })
    return { name, canonical }
  } catch {
    return null
  }
}

/** Whether this is the name of an IANA time zone, in any letter case (U1). */
export const isZone = (name: string): boolean => zoneNamed(name) !== null

/** A zone's name in IANA's letter case: `Europe/Paris` for `europe/paris`. An alias stays (U1). */
export const spelledZone = (name: string): string => zoneNamed(name)?.name ?? name

/** The run time's one name for all aliases of a zone: the same for `Asia/Calcutta` and `Asia/Kolkata`. */
export const canonicalZone = (name: string): string => zoneNamed(name)?.canonical ?? name

/** Minutes by which the zone's local time is ahead of UTC at that moment (E8); negative west of Greenwich. */
export function offsetMinutes(zone: string, at: Instant): number {
  const quarter = Math.floor(at / QUARTER)
  const key = `${zone}|${quarter}`
  const known = offsets.get(key)
  if (known !== undefined) return known
  const zoned = Temporal.Instant.fromEpochMilliseconds(quarter * QUARTER).toZonedDateTimeISO(zone)
  const minutes = zoned.offsetNanoseconds / 60e9
  offsets.set(key, minutes)
  return minutes
}

/*
 * A local day is the date on a local clock, in days since 1970-01-01. Offsets are in minutes ahead of UTC
 * (E8).
 */

/** The local day of a moment at an offset. */
export const localDay = (at: number, utcOffset: number): number => Math.floor((at + utcOffset * MINUTE) / DAY)

/** The day of a moment in UTC. */
export const utcDay = (at: number): number => localDay(at, 0)

/** The local day of a moment in a zone; in UTC if the zone is null. */
export const dayIn = (tz: string | null, at: number): number =>
  localDay(at, offsetMinutes(tz ?? 'UTC', instant(at)))

/** Milliseconds from local midnight to a moment, at an offset. */
export const timeOfDay = (at: number, utcOffset: number): number =>
  at + utcOffset * MINUTE - localDay(at, utcOffset) * DAY

/** The moment at which a local day begins at an offset. */
export const dayBegins = (day: number, utcOffset: number): Instant => instant(day * DAY - utcOffset * MINUTE)

/** The moment at which a date begins in a zone: the first that exists, if midnight is skipped. */
export function startOfDay(date: CivilDate, zone: string): Instant {
  return instant(Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds)
}

/** The local date of a moment at an offset. */
export const civilDateAt = (at: Instant, utcOffset: number): CivilDate =>
  civilDateOfDay(localDay(at, utcOffset))

/** `civilDateAt` as text, fast enough for a million rows: it does not check that the year is from 0001 to 9999. */
export const uncheckedDateAt = (at: Instant, utcOffset: number): string =>
  iso(instant(at + utcOffset * MINUTE)).slice(0, 10)

/** A local day as a date, `YYYY-MM-DD`: 9999-12-31 for later days. */
export const dateOfDay = (day: number): CivilDate => civilDateOfDay(Math.min(day, LAST_DAY))

/** The year of a local day, which is given in days since 1970-01-01. */
export const yearOf = (day: number): number => Number(dateOfDay(day).slice(0, 4))
