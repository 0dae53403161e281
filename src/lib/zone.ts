import { Temporal } from 'temporal-polyfill'
import { BoundedMap } from './bounded'
import { type CivilDate, civilDateOfDay } from './civil'
import { type Instant, instant, iso } from './clock'
import { LAST_DAY } from './periods'
import { DAY, MINUTE } from './units'

/**
 * All zones change their offset at a full quarter of an hour in UTC, so an offset is valid for the whole
 * quarter.
 */
const QUARTER = 15 * MINUTE
/** Offsets in minutes by `zone|quarter of an hour`. */
const offsets = new BoundedMap<string, number>(2_000)

/** A zone's name, as the run time knows it. */
type Named = {
  /** The name in IANA's letter case; an alias stays an alias. */
  name: string
  /** The one name that all aliases of the zone share. */
  canonical: string
}
/** Names by their spelling in any letter case. IANA has about 600 names. */
const named = new BoundedMap<string, Named>(1_000)

/**
 * The zone of a name; null if it is not the name of an IANA time zone. An offset such as `+02:00` is not one
 * (U1).
 */
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

/**
 * A zone's name in IANA's letter case: `Europe/Paris` for `europe/paris`. An alias such as `Asia/Calcutta` is
 * kept (U1).
 */
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

/**
 * The moment at which a date begins in a zone. If midnight is skipped, it is the first moment that exists.
 */
export function startOfDay(date: CivilDate, zone: string): Instant {
  return instant(Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds)
}

/** The local date of a moment at an offset. */
export const civilDateAt = (at: Instant, utcOffset: number): CivilDate =>
  civilDateOfDay(localDay(at, utcOffset))

/** The same as text, fast enough for a million rows: it does not check that the year is from 0001 to 9999. */
export const uncheckedDateAt = (at: Instant, utcOffset: number): string =>
  iso(instant(at + utcOffset * MINUTE)).slice(0, 10)

/** A local day as a date, `YYYY-MM-DD`: 9999-12-31 for later days. */
export const dateOfDay = (day: number): CivilDate => civilDateOfDay(Math.min(day, LAST_DAY))
