import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { askAll } from '../db/databases/ask-all'
import type { Databases } from '../db/databases/databases'
import { inParts, type Pause, sizeOfPart } from '../db/scans'
import type { UserState } from '../engine/state.types'
import { compareText } from '../lib/ids'
import type { Scope } from '../runtime/context'
import { type Place, startOfPage } from '../runtime/pages'
import { portionsOfAll, userColumns } from './portions.repository'
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
const PlaceRows = z.array(PlaceRow)

/** The place of the last of the next `rows` users after a place, in one database; null if there are fewer. */
async function nthPlace(db: TenantDatabase, after: Place, rows: number): Promise<UserPlace | null> {
  const [row] = await db.rows(db.statement(NTH, db.tenantId, ...after, rows))
  if (row === undefined) return null
  const { created, id } = PlaceRow.parse(row)
  return [created, id]
}

/** The places of the users of one database after a place: `limit` of them after the first `skip`. */
async function placesAfter(
  db: TenantDatabase,
  after: Place,
  { limit, skip }: Pick<Page, 'limit' | 'skip'>,
): Promise<UserPlace[]> {
  const rows = await db.rows(db.statement(PAGE, db.tenantId, ...after, skip + limit, limit, skip))
  return PlaceRows.parse(rows).map(({ created, id }) => [created, id])
}

const comparePlaces = ([a, x]: UserPlace, [b, y]: UserPlace): number => a - b || compareText(x, y)

/** The places of a page of users, oldest first (G7, O3). Throws 429 like any scan (P11). */
export async function pageOfUsers(scope: Scope, page: Page): Promise<UserPlace[]> {
  const { databases, tenant } = scope
  const beginning = page.after ?? BEGINNING
  const list = { name: JSON.stringify(['users', beginning]), beginning }
  if (databases.isSeveral) {
    const skip = (after: Place, rows: number) =>
      nthPlaceOfAll(databases, tenant.id, UserPlace.parse(after), rows)
    const start = await startOfPage(scope, { ...list, skip, most: MOST_MERGED }, page)
    if (start === null) return []
    const after = UserPlace.parse(start.after)
    const places = await nextPlaces(databases, tenant.id, after, start.skip + page.limit)
    return places.slice(start.skip)
  }
  const db = databases.home(tenant.id)
  const skip = (after: Place, rows: number) => nthPlace(db, after, rows)
  const start = await startOfPage(scope, { ...list, skip }, page)
  return start === null ? [] : placesAfter(db, start.after, { ...page, skip: start.skip })
}

/** The most places that are read from each database at once. */
const MOST_MERGED = 1_000

// The next users after the place ?2, ?3, and up to the place ?4, ?5.
const UP_TO = `
  SELECT count(*) AS users FROM users
  WHERE tenant_id = ?1 AND (created, id) > (?2, ?3) AND (created, id) <= (?4, ?5)`
const UsersRow = z.object({ users: z.number() })

/**
 * The place of the last of the next `rows` users of all databases together; null if there are fewer. Each
 * step skips the users up to the first of the places that end each database's share.
 */
async function nthPlaceOfAll(
  databases: Databases,
  tenantId: string,
  beginning: UserPlace,
  rows: number,
): Promise<UserPlace | null> {
  let after = beginning
  for (let left = rows; ; ) {
    const from = after
    if (left <= MOST_MERGED) {
      const places = await nextPlaces(databases, tenantId, from, left)
      return places[left - 1] ?? null
    }
    const share = Math.floor(left / (await databases.ofAllUsers(tenantId)).length)
    const ends = await askAll(databases, tenantId, (db) => nthPlace(db, from, share))
    const [first] = ends.flatMap((place) => (place === null ? [] : [place])).sort(comparePlaces)
    // Each database has fewer users than its share.
    if (first === undefined) return null
    const counts = await askAll(databases, tenantId, async (db) => {
      const [row] = await db.rows(db.statement(UP_TO, db.tenantId, ...from, ...first))
      return UsersRow.parse(row).users
    })
    left -= counts.reduce((sum, users) => sum + users, 0)
    if (left <= 0) return first
    after = first
  }
}

/** The places of the next users of all databases together, `limit` at most. */
async function nextPlaces(
  databases: Databases,
  tenantId: string,
  after: UserPlace,
  limit: number,
): Promise<UserPlace[]> {
  const lists = await askAll(databases, tenantId, (db) => placesAfter(db, after, { limit, skip: 0 }))
  return lists.flat().sort(comparePlaces).slice(0, limit)
}

