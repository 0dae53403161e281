import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import { SummaryQuery } from '../../api/queries'
import { EventSummaryResponse } from '../../api/shapes/events'
import {
  AllUserPointsResponse,
  AwardsQuery,
  BoostsQuery,
  GetUserPointsResponse,
  levelResponse,
  type PointsBoost,
  PointsBoostsResponse,
  PointsLevelSummaryResponse,
  PointsLevelsResponse,
  PointsSummaryQuery,
  PointsSummaryResponse,
  PointsSystemResponse,
  PointsSystemsResponse,
  storedAwardResponse,
  systemFields,
  triggerResponse,
} from '../../api/shapes/points'
import { configurationOf } from '../../configuration/configuration'
import {
  type Boost,
  type Configuration,
  type Filter,
  meets,
  type System,
  systemByKey,
} from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { INT32_MAX } from '../../lib/decimal'
import { errors, type FieldError, throwIfInvalid } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import { civilDateAt, offsetMinutes } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import { boostStatus, boostsFor, shown } from '../../rules/points/boosts.rules'
import { ladder, levelOf, type StoredAward } from '../../rules/points/points.rules'
import { resolveAttributes, unknownAttributes } from '../../rules/profile.rules'
import type { UserState } from '../../rules/state'
import {
  type AwardsOfEach,
  awardsOfEachStatements,
  newestAwards,
  parseAwardsOfEach,
  triggerForms,
} from '../../store/awards.sql.ts'
import { summarise } from '../../store/day-sums/day-sums.rules'
import { readDaySums } from '../../store/day-sums/day-sums.sql.ts'
import { findUser, parseUser, stateOf, userStatement } from '../../store/users/users.sql.ts'
import { countLevels, countRanges } from './summaries.sql.ts'

function pointsResponse(
  system: System,
  user: Pick<UserState, 'points'>,
  awards: readonly StoredAward[],
  forms: AwardsOfEach['forms'],
): z.input<typeof GetUserPointsResponse> {
  const total = user.points.get(system.id) ?? 0
  const level = levelOf(system, total)
  return {
    ...systemFields(system),
    total,
    level: level && levelResponse(level),
    awards: awards.map((award) => storedAwardResponse(award, forms)),
  }
}

const MOST_AWARDS = 1_000

/** The awards in a response about all systems: fewer for each than asked for, if there are many systems. */
export function awardsOfAll({ systems }: Pick<Configuration, 'systems'>, asked: number) {
  const room = Math.floor(MOST_AWARDS / Math.max(1, systems.length))
  return { systemIds: systems.map(({ id }) => id), limit: Math.max(1, Math.min(asked, room)) }
}

async function allUserPoints(scope: Scope, { id }: UserState, limit: number) {
  const { db } = scope
  const config = await configurationOf(scope)
  // The user is read again, so that the totals and the awards are as of one moment.
  const { found, ...newest } = await db.batchOf({
    found: userStatement(db, id, systemNow()),
    ...awardsOfEachStatements(db, id, awardsOfAll(config, limit)),
  })
  const user = parseUser(found)
  if (user === null) throw errors.notFound('This user')
  return pointsOfAll(config, user, parseAwardsOfEach(newest))
}

/** A user's points in all systems, from the user and the awards that one batch has read (P9, P10). */
export const pointsOfAll = ({ systems }: Configuration, user: UserState, { awards, forms }: AwardsOfEach) =>
  systems.map((system) => pointsResponse(system, user, awards.get(system.id) ?? [], forms))

/** A boost with its status. `zone` is the user's for a user's own boost, else null. */
const boostResponse = (boost: Boost, now: Instant, zone: string | null): z.input<typeof PointsBoost> => ({
  ...shown(boost),
  status: boostStatus(boost, now, zone),
})

/** A system with its active triggers in order of creation (P13). */
function systemResponse(config: Configuration, system: System): z.input<typeof PointsSystemResponse> {
  const { key: _key, ...fields } = systemFields(system)
  const active = system.triggers.filter(({ status }) => status === 'active')
  return { ...fields, triggers: active.map((trigger) => triggerResponse(config, trigger)) }
}

async function pointsSummary(scope: Scope, systemId: string, filters: readonly Filter[]) {
  const places = await countRanges(scope, systemId, filters)
  const width = places[0]?.width ?? 1
  const ranges = Array.from({ length: 11 }, (_, place) => ({
    from: place === 0 ? 0 : (place - 1) * width + 1,
    to: Math.min(place * width, INT32_MAX),
    users: places.find((one) => one.place === place)?.users ?? 0,
  }))
  // No total is larger.
  return ranges.filter(({ from }) => from <= INT32_MAX)
}

