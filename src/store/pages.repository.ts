import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { inParts, type Pause } from '../db/scans'
import type { UserState } from '../engine/state.types'
import type { Scope } from '../runtime/context'
import { startOfPage } from '../runtime/pages'
import { portionOf, shortAmong, userColumns } from './portions.repository'
import { userOf } from './users.repository'

/** A user's position among all users of the tenant, oldest first: creation and id. It never changes. */
export const UserPlace = z.tuple([z.number(), z.string()])
export type UserPlace = z.infer<typeof UserPlace>
const BEGINNING: UserPlace = [-1, '']

/** A page of a list: after a position, or from the beginning, `limit` users after the first `skip`. */
type Page = { limit: number; skip: number; after?: UserPlace | undefined }

/** The next ?4 users after the position ?2, ?3, by the index alone. */
const NEXT = `
  SELECT created, id FROM users WHERE tenant_id = ?1 AND (created, id) > (?2, ?3) ORDER BY created, id
    LIMIT ?4`

const NTH = `
  SELECT created, id FROM users WHERE tenant_id = ?1 AND (created, id) > (?2, ?3) ORDER BY created, id
    LIMIT 1 OFFSET ?4 - 1`

const PAGE = `SELECT created, id FROM (${NEXT}) ORDER BY created, id LIMIT ?5 OFFSET ?6`

// The number of users read, the number of matches, and the matching users on the page.
const SEARCH = `
  WITH part AS MATERIALIZED (
    SELECT page.created, page.id, (?7 IS NULL OR (instr(lower(u.id), lower(?7)) > 0
        OR instr(lower(u.name), lower(?7)) > 0 OR instr(lower(u.email), lower(?7)) > 0) IS TRUE)
      AND NOT EXISTS (SELECT 1 FROM json_each(?8) wanted
        WHERE json_extract(u.attributes, '$."' || wanted.key || '"') IS NOT wanted.value) AS matches
    FROM (${NEXT}) page CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = page.id)
  SELECT count(*) AS users, coalesce(sum(matches), 0) AS found,
    (SELECT json_array(created, id) FROM part ORDER BY created DESC, id DESC LIMIT 1) AS last,
    (SELECT json_group_array(json_array(created, id)) FROM (
      SELECT created, id FROM part WHERE matches ORDER BY created, id LIMIT ?5 OFFSET ?6)) AS places
  FROM part`

const parsed = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)

const SearchRow = z.object({
  users: z.number(),
  found: z.number(),
  last: parsed(UserPlace).nullable(),
  places: parsed(z.array(UserPlace)),
})

const PlaceRow = z.object({ created: z.number(), id: z.string() })

/** The places of a page of users, oldest first (G7, O3). Throws 429 like any scan (P11). */
export async function pageOfUsers(scope: Scope, page: Page): Promise<UserPlace[]> {
  const { db } = scope
  const beginning = page.after ?? BEGINNING
  const start = await startOfPage(
    scope,
    {
      name: JSON.stringify(['users', beginning]),
      beginning,
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
  const rows = await db.rows(db.statement(PAGE, db.tenantId, ...after, skip + page.limit, page.limit, skip))
  return z
    .array(PlaceRow)
    .parse(rows)
    .map(({ created, id }) => [created, id])
}

/** Users fit if the text is in their id, name or email (null: any), and they have these attributes, by id. */
export type UserFilter = { search: string | null; attributes: ReadonlyMap<string, string> }

/**
 * The places of a page of the users who fit a filter, oldest first (G7, U8, O3). The letters A to Z equal a
 * to z. Reads the users in parts until the page is full, and calls `pause` before each part.
 */
export async function searchForUsers(
  db: TenantDatabase,
  { limit, skip, after: beginning = BEGINNING }: Page,
  { search, attributes }: UserFilter,
  pause: Pause,
): Promise<UserPlace[]> {
  const places: UserPlace[] = []
  let left = skip
  const values = JSON.stringify(Object.fromEntries(attributes))
  const parts = inParts(beginning, pause, async (after, most) => {
    const wanted = limit - places.length
    const statement = db.statement(SEARCH, db.tenantId, ...after, most, wanted, left, search, values)
    const [row] = await db.rows(statement)
    const { last, ...part } = SearchRow.parse(row)
    return { ...part, last: last ?? after }
  })
  for await (const part of parts) {
    places.push(...part.places)
    left = Math.max(0, left - part.found)
    if (places.length >= limit) break
  }
  return places
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
