import * as z from 'zod'
import { created, endpointsOf, ok, type RawRequest } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import { type LongPage, longListQuery, longPage, pageResponse, UserAttributesQuery } from '../../api/queries'
import { UserAchievementsResponse } from '../../api/shapes/achievements'
import { MetricsResponse } from '../../api/shapes/events'
import { UserLeaderboardsResponse } from '../../api/shapes/leaderboards'
import { AllUserPointsResponse } from '../../api/shapes/points'
import { StreakResponse } from '../../api/shapes/streaks'
import {
  preferencesResponse,
  ReadablePreferences,
  ReadableUser,
  UpdatedUser,
  UpdateUserPreferencesRequest,
  UpsertedUser,
  User,
  UserPreferencesResponse,
  userResponse,
} from '../../api/shapes/users'
import { listed } from '../../api/streams'
import { configurationOf } from '../../configuration/configuration'
import { readUserPlaces } from '../../leaderboards/leaderboards'
import { errors, throwIfInvalid } from '../../lib/errors'
import { MOST_SEARCH_CHARACTERS, PAGES } from '../../lib/limits'
import { systemNow } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import { FIRST } from '../../platform/databases/directory'
import { type Pause, sharedScans } from '../../platform/scans'
import {
  type ProfileChange,
  resolveAttributes,
  streakErrors,
  unknownAttributes,
} from '../../rules/profile.rules'
import { awardsOfEachStatements, parseAwardsOfEach } from '../../store/awards.sql.ts'
import { parseSources, sourcesIfStale } from '../../store/commit/recount'
import {
  parseTenantCounters,
  readTenantCounters,
  tenantCountersStatement,
} from '../../store/users/counters.sql.ts'
import {
  pageOfUsers,
  searchForUsers,
  type UserFilter,
  UserPlace,
  usersInOrder,
} from '../../store/users/pages.sql.ts'
import { parsePast, pastStatements } from '../../store/users/streaks.sql.ts'
import { findUser, furtherUserErrors, parseUser, userStatement } from '../../store/users/users.sql.ts'
import { listOfUser } from '../achievements/achievements.routes'
import { changePreferences, changeUser, ownSender } from '../events/commands'
import { preferencesReply, userReply } from '../events/events.routes'
import { allUserMetrics } from '../metrics/user-metrics.routes'
import { awardsOfAll, pointsOfAll } from '../points/points.routes'
import { earliestHistory, streakOfUser } from '../streaks/streaks.routes'
import { eraseUser } from './erasure'
import { exportUser, findHeld } from './export/export'
import { UserExport } from './export/shape'

type UserResponse = z.infer<typeof User>

/** Creates a user, or updates the passed fields of an existing user (U2). */
export async function identifyUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'upsert', change }))
}

const params = z.object({ id: UserId })

const inBody = (json: unknown) => z.object({ id: z.unknown() }).safeParse(json).data?.id

const endpoint = endpointsOf('application')

const found = { find: (scope: Scope, param: (name: string) => string) => findUser(scope, param('id')) }
const checkBody = (scope: Scope, { json }: RawRequest) =>
  furtherUserErrors(scope, ReadableUser.parse(json), '')
const check = (scope: Scope, { json, param }: RawRequest) =>
  furtherUserErrors(scope, { ...ReadableUser.parse(json), id: param('id') }, '')

/** The endpoints of users: create, identify, update, get. */
export const userEndpoints = [
  endpoint(
    'POST /users',
    {
      id: 'users_create',
      summary: 'Create a user, or update the passed fields of an existing user',
      body: UpsertedUser,
      responses: { 201: { description: 'The user.', body: User } },
    },
    { subject: inBody, check: checkBody },
    async (scope, { body }) => {
      const { id, ...change } = body
      return created(await identifyUser(scope, id, change))
    },
  ),
  endpoint(
    'GET /users/{id}',
    {
      id: 'users_get',
      summary: 'Get a user',
      params,
      responses: { 200: { description: 'The user.', body: User } },
      // The contract lists it.
      furtherErrors: [400],
    },
    found,
    async (scope, _input, user) => ok(userResponse(await configurationOf(scope), user)),
  ),
  endpoint(
    'PUT /users/{id}',
    {
      id: 'users_identify',
      summary: 'Create a user, or update the passed fields of an existing user',
      params,
      body: UpdatedUser,
      responses: { 200: { description: 'The user.', body: User } },
    },
    { check },
    async (scope, { params, body }) => ok(await identifyUser(scope, params.id, body)),
  ),
  endpoint(
    'PATCH /users/{id}',
    {
      id: 'users_update',
      summary: 'Update the passed fields of a user',
      params,
      body: UpdatedUser,
      responses: { 200: { description: 'The user.', body: User } },
    },
    { ...found, check },
    async (scope, { params, body }) => {
      const sender = ownSender(scope, params.id)
      return ok(userReply(await changeUser(scope, sender, { kind: 'update', change: body })))
    },
  ),
]

