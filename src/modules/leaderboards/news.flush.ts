import type { Board } from './board'
import type { Row } from './board.store'
import type { Fact, Place } from './news.messages'
import {
  compared,
  isSame,
  isStill,
  joined,
  listens,
  type Standing,
  TOP,
  toldOf,
  withTold,
} from './news.rules'
import { ALL, type NewsStore } from './news.store'
import { compareEntries } from './ranking'
import type { Run } from './runs.rules'

/** The first of a run, all groups together, in L4's order (W6). */
export function topOf({ store, rankings, places, served }: Board, run: number): Place[] {
  const first = store.groups(run).flatMap((group) => rankings.of(run, group).entries.slice(0, TOP))
  return first
    .toSorted(compareEntries)
    .slice(0, Math.min(TOP, places))
    .map(({ userId, iid, score }, index) => [userId, iid, index + 1, served(score)])
}

function placesOf({ rankings, served }: Board, run: number, group: string): Place[] {
  const { entries } = rankings.of(run, group)
  return entries.map(({ userId, iid, score }, index) => [userId, iid, index + 1, served(score)])
}

/** Where a score stands at present, as far as it may be told. */
export function standingOf({ rankings, definition, served }: Board, row: Row | null): Standing {
  const rank = rankings.rankOf(row)
  if (row === null || rank === null) return null
  const { group, score, reached } = row
  return { rank, group, measure: definition.breakdown.length > 0 ? `${score} ${reached}` : served(score) }
}

/**
 * What of the runs that aren't final is other than was last told to those who listen (W5), which counts as told from then on. One row
 * written for the first of all, and one for each group in which a rank is another one.
 */
export function changesOf(board: Board, told: NewsStore, listened: readonly string[]): Fact[] {
  const { openFrom } = board.progress
  const starts = new Set([...board.store.openRuns(openFrom), ...told.runs(openFrom)])
  return [...starts].flatMap((start) => {
    const run = board.runHolding(start)
    if (run === null) return []
    return [
      ...(listens(listened, 'leaderboard.changed') ? topChange(board, told, run) : []),
      ...(listens(listened, 'leaderboard.rank_changed') ? rankChanges(board, told, run) : []),
    ]
  })
}

function topChange(board: Board, told: NewsStore, run: Run): Fact[] {
  const top = topOf(board, run.start)
  if (isSame(told.list(run.start, ALL), top)) return []
  told.tell(run.start, ALL, toldOf(top))
  return [{ type: 'leaderboard.changed', run, top }]
}

function rankChanges(board: Board, told: NewsStore, run: Run): Fact[] {
  const groups = new Set([...board.store.groups(run.start), ...told.groups(run.start)])
  const others = [...groups].flatMap((group) => {
    const { moves, list } = compared(told.list(run.start, group), placesOf(board, run.start, group))
    return moves.length === 0 ? [] : [{ group, moves, list }]
  })
  const moves = joined(others.flatMap((other) => other.moves))
  for (const { group, list } of others) told.tell(run.start, group, withTold(list, moves))
  const moved = [...moves.values()].filter((move) => !isStill(move))
  return moved.map((move) => ({ type: 'leaderboard.rank_changed', run, ...move }))
}

/** Takes how things stand for told where somebody begins to listen, and forgets what was told where nobody does any more. */
export function rebase(
  board: Board,
  told: NewsStore,
  { before, after }: { before: readonly string[]; after: readonly string[] },
): void {
  const begins = (type: Parameters<typeof listens>[1]) => listens(after, type) && !listens(before, type)
  const ends = (type: Parameters<typeof listens>[1]) => listens(before, type) && !listens(after, type)
  if (ends('leaderboard.changed')) told.forget('tops')
  if (ends('leaderboard.rank_changed')) told.forget('ranks')
  for (const run of board.store.openRuns(board.progress.openFrom)) {
    if (begins('leaderboard.changed')) told.tell(run, ALL, toldOf(topOf(board, run)))
    if (!begins('leaderboard.rank_changed')) continue
    for (const group of board.store.groups(run)) told.tell(run, group, toldOf(placesOf(board, run, group)))
  }
}
