import { type Leaderboard, MOST_RUNNING_LEADERBOARDS } from '../../config/configuration.types'
import { type Schedule, statusOf } from '../../engine/runs.rules'
import type { Instant } from '../../lib/clock'

/** The most leaderboards that one request asks, since each is a call, of which the platform allows a request only so many. All active ones are among them. */
const MOST_ASKED = MOST_RUNNING_LEADERBOARDS

/** The leaderboards that a request about all of them asks, in order of creation: the active ones and, as far as there is room, the newest finished ones. */
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