/** All data of a user that an application shows. Each part is as in the operation for that part alone. */
const UserOverviewResponse = z
  .object({
    user: User,
    metrics: MetricsResponse,
    points: AllUserPointsResponse,
    streak: StreakResponse,
    achievements: UserAchievementsResponse,
    leaderboards: UserLeaderboardsResponse,
  })
  .meta({ id: 'UserOverviewResponse' })

/** The defaults of the operations for single parts. */
const AWARDS = PAGES.awards.fallback
const PERIODS = PAGES.streakHistory.fallback
const EVENTS = PAGES.rankHistory.fallback

/** Reads the data of the overview from D1, in one round trip. Throws 404 without such a user. */
async function findOverview(scope: Scope, userId: string) {
  const { db, now, databases, tenant } = scope
  const config = await configurationOf(scope)
  const { found, tenantCounters, sources, ...rest } = await db.batchOf({
    found: userStatement(db, userId, systemNow()),
    tenantCounters: tenantCountersStatement(db),
    ...awardsOfEachStatements(db, userId, awardsOfAll(config, AWARDS)),
    ...pastStatements(db, userId, earliestHistory(config, now, PERIODS)),
    sources: sourcesIfStale(db, userId, config.streaks),
  })
  const user = parseUser(found)
  if (user === null) throw errors.notFound('This user')
  return {
    config,
    user,
    // Each database has its own counters.
    tenantCounters:
      db.name === FIRST
        ? parseTenantCounters(tenantCounters)
        : await readTenantCounters(databases, tenant.id),
    awards: parseAwardsOfEach(rest),
    past: { ...parsePast(rest), sources: parseSources(sources) },
  }
}

/**
 * All data of a user. The leaderboards are called at the same time, in one wave. A stale streak is recounted
 * from data of the same read (S9). Only a log that is longer than one read costs further reads.
 */
async function overviewResponse(
  scope: Scope,
  { config, user, tenantCounters, awards, past }: Awaited<ReturnType<typeof findOverview>>,
): Promise<z.input<typeof UserOverviewResponse>> {
  const [metrics, streak, achievements, leaderboards] = await Promise.all([
    allUserMetrics(scope, user),
    streakOfUser(scope, user, PERIODS, past),
    listOfUser(scope, user, { includeIncomplete: false, tenantCounters }),
    readUserPlaces(scope, user, { includeFinished: false, numEvents: EVENTS }),
  ])
  return {
    user: userResponse(config, user),
    metrics,
    points: pointsOfAll(config, user, awards),
    streak,
    achievements,
    leaderboards,
  }
}

export const overviewEndpoints = [
  // Not in the contract.
  endpoint(
    'GET /users/{id}/overview',
    {
      id: 'users_overview',
      summary: 'Get a user with metrics, points, streak, achievements and leaderboards',
      params,
      responses: { 200: { description: 'The user as of now.', body: UserOverviewResponse } },
    },
    { find: (scope, param) => findOverview(scope, param('id')) },
    async (scope, _input, read) => ok(await overviewResponse(scope, read)),
  ),
]

const checkPreferences = async (scope: Scope, { json }: RawRequest) =>
  streakErrors(await configurationOf(scope), ReadablePreferences.parse(json).streak.metrics ?? [])

/** The endpoints of users' preferences (U7). */
export const preferenceEndpoints = [
  endpoint(
    'GET /users/{id}/preferences',
    {
      id: 'users_get_preferences',
      summary: 'Get the preferences of a user for notifications and streaks',
      params,
      responses: { 200: { description: 'The preferences that were set.', body: UserPreferencesResponse } },
    },
    found,
    async (scope, _input, { preferences }) =>
      ok(preferencesResponse(await configurationOf(scope), preferences)),
  ),
  endpoint(
    'PATCH /users/{id}/preferences',
    {
      id: 'users_update_preferences',
      summary: 'Change the passed preferences of a user',
      params,
      body: UpdateUserPreferencesRequest,
      responses: { 200: { description: 'The preferences after the change.', body: UserPreferencesResponse } },
    },
    { ...found, check: checkPreferences },
    async (scope, { params, body }) => {
      const sender = ownSender(scope, params.id)
      return ok(preferencesReply(await changePreferences(scope, sender, body)))
    },
  ),
]

