import * as z from 'zod'
import { compareText } from '../lib/ids'
import type { Scope } from '../platform/context'
import type { TenantDatabase } from '../platform/database'
import { askAll } from '../platform/databases/ask-all'
import type { Databases } from '../platform/databases/databases-databases'
import { json } from '../platform/json-column'
import { type Place, startOfPage } from '../platform/pages'
import { inParts, type Pause, sizeOfPart } from '../platform/scans'
import type { UserState } from '../rules/state.types'
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

// The users of a part who may fit, in order, and then the part's last user with the number of users read.
// SQLite folds only ASCII. So it decides about texts of ASCII, and the texts of other users come with them.
const SEARCH = `
  WITH part AS MATERIALIZED (${NEXT}),
    text AS (SELECT p.created, u.id, u.name, u.email, u.attributes,
      octet_length(concat(u.id, u.name, u.email)) <> length(concat(u.id, u.name, u.email)) AS is_other
      FROM part p CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = p.id)
  SELECT created, id, CASE WHEN ?5 IS NOT NULL AND is_other THEN json_array(id, name, email) END AS texts,
    NULL AS users
  FROM text WHERE (?5 IS NULL OR is_other OR instr(upper(id), ?5) > 0 OR instr(upper(name), ?5) > 0
      OR instr(upper(email), ?5) > 0)
    AND NOT EXISTS (SELECT 1 FROM json_each(?6) wanted
      WHERE json_extract(attributes, '$."' || wanted.key || '"') IS NOT wanted.value)
  UNION ALL SELECT * FROM (SELECT created, id, NULL, (SELECT count(*) FROM part) FROM part
    ORDER BY created DESC, id DESC LIMIT 1)
  ORDER BY users, created, id`

const SearchRows = z.array(
  z.object({
    created: z.number(),
    id: z.string(),
    texts: json(z.array(z.string().nullable())).nullable(),
    users: z.number().nullable(),
  }),
)

/**
 * A text in the form in which search compares texts: NFKC, in upper case, so that ß is SS and ς is Σ (U8).
 * The Turkish letters ı and İ are I. ASCII is only in upper case then, as by SQLite.
 */
export const folded = (text: string): string =>
  text.normalize('NFKC').toLowerCase().toUpperCase().replaceAll('I\u0307', 'I').normalize('NFKC')

const PlaceRow = z.object({ created: z.number(), id: z.string() })
const PlaceRows = z.array(PlaceRow)
const placeOf = ({ created, id }: z.infer<typeof PlaceRow>): UserPlace => [created, id]

/** The place of the last of the next `rows` users after a place, in one database; null if there are fewer. */
async function nthPlace(db: TenantDatabase, after: Place, rows: number): Promise<UserPlace | null> {
  const [row] = await db.rows(db.statement(NTH, db.tenantId, ...after, rows))
  if (row === undefined) return null
  return placeOf(PlaceRow.parse(row))
}

/** The places of the users of one database after a place: `limit` of them after the first `skip`. */
async function placesAfter(
  db: TenantDatabase,
  after: Place,
  { limit, skip }: Pick<Page, 'limit' | 'skip'>,
): Promise<UserPlace[]> {
  const rows = await db.rows(db.statement(PAGE, db.tenantId, ...after, skip + limit, limit, skip))
  return PlaceRows.parse(rows).map(placeOf)
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
 * The places of a page of the users who fit a filter, oldest first (G7, U8, O3). Reads the users in parts
 * until the page is full, and calls `pause` before each part.
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
  const text = search === null ? null : folded(search)
  const values = JSON.stringify(Object.fromEntries(attributes))
  const rows = SearchRows.parse(
    await db.rows(db.statement(SEARCH, db.tenantId, ...after, most, text, values)),
  )
  const end = rows.pop()
  const fitting = rows.filter(
    ({ texts }) => !texts || text === null || texts.some((one) => one !== null && folded(one).includes(text)),
  )
  return {
    users: end?.users ?? 0,
    found: fitting.length,
    last: end === undefined ? after : placeOf(end),
    places: fitting.slice(left, left + wanted).map(placeOf),
  }
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
