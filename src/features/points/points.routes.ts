import * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import { ok } from '../../api/operation'
import { SummaryQuery } from '../../api/queries'
import { EventSummaryResponse } from '../../api/shapes/metrics'
import {
  AllUserPointsResponse,
  AwardsQuery,
  BoostsQuery,
  GetUserPointsResponse,
  levelResponse,
  PointsBoostsResponse,
  PointsLevelSummaryResponse,
  PointsLevelsResponse,
  PointsSummaryQuery,
  PointsSummaryResponse,
  PointsSystemResponse,
  PointsSystemsResponse,
} from '../../api/shapes/points'
import { configurationOf } from '../../configuration/configuration'
import type { System } from '../../configuration/configuration.types'
import type { Scope } from '../../platform/context'
import { ladder } from '../../rules/points/points.rules'
import { findUser } from '../../store/users/find-user'
import {
  allUserPoints,
  levelErrors,
  levelSummary,
  pointsEventSummary,
  pointsSummary,
  systemBoosts,
  systemResponse,
  systemsResponse,
  userBoosts,
  userPoints,
} from './points'
import { systemNamed } from './systems.rules'

const params = z.object({ key: z.string() })
const userParams = z.object({ id: UserId, key: z.string() })

type Param = (name: string) => string

const findSystem = async (scope: Scope, param: Param) => {
  const config = await configurationOf(scope)
  return { config, system: systemNamed(config, param('key')) }
}

const findUserAndSystem = async (scope: Scope, param: Param) => {
  const user = await findUser(scope, param('id'))
  return { user, ...(await findSystem(scope, param)) }
}

const inPath = (_json: unknown, param: Param) => param('id')

const endpoint = endpointsOf('application')

const ofUser = { subject: inPath, find: findUserAndSystem }
const ofSystem = { find: findSystem }
const check = (_scope: Scope, _given: unknown, { system }: { system: System }) => levelErrors(system)

/** The endpoints of points. */
/** The endpoints of points in the application interface. */
export const pointsEndpoints = [
  /** Not in the contract. */
  endpoint(
    'GET /users/{id}/points',
    {
      id: 'users_all_points',
      summary: "Get a user's points in all systems, with the newest awards in each",
      params: z.object({ id: UserId }),
      query: AwardsQuery,
      responses: { 200: { description: 'Every system, in order of creation.', body: AllUserPointsResponse } },
    },
    { subject: inPath, find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => ok(await allUserPoints(scope, user, query.awards)),
  ),
  endpoint(
    'GET /users/{id}/points/{key}',
    {
      id: 'users_points',
      summary: "Get a user's points in a system, with the newest awards",
      params: userParams,
      query: AwardsQuery,
      responses: { 200: { description: 'The points.', body: GetUserPointsResponse } },
    },
    ofUser,
    async (scope, { query }, { user, system }) => ok(await userPoints(scope, system, user, query.awards)),
  ),
  endpoint(
    'GET /users/{id}/points/{key}/boosts',
    {
      id: 'users_points_boosts',
      summary: "List the boosts that apply to a user on the user's local date",
      params: userParams,
      responses: { 200: { description: 'The boosts.', body: PointsBoostsResponse } },
    },
    ofUser,
    async (scope, _input, { user, system }) => ok(userBoosts(scope, system, user)),
  ),
  endpoint(
    'GET /users/{id}/points/{key}/event-summary',
    {
      id: 'users_points_event_summary',
      summary: "Sum up a user's points by day, week or month",
      params: userParams,
      query: SummaryQuery,
      responses: { 200: { description: 'One item for each bucket.', body: EventSummaryResponse } },
    },
    ofUser,
    async (scope, { query }, { user, system }) => ok(await pointsEventSummary(scope, system, user, query)),
  ),
  /** Not in the contract. */
  endpoint(
    'GET /points',
    {
      id: 'points_all',
      summary: 'List the points systems with their active triggers',
      responses: { 200: { description: 'The systems, in order of creation.', body: PointsSystemsResponse } },
    },
    async (scope) => ok(systemsResponse(await configurationOf(scope))),
  ),
  endpoint(
    'GET /points/{key}',
    {
      id: 'points_system',
      summary: 'Get a points system with its active triggers',
      params,
      responses: { 200: { description: 'The points system.', body: PointsSystemResponse } },
    },
    ofSystem,
    async (_scope, _input, { config, system }) => ok(systemResponse(config, system)),
  ),
  endpoint(
    'GET /points/{key}/levels',
    {
      id: 'points_levels',
      summary: "List a points system's levels, by points",
      params,
      responses: { 200: { description: 'The levels.', body: PointsLevelsResponse } },
    },
    ofSystem,
    async (_scope, _input, { system }) => ok(ladder(system).map(levelResponse)),
  ),
  endpoint(
    'GET /points/{key}/boosts',
    {
      id: 'points_boosts',
      summary: "List a points system's boosts that are not a single user's",
      params,
      query: BoostsQuery,
      responses: { 200: { description: 'The boosts.', body: PointsBoostsResponse } },
    },
    ofSystem,
    async (scope, { query }, { system }) => ok(systemBoosts(scope, system, query.includeFinished)),
  ),
  endpoint(
    'GET /points/{key}/summary',
    {
      id: 'points_summary',
      summary: 'Count users by how many points they have',
      params,
      query: PointsSummaryQuery,
      responses: {
        200: { description: 'The range 0 to 0, and ten ranges of equal width.', body: PointsSummaryResponse },
      },
    },
    ofSystem,
    async (scope, { query }, { config, system }) =>
      ok(await pointsSummary(scope, config, system, query.userAttributes ?? new Map())),
  ),
  endpoint(
    'GET /points/{key}/level-summary',
    {
      id: 'points_level_summary',
      summary: 'Count users by level',
      params,
      query: PointsSummaryQuery,
      responses: { 200: { description: 'One item for each level.', body: PointsLevelSummaryResponse } },
    },
    { ...ofSystem, check },
    async (scope, { query }, { config, system }) =>
      ok(await levelSummary(scope, config, system, query.userAttributes ?? new Map())),
  ),
]
