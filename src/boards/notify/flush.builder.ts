import * as z from 'zod'
import type { Run } from '../../engine/runs.rules'
import type { Row } from '../board.types'
import type { BoardView } from '../object/board-view.types'
import type { Fact, Place } from './board-events.messages'
import { type BoardPosition, compared, isSame, joined, listens, sentListOf, TOP } from './board-events.rules'
import type { BoardEventStore } from './board-events.store'

/** The first places of a group in a run, in L4's order (W6). */
function topOf(board: BoardView, run: number, group: string): Place[] {
  return placesOf(board, run, group, TOP)
}

/** The places of a group in a run, all of them or the first. */
function placesOf({ rankings, served }: BoardView, run: number, group: string, limit?: number): Place[] {
  const { entries } = rankings.of(run, group)
  return entries
    .slice(0, limit)
    .map(({ userId, iid, score }, index) => [userId, iid, index + 1, served(score)])
}

const Values = z.array(z.string())

/** A group as a fact names it, from its values as JSON. */
const named = ({ definition: { breakdown } }: BoardView, group: string): [string, string][] =>
  Values.parse(JSON.parse(group)).map((value, index) => [breakdown[index] ?? '', value])

/** Where a score stands at present in its group, as far as it may be told. */
export function positionOf({ rankings, served }: BoardView, row: Row | null): BoardPosition {
  const rank = rankings.rankOf(row)
  return row === null || rank === null ? null : { rank, group: row.group, value: served(row.score) }
}

/**
 * What of the runs that aren't final is other than was last told to those who listen (W5), which counts as told from then on. One row
 * written for each group whose first places have changed, and one for each in which a rank has.
 */
export function changesOf(board: BoardView, sent: BoardEventStore, listened: readonly string[]): Fact[] {
  const { openFrom } = board.progress
  const starts = new Set([...board.store.openRuns(openFrom), ...sent.runs(openFrom)])
  return [...starts].flatMap((start) => {
    const run = board.runHolding(start)
    if (run === null) return []
    return [
      ...(listens(listened, 'leaderboard.changed') ? topChanges(board, sent, run) : []),
      ...(listens(listened, 'leaderboard.rank_changed') ? rankChanges(board, sent, run) : []),
    ]
  })
}

/** The groups that have ranks, or had some when they were last told, in order. */
const groupsOf = (board: BoardView, sent: BoardEventStore, what: 'tops' | 'ranks', { start }: Run) =>
  [...new Set([...board.store.groups(start), ...sent.groups(start, what)])].sort()

function topChanges(board: BoardView, sent: BoardEventStore, run: Run): Fact[] {
  return groupsOf(board, sent, 'tops', run).flatMap((group): Fact[] => {
    const top = topOf(board, run.start, group)
    if (isSame(sent.list(run.start, 'tops', group), top)) return []
    sent.tell(run.start, 'tops', group, sentListOf(top))
    return [{ type: 'leaderboard.changed', run, group: named(board, group), top }]
  })
}

function rankChanges(board: BoardView, sent: BoardEventStore, run: Run): Fact[] {
  const moves = groupsOf(board, sent, 'ranks', run).flatMap((group) => {
    const present = placesOf(board, run.start, group)
    const { moves, list } = compared(sent.list(run.start, 'ranks', group), present)
    // Of a group that only erased users were in, nothing stays.
    if (moves.length > 0 || list.length === 0) sent.tell(run.start, 'ranks', group, list)
    return moves.map((move) => ({ ...move, group: named(board, group) }))
  })
  return joined(moves).map((move) => ({ type: 'leaderboard.rank_changed', run, ...move }))
}

/** How a run ends: one fact for each group with ranks, or a single one for the run if it has none (W6). */
export function endOf(board: BoardView, run: Run): Fact[] {
  const groups = board.store
    .groups(run.start)
    .map((group) => ({ group: named(board, group), top: topOf(board, run.start, group) }))
    .filter(({ top }) => top.length > 0)
  const ends = groups.length > 0 ? groups : [{ group: [], top: [] }]
  return ends.map((end) => ({ type: 'leaderboard.finished', run, ...end }))
}

/** Takes how things stand for told where somebody begins to listen, and forgets what was told where nobody does any more. */
export function rebase(
  board: BoardView,
  sent: BoardEventStore,
  { before, after }: { before: readonly string[]; after: readonly string[] },
): void {
  const begins = (type: Parameters<typeof listens>[1]) => listens(after, type) && !listens(before, type)
  const ends = (type: Parameters<typeof listens>[1]) => listens(before, type) && !listens(after, type)
  if (ends('leaderboard.changed')) sent.forget('tops')
  if (ends('leaderboard.rank_changed')) sent.forget('ranks')
  for (const run of board.store.openRuns(board.progress.openFrom)) {
    for (const group of board.store.groups(run)) {
      if (begins('leaderboard.changed')) sent.tell(run, 'tops', group, sentListOf(topOf(board, run, group)))
      if (begins('leaderboard.rank_changed'))
        sent.tell(run, 'ranks', group, sentListOf(placesOf(board, run, group)))
    }
  }
}
