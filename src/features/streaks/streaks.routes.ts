import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import {
  BulkStreakResponse,
  historyBegins,
  StreakQuery,
  StreakRankingsQuery,
  StreakRankingsResponse,
  StreakResponse,
  StreaksQuery,
  wholeStreakResponse,
} from '../../api/shapes/streaks'
import { configurationOf } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { type Instant, isoOrNull } from '../../lib/clock'
import { errors, throwIfInvalid } from '../../lib/errors'
import { compareText } from '../../lib/ids'
import { MOST_STREAK_USERS } from '../../lib/limits'
import { dayIn } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import type { UserState } from '../../rules/state'
import { termsOf } from '../../rules/streaks/streak-state.rules'
import { isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { recounted, recountedFrom, type StreakSources } from '../../store/commit/recount'
import { pausesOf, readStreaks, runsSince, type StreakPast } from '../../store/users/streaks.sql.ts'
import { findUser } from '../../store/users/users.sql.ts'
import { rankStreaks } from './rankings'

async function recountOf({ db, now }: Scope, config: Configuration, user: UserState) {
  const [counted] = await recounted(db, config, [user], now)
  return counted ?? { streak: user.streak, runs: [] }
}

/**
 * The first day of the last `historyPeriods` periods, in any zone: dates begin last in Etc/GMT+12.
 * `streakOfUser` needs no run that ended before it.
 */
export const earliestHistory = (config: Configuration, now: Instant, historyPeriods: number): number =>
  historyBegins(config, 'Etc/GMT+12', now, historyPeriods)

/** The same as `userStreak`, from data that was read before. `sources` are those of a recount. */
export async function streakOfUser(
  scope: Scope,
  user: UserState,
  historyPeriods: number,
  { runs, pauses, sources }: StreakPast & { sources: StreakSources },
): Promise<z.infer<typeof StreakResponse>> {
  const config = await configurationOf(scope)
  if (!isStale(user.streak, termsOf(config, user.preferences)))
    return wholeStreakResponse(config, user, scope.now, { historyPeriods, past: runs, pauses })
  const counted = recountedFrom(config, user, sources, scope.now)
  if (counted === null) return userStreak(scope, user, historyPeriods)
  const present = { ...user, streak: counted.streak }
  return wholeStreakResponse(config, present, scope.now, { historyPeriods, past: counted.runs, pauses })
}

/** A streak with its last periods, and the pauses that touch them or are in the future (S5, S6). */
export async function userStreak(
  scope: Scope,
  found: UserState,
  historyPeriods: number,
): Promise<z.infer<typeof StreakResponse>> {
  const config = await configurationOf(scope)
  const terms = termsOf(config, found.preferences)
  const known = isStale(found.streak, terms) ? await recountOf(scope, config, found) : null
  const user = { ...found, streak: known?.streak ?? found.streak }
  const since = historyBegins(config, user.profile.tz, scope.now, historyPeriods)
  const past = known?.runs ?? (await runsSince(scope.db, user.iid, since))
  const pauses = await pausesOf(scope.db, user.iid)
  return wholeStreakResponse(config, user, scope.now, { historyPeriods, past, pauses })
}

/**
 * The users of these ids. One that is no user's, and has commas, is a list of ids (S6). For an application key,
 * each must be its own user's, so that it does not learn which ids are users' (K3).
 */
async function usersOf({ access, databases, tenant }: Scope, ids: readonly string[]): Promise<UserState[]> {
  const read = async (some: readonly string[]) =>
    (await databases.usersOf(tenant.id).askAbout([...new Set(some)], readStreaks)).flat()
  if (access.kind === 'application') {
    const isOwn = (id: string) => id === access.userId
    if (!ids.every((id) => isOwn(id) || id.split(',').every(isOwn))) throw errors.otherUser()
    return read([access.userId])
  }
  const found = await read(ids)
  const known = new Set(found.map(({ id }) => id))
  const lists = ids.filter((id) => id.includes(',') && !known.has(id))
  const listed = lists.flatMap((list) => list.split(',')).filter((id) => id !== '')
  const count = ids.length - lists.length + listed.length
  if (count < 1 || count > MOST_STREAK_USERS)
    throwIfInvalid([{ path: 'userIds', message: `must have 1 to ${MOST_STREAK_USERS} items, with lists` }])
  const further = listed.filter((id) => !known.has(id))
  return further.length === 0 ? found : [...found, ...(await read(further))]
}

async function streaksOf(
  scope: Scope,
  userIds: readonly string[],
): Promise<z.infer<typeof BulkStreakResponse>> {
  const { databases, tenant } = scope
  const config = await configurationOf(scope)
  const streaks = []
  for (const user of await usersOf(scope, userIds)) {
    const terms = termsOf(config, user.preferences)
    const db = databases.usersOf(tenant.id).of(user.id)
    const isOutdated = isStale(user.streak, terms)
    const known = isOutdated ? (await recountOf({ ...scope, db }, config, user)).streak : user.streak
    const today = dayIn(user.profile.tz, scope.now)
    const { streak } = streakAsOf({ ...user, streak: known }, terms, today, scope.now)
    const run = terms.isOn ? streak.run : null
    const extended = isoOrNull(run?.extended ?? null)
    streaks.push({ userId: user.id, streakLength: run?.length ?? 0, extended })
  }
  return streaks.sort((a, b) => b.streakLength - a.streakLength || compareText(a.userId, b.userId))
}

const endpoint = endpointsOf('application')

export const streakEndpoints = [
  endpoint(
    'GET /users/{id}/streak',
    {
      id: 'users_streak',
      summary: "Get a user's streak",
      params: z.object({ id: UserId }),
      query: StreakQuery,
      responses: { 200: { description: 'The current streak.', body: StreakResponse } },
    },
    { find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => ok(await userStreak(scope, user, query.historyPeriods)),
  ),
  endpoint(
    'GET /streaks',
    {
      id: 'streaks_list',
      summary: 'Get the streak lengths of several users',
      query: StreaksQuery,
      responses: { 200: { description: 'The longest first, then by user id.', body: BulkStreakResponse } },
    },
    async (scope, { query }) => ok(await streaksOf(scope, query.userIds)),
  ),
  /** Not in the current contract. Older client libraries use it. */
  endpoint(
    'GET /streaks/rankings',
    {
      id: 'streaks_rankings',
      summary: 'Get the users with the longest streaks',
      query: StreakRankingsQuery,
      responses: {
        200: { description: 'The longest first, then by user id.', body: StreakRankingsResponse },
      },
    },
    async (scope, { query }) => ok(await rankStreaks(scope, query)),
  ),
]
