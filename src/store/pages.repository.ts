import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { inParts, type Pause } from '../db/scans'
import type { UserState } from '../engine/state.types'
import type { Scope } from '../runtime/context'
import { startOfPage } from '../runtime/pages'
import { portionOf, shortAmong, userColumns } from './portions.repository'
import { userOf } from './users.repository'

/** A page of a list: `limit` users after the first `skip`. */
type Page = { limit: number; skip: number }

/** A user's position among all users of the tenant, oldest first: creation and id. It never changes. */
const Place = z.tuple([z.number(), z.string()])
type Place = z.infer<typeof Place>
const BEGINNING: Place = [-1, '']

/** The next ?4 users after the position ?2, ?3, by the index alone. */
const NEXT = `
  SELECT created, id FROM users WHERE tenant_id = ?1 AND (created, id) > (?2, ?3) ORDER BY created, id
    LIMIT ?4`

const NTH = `
  SELECT created, id FROM users WHERE tenant_id = ?1 AND (created, id) > (?2, ?3) ORDER BY created, id
    LIMIT 1 OFFSET ?4 - 1`

const IDS = `SELECT id FROM (${NEXT}) ORDER BY created, id LIMIT ?5 OFFSET ?6`

// The number of users read, the number of matches, and the matching users on the page.
const SEARCH = `
  WITH part AS MATERIALIZED (
    SELECT page.created, page.id, (instr(lower(u.id), lower(?7)) > 0 OR instr(lower(u.name), lower(?7)) > 0
      OR instr(lower(u.email), lower(?7)) > 0) IS TRUE AS matches
    FROM (${NEXT}) page CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = page.id)
  SELECT count(*) AS users, coalesce(sum(matches), 0) AS found,
    (SELECT json_array(created, id) FROM part ORDER BY created DESC, id DESC LIMIT 1) AS last,
    (SELECT json_group_array(id) FROM (
      SELECT id FROM part WHERE matches ORDER BY created, id LIMIT ?5 OFFSET ?6)) AS ids
  FROM part`

const parsed = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)

const SearchRow = z.object({
  users: z.number(),
  found: z.number(),
  last: parsed(Place).nullable(),
  ids: parsed(z.array(z.string())),
})

const PlaceRow = z.object({ created: z.number(), id: z.string() })

/** The ids of a page of users, oldest first (G7). Throws 429 like any scan (P11). */
export async function pageOfIds(scope: Scope, page: Page): Promise<string[]> {
  const { db } = scope
  const start = await startOfPage(
    scope,
    {
      name: 'users',
      beginning: BEGINNING,
      skip: async (after, rows) => {
        const [row] = await db.rows(db.statement(NTH, db.tenantId, ...after, rows))
        if (row === undefined) return null
        const { created, id } = PlaceRow.parse(row)
        return [created, id]
      },
    },
    page,
  )
  if (start === null) return []
  const { after, skip } = start
  const rows = await db.rows(db.statement(IDS, db.tenantId, ...after, skip + page.limit, page.limit, skip))
  return z
    .array(z.object({ id: z.string() }))
    .parse(rows)
    .map(({ id }) => id)
}

/**
 * The ids of a page of the users with a text in their id, name or email, oldest first (G7). The letters A to
 * Z equal a to z. Reads the users in parts until the page is full, and calls `pause` before each part.
 */
export async function searchForIds(
  db: TenantDatabase,
  { limit, skip }: Page,
  search: string,
  pause: Pause,
): Promise<string[]> {
  const ids: string[] = []
  let left = skip
  const parts = inParts(BEGINNING, pause, async (after, most) => {
    const wanted = limit - ids.length
    const [row] = await db.rows(db.statement(SEARCH, db.tenantId, ...after, most, wanted, left, search))
    const { last, ...part } = SearchRow.parse(row)
    return { ...part, last: last ?? after }
  })
  for await (const part of parts) {
    ids.push(...part.ids)
    left = Math.max(0, left - part.found)
    if (ids.length >= limit) break
  }
  return ids
}

const USERS = `
  SELECT ${userColumns('?3')}, '[]' AS boosts
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ORDER BY asked.key`

/**
 * These users in this order, without their own boosts. Each part has as many users as there is room for.
 * Deleted users are left out.
 */
export async function* usersInOrder(db: TenantDatabase, ids: readonly string[]): AsyncGenerator<UserState[]> {
  if (ids.length === 0) return
  const short = shortAmong(ids.length)
  for (
    let left = await db.rows(db.statement(USERS, db.tenantId, JSON.stringify(ids), short));
    left.length > 0;
  ) {
    const { rows, taken } = await portionOf(db, left, { short })
    yield rows.map(userOf)
    left = left.slice(taken)
  }
}
