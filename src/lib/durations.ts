import { Temporal } from 'temporal-polyfill'
import { type Instant, instant } from './clock'

/** A calendar duration, such as a month and two hours. */
export type Duration = Temporal.Duration

/**
 * Reads an ISO 8601 duration, such as `P1M` or `PT1.5H`; null if the text is not a duration. A duration may
 * be negative.
 */
export function parseDuration(text: string): Duration | null {
  try {
    return Temporal.Duration.from(text)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * The sign of an ISO 8601 duration that is too large to be read, such as `P99999999999Y`. Null if the text is
 * not a duration.
 */
export function signOfOversized(text: string): number | null {
  const small = text.replaceAll(/[.,]?\d+/g, (digits) => (/^\d/.test(digits) ? '1' : digits))
  return parseDuration(small)?.sign ?? null
}

/**
 * Adds a duration to a moment, counted in UTC: a month ends on the same day of the next month, or on its last
 * day. Fractions of a millisecond are dropped. Returns null if the result is out of range.
 */
export function later(at: Instant, duration: Duration): Instant | null {
  try {
    const start = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO('UTC')
    return instant(start.add(duration).epochMilliseconds)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
