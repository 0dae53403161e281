import * as z from 'zod'
import { FURTHEST_OFFSET, type Instant } from '../../lib/clock'
import { packed } from '../../lib/packed'
import { canonicalZone, dayBegins } from '../../lib/zone'
import { bytesOf, json, LOGS, type Log, localDayOf, Moment, numberOf } from '../../platform/columns'
import type { TenantDatabase } from '../../platform/database'
import type { UserState } from '../../rules/state'
import { coveredBy, portionOf, shortAmong, shortColumns } from '../../store/users/portions.sql.ts'
import { userOf } from '../../store/users/users.sql.ts'

const Since = z.object({ recap: z.number(), reactivation: z.number(), streak_reminder: z.number() }).partial()

/**
 * The progress of a tenant's schedule. All notifications that were due `through` this moment are stored. A
 * sweep handles one moment, user by user in order of their ids. Users up to `after` are done; `size` is how
 * many the next step looks at.
 */
const Stored = z.object({
  /** Canonical names of the zones of users. A database trigger adds new ones. */
  zones: z.array(z.string()),
  /** Other names that users have for these zones. */
  aliases: z.array(z.string()),
  /** When the zones were last searched. `found`: the last user searched so far; null at the end. */
  looked: Moment,
  found: z.string().nullable(),
  through: Moment,
  /** From when types are sent that were added or changed later, in milliseconds. */
  since: Since,
  sweep: z.object({ at: Moment, after: z.string(), size: z.number() }).nullable(),
})
export type Progress = z.output<typeof Stored>

/** See `Stored`. The trigger knows no aliases: it adds the name that the user has. */
export const ScheduleProgress = Stored.transform((progress) =>
  withZones(progress, [...progress.zones, ...progress.aliases]),
)

/** IANA has about 600 names, so the limit drops none. */
const MOST_ZONES = 600

/** The progress with the zones of these names, and no others. */
export function withZones(progress: Progress, names: readonly string[]): Progress {
  const zones = new Set(names.map(canonicalZone))
  const aliases = new Set(names.filter((name) => !zones.has(name)))
  return { ...progress, zones: [...zones].slice(0, MOST_ZONES), aliases: [...aliases].slice(0, MOST_ZONES) }
}

const ZonesRow = z.object({
  count: z.number(),
  last: z.string().nullable(),
  zones: json(z.array(z.string())),
})
const ZONES = `
  SELECT count(*) AS count, max(id) AS last, json_group_array(DISTINCT tz) FILTER (WHERE tz IS NOT NULL) AS zones
  FROM (SELECT id, tz FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3)`

/** The zone names of the next `limit` users by id. `last` is the last user read; null at the end. */
export async function zonesAfter(
  db: TenantDatabase,
  after: string,
  limit: number,
): Promise<{ zones: string[]; last: string | null }> {
  const { count, last, zones } = await db.one(ZonesRow, ZONES, db.tenantId, after, limit)
  return { zones, last: count < limit ? null : last }
}

/** Users who may be notified in a sweep, as far as D1 can decide. Never the control group (N1). */
export type Candidates = {
  /** All names that users have for the zones in which they were just before this moment. */
  zones: readonly string[]
  at: Instant
  /**
   * Matches users whose last event or end of a pause is on one of `activeDays`, or whose last event is on
   * `activeFrom` or later; null matches none.
   */
  activeDays: readonly number[]
  activeFrom: number | null
  /** Matches users whose streak's last period begins before this day; null matches none. */
  streakBefore: number | null
}

// One row can't hold all ids of a page: an id may have a few hundred characters. So `?8` limits them.
const SCAN = `
  SELECT * FROM (WITH page AS MATERIALIZED (
    SELECT id, iid, control, tz, left_zones, active_day, streak FROM users WHERE tenant_id = ?1 AND id > ?2
      ORDER BY id LIMIT ?3)
  SELECT count(*) AS count, max(id) AS last, (SELECT json_group_array(id) FROM (
    SELECT id FROM page WHERE control = 0 AND coalesce(CASE WHEN left_zones IS NOT NULL THEN (
        SELECT l.value ->> 1 FROM json_each(left_zones) l WHERE l.value ->> 0 >= ?9
          ORDER BY l.key LIMIT 1) END, tz, 'UTC') COLLATE NOCASE IN (SELECT value FROM json_each(?4))
      AND (active_day IN (SELECT value FROM json_each(?5)) OR active_day >= ?6 OR streak ->> '$.run.last' < ?7
        OR (?5 <> '[]' AND EXISTS (SELECT 1 FROM streak_pauses p
          WHERE p.user_iid = iid AND p."end" IN (SELECT value FROM json_each(?5)))))
    ORDER BY id LIMIT ?8)) AS ids
  FROM page)`

const ScanRow = z.object({ count: z.number(), last: z.string().nullable(), ids: json(z.array(z.string())) })

