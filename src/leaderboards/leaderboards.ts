import * as z from 'zod'
import { filtersResponse } from '../api/fields'
import { longPage } from '../api/queries'
import {
  type GroupCursor,
  type LeaderboardGroupsQuery,
  type LeaderboardQuery,
  type LeaderboardResponseWithRankings,
  type LeaderboardsResponse,
  leaderboardFields,
  ReadableLeaderboardQuery,
  ReadableLiveQuery,
  type UserLeaderboardQuery,
  type UserLeaderboardResponseWithHistory,
  type UserLeaderboardsQuery,
  type UserLeaderboardsResponse,
} from '../api/shapes/leaderboards'
import { configurationOf } from '../configuration/configuration'
import { type Configuration, type Leaderboard, leaderboardByKey } from '../configuration/model'
import { type Instant, iso } from '../lib/clock'
import { ApiError, errors, type FieldError, throwIfInvalid } from '../lib/errors'
import { MOST_RUNNING_LEADERBOARDS, RANKING_PAGE } from '../lib/limits'
import { within } from '../lib/system-clock'
import {
  type CivilDate,
  dateOfDay,
  dayOf,
  LAST_DAY,
  localDay,
  offsetMinutes,
  startOfDay,
  utcMidnight,
} from '../lib/zone'
import type { Scope } from '../platform/context'
import { logProblem } from '../platform/log'
import { type Run, runHolding, type Schedule, servedRun, statusOf } from '../rules/runs.rules'
import type { UserState } from '../rules/state'
import { namesOf, storedFields } from '../store/users/users.sql.ts'
import { definitionOf } from './board'
import { named } from './live/view'
import type { LeaderboardObject } from './object/board.object'
import { boardObject } from './updates'

/** The most leaderboards that one request calls: the platform limits calls. All active ones fit. */
const MOST_ASKED = MOST_RUNNING_LEADERBOARDS

/** Those that a request about all calls, in order of creation: all active ones, then the newest finished. */
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

/** Calls before an object counts as unreachable. Each uses a new stub, as the platform advises. */
const TRIES = 3
/** How long a response about many leaderboards waits for each, in ms. Then it leaves that one out. */
const PATIENCE = 3_000

/** The leaderboards that users see (L7, L9). */
export async function listLeaderboards(
  scope: Scope,
  { includeFinished }: { includeFinished: boolean },
): Promise<z.infer<typeof LeaderboardsResponse>> {
  const config = await configurationOf(scope)
  return config.leaderboards.flatMap((board) => {
    const isListed = statusOf(board, scope.now) === 'active' || (includeFinished && isShown(board, scope.now))
    return isListed ? [leaderboardFields(config, board, scope.now)] : []
  })
}

/** Whether users see a leaderboard: it is active or finished (L9). */
export const isShown = (board: Leaderboard, now: Instant): boolean =>
  ['active', 'finished'].includes(statusOf(board, now))

/** The leaderboard with this key. Throws 404 if there is none, or if it is inactive or scheduled (L9). */
export async function findLeaderboard(scope: Scope, key: string): Promise<Leaderboard> {
  const board = leaderboardByKey(await configurationOf(scope), key)
  if (board === undefined || !isShown(board, scope.now))
    throw errors.notFound(`The leaderboard ${JSON.stringify(key)}`)
  return board
}

/** A page of a ranking (L2, L6, L9, L14). Throws 404 for a date in no run, 422 for an impossible group or page. */
export async function readLeaderboard(
  scope: Scope,
  board: Leaderboard,
  query: z.output<typeof LeaderboardQuery>,
): Promise<z.infer<typeof LeaderboardResponseWithRankings>> {
  const config = await configurationOf(scope)
  const { maxParticipants } = board
  const limit = query.limit ?? Math.min(RANKING_PAGE, maxParticipants)
  const run = runAsked(board, query.run, localDay(scope.now, 0))
  const { group, fieldErrors } = groupAsked(config, board, query.userAttributes)
  throwIfInvalid([...limitErrors(board, limit), ...fieldErrors])
  const [page, zone] = await Promise.all([
    asked(scope, board, (object) =>
      object.page({
        definition: definitionOf(config, board),
        now: scope.now,
        run: run.start,
        group,
        offset: query.offset,
        limit,
        userId: query.userId ?? null,
      }),
    ),
    zoneOfAsking(scope, query.userId),
  ])
  const names = await namesOf(
    scope.databases,
    scope.tenant.id,
    page.map(({ userId }) => userId),
  )
  return {
    ...leaderboardFields(config, board, scope.now),
    ...(group.length > 0 && !group.includes(null) && { group: valuesOf(config, board, group) }),
    run: runIn(zone, run),
    rankings: named(page, names),
  }
}

