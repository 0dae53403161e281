import * as z from 'zod'
import { endpointsOf, type RawRequest } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import { created, ok } from '../../api/operation'
import { UserAchievementsResponse } from '../../api/shapes/achievements'
import { UserLeaderboardsResponse } from '../../api/shapes/leaderboards'
import { MetricsResponse } from '../../api/shapes/metrics'
import { AllUserPointsResponse } from '../../api/shapes/points'
import {
  preferencesResponse,
  ReadablePreferences,
  UpdateUserPreferencesRequest,
  UserPreferencesResponse,
} from '../../api/shapes/preferences'
import { StreakResponse } from '../../api/shapes/streaks'
import { ReadableUser, UpdatedUser, UpsertedUser, User, userResponse } from '../../api/shapes/users'
import { configurationOf } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { readUserPlaces } from '../../leaderboards/leaderboards'
import { errors } from '../../lib/errors'
import { PAGES } from '../../lib/limits'
import { systemNow } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import { FIRST } from '../../platform/databases/directory'
import { type ProfileChange, streakErrors } from '../../rules/profile.rules'
import type { UserState } from '../../rules/state'
import { type AwardsOfEach, awardsOfEachStatements, parseAwardsOfEach } from '../../store/awards.sql.ts'
import { parseSources, type StreakSources, sourcesIfStale } from '../../store/commit/recount'
import {
  parseTenantCounters,
  readTenantCounters,
  type TenantCounters,
  tenantCountersStatement,
} from '../../store/users/counters.sql.ts'
import { findUser, furtherUserErrors } from '../../store/users/find-user'
import { parsePast, pastStatements, type StreakPast } from '../../store/users/streaks.sql.ts'
import { parseUser, userStatement } from '../../store/users/users.sql.ts'
import { listOfUser } from '../achievements/achievements.routes'
import { changePreferences, changeUser, ownSender } from '../events/commands'
import { preferencesReply, userReply } from '../events/events.routes'
import { allUserMetrics } from '../metrics/user-metrics.routes'
import { awardsOfAll, pointsOfAll } from '../points/points.routes'
import { earliestHistory, streakOfUser } from '../streaks/streaks.routes'

type UserResponse = z.infer<typeof User>

/** Creates a user, or updates the passed fields of an existing user (U2). */
export async function identifyUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'upsert', change }))
}

/** Updates the passed fields of a user. Throws 404 if there is none (U2). */
async function updateUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'update', change }))
}

const params = z.object({ id: UserId })

const inPath = (_json: unknown, param: (name: string) => string) => param('id')
const inBody = (json: unknown) => z.object({ id: z.unknown() }).safeParse(json).data?.id

const endpoint = endpointsOf('application')

const find = (scope: Scope, param: (name: string) => string) => findUser(scope, param('id'))
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
    { subject: inPath, find },
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
    { subject: inPath, check },
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
    { subject: inPath, find, check },
    async (scope, { params, body }) => ok(await updateUser(scope, params.id, body)),
  ),
]

/**
 * All data of a user that an application shows. Each part equals the response of the operation that returns
 * only that part.
 */
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

/** A user with all data that the overview takes from D1, as of one moment. */
type Found = {
  config: Configuration
  user: UserState
  tenantCounters: TenantCounters
  awards: AwardsOfEach
  past: StreakPast & { sources: StreakSources }
}

/**
 * Reads all data that the overview takes from D1, in one round trip. Throws 404 if the user does not exist.
 */
async function findOverview(scope: Scope, userId: string): Promise<Found> {
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
 * All data of a user. Each part equals the response of the operation that returns only that part. The
 * leaderboards are called at the same time, in one wave. A stale streak is recounted from data of the same
 * read (S9). Only a log that is longer than one read costs further reads.
 */
async function overviewResponse(
  scope: Scope,
  { config, user, tenantCounters, awards, past }: Found,
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

/** The endpoints of the overview of a user. */
export const overviewEndpoints = [
  /** Not in the contract. */
  endpoint(
    'GET /users/{id}/overview',
    {
      id: 'users_overview',
      summary: 'Get a user with metrics, points, streak, achievements and leaderboards',
      params: z.object({ id: UserId }),
      responses: { 200: { description: 'The user as of now.', body: UserOverviewResponse } },
    },
    { subject: (_json, param) => param('id'), find: (scope, param) => findOverview(scope, param('id')) },
    async (scope, _input, found) => ok(await overviewResponse(scope, found)),
  ),
]

const stage = {
  subject: (_json: unknown, param: (name: string) => string) => param('id'),
  find: (scope: Scope, param: (name: string) => string) => findUser(scope, param('id')),
}
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
    stage,
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
    { ...stage, check: checkPreferences },
    async (scope, { params, body }) => {
      const sender = ownSender(scope, params.id)
      return ok(preferencesReply(await changePreferences(scope, sender, body)))
    },
  ),
]
