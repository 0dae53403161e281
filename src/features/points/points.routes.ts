import * as z from 'zod'
import { UserId } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { SummaryQuery } from '../../api/queries'
import { EventSummaryResponse } from '../../api/shapes/metric.schemas'
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
const shared = { surface: 'application', method: 'get' } as const

/** Not in the contract. */
export const usersAllPoints = operation({
  ...shared,
  id: 'users_all_points',
  path: '/users/{id}/points',
  summary: "Get a user's points in all systems, with the newest awards in each",
  params: z.object({ id: UserId }),
  query: AwardsQuery,
  responses: { 200: { description: 'Every system, in order of creation.', body: AllUserPointsResponse } },
})

export const usersPoints = operation({
  ...shared,
  id: 'users_points',
  path: '/users/{id}/points/{key}',
  summary: "Get a user's points in a system, with the newest awards",
  params: userParams,
  query: AwardsQuery,
  responses: { 200: { description: 'The points.', body: GetUserPointsResponse } },
})

export const usersPointsBoosts = operation({
  ...shared,
  id: 'users_points_boosts',
  path: '/users/{id}/points/{key}/boosts',
  summary: "List the boosts that apply to a user on the user's local date",
  params: userParams,
  responses: { 200: { description: 'The boosts.', body: PointsBoostsResponse } },
})

export const usersPointsEventSummary = operation({
  ...shared,
  id: 'users_points_event_summary',
  path: '/users/{id}/points/{key}/event-summary',
  summary: "Sum up a user's points by day, week or month",
  params: userParams,
  query: SummaryQuery,
  responses: { 200: { description: 'One item for each bucket.', body: EventSummaryResponse } },
})

/** Not in the contract. */
export const pointsAll = operation({
  ...shared,
  id: 'points_all',
  path: '/points',
  summary: 'List the points systems with their active triggers',
  responses: { 200: { description: 'The systems, in order of creation.', body: PointsSystemsResponse } },
})

export const pointsSystem = operation({
  ...shared,
  id: 'points_system',
  path: '/points/{key}',
  summary: 'Get a points system with its active triggers',
  params,
  responses: { 200: { description: 'The points system.', body: PointsSystemResponse } },
})

export const pointsLevels = operation({
  ...shared,
  id: 'points_levels',
  path: '/points/{key}/levels',
  summary: "List a points system's levels, by points",
  params,
  responses: { 200: { description: 'The levels.', body: PointsLevelsResponse } },
})

export const pointsBoosts = operation({
  ...shared,
  id: 'points_boosts',
  path: '/points/{key}/boosts',
  summary: "List a points system's boosts that are not a single user's",
  params,
  query: BoostsQuery,
  responses: { 200: { description: 'The boosts.', body: PointsBoostsResponse } },
})

export const pointsSummaryOperation = operation({
  ...shared,
  id: 'points_summary',
  path: '/points/{key}/summary',
  summary: 'Count users by how many points they have',
  params,
  query: PointsSummaryQuery,
  responses: {
    200: { description: 'The range 0 to 0, and ten ranges of equal width.', body: PointsSummaryResponse },
  },
})

export const pointsLevelSummary = operation({
  ...shared,
  id: 'points_level_summary',
  path: '/points/{key}/level-summary',
  summary: 'Count users by level',
  params,
  query: PointsSummaryQuery,
  responses: { 200: { description: 'One item for each level.', body: PointsLevelSummaryResponse } },
})

/** The operations of the application interface on points, in the order of the OpenAPI document. */
export const pointsOperations = [
  usersAllPoints,
  usersPoints,
  usersPointsBoosts,
  usersPointsEventSummary,
  pointsAll,
  pointsSystem,
  pointsLevels,
  pointsBoosts,
  pointsSummaryOperation,
  pointsLevelSummary,
]

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

/** Serves the operations of the application interface on points. */
export function pointsRoutes(app: App): void {
  const ofUser = { subject: inPath, find: findUserAndSystem }
  const ofSystem = { find: findSystem }
  mount(
    app,
    usersAllPoints,
    { subject: inPath, find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => ok(await allUserPoints(scope, user, query.awards)),
  )
  mount(app, usersPoints, ofUser, async (scope, { query }, { user, system }) =>
    ok(await userPoints(scope, system, user, query.awards)),
  )
  mount(app, usersPointsBoosts, ofUser, async (scope, _input, { user, system }) =>
    ok(userBoosts(scope, system, user)),
  )
  mount(app, usersPointsEventSummary, ofUser, async (scope, { query }, { user, system }) =>
    ok(await pointsEventSummary(scope, system, user, query)),
  )
  mount(app, pointsAll, {}, async (scope) => ok(systemsResponse(await configurationOf(scope))))
  mount(app, pointsSystem, ofSystem, async (_scope, _input, { config, system }) =>
    ok(systemResponse(config, system)),
  )
  mount(app, pointsLevels, ofSystem, async (_scope, _input, { system }) =>
    ok(ladder(system).map(levelResponse)),
  )
  mount(app, pointsBoosts, ofSystem, async (scope, { query }, { system }) =>
    ok(systemBoosts(scope, system, query.includeFinished)),
  )
  mount(app, pointsSummaryOperation, ofSystem, async (scope, { query }, { config, system }) =>
    ok(await pointsSummary(scope, config, system, query.userAttributes ?? new Map())),
  )
  const check = (_scope: Scope, _given: unknown, { system }: { system: System }) => levelErrors(system)
  mount(app, pointsLevelSummary, { ...ofSystem, check }, async (scope, { query }, { config, system }) =>
    ok(await levelSummary(scope, config, system, query.userAttributes ?? new Map())),
  )
}
