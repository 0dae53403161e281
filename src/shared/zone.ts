import { Temporal } from 'temporal-polyfill'
import { BoundedMap } from './bounded'
import { type CivilDate, civilDateOfDay } from './civil'
import { type Instant, instant } from './clock'

const MINUTE = 60_000
/** Every zone changes its offset at a quarter of an hour in UTC, so an offset holds for the whole quarter. */
const QUARTER = 15 * MINUTE
/** Offsets in minutes by `zone|quarter of an hour`. */
const offsets = new BoundedMap<string, number>(2_000)

/** Whether this names an IANA time zone; an offset such as `+02:00` names none (U1). */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(name) || name.length > 64) return false
  try {
    // Asked of whatever will convert with it: the run time also knows names, such as PST, that are no IANA zones.
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name)
    return true
  } catch {
    return false
  }
}

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
