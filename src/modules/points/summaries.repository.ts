import * as z from 'zod'
import type { Scope } from '../../context'
import type { Filter, Level } from '../configuration/configuration'

/** Users above whom a summary is kept for a minute (P11). */
const KEPT_ABOVE = 10_000
const KEPT_FOR = 60_000

/**
 * How many users have each total in the system whose path is ?2, and whether they meet ?3, a JSON array of paths and values. Materialised,
 * since it is referred to twice: else all users are read for each.
 */
const TOTALS = `
  totals AS MATERIALIZED (SELECT coalesce(u.points ->> ?2, 0) AS total, ?3 = '[]' OR
    NOT EXISTS (SELECT 1 FROM json_each(?3) f WHERE u.attributes ->> (f.value ->> 0) IS NOT f.value ->> 1) AS meets,
    count(*) AS users FROM users u WHERE u.tenant_id = ?1 GROUP BY 1, 2)`

/** The place of users who don't meet the filters: they were looked at all the same. */
const NOT_MET = -1

/** Counts by range: 0 alone, then ten equal ones up to the next power of ten (P11). */
const RANGES = `
  WITH ${TOTALS}, most AS (SELECT coalesce(max(total), 0) AS total FROM totals WHERE meets),
  width AS (SELECT max(1, CASE
    WHEN total <= 10 THEN 1 WHEN total <= 100 THEN 10 WHEN total <= 1000 THEN 100 WHEN total <= 10000 THEN 1000
    WHEN total <= 100000 THEN 10000 WHEN total <= 1000000 THEN 100000 WHEN total <= 10000000 THEN 1000000
    WHEN total <= 100000000 THEN 10000000 WHEN total <= 1000000000 THEN 100000000 ELSE 1000000000 END) AS w FROM most)
  SELECT CASE WHEN meets THEN (totals.total + width.w - 1) / width.w ELSE ${NOT_MET} END AS place,
    sum(users) AS users, width.w AS width FROM totals, width GROUP BY place`

/** Counts by the index of the level that a total reaches; null where it reaches none. ?4 are the levels' points, ascending. */
const LEVELS = `
  WITH ${TOTALS}
  SELECT CASE WHEN meets THEN (SELECT max(l.key) FROM json_each(?4) l WHERE l.value <= totals.total) ELSE ${NOT_MET} END
    AS place, sum(users) AS users, 0 AS width
  FROM totals GROUP BY place`

const Rows = z.array(z.object({ place: z.number().nullable(), users: z.number(), width: z.number() }))

/** How many users are in each place of a summary. */
export type Places = z.infer<typeof Rows>

const path = (id: string) => `$."${id}"`

function parameters(
  { tenant }: Scope,
  systemId: string,
  filters: readonly Filter[],
): [string, string, string] {
  const asked = filters.map(({ attributeId, attributeValue }) => [path(attributeId), attributeValue])
  return [tenant.id, path(systemId), JSON.stringify(asked)]
}

/** Counts users by range of points (P11): place 0 is 0–0, place k is (k−1)·width+1 to k·width. */
export function countRanges(scope: Scope, systemId: string, filters: readonly Filter[]): Promise<Places> {
  return kept(scope, systemId, 'ranges', filters, async () =>
    Rows.parse(await scope.db.rows(scope.db.statement(RANGES, ...parameters(scope, systemId, filters)))),
  )
}

/** Counts users by level (P11): places are indexes into the levels, null is below them all. */
export function countLevels(
  scope: Scope,
  systemId: string,
  filters: readonly Filter[],
  levels: readonly Level[],
): Promise<Places> {
  const points = JSON.stringify(levels.map((level) => level.points))
  return kept(scope, systemId, 'levels', filters, async () =>
    Rows.parse(
      await scope.db.rows(scope.db.statement(LEVELS, ...parameters(scope, systemId, filters), points)),
    ),
  )
}

const FIND = `
  SELECT document FROM points_summaries
  WHERE tenant_id = ?1 AND system_id = ?2 AND kind = ?3 AND filter = ?4 AND config_version = ?5
    AND computed > ?6 AND computed <= ?7`

const KEEP = `
  INSERT OR REPLACE INTO points_summaries (tenant_id, system_id, kind, filter, config_version, computed, document)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`

const FORGET = 'DELETE FROM points_summaries WHERE tenant_id = ?1 AND computed < ?2'

const Found = z.object({
  document: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(Rows),
})

/** A summary that is not a minute old, or a new one, which is kept where there are so many users that counting is dear. */
async function kept(
  scope: Scope,
  systemId: string,
  kind: 'ranges' | 'levels',
  filters: readonly Filter[],
  count: () => Promise<Places>,
): Promise<Places> {
  const { db, tenant, now } = scope
  const filter = JSON.stringify([...filters].sort((a, b) => (a.attributeId < b.attributeId ? -1 : 1)))
  const key = [tenant.id, systemId, kind, filter, tenant.configVersion] as const
  const [found] = await db.rows(db.statement(FIND, ...key, now - KEPT_FOR, now))
  if (found !== undefined) return Found.parse(found).document
  const counted = await count()
  const places = counted.filter(({ place }) => place !== NOT_MET)
  if (counted.reduce((sum, { users }) => sum + users, 0) > KEPT_ABOVE) {
    await db.batch([
      db.statement(KEEP, ...key, now, JSON.stringify(places)),
      db.statement(FORGET, tenant.id, now - KEPT_FOR),
    ])
  }
  return places
}
