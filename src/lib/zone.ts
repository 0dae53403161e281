import { Temporal } from 'temporal-polyfill'
import { BoundedMap } from './bounded'
import { type CivilDate, civilDateOfDay } from './civil'
import { type Instant, instant } from './clock'

const MINUTE = 60_000
/** Every zone changes its offset at a quarter of an hour in UTC, so an offset holds for the whole quarter. */
const QUARTER = 15 * MINUTE
/** Offsets in minutes by `zone|quarter of an hour`. */
const offsets = new BoundedMap<string, number>(2_000)

/** What the run time knows of a zone's name. */
type Named = {
  /** The name in IANA's letter case; an alias stays an alias. */
  name: string
  /** The one name that all aliases of the zone share. */
  canonical: string
}
/** By the name in any letter case. IANA has some 600 names. */
const named = new BoundedMap<string, Named>(1_000)

/** What a name means; null if it names no IANA time zone, as an offset such as `+02:00` does not (U1). */
function zoneNamed(given: string): Named | null {
  const known = named.get(given)
  if (known !== undefined) return known
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(given) || given.length > 64) return null
  try {
    // The run time also knows names that are no IANA zones, such as PST. Temporal, which converts, does not.
    const { timeZone: canonical } = new Intl.DateTimeFormat('en-US', { timeZone: given }).resolvedOptions()
    const { timeZoneId: name } = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(given)
    named.set(given, { name, canonical })
    return { name, canonical }
  } catch {
    return null
  }
}

/** Whether this names an IANA time zone, in any letter case (U1). */
export const isZone = (name: string): boolean => zoneNamed(name) !== null

/** A zone's name in IANA's letter case: `Europe/Paris` for `europe/paris`. An alias such as `Asia/Calcutta` stays as it is (U1). */
export const spelledZone = (name: string): string => zoneNamed(name)?.name ?? name

/** The name that all aliases of a zone share, as the run time has it: one for `Asia/Calcutta` and `Asia/Kolkata`. */
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

/** The civil date of a moment at an offset of so many minutes ahead of UTC. */
export function civilDateAt(at: Instant, minutes: number): CivilDate {
  return civilDateOfDay(Math.floor((at + minutes * MINUTE) / 86_400_000))
}

/** The moment at which a civil date begins in a zone; the first that exists where midnight is skipped. */
export function startOfDay(date: CivilDate, zone: string): Instant {
  return instant(Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds)
}
