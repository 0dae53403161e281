import type { Leaderboard } from '../configuration/configuration.types'
import type { Instant } from '../lib/clock'
import { MOST_RUNNING_LEADERBOARDS } from '../lib/limits'
import { type Schedule, statusOf } from '../rules/runs.rules'

/** The most leaderboards that one request calls: the platform limits calls. All active ones fit. */
const MOST_ASKED = MOST_RUNNING_LEADERBOARDS

/**
 * The leaderboards that a request about all of them calls, in order of creation: all active ones and, if
 * there is room, the newest finished ones.
 */
export function askedAtOnce<B extends Schedule & Pick<Leaderboard, 'status'>>(
  boards: readonly B[],
  now: Instant,
  { includeFinished }: { includeFinished: boolean },
): B[] {
  const having = (status: Leaderboard['status']) => boards.filter((board) => statusOf(board, now) === status)
  const active = having('active')
  const finished = includeFinished ? having('finished') : []
  const room = Math.max(0, MOST_ASKED - active.length)
  const asked = new Set([...active, ...finished.slice(Math.max(0, finished.length - room))])
  return boards.filter((board) => asked.has(board))
}
