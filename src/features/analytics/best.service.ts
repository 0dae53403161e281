import type * as z from 'zod'
import { leaderboardFields } from '../../api/shapes/leaderboard.presenter'
import type { UserLeaderboardResponse } from '../../api/shapes/leaderboard.schemas'
import type { Configuration, Leaderboard } from '../../configuration/configuration.types'
import { BestReply, definitionOf } from '../../leaderboards/board.messages'
import { boardObject } from '../../leaderboards/board-updates.service'
import { within } from '../../lib/timeout'
import { dayIn } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import { logProblem } from '../../platform/log'
import { firstDayOf, lastDayOf, statusOf } from '../../rules/runs.rules'
import type { UserState } from '../../rules/state.types'
import type { Days } from './wrapped.rules'

/** How long a wrapped waits for a leaderboard before it leaves it out, in milliseconds. */
const PATIENCE = 1_500

/** The most leaderboards for one wrapped, the newest: the platform limits the subrequests of a request. */
const MOST_BOARDS = 100

/** Leaderboards by key, with the user's best rank in a period (R1). */
export type BestPlaces = Record<string, z.infer<typeof UserLeaderboardResponse>>

/**
 * The user's best places in each of the periods, which are all in the year. Leaves out leaderboards that
 * can't be reached.
 */
export async function bestPlaces(
  scope: Scope,
  config: Configuration,
  user: UserState,
  year: Days,
  periods: readonly Days[],
): Promise<BestPlaces[]> {
  const boards = config.leaderboards
    .filter((board) => mayHold(board, user, year) && isShown(scope, board))
    .slice(-MOST_BOARDS)
  const found = await Promise.all(boards.map((board) => bestOf(scope, config, board, user, periods)))
  return periods.map((_, nth) =>
    Object.fromEntries(
      boards.flatMap((board, index) => {
        const place = found[index]?.[nth] ?? null
        return place === null
          ? []
          : [[board.key, { ...leaderboardFields(config, board, scope.now), ...place }]]
      }),
    ),
  )
}

/** Whether users see a leaderboard (L9). */
function isShown({ now }: Scope, board: Leaderboard): boolean {
  const status = statusOf(board, now)
  return status === 'active' || status === 'finished'
}

/** Whether the user may have had a place in the leaderboard in that year. */
function mayHold(board: Leaderboard, user: UserState, year: Days): boolean {
  if (firstDayOf(board) > year.last || (lastDayOf(board) ?? year.first) < year.first) return false
  if (board.metricId !== null) return user.metrics.has(board.metricId)
  return board.systemId !== null ? user.points.has(board.systemId) : user.streak.frequency !== null
}

async function bestOf(
  scope: Scope,
  config: Configuration,
  board: Leaderboard,
  { id, iid, profile }: UserState,
  periods: readonly Days[],
): Promise<z.output<typeof BestReply>> {
  // An async function, so that the `try` below also catches errors that are thrown at once.
  const ask = async () =>
    boardObject(scope, board.id).best({
      definition: definitionOf(config, board),
      now: scope.now,
      userId: id,
      iid,
      today: dayIn(profile.tz, scope.now),
      periods: periods.map(({ first, last }) => [first, last]),
    })
  const work = ask()
  try {
    return BestReply.parse((await within(PATIENCE, work)) ?? [])
  } catch (error) {
    logProblem('warn', { leaderboard: board.id, error: `leaderboard not reached: ${String(error)}` })
    work.catch(() => undefined)
    return []
  }
}