async function levelSummary(scope: Scope, system: System, filters: readonly Filter[]) {
  const levels = ladder(system)
  const places = await countLevels(scope, system.id, filters, levels)
  return levels.map((level, index) => ({
    level: levelResponse(level),
    users: places.find(({ place }) => place === index)?.users ?? 0,
  }))
}

const levelErrors = ({ levels }: System): FieldError[] =>
  levels.length > 0 ? [] : [{ path: '', message: 'This points system has no levels. Create levels first' }]

/**
 * Filters by attribute id, from values by key. Throws 403 for values that an application key's own user does
 * not have (P11). This protects attributes that only admins may set: a user can't guess their values. It does
 * not protect other attributes, because a user can set them to any value first (K7). Throws 422 on unknown
 * keys, and for `further` errors.
 */
async function filtersFrom(
  scope: Scope,
  config: Configuration,
  { userAttributes: attributes = new Map() }: z.output<typeof PointsSummaryQuery>,
  further: readonly FieldError[] = [],
): Promise<Filter[]> {
  const values = resolveAttributes(config, 'user', attributes)
  const filters = [...values].map(([attributeId, attributeValue]) => ({ attributeId, attributeValue }))
  if (filters.length > 0 && !(await areOwn(scope, filters))) throw errors.otherValues()
  throwIfInvalid([...further, ...unknownAttributes(config, 'user', attributes)])
  return filters
}

/** An admin key may ask for all values, an application key for those of its own user, if there is one. */
async function areOwn(scope: Scope, filters: readonly Filter[]): Promise<boolean> {
  const { access } = scope
  if (access.kind === 'admin') return true
  const user = await stateOf(scope, access.userId)
  return meets(filters, user?.profile.attributes ?? new Map())
}

const params = z.object({ key: z.string() })
const userParams = z.object({ id: UserId, key: z.string() })

type Param = (name: string) => string

const findSystem = async (scope: Scope, param: Param) => {
  const config = await configurationOf(scope)
  const system = systemByKey(config, param('key'))
  if (system === undefined) throw errors.notFound(`The points system ${JSON.stringify(param('key'))}`)
  return { config, system }
}

const findUserAndSystem = async (scope: Scope, param: Param) => {
  const user = await findUser(scope, param('id'))
  return { user, ...(await findSystem(scope, param)) }
}

const endpoint = endpointsOf('application')

const ofUser = { find: findUserAndSystem }
const ofSystem = { find: findSystem }
const check = (_scope: Scope, _given: unknown, { system }: { system: System }) => levelErrors(system)

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
    { find: (scope, param) => findUser(scope, param('id')) },
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
    async (scope, { query }, { user, system }) => {
      const awards = await newestAwards(scope.db, user, system.id, query.awards)
      return ok(pointsResponse(system, user, awards, await triggerForms(scope.db, awards)))
    },
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
    async ({ now }, _input, { user, system }) => {
      const zone = user.profile.tz ?? 'UTC'
      const applying = boostsFor(system, user, civilDateAt(now, offsetMinutes(zone, now)))
      return ok(applying.map((one) => boostResponse(one, now, one.userId === null ? null : zone)))
    },
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
    async (scope, { query }, { user, system }) => {
      const { days, total } = await readDaySums(scope, user, { log: 'awards', id: system.id }, query)
      return ok(summarise(days, query, total))
    },
  ),
  /** Not in the contract. */
  endpoint(
    'GET /points',
    {
      id: 'points_all',
      summary: 'List the points systems with their active triggers',
      responses: { 200: { description: 'The systems, in order of creation.', body: PointsSystemsResponse } },
    },
    async (scope) => {
      const config = await configurationOf(scope)
      return ok(config.systems.map((one) => ({ key: one.key, ...systemResponse(config, one) })))
    },
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
    async ({ now }, { query }, { system }) => {
      const boosts = system.boosts.map((one) => boostResponse(one, now, null))
      return ok(boosts.filter(({ status }) => query.includeFinished || status !== 'finished'))
    },
  ),
  endpoint(
    'GET /points/{key}/summary',
    {
      id: 'points_summary',
      summary: 'Count users by how many points they have',
      params,
      query: PointsSummaryQuery,
      responses: {
        200: {
          description: 'The range 0 to 0, and at most ten ranges of equal width.',
          body: PointsSummaryResponse,
        },
      },
    },
    ofSystem,
    async (scope, { query }, { config, system }) =>
      ok(await pointsSummary(scope, system.id, await filtersFrom(scope, config, query))),
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
    async (scope, { query }, { config, system }) => {
      const filters = await filtersFrom(scope, config, query, levelErrors(system))
      return ok(await levelSummary(scope, system, filters))
    },
  ),
]
