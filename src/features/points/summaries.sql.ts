import * as z from 'zod'
import type { Filter, Level } from '../../configuration/model'
import { compareText } from '../../lib/ids'
import { json } from '../../platform/columns'
import type { Scope } from '../../platform/context'
import { KEPT_ABOVE, KEPT_FOR, type Pause, sharedScans } from '../../platform/scans'
import { usersInParts } from '../../store/users/pages.sql.ts'

/** The summaries that are being counted. */
export const summariesOf = sharedScans<Summary>()

/**
 * Counts the next users by their total in the system with the path ?2, and by whether they meet ?3, a JSON
 * array of paths and values. The next users are those after ?4 and up to ?5 in order of their ids, ?6 at
 * most.
 */
const TOTALS = `
  totals AS (SELECT total, meets, count(*) AS users, max(id) AS last FROM (
    SELECT u.id, coalesce(u.points ->> ?2, 0) AS total, ?3 = '[]' OR
      NOT EXISTS (SELECT 1 FROM json_each(?3) f WHERE u.attributes ->> (f.value ->> 0) IS NOT f.value ->> 1)
        AS meets
    FROM users u WHERE u.tenant_id = ?1 AND u.id > ?4 AND u.id <= ?5 ORDER BY u.id LIMIT ?6)
  GROUP BY 1, 2)`

/** The place of users who don't meet the filters. They are counted too, because the scan has read them. */
const NOT_MET = -1

/**
 * Counts users by the size of their total. Place 0 is for no points. Each power of ten has ten places of
 * equal width, so that the ranges of P11 can be made of them once the largest total is known. 1 to 10 are in
 * places 1 to 10, 11 to 100 in places 12 to 20, 101 to 1,000 in places 22 to 30.
 */
const SIZES = `
  WITH ${TOTALS}, sized AS (SELECT meets, total, users, last, CASE
    WHEN total <= 10 THEN 0 WHEN total <= 100 THEN 1 WHEN total <= 1000 THEN 2 WHEN total <= 10000 THEN 3
    WHEN total <= 100000 THEN 4 WHEN total <= 1000000 THEN 5 WHEN total <= 10000000 THEN 6
    WHEN total <= 100000000 THEN 7 WHEN total <= 1000000000 THEN 8 ELSE 9 END AS power,
    CASE WHEN total <= 10 THEN 1 WHEN total <= 100 THEN 10 WHEN total <= 1000 THEN 100
      WHEN total <= 10000 THEN 1000
    WHEN total <= 100000 THEN 10000 WHEN total <= 1000000 THEN 100000 WHEN total <= 10000000 THEN 1000000
    WHEN total <= 100000000 THEN 10000000 WHEN total <= 1000000000 THEN 100000000 ELSE 1000000000 END AS width
      FROM totals)
  SELECT CASE WHEN meets THEN 10 * power + (total + width - 1) / width ELSE ${NOT_MET} END AS place,
    sum(users) AS users, max(last) AS last
  FROM sized GROUP BY place`

/** Counts users by the index of their level; null for none. ?7: the levels' points, ascending. */
const LEVELS = `
  WITH ${TOTALS}
  SELECT CASE WHEN meets THEN (SELECT max(l.key) FROM json_each(?7) l WHERE l.value <= totals.total)
    ELSE ${NOT_MET} END
    AS place, sum(users) AS users, max(last) AS last
  FROM totals GROUP BY place`

const PartRows = z.array(z.object({ place: z.number().nullable(), users: z.number(), last: z.string() }))
const Rows = z.array(z.object({ place: z.number().nullable(), users: z.number(), width: z.number() }))

/** The number of users in each place of a summary. */
export type Places = z.infer<typeof Rows>

/** A summary. `mayBeOlder` is true if there are so many users that it may be a minute old. */
export type Summary = { places: Places; mayBeOlder: boolean }

const path = (id: string) => `$."${id}"`

/** Counts users by range of points (P11). Place 0 is 0 to 0, place k is (k−1)·width+1 to k·width. */
export async function countRanges(
  scope: Scope,
  systemId: string,
  filters: readonly Filter[],
): Promise<Places> {
  return kept(scope, systemId, 'ranges', filters, async (pause) =>
    rangesOf(await scanned(scope, SIZES, systemId, filters, [], pause)),
  )
}

