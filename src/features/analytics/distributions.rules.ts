/** A change, and how many users made it. */
export type Count = readonly [change: number, users: number]

/** Most different changes in memory, of a distribution and a year. Each may have at least `SOME_VALUES`. */
const MOST_VALUES = 5_000
const MOST_IN_ALL = 1_000_000
const SOME_VALUES = 500

/** The most different changes of each distribution, by the number of distributions. */
export const mostValues = (distributions: number): number =>
  Math.max(SOME_VALUES, Math.min(MOST_VALUES, Math.floor(MOST_IN_ALL / distributions)))

/**
 * Joins lists of counts, ascending. If there are more than `most` different changes, joins neighbours to at
 * most half as many groups, with about the same number of users each. A group gets the change that most of
 * its users made, so earlier groups keep their place. If 300,000 users all have different changes, no user is
 * off by 0.1 percentage points.
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
    // The group is decided by the middle user with this change.
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

/** The distribution of the changes of `users` users: each different change, and how many users have less. */
export type Distribution = { users: number; distribution: [change: number, less: number][] }

/** The distribution of a subject among all active users. Users without a change count as 0 (R2). */
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
