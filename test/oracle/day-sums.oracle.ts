/** Rule P12 alone: a plain sum over a log. Imports nothing from the service. */

/**
 * An entry of a log: its time in milliseconds, the user's offset in minutes ahead of UTC, and the change of
 * the total.
 */
export type Entry = { at: number; utcOffset: number; change: number }

/** The sums of the entries by local day (days since 1970-01-01), without sums of 0. */
export function plainSums(entries: readonly Entry[]): Map<number, number> {
  const sums = new Map<number, number>()
  for (const { at, utcOffset, change } of entries) {
    const day = Math.floor((at + utcOffset * 60_000) / 86_400_000)
    sums.set(day, (sums.get(day) ?? 0) + change)
  }
  return withoutZeros(sums)
}

export const withoutZeros = (sums: ReadonlyMap<number, number>) =>
  new Map([...sums].filter(([, change]) => change !== 0).sort(([a], [b]) => a - b))
