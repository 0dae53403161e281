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

/** Reads an ISO 8601 timestamp with an offset. Returns null if the text can't be read. */
export function parseIso(text: string): Instant | null {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? null : instant(ms)
}

/** The moment as a `Date`, for libraries. */
export function dateOf(at: Instant): Date {
  return new Date(at)
}
