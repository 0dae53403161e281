import type * as z from 'zod'
import { BestReply, definitionOf } from '../../boards/board.messages'
import { boardObject } from '../../boards/board-updates.service'
import type { Configuration, Leaderboard } from '../../config/configuration.types'
import { firstDayOf, lastDayOf, statusOf } from '../../engine/runs.rules'
import type { UserState } from '../../engine/state.types'
import { within } from '../../lib/timeout'
import { dayIn } from '../../lib/zone'
import type { Scope } from '../../runtime/context'
import type { UserLeaderboardResponse } from '../../wire/leaderboard.schemas'
import { leaderboardFields } from '../../wire/presenters/leaderboard.presenter'
import type { Days } from './wrapped.rules'

/** How long a wrapped waits for a leaderboard before it answers without it, in milliseconds. */
const PATIENCE = 1_500

/** The most leaderboards that one wrapped asks: the newest, since each is a call, of which the platform allows a request only so many. */
const MOST_BOARDS = 100

/** Leaderboards by key with the user's best rank in a period (R1). */
export type BestPlaces = Record<string, z.infer<typeof UserLeaderboardResponse>>

/** The user's best places in each of the periods, all of which lie in the year. Leaderboards that can't be reached are left out. */
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

/** Whether the user may ever have had a place in the leaderboard in that year. */
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
  // What throws at once is caught like what throws later.
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
    console.warn(JSON.stringify({ level: 'warn', leaderboard: board.id, error: String(error) }))
    work.catch(() => undefined)
    return []
  }
}