/**
 * A page of users. `search` is a part of their id, name or email, in upper or lower case (G7, U8). The cursor
 * is the place of the last user of the page before (O3).
 */
const UserListQuery = longListQuery(UserPlace, {
  search: z
    .string('must be given once')
    .min(1, 'must not be empty')
    .max(MOST_SEARCH_CHARACTERS, `must have at most ${MOST_SEARCH_CHARACTERS} characters`)
    .optional(),
  userAttributes: UserAttributesQuery.optional(),
})

const ListUsersResponse = z.array(User).meta({ id: 'ListUsersResponse' })

const ErasedUser = z.object({ id: z.string() }).meta({ id: 'ErasedUser' })

type Query = z.output<typeof UserListQuery>

/**
 * A page of the tenant's users, oldest first; with `search` or `userAttributes`, of the users who fit (G7,
 * U8). Yields as many at a time as fit. Throws 422 on unknown attributes, and 429 as any scan (P11).
 */
async function listUsers(
  scope: Scope,
  { search, userAttributes, ...query }: Query,
): Promise<LongPage<AsyncGenerator<z.input<typeof ListUsersResponse>>, UserPlace>> {
  // One user more, to see if there is a next page.
  const page = { ...query, limit: query.limit + 1 }
  const filter = await filterOf(scope, search, userAttributes)
  const found = filter === null ? await pageOfUsers(scope, page) : await usersOfFilter(scope, page, filter)
  const places = found.slice(0, query.limit)
  const ids = places.map(([, id]) => id)
  const hasMore = found.length > places.length
  return { items: responses(scope, ids), next: hasMore ? (places.at(-1) ?? null) : null }
}

async function* responses(scope: Scope, ids: readonly string[]) {
  const config = await configurationOf(scope)
  for await (const users of usersInOrder(scope, ids)) yield users.map((user) => userResponse(config, user))
}

const searchesOf = sharedScans<readonly UserPlace[]>()

/** The filter of a request; null if it has none. Throws 422 on unknown attributes. */
async function filterOf(
  scope: Scope,
  search: string | undefined,
  attributes: ReadonlyMap<string, string> = new Map(),
): Promise<UserFilter | null> {
  if (attributes.size === 0) return search === undefined ? null : { search, attributes }
  const config = await configurationOf(scope)
  throwIfInvalid(unknownAttributes(config, 'user', attributes))
  return { search: search ?? null, attributes: resolveAttributes(config, 'user', attributes) }
}

/** The places of the users who fit on a page. This is a scan, because any user may fit. */
function usersOfFilter(
  { databases, tenant, instance, waitUntil }: Scope,
  page: Pick<Query, 'limit' | 'skip' | 'after'>,
  filter: UserFilter,
): Promise<readonly UserPlace[]> {
  const name = JSON.stringify([
    page.limit,
    page.skip,
    page.after ?? null,
    filter.search,
    [...filter.attributes],
  ])
  const read = (pause: Pause) => searchForUsers({ databases, tenant }, page, filter, pause)
  return searchesOf(instance).run({ tenantId: tenant.id, name, read, mayBeOlder: () => false }, waitUntil)
}

const adminEndpoint = endpointsOf('admin')

/** The endpoints of the management of users: list, export, erase (U8). */
export const userAdminEndpoints = [
  adminEndpoint(
    'GET /users',
    {
      id: 'admin_users_list',
      summary: 'List users, oldest first, or search them by id, name and email',
      query: UserListQuery,
      responses: { 200: pageResponse('The page, oldest first.', ListUsersResponse) },
    },
    async (scope, { query }) => {
      const { items, next } = await listUsers(scope, query)
      return longPage(scope, query, { items: await listed(items), next })
    },
  ),
  adminEndpoint(
    'GET /users/{id}/export',
    {
      id: 'admin_users_export',
      archived: true,
      summary: 'Export all data of a user, also of an archived tenant',
      params,
      secret: true,
      responses: {
        200: {
          description:
            'All data of the user. If the body is cut off, it is not valid JSON. Send the request again.',
          body: UserExport,
        },
      },
    },
    { find: (scope, param) => findHeld(scope, param('id')) },
    async (scope, _input, held) => ok(await exportUser(scope, held)),
  ),
  adminEndpoint(
    'DELETE /users/{id}',
    {
      id: 'admin_users_delete',
      archived: true,
      summary: 'Erase a user everywhere, whether or not there is one, also of an archived tenant',
      params,
      responses: { 200: { description: 'No request finds the user any more.', body: ErasedUser } },
    },
    async (scope, { params }) => ok(await eraseUser(scope, params.id)),
  ),
]
