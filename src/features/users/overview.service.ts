import type * as z from 'zod'
import { userResponse } from '../../api/shapes/user.presenter'
import { configurationOf } from '../../configuration/configuration.service'
import type { Configuration } from '../../configuration/configuration.types'
import { readUserPlaces } from '../../leaderboards/leaderboards.service'
import { errors } from '../../lib/errors'
import { PAGES } from '../../lib/limits'
import { systemNow } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import type { UserState } from '../../rules/state.types'
import { type AwardsOfEach, awardsOfEachStatements, parseAwardsOfEach } from '../../store/awards.repository'
import {
  parseTenantCounters,
  readTenantCounters,
  type TenantCounters,
  tenantCountersStatement,
} from '../../store/counters.repository'
import { parseSources, type StreakSources, sourcesIfStale } from '../../store/streaks/streak-log.repository'
import { parsePast, pastStatements, type StreakPast } from '../../store/streaks/streaks.repository'
import { parseUser, userStatement } from '../../store/users.repository'
import { listOfUser } from '../achievements/achievements.service'
import { allUserMetrics } from '../metrics/user-metrics.service'
import { awardsOfAll, pointsOfAll } from '../points/points.service'
import { earliestHistory, streakOfUser } from '../streaks/streaks.service'
import type { UserOverviewResponse } from './overview.schemas'

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
export async function findOverview(scope: Scope, userId: string): Promise<Found> {
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
    // With several databases, each one has its own counters.
    tenantCounters: databases.isSeveral
      ? await readTenantCounters(databases, tenant.id)
      : parseTenantCounters(tenantCounters),
    awards: parseAwardsOfEach(rest),
    past: { ...parsePast(rest), sources: parseSources(sources) },
  }
}

/**
 * All data of a user. Each part equals the response of the operation that returns only that part. The
 * leaderboards are called at the same time, in one wave. A stale streak is recounted from data of the same
 * read (S9). Only a log that is longer than one read costs further reads.
 */
export async function overviewResponse(
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
