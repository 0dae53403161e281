import type { Instant } from '../../lib/clock'
import { compareText } from '../../lib/ids'
import { MOST_RANK_HISTORY } from '../../lib/limits'
import { jsonBytes } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import { LAST_DAY, utcDay } from '../../lib/zone'
import { lastDayOf, nearestRun, type Run } from '../../rules/runs.rules'
import {
  type BestAsked,
  type BestFound,
  type GroupsAsked,
  type GroupsPage,
  groupOf,
  type HeldAsked,
  type HeldRun,
  type HeldRuns,
  type Page,
  type PageAsked,
  type PlaceAsked,
  type PlaceFound,
} from '../board'
import { exactValue, type Score } from '../score.rules'
import type { Board } from './board'
import type { GroupSize } from './ranking'

/**
 * The number of ranked users at the end of each UTC day, in the run that holds the date (I2). The last date
 * of a run counts until the run is final. Today has the present number; later days have 0.
 */
export function readParticipants(
  board: Board,
  { now, first, last }: { now: Instant; first: number; last: number },
): number[] {
  const today = utcDay(now)
  const counts = new Map<number, (day: number) => number>()
  const counterOf = (run: Run) => {
    const counter = counts.get(run.start) ?? counterFor(board, run)
    counts.set(run.start, counter)
    return counter
  }
  const numbers: number[] = []
  for (let day = first; day <= last; day += 1) {
    const run = day > today ? null : board.runHolding(day)
    numbers.push(run === null ? 0 : counterOf(run)(day))
  }
  return numbers
}

function counterFor(board: Board, run: Run): (day: number) => number {
  const { progress, store } = board
  const sizes = store.sizesOf(run.start)
  const present = board.isFinal(run.start) ? null : { day: progress.day ?? 0, users: rankedIn(board, run) }
  return (day) => {
    const isLast = day === run.end
    if (present !== null && (isLast || day >= present.day)) return present.users
    return sizes.findLast((size) => isLast || size.day <= day)?.users ?? 0
  }
}

function rankedIn({ definition, rankings, groupSizes, store, places }: Board, { start }: Run): number {
  const whole = definition.breakdown.length === 0 ? groupOf([]) : null
  if (whole !== null) return rankings.of(start, whole).entries.length
  const sizes = groupSizes.of(start, systemNow(), () => store.groupSizes(start, places, false))
  return sizes.reduce((sum, { users }) => sum + users, 0)
}

/** A user's place in one run, and the last days on which it had changed (L10). */
export function readPlace(board: Board, { run, userId, iid, numEvents }: PlaceAsked): PlaceFound {
  const { store, progress } = board
  const value = (score: Score | null) => (score === null ? null : board.served(score))
  const past = store.history(run, iid, numEvents).map(({ score, previousScore, ...rest }) => ({
    ...rest,
    value: value(score),
    previousValue: value(previousScore),
  }))
  if (board.isFinal(run)) {
    const end = board.definition.isHidden ? undefined : store.finalOf(run, iid)
    return { rank: end?.rank ?? null, value: value(end?.score ?? null), history: past.reverse() }
  }
  const row = store.ofUser(userId, iid).find((one) => one.run === run) ?? null
  const rank = board.rankings.rankOf(row)
  const present = { rank, value: rank === null || row === null ? null : value(row.score) }
  const last = store.standing(run, iid)
  const before = { rank: last?.rank ?? null, value: value(last?.score ?? null) }
  const hasChanged = present.rank !== before.rank || present.value !== before.value
  const today =
    hasChanged && progress.day !== null
      ? [{ day: progress.day, ...present, previousRank: before.rank, previousValue: before.value }]
      : []
  const all = [...past.reverse(), ...today]
  return { ...present, history: all.slice(Math.max(0, all.length - numEvents)) }
}

/** A user's place in a run at the end of a day, and from then on. A rank of null means not ranked. */
type Stand = { day: number; rank: number | null; score: Score | null }

/**
 * A user's best rank at the end of any day of each period, over all runs that the period meets, with its
 * value. Of equal ranks, the earliest counts (R1). Days before the oldest day in a run's history are unknown
 * (L10).
 */
export function readBest(board: Board, { periods, ...user }: BestAsked): BestFound {
  const from = Math.min(...periods.map(([first]) => first))
  const to = Math.max(...periods.map(([, last]) => last))
  const courses = coursesOf(board, user, runsBetween(board, from, to))
  return periods.map(([first, last]) => {
    let best: BestFound[number] = null
    for (const stands of courses) {
      // The rank that the user had at the end of the period's first day counts too.
      const brought = stands.findLast(({ day }) => day <= first)
      const within = stands.filter((one) => one === brought || (one.day >= first && one.day <= last))
      for (const { rank, score } of within) {
        if (rank === null || score === null || rank >= (best?.rank ?? Number.POSITIVE_INFINITY)) continue
        best = { rank, value: board.served(score) }
      }
    }
    return best
  })
}

function runsBetween({ definition, runHolding }: Board, from: number, to: number): Run[] {
  const runs: Run[] = []
  let run = from > (lastDayOf(definition) ?? LAST_DAY) ? null : nearestRun(definition, from)
  while (run !== null && run.start <= to) {
    runs.push(run)
    run = run.end === null ? null : runHolding(run.end + 1)
  }
  return runs
}

/**
 * A user's places in each of the runs, by day. Days before or after the dates of a run, which can occur in
 * UTC, count as its first or last day. A run that is over ends with a day without a rank.
 */
