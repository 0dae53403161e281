/** A change, and how many users have made it. */
export type Count = readonly [change: number, users: number]

/** Different changes of one spread, and of all spreads of a year together, which one step holds; some each has in any case. */
const MOST_VALUES = 5_000
const MOST_IN_ALL = 1_000_000
const SOME_VALUES = 500

/** How many different changes each of so many spreads may have. */
export const mostValues = (distributions: number): number =>
  Math.max(SOME_VALUES, Math.min(MOST_VALUES, Math.floor(MOST_IN_ALL / distributions)))

/**
 * All counts together, ascending. Where there are more than so many different changes, neighbours count as one, until there are half
 * as many groups with as many users in each, or a single change: as that which most of them have made, so that what was grouped before
 * stays where it is. Of 300,000 users, all with changes of their own, nobody is out of place by 0.1 per cent then.
 */
export function merged(lists: readonly (readonly Count[])[], most: number): Count[] {
  const counts = new Map<number, number>()
  for (const list of lists)
    for (const [change, users] of list) counts.set(change, (counts.get(change) ?? 0) + users)
  const all = [...counts].sort(([one], [other]) => one - other)
  return all.length <= most ? all : grouped(all, Math.floor(most / 2))
}

function grouped(counts: readonly Count[], groups: number): Count[] {
  const total = counts.reduce((sum, [, users]) => sum + users, 0)
  const result: Count[] = []
  let [less, last, heaviest] = [0, -1, 0]
  for (const [change, users] of counts) {
    // By where the middle one of them stands.
    const group = Math.floor(((less + users / 2) * groups) / total)
    const [kept, some] = group === last ? (result.pop() ?? [change, 0]) : [change, 0]
    if (group !== last) heaviest = 0
    result.push([users > heaviest ? change : kept, some + users])
    heaviest = Math.max(heaviest, users)
    last = group
    less += users
  }
  return result
}

/** How the changes of so many users are spread: each different one with how many users have less. */
export type Distribution = { users: number; distribution: [change: number, less: number][] }

/** The spread of a subject among all who were active: who had nothing to do with it has changed it by 0 (R2). */
export function distributionOf(counts: readonly Count[], active: number): Distribution {
  const others = active - counts.reduce((sum, [, users]) => sum + users, 0)
  const all = merged([counts, others > 0 ? [[0, others]] : []], Number.POSITIVE_INFINITY)
  let less = 0
  const distribution = all.map(([change, users]): [number, number] => {
    const place: [number, number] = [change, less]
    less += users
    return place
  })
  return { users: active, distribution }
}