/** The zone of the user of the key. With an admin key it is that of the user in the query, or UTC (L14). */
async function zoneOfAsking({ access, databases, tenant }: Scope, named: string | undefined) {
  const id = access.kind === 'application' ? access.userId : named
  if (id === undefined) return 'UTC'
  const [user] = await storedFields(databases.usersOf(tenant.id).of(id), [id])
  return user?.tz ?? 'UTC'
}

/** A run by the local days of a zone (L14). The calendar ends with 9999-12-31. */
const runIn = (zone: string, { start, end }: Run) => {
  const begins = (day: number) => iso(startOfDay(dateOfDay(day), zone))
  return {
    key: dateOfDay(start),
    startsAt: begins(start),
    endsAt: end === null || end >= LAST_DAY ? null : begins(end + 1),
  }
}

/** The field error for a page that is longer than the leaderboard can be. None without a limit (L9). */
function limitErrors({ maxParticipants }: Leaderboard, limit: number | undefined): FieldError[] {
  if (limit === undefined || limit <= maxParticipants) return []
  const message = `must be at most ${maxParticipants}, the most participants of this leaderboard`
  return [{ path: 'limit', message }]
}

/** Further field errors of a query whose shape is wrong, from its readable parts (G3, L6, L9). */
export async function furtherPageErrors(
  scope: Scope,
  board: Leaderboard,
  query: unknown,
): Promise<FieldError[]> {
  const { limit, userAttributes } = ReadableLeaderboardQuery.parse(query)
  return [...limitErrors(board, limit), ...(await groupErrors(scope, board, userAttributes))]
}

/** The same for the query of a live leaderboard (Y1). */
export const furtherLiveErrors = (scope: Scope, board: Leaderboard, query: unknown): Promise<FieldError[]> =>
  groupErrors(scope, board, ReadableLiveQuery.parse(query).userAttributes)

/** The field errors of a group; none if it cannot be read (null). */
const groupErrors = async (scope: Scope, board: Leaderboard, asked: GroupAsked | null) =>
  asked === null ? [] : groupAsked(await configurationOf(scope), board, asked).fieldErrors

/** Values by attribute key, of the group that a request asks for. */
type GroupAsked = ReadonlyMap<string, string> | undefined

/**
 * The reply with a page of the groups of a run that have ranked users. Throws 404 if the date is in no run, and 422 if the leaderboard has no breakdown (L6).
 */
export async function readGroups(
  scope: Scope,
  board: Leaderboard,
  { run: date, limit, after }: z.output<typeof LeaderboardGroupsQuery>,
) {
  if (board.breakdown.length === 0) {
    throw errors.unprocessable(
      'This leaderboard has no breakdown, so it has no groups. Read its rankings instead.',
    )
  }
  const config = await configurationOf(scope)
  const run = runAsked(board, date, localDay(scope.now, 0))
  const { groups, hasMore } = await asked(scope, board, (object) =>
    object.groups({
      definition: definitionOf(config, board),
      now: scope.now,
      run: run.start,
      after: after === undefined ? null : { users: after[0], group: after[1] },
      limit,
    }),
  )
  const last = groups.at(-1)
  const next: z.input<typeof GroupCursor> | null = hasMore && last ? [last.users, last.group] : null
  const items = groups.map(({ group, users }) => {
    const values = valuesOf(config, board, GroupValues.parse(JSON.parse(group)))
    return { userAttributes: values, group: values, users }
  })
  // The next page is of the same run, also after midnight.
  return longPage(scope, { run: dateOfDay(run.start), limit }, { items, next })
}

const GroupValues = z.array(z.string())

