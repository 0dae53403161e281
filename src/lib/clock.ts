import { Temporal } from 'temporal-polyfill'

/*
 * Lengths of time, in milliseconds. A day has 24 hours, as in UTC. A local day may be an hour longer or
 * shorter.
 */

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/* Offsets, in minutes by which local time is ahead of UTC. Events store them in this form (E8). */

/** The offset at which a date begins first, and with it runs and boosts for everyone (L7, L8, P5). */
export const FIRST_OFFSET = 14 * 60

/** The offset at which a date ends last, also for runs, boosts and travellers (L8, P5, S11). */
export const LAST_OFFSET = -12 * 60

/**
 * No local time has ever been further from UTC than this, ahead or behind (Manila was 15:56 behind). It
 * limits the part of a log that must be read to find all rows of some local days. It is wider than the two
 * offsets above on purpose: an hour too many costs a few rows, and an hour too few would lose rows.
 */
export const FURTHEST_OFFSET = 16 * 60

/** A moment: whole milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number & { readonly instant: unique symbol }

const isInstant = (ms: number): ms is Instant => Number.isSafeInteger(ms)

/** Brands whole milliseconds since the epoch (UTC). Throws a RangeError for other numbers. */
export function instant(ms: number): Instant {
  if (!isInstant(ms)) throw new RangeError(`not an instant: ${ms}`)
  return ms
}

/** ISO 8601 in UTC with milliseconds (G4). */
export function iso(at: Instant): string {
  return new Date(at).toISOString()
}

/** The same, or null for no moment. */
export const isoOrNull = (at: Instant | null): string | null => (at === null ? null : iso(at))

/** Reads a timestamp as the platform does. Returns null if the text can't be read. */
export function parseIso(text: string): Instant | null {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? null : instant(ms)
}

/** What `read` returns; null if it throws a RangeError, as Temporal does for texts and results it cannot take. */
function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

// Temporal reads more spellings, but at most nine digits of a second.
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:(\.\d{1,3})\d*)?(Z|[+-]\d\d:\d\d)$/i

/**
 * Reads a timestamp of RFC 3339, rounded down to the millisecond (G4). A leap second is the second before it.
 * Returns null for any other text.
 */
export function parseRfc3339(text: string): Instant | null {
  const [, time, fraction = '', offset] = RFC3339.exec(text) ?? []
  if (time === undefined) return null
  const at = orNull(() => instant(Temporal.Instant.from(`${time}${fraction}${offset}`).epochMilliseconds))
  // A leap second is the last one of a day in UTC.
  return at !== null && time.endsWith(':60') && !iso(at).includes('T23:59:59') ? null : at
}

/** The moment as a `Date`, for libraries. */
export function dateOf(at: Instant): Date {
  return new Date(at)
}

/** A calendar duration, such as a month and two hours. */
export type Duration = Temporal.Duration

// Temporal also reads lower case, a plus sign, and weeks beside other units.
const DURATION = /^-?P(?:\d+W|[\dYMDTHS.,]+)$/

/** Reads an ISO 8601 duration, such as `P1M` or `-PT1.5H`; null if the text is not one. */
export function parseDuration(text: string): Duration | null {
  return DURATION.test(text) ? orNull(() => Temporal.Duration.from(text)) : null
}

/** The sign of an ISO 8601 duration that is too large, such as `P99999999999Y`; null if it is not one. */
export function signOfOversized(text: string): number | null {
  const small = text.replaceAll(/[.,]?\d+/g, (digits) => (/^\d/.test(digits) ? '1' : digits))
  return parseDuration(small)?.sign ?? null
}

/**
 * Adds a duration to a moment, counted in UTC: a month ends on the same day of the next month, or on its last
 * day. Fractions of a millisecond are dropped. Returns null if the result is out of range.
 */
export function later(at: Instant, duration: Duration): Instant | null {
  const start = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO('UTC')
  return orNull(() => instant(start.add(duration).epochMilliseconds))
}
