/** A moment: whole milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number & { readonly instant: unique symbol }

const isInstant = (ms: number): ms is Instant => Number.isSafeInteger(ms)

/** Brands whole milliseconds since the epoch (UTC); throws a RangeError on anything else. */
export function instant(ms: number): Instant {
  if (!isInstant(ms)) throw new RangeError(`not an instant: ${ms}`)
  return ms
}

/** The machine's time. Everything else takes `now` as an argument; with the test clock set it is not this (C1). */
export function systemNow(): Instant {
  return instant(Date.now())
}

/** ISO 8601 in UTC with milliseconds (G4). */
export function iso(at: Instant): string {
  return new Date(at).toISOString()
}

/** Reads an ISO 8601 timestamp that names its offset; null when it is none. */
export function parseIso(text: string): Instant | null {
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? null : instant(ms)
}

/** The moment as libraries take it. */
export function dateOf(at: Instant): Date {
  return new Date(at)
}

/** Waits in real time, whatever the test clock says. */
export function wait(ms: number): Promise<void> {
  return scheduler.wait(ms)
}
