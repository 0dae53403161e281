import { BUCKETS } from '../../lib/ids'
import type { Directory as WholeDirectory } from '../../platform/databases/directory'

type Directory = Pick<WholeDirectory, 'places'>

/** Which buckets a move takes, from `first` to `last`, and between which databases. */
export type Range = { source: string; target: string; first: number; last: number }

/** Numbers by the name of a database. */
export type ByName = Readonly<Record<string, number>>

/** The runs of buckets of a directory, each with its last bucket. */
export const runsOf = ({ places }: Directory) =>
  places.map(([first, name], index) => ({
    name,
    first,
    last: (places[index + 1]?.[0] ?? BUCKETS) - 1,
  }))

/** The number of buckets that each database of a directory holds. */
export function heldBy(directory: Directory): ByName {
  const held: Record<string, number> = {}
  for (const { name, first, last } of runsOf(directory)) held[name] = (held[name] ?? 0) + last - first + 1
  return held
}

/**
 * The number of buckets that each database should hold, by weight: whole shares, and the rest to those with
 * the largest remainders. If remainders are equal, a database that holds more keeps more, so that as few
 * buckets as possible move. Null if no weight is above 0.
 */
export function wantedBy(names: readonly string[], weights: ByName, held: ByName): ByName | null {
  const most = Math.max(...names.map((name) => weights[name] ?? 1))
  if (!(most > 0)) return null
  // A sum of huge weights would be infinite.
  const weightOf = (name: string) => (weights[name] ?? 1) / most
  const sum = names.reduce((total, name) => total + weightOf(name), 0)
  const shares = names.map((name) => {
    const exact = (weightOf(name) / sum) * BUCKETS
    return { name, whole: Math.floor(exact), rest: exact - Math.floor(exact) }
  })
  let left = BUCKETS - shares.reduce((total, { whole }) => total + whole, 0)
  const wanted: Record<string, number> = Object.fromEntries(shares.map(({ name, whole }) => [name, whole]))
  const order = shares
    .filter(({ name }) => weightOf(name) > 0)
    .sort((a, b) =>
      Math.abs(b.rest - a.rest) > 1e-9 ? b.rest - a.rest : (held[b.name] ?? 0) - (held[a.name] ?? 0),
    )
  for (const { name } of order) {
    if (left === 0) break
    wanted[name] = (wanted[name] ?? 0) + 1
    left -= 1
  }
  return wanted
}

/**
 * The buckets that move next: from the database with the most buckets too many to the one with the most too
 * few, from the end of its last run. Null if each database holds as many as it should.
 */
export function nextRange(directory: Directory, wanted: ByName): Range | null {
  const held = heldBy(directory)
  const names = [...new Set([...Object.keys(held), ...Object.keys(wanted)])]
  const tooMany = names
    .map((name) => ({ name, by: (held[name] ?? 0) - (wanted[name] ?? 0) }))
    .sort((a, b) => b.by - a.by)
  const [source, target] = [tooMany[0], tooMany.at(-1)]
  if (source === undefined || target === undefined || source.by <= 0) return null
  const run = runsOf(directory).findLast(({ name }) => name === source.name)
  if (run === undefined) return null
  const count = Math.min(source.by, -target.by, run.last - run.first + 1)
  return { source: source.name, target: target.name, first: run.last - count + 1, last: run.last }
}

/** The places after a move: adjacent runs of one database become one. */
export function placesAfter(directory: Directory, { target, first, last }: Range): [number, string][] {
  const runs = runsOf(directory).flatMap((run) => [
    { name: run.name, first: run.first, last: Math.min(run.last, first - 1) },
    { name: run.name, first: Math.max(run.first, last + 1), last: run.last },
  ])
  const all = [...runs, { name: target, first, last }]
    .filter((run) => run.first <= run.last)
    .sort((a, b) => a.first - b.first)
  const places: [number, string][] = []
  for (const run of all) if (places.at(-1)?.[1] !== run.name) places.push([run.first, run.name])
  return places
}