/** Users fit if the text is in their id, name or email (null: any), and they have these attributes, by id. */
export type UserFilter = { search: string | null; attributes: ReadonlyMap<string, string> }

/**
 * The places of a page of the users who fit a filter, oldest first (G7, U8, O3). The letters A to Z equal a
 * to z. Reads the users in parts until the page is full, and calls `pause` before each part.
 */
export async function searchForUsers(
  { databases, tenant }: Pick<Scope, 'databases' | 'tenant'>,
  page: Page,
  filter: UserFilter,
  pause: Pause,
): Promise<UserPlace[]> {
  if (databases.isSeveral) return searchInAll(databases, tenant.id, page, filter, pause)
  const { limit, skip, after: beginning = BEGINNING } = page
  const places: UserPlace[] = []
  let left = skip
  const db = databases.home(tenant.id)
  const parts = inParts(beginning, pause, (after, most) =>
    searchPart(db, { after, most, wanted: limit - places.length, left }, filter),
  )
  for await (const part of parts) {
    places.push(...part.places)
    left = Math.max(0, left - part.found)
    if (places.length >= limit) break
  }
  return places
}

/**
 * Reads the next `most` users of one database after a place. Returns the places of users who fit, `wanted`
 * after the first `left`; how many fit and how many were read; and the place of the last of all that were
 * read.
 */
async function searchPart(
  db: TenantDatabase,
  { after, most, wanted, left }: { after: UserPlace; most: number; wanted: number; left: number },
  { search, attributes }: UserFilter,
) {
  const values = JSON.stringify(Object.fromEntries(attributes))
  const statement = db.statement(SEARCH, db.tenantId, ...after, most, wanted, left, search, values)
  const [row] = await db.rows(statement)
  const { last, ...part } = SearchRow.parse(row)
  return { ...part, last: last ?? after }
}

/** The most fitting users that one step of a search reads from each database. */
const MOST_FOUND = 1_000

/**
 * The same over several databases. Each step reads a part of all of them, after the same place. The users up
 * to the first end of these parts are complete; the next step begins there. So no user is read twice or
 * missed, also if the user is moved between two steps (B3, B5).
 */
async function searchInAll(
  databases: Databases,
  tenantId: string,
  { limit, skip, after: beginning = BEGINNING }: Page,
  filter: UserFilter,
  pause: Pause,
): Promise<UserPlace[]> {
  const places: UserPlace[] = []
  let left = skip
  let after = beginning
  for (let step = 0; ; step += 1) {
    const most = sizeOfPart(step * databases.names.length)
    const from = after
    await pause()
    const parts = await askAll(databases, tenantId, async (db) => {
      const part = await searchPart(db, { after: from, most, wanted: MOST_FOUND, left: 0 }, filter)
      // If more users fit than were read, the part ends with the last one that was read.
      const isCut = part.found > part.places.length
      return { ...part, end: isCut ? part.places.at(-1) : part.users < most ? undefined : part.last }
    })
    const [end] = firstOf(parts)
    const found = parts
      .flatMap((part) => part.places)
      .filter((place) => end === undefined || comparePlaces(place, end) <= 0)
      .sort(comparePlaces)
    places.push(...found.slice(left, left + limit - places.length))
    left = Math.max(0, left - found.length)
    if (end === undefined || places.length >= limit) return places
    after = end
  }
}

/** The first end of these parts; nothing if all of them are at the end of all users. */
const firstOf = (parts: readonly { end: UserPlace | undefined }[]): UserPlace[] =>
  parts
    .flatMap(({ end }) => (end === undefined ? [] : [end]))
    .sort(comparePlaces)
    .slice(0, 1)

const USERS = `
  SELECT ${userColumns('?3')}, '[]' AS boosts
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ORDER BY asked.key`

/**
 * These users in this order, without their own boosts. Each part has as many users as there is room for.
 * Deleted users are left out.
 */
export async function* usersInOrder(
  { databases, tenant }: Pick<Scope, 'databases' | 'tenant'>,
  ids: readonly string[],
): AsyncGenerator<UserState[]> {
  const find = (db: TenantDatabase, own: readonly string[], short: number) =>
    db.statement(USERS, db.tenantId, JSON.stringify(own), short)
  for await (const { rows } of portionsOfAll(databases, tenant.id, ids, find)) yield rows.map(userOf)
}
