import * as z from 'zod'
import type { StreakRankingsQuery, StreakRankingsResponse } from '../../api/shapes/streaks'
import { configurationOf } from '../../configuration/configuration'
import {
  type Configuration,
  NO_PREFERENCES,
  Preferences,
  type StreakSettings,
} from '../../configuration/model'
import { BoundedMap } from '../../lib/bounded'
import type { Instant } from '../../lib/clock'
import { compareText } from '../../lib/ids'
import { MOST_RANKED_STREAKS } from '../../lib/limits'
import { dayIn } from '../../lib/zone'
import { json, Moment } from '../../platform/columns'
import { perInstance, type Scope } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { KEPT_ABOVE, KEPT_FOR, NO_PAUSE, type Pause, sharedScans } from '../../platform/scans'
import { type StreakState, termsOf } from '../../rules/streaks/streak-state.rules'
import { isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { USERS } from '../../store/users/counters.sql.ts'
import { usersInParts } from '../../store/users/pages.sql.ts'
import { namesOf, parseStreak } from '../../store/users/users.sql.ts'

/** The longest streaks of a tenant, as many as a request may ask for. */
type KeptRanking = {
  version: number
  computed: Instant
  ranked: readonly { userId: string; length: number }[]
}

/** At most 100, by tenant id and type. Each is used for a minute, only while D1 has its version. */
export const rankingsOf = perInstance(() => new BoundedMap<string, KeptRanking>(100))

const Ranked = z.object({ userId: z.string(), length: z.number() })
export type Ranked = z.infer<typeof Ranked>

const Counted = z.array(z.object({ count: z.number() }))
const COUNT = `SELECT count FROM tenant_counters WHERE tenant_id = ?1 AND name = '${USERS}'`

/** The most users in a page, and pages. Users beyond them are skipped during a large midnight. */
const PAGE = 1_000
const PAGES = 20

const OVERDUE = `
  SELECT u.id, u.tz, u.created, CASE WHEN u.streak ->> '$.run.length' > 0 THEN u.streak END AS streak,
    page.due, u.preferences FROM (
    SELECT id, streak_due AS due FROM users
    WHERE tenant_id = ?1 AND streak_due IS NOT NULL AND (streak_due, id) > (?3, ?4) AND streak_due <= ?2
    ORDER BY streak_due, id LIMIT ?5) page
  CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = page.id
  ORDER BY page.due, page.id`

const OverdueRow = z
  .object({
    id: z.string(),
    tz: z.string().nullable(),
    created: Moment,
    streak: z.string().nullable(),
    due: z.number(),
    preferences: json(Preferences).nullable(),
  })
  .transform(({ streak, due, preferences, tz, ...user }) => ({
    ...user,
    streak: streak === null ? null : parseStreak(streak, due),
    preferences: preferences ?? NO_PREFERENCES,
    profile: { tz },
    due,
  }))

type Overdue = z.output<typeof OverdueRow> & { streak: StreakState }

/** Users with a streak that may be over, but is not judged yet. Calls `pause` before each statement. */
export async function* overdueOf(
  db: TenantDatabase,
  now: Instant,
  pause: Pause = NO_PAUSE,
): AsyncGenerator<Overdue> {
  let after = { due: -1, id: '' }
  for (let page = 0; page < PAGES; page += 1) {
    await pause()
    const statement = db.statement(OVERDUE, db.tenantId, now, after.due, after.id, PAGE)
    const users = z.array(OverdueRow).parse(await db.rows(statement))
    for (const { streak, ...user } of users) if (streak !== null) yield { ...user, streak }
    const last = users.at(-1)
    if (last === undefined || users.length < PAGE) return
    after = last
  }
}

/** The most live streaks to read through the index of deadlines. With more, all users are read in parts. */
const LIVE_AT_ONCE = 5_000

const LENGTH = "coalesce(streak ->> '$.run.length', 0)"
const OF_SETTINGS = "streak ->> '$.frequency' = ?2 AND coalesce(streak ->> '$.epoch', 0) = ?3"
/** Whether the user has the streak switched on (U7). */
const IS_ON = "coalesce(preferences ->> '$.streak.enabled', 1)"

/** The ?4 longest streaks of the users in `part`, and how many are in it. No streak has length 0. */
const BEST = `
  SELECT count(*) AS users, coalesce(max(id), '') AS last, (SELECT json_group_array(json_object('userId', id,
    'length', length))
    FROM (SELECT id, length FROM part WHERE length > 0 ORDER BY length DESC, id LIMIT ?4)) AS best
  FROM part`

// Uses the index of deadlines, so users without a deadline are not read.
const LIVE = `
  WITH part AS MATERIALIZED (
    SELECT id, CASE WHEN ${OF_SETTINGS} AND ${IS_ON} THEN ${LENGTH} ELSE 0 END AS length
    FROM users WHERE tenant_id = ?1 AND streak_due > ?5 LIMIT ?6)
  ${BEST}`

/** The next users in order of their ids: at most ?8, after ?6 and up to ?7. */
const NEXT = 'FROM users WHERE tenant_id = ?1 AND id > ?6 AND id <= ?7 ORDER BY id LIMIT ?8'

const LIVE_PART = `
  WITH part AS MATERIALIZED (
    SELECT id, CASE WHEN streak_due > ?5 AND ${OF_SETTINGS} AND ${IS_ON} THEN ${LENGTH}
      ELSE 0 END AS length ${NEXT})
  ${BEST}`

// Reads each user. Lengths are in no index, because an index would cost every extension one more row.
const LONGEST_PART = `
  WITH part AS MATERIALIZED (
    SELECT id, CASE WHEN ${OF_SETTINGS} THEN
      max(${LENGTH}, coalesce((SELECT max(length) FROM streak_runs WHERE user_iid = users.iid), 0))
        ELSE 0 END AS length ${NEXT})
  ${BEST}`

const BestRow = z.object({ users: z.number(), last: z.string(), best: json(z.array(Ranked)) })

/** The longest streaks, longest first, and the tenant's number of users. */
export type Best = { best: Ranked[]; users: number }

/** Only streaks of the current settings count. */
type Settings = Pick<StreakSettings, 'frequency' | 'epoch'>

type Everywhere = { databases: Databases; tenantId: string }

/** The longest streaks with a deadline in the future: their stored length is right. */
export async function bestLive(
  at: Everywhere,
  settings: Settings,
  now: Instant,
  limit: number,
  pause: Pause = NO_PAUSE,
): Promise<Best> {
  await pause()
  const { frequency, epoch } = settings
  const found = await at.databases.usersOf(at.tenantId).askAll(async (db) => {
    const { live, counted } = await db.batchOf({
      live: db.statement(LIVE, db.tenantId, frequency, epoch, limit, now, LIVE_AT_ONCE),
      counted: db.statement(COUNT, db.tenantId),
    })
    return { ...BestRow.parse(live.results[0]), counted: countOf(counted.results) }
  })
  const users = sum(found.map(({ counted }) => counted))
  if (found.every(({ users: read }) => read < LIVE_AT_ONCE)) return { best: bestOf(found, limit), users }
  return { best: await bestOfParts(at, LIVE_PART, settings, now, limit, pause), users }
}

const countOf = (rows: readonly unknown[]): number => Counted.parse(rows)[0]?.count ?? 0
const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)

