import type { Instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import { utcDay } from '../../lib/zone'
import type { Run } from '../../rules/runs.rules'
import { groupOf } from '../board.messages'
import type { Board } from './board.model'

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

/** Counts the ranked users of a run at the end of a day. */
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

/** The number of users who are ranked in a run that is not final. */
function rankedIn({ definition, rankings, groupSizes, store, places }: Board, { start }: Run): number {
  const whole = definition.breakdown.length === 0 ? groupOf([]) : null
  if (whole !== null) return rankings.of(start, whole).entries.length
  const sizes = groupSizes.of(start, systemNow(), () => store.groupSizes(start, places, false))
  return sizes.reduce((sum, { users }) => sum + users, 0)
}