/** The values of a group by attribute key. Attributes of a finished leaderboard may be deleted. */
function valuesOf(config: Configuration, { breakdown }: Leaderboard, values: readonly (string | null)[]) {
  return filtersResponse(
    config,
    breakdown.map((attributeId, index) => ({ attributeId, attributeValue: values[index] ?? '' })),
  )
}

/** A user's places in the runs of the local date (L10), without leaderboards that are not reached in time. */
export async function readUserPlaces(
  scope: Scope,
  user: UserState,
  { includeFinished, numEvents }: z.output<typeof UserLeaderboardsQuery>,
): Promise<z.infer<typeof UserLeaderboardsResponse>> {
  const config = await configurationOf(scope)
  const boards = askedAtOnce(config.leaderboards, scope.now, { includeFinished })
  const places = await Promise.all(
    boards.map(async (board) => {
      try {
        return [await within(PATIENCE, readUserPlace(scope, board, user, { numEvents }))]
      } catch (error) {
        logProblem('warn', { leaderboard: board.id, error: `leaderboard not reached: ${String(error)}` })
        return []
      }
    }),
  )
  return places.flat()
}

/** A user's place in a run, with its history (L10). Throws 404 if the date is in no run. */
export async function readUserPlace(
  scope: Scope,
  board: Leaderboard,
  user: UserState,
  query: z.output<typeof UserLeaderboardQuery>,
): Promise<z.infer<typeof UserLeaderboardResponseWithHistory>> {
  const config = await configurationOf(scope)
  const today = localDay(scope.now, offsetMinutes(user.profile.tz ?? 'UTC', scope.now))
  const run = runAsked(board, query.run, today)
  const { rank, value, history } = await asked(scope, board, (object) =>
    object.place({
      definition: definitionOf(config, board),
      now: scope.now,
      run: run.start,
      userId: user.id,
      iid: user.iid,
      numEvents: query.numEvents,
    }),
  )
  return {
    ...leaderboardFields(config, board, scope.now),
    rank,
    value,
    history: history.map(({ day, ...rest }) => {
      const date = dateOfDay(day)
      return { date, timestamp: iso(utcMidnight(date)), ...rest }
    }),
  }
}

/** The run of a date, or of today: the first run if today is before it, the last if after it (L2). */
function runAsked(board: Leaderboard, date: CivilDate | undefined, today: number): Run {
  if (date === undefined) return servedRun(board, today)
  const run = runHolding(board, dayOf(date))
  if (run === null) throw errors.noRun(date)
  return run
}

/** The values of the group in the breakdown's order (null: any), and the field errors (L6). */
export function groupAsked(
  config: Configuration,
  board: Leaderboard,
  filters: GroupAsked,
): { group: (string | null)[]; fieldErrors: FieldError[] } {
  // Attributes of a finished leaderboard may be deleted. Nobody can ask by such an attribute any more, so any
  // value matches.
  const places = board.breakdown.map((id) => config.attributes.find((one) => one.id === id)?.key)
  const keys = places.filter((key) => key !== undefined)
  const group = places.map((key) => filters?.get(key ?? '') ?? null)
  const fault = (message: string) => ({ group, fieldErrors: [{ path: 'userAttributes', message }] })
  if (keys.length === 0) {
    return filters === undefined
      ? { group, fieldErrors: [] }
      : fault('this leaderboard has no breakdown, so leave them out')
  }
  if (filters === undefined) {
    return fault(`must name a group of this leaderboard, which is broken down by ${keys.join(', ')}`)
  }
  const unknown = [...filters.keys()].filter((key) => !keys.includes(key))
  if (unknown.length === 0) return { group, fieldErrors: [] }
  return fault(
    `must not name ${unknown.join(', ')}, since this leaderboard is broken down by ${keys.join(', ')} only`,
  )
}

/** Calls a leaderboard's object, on a new stub if it can't be reached. Throws 404 if it was deleted. */
export async function asked<T>(
  scope: Scope,
  board: Leaderboard,
  ask: (object: DurableObjectStub<LeaderboardObject>) => Promise<T | null>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = await ask(boardObject(scope, board.id))
      // The leaderboard was deleted after this request read the configuration.
      if (answer === null) throw errors.notFound(`The leaderboard ${JSON.stringify(board.key)}`)
      return answer
    } catch (error) {
      if (tries === TRIES || error instanceof ApiError) throw error
    }
  }
}
