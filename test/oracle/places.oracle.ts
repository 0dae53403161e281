import {
  DAY,
  holds,
  localAt,
  MINUTE,
  midnight,
  type OracleRun,
  plusDays,
  runsUpTo,
  utcDate,
} from './calendar.oracle'
import {
  attributesOf,
  counts,
  extent,
  matches,
  maxOf,
  type OracleBoard,
  ranking,
  type View,
  type Wanted,
} from './leaderboards.oracle'

/** The leaderboard data of single users (L5, L6, L10, L11), from the oracle's rankings alone. */

/** Every full set of values of the breakdown attributes that a user who takes part has had. */
export function groupsOf(board: OracleBoard, { log }: View): Wanted[] {
  const groups = new Map<string, Wanted>()
  for (const [index, one] of log.entries()) {
    if (one.kind !== 'profile') continue
    const group = groupOf(board, attributesOf(log.slice(0, index + 1)).get(one.user) ?? {})
    if (group !== null) groups.set(JSON.stringify(group), group)
  }
  return [...groups.values()]
}

function groupOf(
  { breakdown, filters }: OracleBoard,
  attributes: Readonly<Record<string, string>>,
): [string, string][] | null {
  if (!matches(attributes, filters)) return null
  const group = breakdown.flatMap((key): [string, string][] => {
    const value = attributes[key]
    return value === undefined ? [] : [[key, value]]
  })
  return group.length === breakdown.length ? group : null
}

/** A user's place in a run. `group` is null if the user lacks a breakdown attribute, or does not take part. */
export type Place = { group: Wanted | null; rank: number | null; value: number | null; threshold: number }

export function placeOf(board: OracleBoard, run: OracleRun, view: View, user: string): Place {
  const log = view.log.slice(0, extent(board, run, view))
  const group = groupOf(board, attributesOf(log).get(user) ?? {})
  if (group === null) return { group, rank: null, value: null, threshold: 0 }
  const ranked = ranking(board, run, view, group)
  const own = ranked.find(({ userId }) => userId === user)
  const last = ranked.length === maxOf(board, log) ? ranked.at(-1) : undefined
  return { group, rank: own?.rank ?? null, value: own?.value ?? null, threshold: last?.value ?? 0 }
}

/** The change of a user's score in a run by the inputs from an index on (L11). */
export function added(board: OracleBoard, run: OracleRun, view: View, user: string, since: number): bigint {
  return view.log.slice(since, extent(board, run, view)).reduce((sum, one) => {
    if (one.kind !== 'change' || one.user !== user || one.of !== board.of) return sum
    return counts(board, run, one.at, one.offset) ? sum + one.millionths : sum
  }, 0n)
}

/** One read of a leaderboard: the run that holds a date, and the matching groups. */
export type Reading = { date: string; wanted: Wanted }

/**
 * The reads that show a whole leaderboard now. They cover the newest runs that can hold a change. Each run is
 * read for every group, for each value of one attribute of several, and for a value that no user has.
 */
export function readingsOf(board: OracleBoard, { log, now }: View, newest: number): Reading[] {
  const latest = utcDate(now + 14 * 60 * MINUTE)
  const dates = log.flatMap((one) =>
    one.kind === 'change' && one.of === board.of ? [localAt(one.at, one.offset).date] : [],
  )
  const runs = runsUpTo(board, latest).filter((run) => dates.some((date) => holds(run, date)))
  const groups = groupsOf(board, { log, now })
  const parts = new Map(groups.flat().map((pair) => [JSON.stringify(pair), [pair]]))
  const wanteds: Wanted[] =
    board.breakdown.length === 0
      ? [[]]
      : [
          ...groups,
          ...(board.breakdown.length > 1 ? parts.values() : []),
          // Rarely, because these reads are empty.
          ...(log.length % 8 === 0 ? [board.breakdown.map((key) => [key, 'nobody'] as const)] : []),
        ]
  return runs.slice(-newest).flatMap((run, index) => {
    // A run is named by its first day, its last day, or the day after its first.
    const last = run.end === null || run.end > latest ? latest : run.end
    const days = [run.start, plusDays(run.start, 1), last].filter((date) => date <= last)
    const date = days[(index + dates.length) % days.length] ?? last
    return wanteds.map((wanted) => ({ date, wanted }))
  })
}

export type Day = {
  date: string
  timestamp: string
  previousRank: number | null
  rank: number | null
  previousValue: number | null
  value: number | null
}

/**
 * L10: the days at whose end rank or value differed from the entry before, oldest first. Today's entry is
 * live.
 */
export function history(board: OracleBoard, run: OracleRun, view: View, user: string, last: number): Day[] {
  const days: Day[] = []
  let [previousRank, previousValue]: [number | null, number | null] = [null, null]
  // Days without inputs change nothing.
  for (const date of new Set(view.log.map(({ at }) => utcDate(at)))) {
    const end = midnight(date) + DAY
    const asOf = { ...view, now: end, log: view.log.filter(({ at }) => at < end) }
    const { rank, value } = placeOf(board, run, asOf, user)
    if (rank === previousRank && value === previousValue) continue
    days.push({ date, timestamp: `${date}T00:00:00.000Z`, previousRank, rank, previousValue, value })
    previousRank = rank
    previousValue = value
  }
  return last === 0 ? [] : days.slice(-last)
}
