import type * as z from 'zod'
import { MOST_RANK_HISTORY } from '../../lib/limits'
import { jsonBytes } from '../../lib/packed'
import type { HeldReply, HeldRequest } from '../board.messages'
import { exactValue, type Score } from '../score.rules'
import type { Board } from './board.model'

/** The most bytes of a user's data that one call returns, and the most runs. */
const MOST_HELD = 1_000_000
const MOST_RUNS = 1_000

/**
 * The stored data about a user: the score in each run, or in its final ranking, and the days on which the
 * rank had changed (U8). The first runs after `after`, as many as one call has room for.
 */
export function readHeld(
  board: Board,
  { userId, iid, after }: z.output<typeof HeldRequest>,
): z.output<typeof HeldReply> {
  const all = board.store.runsOfUser(userId, iid, after ?? Number.MIN_SAFE_INTEGER)
  const runs: HeldRuns = []
  let bytes = 0
  for (const run of all) {
    if (bytes > MOST_HELD || runs.length === MOST_RUNS) return { runs, hasMore: true }
    const held = heldIn(board, run, userId, iid)
    runs.push(held)
    bytes += jsonBytes(held)
  }
  return { runs, hasMore: false }
}

type HeldRuns = z.output<typeof HeldReply>['runs']

function heldIn(board: Board, run: number, userId: string, iid: string): HeldRuns[number] {
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
    reached: (final ?? row)?.reached ?? 0,
    history: store
      .history(run, iid, MOST_RANK_HISTORY)
      .toReversed()
      .map(({ day, rank, score }) => ({ day, rank, score: exact(score) })),
  }
}
