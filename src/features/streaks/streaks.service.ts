import type * as z from 'zod'
import { historyBegins, wholeStreakResponse } from '../../api/shapes/streak.presenter'
import type { BulkStreakResponse, StreakResponse } from '../../api/shapes/streak.schemas'
import { configurationOf } from '../../configuration/configuration.service'
import type { Configuration } from '../../configuration/configuration.types'
import { NO_PREFERENCES } from '../../configuration/preferences.types'
import { type Instant, iso } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { compareText } from '../../lib/ids'
import { dayIn } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import { askHolders } from '../../platform/databases/ask-all'
import type { UserState } from '../../rules/state.types'
import { isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { termsOf } from '../../rules/streaks/terms.rules'
import { pausesOf } from '../../store/streaks/pauses.repository'
import type { StreakSources } from '../../store/streaks/streak-log.repository'
import { recounted, recountedFrom } from '../../store/streaks/streak-recount.service'
import { readStreaks, runsSince, type StreakPast } from '../../store/streaks/streaks.repository'

/** The last zone in which a date begins. */
const LAST_ZONE = 'Etc/GMT+12'

/** The user with the streak as the rules say at this moment. Writes nothing (S3, S9). */
async function presentStreak(scope: Scope, config: Configuration, user: UserState) {
  const terms = termsOf(config, user.preferences)
  const isOutdated = isStale(user.streak, terms)
  const known = isOutdated ? (await recountOf(scope, config, user)).streak : user.streak
  const today = dayIn(user.profile.tz, scope.now)
  const { streak } = streakAsOf({ ...user, streak: known }, terms, today, scope.now)
  return { user: { ...user, streak }, terms }
}

async function recountOf({ db, now }: Scope, config: Configuration, user: UserState) {
  const [counted] = await recounted(db, config, [user], now)
  return counted ?? { streak: user.streak, runs: [] }
}

/**
 * The first day of the last `historyPeriods` periods, in any zone. `streakOfUser` needs no run that ended
 * before it.
 */
export function earliestHistory(config: Configuration, now: Instant, historyPeriods: number): number {
  const user = { preferences: NO_PREFERENCES, profile: { tz: LAST_ZONE } }
  return historyBegins(config, user, now, historyPeriods)
}

/**
 * The same as `userStreak`, from data that was read before: past runs, pauses, and the sources of a recount
 * if the streak is stale.
 */
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

/**
 * A user's streak, with its last `historyPeriods` periods, and the pauses that touch them or are in the
 * future (S5, S6).
 */
export async function userStreak(
  scope: Scope,
  found: UserState,
  historyPeriods: number,
): Promise<z.infer<typeof StreakResponse>> {
  const config = await configurationOf(scope)
  const terms = termsOf(config, found.preferences)
  const known = isStale(found.streak, terms) ? await recountOf(scope, config, found) : null
  const user = { ...found, streak: known?.streak ?? found.streak }
  const since = historyBegins(config, user, scope.now, historyPeriods)
  const past = known?.runs ?? (await runsSince(scope.db, user.iid, since))
  const pauses = await pausesOf(scope.db, user.iid)
  return wholeStreakResponse(config, user, scope.now, { historyPeriods, past, pauses })
}

const extendedAt = (at: Instant | null) => (at === null ? null : iso(at))

/** The streak lengths of the users who exist, longest first, then by id (S6). */
export async function streaksOf(
  scope: Scope,
  userIds: readonly string[],
): Promise<z.infer<typeof BulkStreakResponse>> {
  const { access, databases, tenant } = scope
  if (access.kind === 'application' && userIds.some((id) => id !== access.userId)) throw errors.otherUser()
  const config = await configurationOf(scope)
  const streaks = []
  const found = await askHolders(databases, tenant.id, [...new Set(userIds)], readStreaks)
  for (const one of found.flat()) {
    const db = databases.ofUser(tenant.id, one.id)
    const { user, terms } = await presentStreak({ ...scope, db }, config, one)
    const run = terms.isOn ? user.streak.run : null
    const extended = extendedAt(run?.extended ?? null)
    streaks.push({ userId: user.id, streakLength: run?.length ?? 0, extended })
  }
  return streaks.sort((a, b) => b.streakLength - a.streakLength || compareText(a.userId, b.userId))
}