function coursesOf(
  { store, rankings, progress, isFinal }: Board,
  { userId, iid, today }: Omit<BestAsked, 'periods'>,
  runs: readonly Run[],
): Stand[][] {
  const history = Map.groupBy(
    store.course(
      runs.map(({ start }) => start),
      iid,
    ),
    ({ run }) => run,
  )
  const live = new Map(store.ofUser(userId, iid).map((row) => [row.run, row]))
  return runs.map(({ start, end }) => {
    const past = history.get(start) ?? []
    const stands: Stand[] = past.map(({ day, rank, score }) => ({ day, rank, score }))
    const [first] = past
    if (first !== undefined)
      stands.unshift({ day: first.day - 1, rank: first.previousRank, score: first.previousScore })
    const row = isFinal(start) ? undefined : live.get(start)
    // The present place counts for the user's present local day, even if that is yesterday in UTC.
    if (row !== undefined && progress.day !== null)
      stands.push({ day: Math.min(progress.day, today), rank: rankings.rankOf(row), score: row.score })
    const kept = stands.map((one) => ({ ...one, day: Math.max(start, Math.min(one.day, end ?? one.day)) }))
    return end === null ? kept : [...kept, { day: end + 1, rank: null, score: null }]
  })
}

/** A page of the ranking of one run: of one group, or of all groups that match, ranked together (L6, L9). */
export function readPage(board: Board, request: PageAsked): Page {
  const { offset, limit, userId } = request
  const ranked = board.isFinal(request.run) ? finals(board, request) : live(board, request)
  const place = userId === null ? 0 : ranked.findIndex((one) => one.userId === userId)
  if (place < 0) return []
  const first = Math.max(0, place + offset)
  return ranked.slice(first, first + limit).map((one, index) => ({
    userId: one.userId,
    iid: one.iid,
    rank: one.rank ?? first + index + 1,
    value: board.served(one.score),
  }))
}

/** A page of the groups of a run, the largest first, then by their values. Empty while hidden (S10). */
export function readGroups(board: Board, { run, after, limit }: GroupsAsked): GroupsPage {
  const { store, places, groupSizes } = board
  const isFinal = board.isFinal(run)
  const max = isFinal && places > 0 ? store.maxOf(run) : places
  const sizes = groupSizes.of(run, systemNow(), () => store.groupSizes(run, max, isFinal))
  const isAfter = ({ group, users }: GroupSize) =>
    after === null || users < after.users || (users === after.users && compareText(group, after.group) > 0)
  const first = sizes.findIndex(isAfter)
  const groups = first < 0 ? [] : sizes.slice(first, first + limit)
  return { groups, hasMore: first >= 0 && first + groups.length < sizes.length }
}

/** A ranked user. Without `rank`, the rank is the place in the list. */
type Ranked = { userId: string; iid: string; score: Score; rank?: number }
type Asked = Pick<PageAsked, 'run' | 'group'>

function live(board: Board, { run, group }: Asked): readonly Ranked[] {
  const whole = groupOf(group)
  return whole === null
    ? board.store.bestMatching(run, group, board.places)
    : board.rankings.of(run, whole).entries
}

/** A final ranking. An erased user's place stays empty: others keep theirs (U8). Empty while hidden (S10). */
function finals({ store, definition }: Board, { run, group }: Asked): Ranked[] {
  if (definition.isHidden) return []
  const whole = groupOf(group)
  const entries =
    whole === null ? store.finalsMatching(run, group, store.maxOf(run)) : store.finalGroup(run, whole)
  return entries.flatMap(({ userId, iid, score }, index) =>
    userId === null || iid === null ? [] : [{ userId, iid, score, rank: index + 1 }],
  )
}

/** The most bytes of a user's data that one call returns, and the most runs. */
const MOST_HELD = 1_000_000
const MOST_RUNS = 1_000

/**
 * The stored data about a user: the score in each run, or in its final ranking, and the days on which the
 * rank had changed (U8). The first runs after `after`, as many as one call has room for.
 */
export function readHeld(board: Board, { userId, iid, after }: HeldAsked): HeldRuns {
  const all = board.store.runsOfUser(userId, iid, after ?? Number.MIN_SAFE_INTEGER)
  const runs: HeldRun[] = []
  let bytes = 0
  for (const run of all) {
    if (bytes > MOST_HELD || runs.length === MOST_RUNS) return { runs, hasMore: true }
    const held = heldIn(board, run, userId, iid)
    runs.push(held)
    bytes += jsonBytes(held)
  }
  return { runs, hasMore: false }
}

function heldIn(board: Board, run: number, userId: string, iid: string): HeldRun {
  const { store, rankings, isFinal, runHolding, definition } = board
  const exact = (score: Score | null) => (score === null ? null : exactValue(score, definition.rankBy))
  const final = store.finalOf(run, iid)
  const row = store.ofUserIn(userId, iid, run) ?? null
  return {
    start: run,
    end: runHolding(run)?.end ?? null,
    isFinal: isFinal(run),
    group: (final ?? row)?.group ?? null,
    rank: final?.rank ?? (isFinal(run) ? null : rankings.rankOf(row)),
    score: exact((final ?? row)?.score ?? null),
    reached: Math.floor((final ?? row)?.reached ?? 0),
    history: store
      .history(run, iid, MOST_RANK_HISTORY)
      .toReversed()
      .map(({ day, rank, score }) => ({ day, rank, score: exact(score) })),
  }
}
