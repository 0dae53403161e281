import * as z from 'zod'
import type { Run } from '../../rules/runs.rules'
import type { Row } from '../board.types'
import type { Fact, Place } from '../notify/board-events.messages'
import {
  type BoardPosition,
  compared,
  isSame,
  joined,
  listens,
  sentListOf,
  TOP,
} from '../notify/board-events.rules'
import type { BoardEventStore } from '../notify/board-events.store'
import type { BoardView } from './board-view.types'

/** The first places of a group in a run, in the order of L4 (W6). */
function topOf(board: BoardView, run: number, group: string): Place[] {
  return placesOf(board, run, group, TOP)
}

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

/** The present place of a score in its group; null if it is not ranked. */
export function positionOf({ rankings, served }: BoardView, row: Row | null): BoardPosition {
  const rank = rankings.rankOf(row)
  return row === null || rank === null ? null : { rank, group: row.group, value: served(row.score) }
}

/**
 * The differences between the runs that are not final and the last sent lists, for the types that webhooks
 * listen to (W5). They count as sent from then on. It writes one row for each group with changed first
 * places, and one for each group with a changed rank.
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

/** The groups that have ranks, or had some in the last sent lists, in order. */
const groupsOf = (board: BoardView, sent: BoardEventStore, what: 'tops' | 'ranks', { start }: Run) =>
  [...new Set([...board.store.groups(start), ...sent.groups(start, what)])].sort()

function topChanges(board: BoardView, sent: BoardEventStore, run: Run): Fact[] {
  return groupsOf(board, sent, 'tops', run).flatMap((group): Fact[] => {
    const top = topOf(board, run.start, group)
    if (isSame(sent.list(run.start, 'tops', group), top)) return []
    sent.setSent(run.start, 'tops', group, sentListOf(top))
    return [{ type: 'leaderboard.changed', run, group: named(board, group), top }]
  })
}

function rankChanges(board: BoardView, sent: BoardEventStore, run: Run): Fact[] {
  const moves = groupsOf(board, sent, 'ranks', run).flatMap((group) => {
    const present = placesOf(board, run.start, group)
    const { moves, list } = compared(sent.list(run.start, 'ranks', group), present)
    // If only erased users were in a group, its list is deleted.
    if (moves.length > 0 || list.length === 0) sent.setSent(run.start, 'ranks', group, list)
    return moves.map((move) => ({ ...move, group: named(board, group) }))
  })
  return joined(moves).map((move) => ({ type: 'leaderboard.rank_changed', run, ...move }))
}

/**
 * The finished events of a run: one fact for each group with ranks, or one for the run if it has none (W6).
 */
export function endOf(board: BoardView, run: Run, series: number): Fact[] {
  const groups = board.store
    .groups(run.start)
    .map((group) => ({ group: named(board, group), top: topOf(board, run.start, group) }))
    .filter(({ top }) => top.length > 0)
  const ends = groups.length > 0 ? groups : [{ group: [], top: [] }]
  return ends.map((end) => ({ type: 'leaderboard.finished', run, ...end, series }))
}

/**
 * If webhooks begin to listen to a type, the present state counts as sent. If none listens any more, the sent
 * lists are deleted.
 */
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
      if (begins('leaderboard.changed'))
        sent.setSent(run, 'tops', group, sentListOf(topOf(board, run, group)))
      if (begins('leaderboard.rank_changed'))
        sent.setSent(run, 'ranks', group, sentListOf(placesOf(board, run, group)))
    }
  }
}