/** Counts users by level (P11). Places are indexes of the levels. Null means below all levels. */
export async function countLevels(
  scope: Scope,
  systemId: string,
  filters: readonly Filter[],
  levels: readonly Level[],
): Promise<Places> {
  const points = JSON.stringify(levels.map((level) => level.points))
  return kept(scope, systemId, 'levels', filters, async (pause) => {
    const counts = await scanned(scope, LEVELS, systemId, filters, [points], pause)
    return [...counts].map(([place, users]) => ({ place, users, width: 0 }))
  })
}

async function scanned(
  { databases, tenant }: Scope,
  sql: string,
  systemId: string,
  filters: readonly Filter[],
  more: readonly string[],
  pause: Pause,
): Promise<Map<number | null, number>> {
  const asked = filters.map(({ attributeId, attributeValue }) => [path(attributeId), attributeValue])
  const of = [tenant.id, path(systemId), JSON.stringify(asked)] as const
  const counts = new Map<number | null, number>()
  const parts = usersInParts(databases, tenant.id, pause, async (db, { after, until, limit }) => {
    const rows = PartRows.parse(await db.rows(db.statement(sql, ...of, after, until, limit, ...more)))
    const last = rows.reduce((most, one) => (compareText(one.last, most) > 0 ? one.last : most), '')
    return { rows, users: sum(rows), last }
  })
  for await (const { rows } of parts)
    for (const { place, users } of rows) counts.set(place, (counts.get(place) ?? 0) + users)
  return counts
}

/** The ranges of P11 from counts by size. The width is that of the power of ten of the largest total. */
function rangesOf(sizes: ReadonlyMap<number | null, number>): Places {
  const powerOf = (place: number) => (place <= 0 ? 0 : Math.floor((place - 1) / 10))
  const places = [...sizes].map(([place, users]) => ({ place: place ?? 0, users }))
  const power = Math.max(0, ...places.map(({ place }) => powerOf(place)))
  const counts = new Map<number, number>()
  for (const { place, users } of places) {
    // All totals of smaller powers of ten are in the first range.
    const range = place <= 0 ? place : powerOf(place) < power ? 1 : place - 10 * power
    counts.set(range, (counts.get(range) ?? 0) + users)
  }
  return [...counts].map(([place, users]) => ({ place, users, width: 10 ** power }))
}

const sum = (rows: readonly { users: number }[]) => rows.reduce((all, { users }) => all + users, 0)

const FIND = `
  SELECT document FROM points_summaries
  WHERE tenant_id = ?1 AND system_id = ?2 AND kind = ?3 AND filter = ?4 AND config_version = ?5
    AND computed > ?6 AND computed <= ?7`

const KEEP = `
  INSERT OR REPLACE INTO points_summaries (tenant_id, system_id, kind, filter, config_version, computed,
    document)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 FROM tenants WHERE id = ?1 AND status = 'active'`

const FORGET = 'DELETE FROM points_summaries WHERE tenant_id = ?1 AND computed < ?2'

const Found = z.object({ document: json(Rows) })

/**
 * Returns a summary that is less than a minute old, or counts a new one. A new one is kept if there are so
 * many users that counting is expensive. Throws 429 if too many scans are running (P11).
 */
async function kept(
  scope: Scope,
  systemId: string,
  kind: 'ranges' | 'levels',
  filters: readonly Filter[],
  count: (pause: Pause) => Promise<Places>,
): Promise<Places> {
  const { db, tenant, now, instance } = scope
  const filter = JSON.stringify([...filters].sort((a, b) => (a.attributeId < b.attributeId ? -1 : 1)))
  const key = [tenant.id, systemId, kind, filter, tenant.configVersion] as const
  const find = async () => (await db.find(Found, FIND, ...key, now - KEPT_FOR, now))?.document ?? null
  const present = await find()
  if (present !== null) return present
  const { places } = await summariesOf(instance).run(
    {
      tenantId: tenant.id,
      name: JSON.stringify(key),
      read: async (pause, hasWaited) => {
        // Another isolate may have stored the summary meanwhile.
        const found = hasWaited ? await find() : null
        if (found !== null) return { places: found, mayBeOlder: true }
        const counted = await count(pause)
        const places = counted.filter(({ place }) => place !== NOT_MET)
        const mayBeOlder = sum(counted) > KEPT_ABOVE
        if (mayBeOlder) {
          await pause()
          await db.batch([
            db.statement(KEEP, ...key, now, JSON.stringify(places)),
            db.statement(FORGET, tenant.id, now - KEPT_FOR),
          ])
        }
        return { places, mayBeOlder }
      },
      mayBeOlder: (summary) => summary.mayBeOlder,
    },
    scope.waitUntil,
  )
  return places
}