const bestOf = (lists: readonly { best: readonly Ranked[] }[], limit: number): Ranked[] =>
  lists
    .flatMap(({ best }) => best)
    .sort(compareRanked)
    .slice(0, limit)

/** The longest streaks of all users, read in parts. `now` is for statements with a deadline in the future. */
async function bestOfParts(
  { databases, tenantId }: Everywhere,
  sql: string,
  { frequency, epoch }: Settings,
  now: Instant | null,
  limit: number,
  pause: Pause,
): Promise<Ranked[]> {
  let best: Ranked[] = []
  const parts = usersInParts(databases, tenantId, pause, async (db, { after, until, limit: most }) => {
    const asked = [db.tenantId, frequency, epoch, limit, now, after, until, most]
    return db.one(BestRow, sql, ...asked)
  })
  for await (const part of parts) best = bestOf([{ best }, part], limit)
  return best
}

/** Longest first, then by the UTF-8 bytes of the user id. */
function compareRanked(a: Ranked, b: Ranked): number {
  return b.length - a.length || compareText(a.userId, b.userId)
}

type Asked = z.output<typeof StreakRankingsQuery>

/** For older client libraries. After a change of the frequency, a user is missing until the recount (S9). */
export async function rankStreaks(
  scope: Scope,
  { type, limit }: Asked,
): Promise<z.infer<typeof StreakRankingsResponse>> {
  const first = (await rankingOf(scope, type)).slice(0, limit)
  if (first.length === 0) return []
  const userIds = first.map(({ userId }) => userId)
  const names = await namesOf(scope.databases, scope.tenant.id, userIds, 'id')
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
        const rank = type === 'active' ? rankActive : rankEver
        const { best, users } = await rank(scope, config, pause)
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

/** The longest streaks that users ever had, including past ones. */
async function rankEver(scope: Scope, { streaks }: Configuration, pause: Pause): Promise<Best> {
  const at = everywhere(scope)
  await pause()
  const counts = await at.databases
    .usersOf(at.tenantId)
    .askAll(async (db) => countOf(await db.rows(db.statement(COUNT, db.tenantId))))
  const best = await bestOfParts(at, LONGEST_PART, streaks, null, MOST_RANKED_STREAKS, pause)
  return { best, users: sum(counts) }
}

/** Includes streaks that are past their deadline but not judged yet (S3). */
async function rankActive(scope: Scope, config: Configuration, pause: Pause): Promise<Best> {
  const { databases, tenant, now } = scope
  if (!config.streaks.enabled) return { best: [], users: 0 }
  const overdue = await databases.usersOf(tenant.id).askAll((db) => overdueLengths(db, config, now, pause))
  const lengths = new Map(overdue.flatMap((some) => [...some]))
  // Reads these last. A user who is judged in between is then found here at the latest.
  const { best, users } = await bestLive(everywhere(scope), config.streaks, now, MOST_RANKED_STREAKS, pause)
  for (const { userId, length } of best) lengths.set(userId, length)
  const ranked = [...lengths].map(([userId, length]) => ({ userId, length }))
  return { best: ranked.sort(compareRanked).slice(0, MOST_RANKED_STREAKS), users }
}

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
