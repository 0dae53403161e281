/** The classes of streak lengths, from `from` to `to` (I1). The last one has no end. */
export const STREAK_CLASSES = [
  { from: 0, to: 0 },
  { from: 1, to: 1 },
  { from: 2, to: 6 },
  { from: 7, to: 29 },
  { from: 30, to: 99 },
  { from: 100, to: null },
] as const

/** The lengths of the windows in which active users are counted, in days (I1). */
export const WINDOWS = { day: 1, week: 7, month: 30 } as const
export const LONGEST_WINDOW = WINDOWS.month

/** A day before all others. */
export const EVER = -1_000_000

/** Users by day, and by day and a part of it. */
type ByDay = ReadonlyMap<number, number>
type ByDayAndPart = ReadonlyMap<number, ByDay>

type DayNumber = { day: number; amount: number }

/** The sums of the rows by a part of them. */
export function sumsBy<K, Row extends DayNumber>(
  rows: readonly Row[],
  keyOf: (row: Row) => K,
): Map<K, number> {
  const sums = new Map<K, number>()
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.amount)
  return sums
}

/** The sums of the rows by local day. */
export const byDay = (rows: readonly DayNumber[]): Map<number, number> => sumsBy(rows, ({ day }) => day)

/** The sums of the rows by local day, and by a part of them. */
export const byDayAnd = <K, Row extends DayNumber>(
  rows: readonly Row[],
  keyOf: (row: Row) => K,
): Map<number, Map<K, number>> =>
  new Map([...Map.groupBy(rows, ({ day }) => day)].map(([day, some]) => [day, sumsBy(some, keyOf)]))

/**
 * The number of different users who were active in the `window` days that end with `last`. `active` is by
 * day, and `gaps` says for how many of these the last active day before was 1, 2, … days earlier. A user counts
 * on the first day in the window: users with an earlier one in it are taken off.
 */
export function activeIn(
  { active, gaps }: { active: ByDay; gaps: ByDayAndPart },
  last: number,
  window: number,
): number {
  let users = 0
  for (let day = last - window + 1; day <= last; day += 1) {
    users += active.get(day) ?? 0
    const inside = day - (last - window + 1)
    for (const [gap, again] of gaps.get(day) ?? []) if (gap <= inside) users -= again
  }
  return users
}

/** Users whose day N after the creation is over by a day, and how many of them were active on it. */
export type Kept = { users: number; kept: number }

/**
 * How many users of the days of creation `first` to `last` were active again after 1, 7, 30 and `window` days.
 * Users whose day is after `last` do not count. `created` is by day of creation, and `kept` by N and that day.
 */
export function retentionOf(
  { created, kept }: { created: ByDay; kept: ByDayAndPart },
  { first, last, window }: { first: number; last: number; window: number },
): { users: number; d1: Kept; d7: Kept; d30: Kept; window: Kept & { days: number } } {
  const sum = (days: ByDay | undefined, until: number) => {
    let users = 0
    for (const [day, count] of days ?? []) if (day >= first && day <= until) users += count
    return users
  }
  const after = (n: number): Kept => ({
    users: sum(created, last - n),
    kept: sum(kept.get(n), last - n),
  })
  const shares = { d1: after(1), d7: after(7), d30: after(30), window: { days: window, ...after(window) } }
  return { users: sum(created, last), ...shares }
}

/** The running sums at the end of each day, from the changes by day. `before`: all earlier changes. */
export function runningSums(changes: ByDay, before: number, first: number, last: number): number[] {
  const sums: number[] = []
  for (let day = first, sum = before; day <= last; day += 1) {
    sum += changes.get(day) ?? 0
    sums.push(sum)
  }
  return sums
}
