import type * as z from 'zod'
import type { StreakRankingsQuery, StreakRankingsResponse } from '../../api/shapes/streak.schemas'
import { configurationOf } from '../../configuration/configuration.service'
import type { Configuration } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { MOST_RANKED_STREAKS } from '../../lib/limits'
import { dayIn } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import { askAll } from '../../platform/databases/ask-all'
import type { Pause } from '../../platform/scans'
import { KEPT_ABOVE, KEPT_FOR, sharedScans } from '../../platform/shared-scans'
import { isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { termsOf } from '../../rules/streaks/terms.rules'
import type { KeptRanking } from './rankings.cache'
import { rankingsOf } from './rankings.cache'
import {
  type Best,
  bestEver,
  bestLive,
  compareRanked,
  namesOf,
  overdueOf,
  type Ranked,
} from './rankings.repository'

type Asked = z.output<typeof StreakRankingsQuery>

/**
 * The users with the longest streaks, now or ever, for older client libraries. After a change of the
 * frequency, a user is missing until the streak is recounted (S9).
 */
export async function rankStreaks(
  scope: Scope,
  { type, limit }: Asked,
): Promise<z.infer<typeof StreakRankingsResponse>> {
  const first = (await rankingOf(scope, type)).slice(0, limit)
  if (first.length === 0) return []
  const names = await namesOf(
    everywhere(scope),
    first.map(({ userId }) => userId),
  )
  return first.flatMap(({ userId, length }) => {
    const name = names.get(userId)
    return name === undefined ? [] : [{ userId, name, streakLength: length }]
  })
}

const rankingScansOf = sharedScans<{ ranking: KeptRanking; users: number }>()

/** The longest ranking that may be asked for. Throws 429 if too many scans are running (P11). */
async function rankingOf(scope: Scope, type: Asked['type']): Promise<readonly Ranked[]> {
  const { tenant, now } = scope
  const rankings = rankingsOf(scope.instance)
  const key = `${tenant.id} ${type}`
  const isRecent = ({ computed }: KeptRanking) => now >= computed && now - computed < KEPT_FOR
  const kept = rankings.get(key)
  if (kept?.version === tenant.configVersion && isRecent(kept)) return kept.ranked
  const config = await configurationOf(scope)
  const { ranking } = await rankingScansOf(scope.instance).run(
    {
      tenantId: tenant.id,
      name: `rankings ${type} ${config.version}`,
      read: async (pause) => {
        const { best, users } = await rank(scope, config, type, pause)
        const ranking = { version: config.version, computed: now, ranked: best }
        if (users > KEPT_ABOVE) rankings.set(key, ranking)
        return { ranking, users }
      },
      mayBeOlder: ({ ranking, users }) => users > KEPT_ABOVE && isRecent(ranking),
    },
    scope.waitUntil,
  )
  return ranking.ranked
}

const everywhere = ({ databases, tenant }: Scope) => ({ databases, tenantId: tenant.id })

const rank = (scope: Scope, config: Configuration, type: Asked['type'], pause: Pause): Promise<Best> =>
  type === 'active'
    ? rankActive(scope, config, pause)
    : bestEver(everywhere(scope), config.streaks, MOST_RANKED_STREAKS, pause)

/** Includes streaks that are past their deadline but not judged yet (S3). */
async function rankActive(scope: Scope, config: Configuration, pause: Pause): Promise<Best> {
  const { databases, tenant, now } = scope
  if (!config.streaks.enabled) return { best: [], users: 0 }
  const overdue = await askAll(databases, tenant.id, (db) => overdueLengths(db, config, now, pause))
  const lengths = new Map(overdue.flatMap((some) => [...some]))
  // Reads these last. A user who is judged in between is then found here at the latest.
  const { best, users } = await bestLive(everywhere(scope), config.streaks, now, MOST_RANKED_STREAKS, pause)
  for (const { userId, length } of best) lengths.set(userId, length)
  const ranked = [...lengths].map(([userId, length]) => ({ userId, length }))
  return { best: ranked.sort(compareRanked).slice(0, MOST_RANKED_STREAKS), users }
}

/** The lengths of the streaks that are past their deadline, by user. */
async function overdueLengths(
  db: TenantDatabase,
  config: Configuration,
  now: Instant,
  pause: Pause,
): Promise<Map<string, number>> {
  const lengths = new Map<string, number>()
  for await (const user of overdueOf(db, now, pause)) {
    const terms = termsOf(config, user.preferences)
    if (!terms.isOn || isStale(user.streak, terms)) continue
    const { run } = streakAsOf(user, terms, dayIn(user.profile.tz, now), now).streak
    if (run !== null) lengths.set(user.id, run.length)
  }
  return lengths
}