/** For each filter, the first `most` candidates of the next `limit` users by id. `last`: see `zonesAfter`. */
export async function candidatesAfter(
  db: TenantDatabase,
  after: string,
  { limit, most }: { limit: number; most: number },
  questions: readonly Candidates[],
): Promise<{ ids: string[]; last: string | null }[]> {
  const asked = questions.map(({ zones, activeDays, activeFrom, streakBefore, at }) => {
    const lists = [JSON.stringify(zones), JSON.stringify(activeDays)]
    return db.statement(SCAN, db.tenantId, after, limit, ...lists, activeFrom, streakBefore, most, at)
  })
  const results = await db.batch(asked)
  return results.map(({ results: [row] }) => {
    const { count, last, ids } = ScanRow.parse(row)
    return { ids, last: count < limit ? null : last }
  })
}

const USERS = `
  SELECT ${shortColumns('?3')}, '[]' AS boosts FROM json_each(?2) asked
  CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** Reads users by id, in that order, without own boosts: as many as fit, the first `covered` ids. */
export async function readUsers(
  db: TenantDatabase,
  ids: readonly string[],
): Promise<{ users: UserState[]; covered: number }> {
  if (ids.length === 0) return { users: [], covered: 0 }
  const short = shortAmong(ids.length)
  const found = await db.run(db.statement(USERS, db.tenantId, JSON.stringify(ids), short))
  const { rows, covered } = coveredBy(ids, await portionOf(db, found.results, { short }))
  return { users: rows.map(userOf), covered }
}

const ACTIVE = `
  SELECT asked.value ->> 0 AS iid FROM json_each(?1) asked WHERE EXISTS (
    SELECT 1 FROM json_each(asked.value -> 1) m CROSS JOIN events e
      ON e.user_iid = ${bytesOf('asked.value ->> 0')}
      AND e.metric_no = ${numberOf('metrics', 'm.value')} AND e.at BETWEEN ?2 AND ?3
    WHERE ${localDayOf('e')} BETWEEN ?4 AND ?5 AND e.value <> 0)`

/** The iids of these users who have an event other than 0 on a local date from `start` to `end`. */
export async function activeBetween(
  db: TenantDatabase,
  users: readonly Pick<UserState, 'iid' | 'metrics'>[],
  { start, end }: { start: number; end: number },
): Promise<Set<string>> {
  if (users.length === 0) return new Set()
  const asked = users.map(({ iid, metrics }) => JSON.stringify([iid, [...metrics.keys()]]))
  const [from, to] = [dayBegins(start, FURTHEST_OFFSET), dayBegins(end + 1, -FURTHEST_OFFSET)]
  const results = await db.batch(
    packed(asked).map((list) => db.statement(ACTIVE, list, from, to, start, end)),
  )
  const Rows = z.array(z.object({ iid: z.string() }))
  return new Set(results.flatMap((result) => Rows.parse(result.results)).map(({ iid }) => iid))
}

// Events that are far from the period need no exact date. Events after the period are subtracted from the
// present total.
const DATED = localDayOf('e')
const gainsIn = ({ log, no, table, amount }: Log) => `
  SELECT asked.value ->> 0 AS iid, of.value AS id, sum(CASE WHEN ${DATED} BETWEEN ?3 AND ?4 THEN e.${amount}
    ELSE 0 END) AS change,
    sum(CASE WHEN ${DATED} > ?4 THEN e.${amount} ELSE 0 END) AS later
  FROM json_each(?1) asked CROSS JOIN json_each(asked.value -> 1) of CROSS JOIN ${log} e
    ON e.user_iid = ${bytesOf('asked.value ->> 0')} AND e.${no} = ${numberOf(table, 'of.value')}
      AND e.at >= ?2 GROUP BY 1, 2`
const METRIC_GAINS = gainsIn(LOGS.events)
const POINT_GAINS = gainsIn(LOGS.awards)

/** Skips events that are too early in every zone. Later gains are subtracted from the present total. */
type Gain = { change: number; later: number }

/**
 * The users' gains from the day `start` to `end`. The key is the iid, a space, and the id of the metric (in
 * millionths) or of the points system.
 */
export async function gainsBetween(
  db: TenantDatabase,
  users: readonly Pick<UserState, 'iid' | 'metrics' | 'points'>[],
  { start, end }: { start: number; end: number },
): Promise<ReadonlyMap<string, Gain>> {
  if (users.length === 0) return new Map()
  const when = [dayBegins(start, FURTHEST_OFFSET), start, end]
  const of = (sql: string, idsOf: (user: (typeof users)[number]) => Iterable<string>) =>
    packed(users.map((user) => JSON.stringify([user.iid, [...idsOf(user)]]))).map((list) =>
      db.statement(sql, list, ...when),
    )
  const results = await db.batch([
    ...of(METRIC_GAINS, ({ metrics }) => metrics.keys()),
    ...of(POINT_GAINS, ({ points }) => points.keys()),
  ])
  const Rows = z.array(z.object({ iid: z.string(), id: z.string(), change: z.number(), later: z.number() }))
  return new Map(
    results
      .flatMap((result) => Rows.parse(result.results))
      .map(({ iid, id, ...gain }) => [`${iid} ${id}`, gain]),
  )
}
