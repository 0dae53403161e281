import * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import { ok } from '../../api/operation'
import { UserAchievementsResponse } from '../../api/shapes/achievements'
import { UserLeaderboardsResponse } from '../../api/shapes/leaderboards'
import { MetricsResponse } from '../../api/shapes/metrics'
import { AllUserPointsResponse } from '../../api/shapes/points'
import { StreakResponse } from '../../api/shapes/streaks'
import { User, userResponse } from '../../api/shapes/users'
import { configurationOf } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/configuration.types'
import { readUserPlaces } from '../../leaderboards/leaderboards'
import { errors } from '../../lib/errors'
import { PAGES } from '../../lib/limits'
import { systemNow } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import { FIRST } from '../../platform/databases/directory'
import type { UserState } from '../../rules/state'
import { type AwardsOfEach, awardsOfEachStatements, parseAwardsOfEach } from '../../store/awards.sql.ts'
import { parseSources, type StreakSources, sourcesIfStale } from '../../store/commit/recount'
import { parsePast, pastStatements, type StreakPast } from '../../store/streaks/streaks.sql.ts'
import {
  parseTenantCounters,
  readTenantCounters,
  type TenantCounters,
  tenantCountersStatement,
} from '../../store/users/counters.sql.ts'
import { parseUser, userStatement } from '../../store/users/users.sql.ts'
import { listOfUser } from '../achievements/achievements'
import { allUserMetrics } from '../metrics/user-metrics.routes'
import { awardsOfAll, pointsOfAll } from '../points/points'
import { earliestHistory, streakOfUser } from '../streaks/streaks.routes'

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

const endpoint = endpointsOf('application')

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
