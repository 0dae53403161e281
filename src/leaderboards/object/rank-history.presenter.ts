import type * as z from 'zod'
import { LAST_DAY } from '../../lib/periods'
import { lastDayOf, nearestRun, type Run } from '../../rules/runs.rules'
import type { BestReply, BestRequest, PlaceReply, PlaceRequest } from '../board.messages'
import type { Score } from '../score.rules'
import type { Board } from './board.model'

type Place = z.output<typeof PlaceReply>
type Best = z.output<typeof BestReply>

/** A user's place in one run, and the last days on which it had changed (L10). */
export function readPlace(
  board: Board,
  {
    run,
    userId,
    iid,
    numEvents,
  }: Pick<z.output<typeof PlaceRequest>, 'run' | 'userId' | 'iid' | 'numEvents'>,
): Place {
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
  return { ...present, history: newest([...past.reverse(), ...today], numEvents) }
}

const newest = <T>(list: readonly T[], count: number) => list.slice(Math.max(0, list.length - count))

/** A user's place in a run at the end of a day, and from then on. A rank of null means not ranked. */
type Stand = { day: number; rank: number | null; score: Score | null }

/**
 * A user's best rank at the end of any day of each period, over all runs that the period meets, with its
 * value. Of equal ranks, the earliest counts (R1). Days before the oldest day in a run's history are unknown
 * (L10).
 */
export function readBest(
  board: Board,
  { periods, ...user }: Pick<z.output<typeof BestRequest>, 'userId' | 'iid' | 'today' | 'periods'>,
): Best {
  const from = Math.min(...periods.map(([first]) => first))
  const to = Math.max(...periods.map(([, last]) => last))
  const courses = coursesOf(board, user, runsBetween(board, from, to))
  return periods.map(([first, last]) => {
    let best: Best[number] = null
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
  { userId, iid, today }: Pick<z.output<typeof BestRequest>, 'userId' | 'iid' | 'today'>,
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
