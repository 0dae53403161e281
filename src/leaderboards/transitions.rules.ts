import type { Leaderboard } from '../configuration/configuration.types'
import type { Instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { civilDate, civilDateAt, dayOf } from '../lib/zone'
import { beginsAt } from '../rules/runs.rules'

type Status = Leaderboard['status']

/** Today's date in UTC. It decides whether a start or an end is in the past or the future (L7). */
export const today = (now: Instant) => civilDateAt(now, 0)

/**
 * The status that a change asks for (L7): the one that it names. If it names none and sets a start in the
 * future on an inactive leaderboard, `scheduled`. Otherwise the present status.
 */
export function statusWanted(
  from: Status,
  { status, start }: { status?: Status | undefined; start?: string | undefined },
  now: Instant,
): Status {
  if (status !== undefined) return status
  return from === 'inactive' && start !== undefined && start > today(now) ? 'scheduled' : from
}

/**
 * The leaderboard after a move from its present status, or the reason why the move is illegal (L7). A move to
 * the present status changes nothing. Finishing by hand is final at once, and the moment is stored.
 */
export function moved(board: Leaderboard, from: Status, to: Status, now: Instant): Leaderboard | string {
  if (from === to) return board
  const problem = moveProblem(board, from, to, now)
  if (problem !== null) return problem
  return { ...board, status: to, finished: to === 'finished' ? now : null }
}

/** Why a leaderboard can't move from one status to another, or null (L7). */
function moveProblem(board: Leaderboard, from: Status, to: Status, now: Instant): string | null {
  if (from === 'finished') {
    return `The leaderboard is finished for good and can't become ${to}. Create another one instead.`
  }
  switch (to) {
    case 'inactive':
      return null
    case 'active':
      return from === 'scheduled' ? notYet(board) : activationProblem(board, now)
    case 'scheduled':
      return from === 'active' ? NOT_BACK : schedulingProblem(board, now)
    case 'finished':
      if (from === 'active') return null
      return from === 'scheduled' ? NOT_BEGUN : finishingProblem(board, now)
    default:
      return unreachable(to)
  }
}

const NOT_BACK =
  "An active leaderboard can't become scheduled. Make it inactive first, and then set a start in the future."
const NOT_BEGUN =
  "A scheduled leaderboard can't be finished, since it has not begun. Make it inactive, or delete it."

const notYet = ({ start }: Leaderboard) =>
  `A scheduled leaderboard becomes active by itself when its start, ${start}, begins. Wait for that, or make it inactive and set an earlier start.`

function activationProblem({ start }: Leaderboard, now: Instant): string | null {
  if (now >= beginsAt({ start: dayOf(civilDate(start)) })) return null
  return `The start, ${start}, is in the future, so the leaderboard can't be active yet. Make it scheduled, and it becomes active by itself.`
}

function schedulingProblem({ start }: Leaderboard, now: Instant): string | null {
  if (start > today(now)) return null
  return `The start, ${start}, is not in the future, so the leaderboard can't be scheduled. Make it active, or set a later start.`
}

function finishingProblem({ end }: Leaderboard, now: Instant): string | null {
  if (end !== null && end < today(now)) return null
  return 'An inactive leaderboard can be finished only when its end is past. Set an end before today, or make it active first.'
}
