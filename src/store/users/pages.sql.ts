import * as z from 'zod'
import { compareText } from '../../lib/ids'
import { MOST_AT_ONCE } from '../../lib/packed'
import type { Scope } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { LARGEST_PART, type Pause, type Place, sizeOfPart, startOfPage } from '../../platform/scans'
import type { UserState } from '../../rules/state'
import { portionsOfAll, shortColumns } from './portions.sql.ts'
import { userOf } from './users.sql.ts'

/** After all ids: no id is longer than 255 characters. */
const LAST_ID = '\u{10FFFF}'.repeat(256)

/** Users in order of their ids: after one id, and up to another one. Of these, the first `limit`. */
type UserRange = { after: string; until: string; limit: number }

type Part = { users: number; last: string }

const NO_LIMIT = 2 ** 31 - 1

const NTH_USER = 'SELECT id FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT 1 OFFSET ?3 - 1'

/** The last id of the next `users` users after an id; null if there are fewer. */
async function nthId(db: TenantDatabase, after: string, users: number): Promise<string | null> {
  return (await db.find(z.object({ id: z.string() }), NTH_USER, db.tenantId, after, users))?.id ?? null
}

/** The first of these ids; null if there is none. A null is after all ids. */
export function firstId(ids: readonly (string | null)[]): string | null {
  return ids.reduce((first, id) => {
    if (id === null || first === null) return first ?? id
    return compareText(id, first) < 0 ? id : first
  }, null)
}

/**
 * Reads all users of a tenant in parts, in order of their ids, which never change. Each user has the state of
 * the moment at which the part was read. `pause` is called before each statement. Each step reads the same
 * range of ids in all databases, side by side. So no user is read twice or missed, also if the user is moved
 * between two steps (B3, B5). `read` must read a range in one batch.
 */
export async function* usersInParts<P extends Part>(
  databases: Databases,
  tenantId: string,
  pause: Pause,
  read: (db: TenantDatabase, range: UserRange) => Promise<P>,
): AsyncGenerator<P> {
  // A step costs one statement, and up to four in each other database: then the parts grow earlier.
  const statements = 1 + 4 * databases.others.length
  let after = ''
  let areMany = false
  for (let step = 0; ; step += 1) {
    const limit = sizeOfPart(step * statements)
    if (!areMany) {
      await pause()
      const range = { after, until: LAST_ID, limit }
      const parts = await databases.usersOf(tenantId).askAll((db) => read(db, range))
      const isWhole = parts.every(({ users }) => users < limit)
      const [only, ...others] = parts
      if (isWhole || others.length === 0) {
        yield* parts
        if (isWhole || only === undefined) return
        after = only.last
        continue
      }
      // The parts end at different ids, so they are read again, up to one id.
      areMany = true
    }
    await pause()
    const from = after
    const until = firstId(await databases.usersOf(tenantId).askAll((db) => nthId(db, from, limit)))
    await pause()
    const range = { after, until: until ?? LAST_ID, limit: NO_LIMIT }
    yield* await databases.usersOf(tenantId).askAll((db) => read(db, range))
    if (until === null) return
    after = until
  }
}

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

const ROW_BYTES = 100

// The users of a part who may fit, in order. Then the place of the last user of the part, and whether no user
// follows. SQLite folds only ASCII. So it decides about texts of ASCII, and the texts of other users come
// with them. The part ends before it has more than ?7 bytes, or more than ?8 users with texts of ASCII. The
// window has the order of the index, so SQLite neither sorts the users nor keeps them.
const SEARCH = `
  WITH text AS NOT MATERIALIZED (
    SELECT *, octet_length(concat(id, name, email)) AS bytes,
      ?5 IS NOT NULL AND octet_length(concat(id, name, email)) <> length(concat(id, name, email)) AS is_other
    FROM users WHERE tenant_id = ?1 AND (created, id) > (?2, ?3)),
  fitting AS NOT MATERIALIZED (
    SELECT *, (?5 IS NULL OR is_other OR instr(upper(id), ?5) > 0 OR instr(upper(name), ?5) > 0
        OR instr(upper(email), ?5) > 0) IS TRUE
      AND NOT EXISTS (SELECT 1 FROM json_each(?6) wanted
        WHERE json_extract(attributes, '$."' || wanted.key || '"') IS NOT wanted.value) AS fits
    FROM text),
  part AS MATERIALIZED (
    SELECT created, id, fits, is_other,
      iif(is_other, name, NULL) AS name, iif(is_other, email, NULL) AS email,
      total(iif(fits, bytes + ${ROW_BYTES}, 0)) OVER so_far > ?7
        OR total(fits AND NOT is_other) OVER so_far > ?8 AS is_cut
    FROM fitting WINDOW so_far AS (ORDER BY created, id ROWS UNBOUNDED PRECEDING)
    ORDER BY created, id LIMIT ?4)
  SELECT created, id, name, email, is_other, NULL AS is_end FROM part WHERE fits AND NOT is_cut
  UNION ALL SELECT * FROM (SELECT created, id, NULL, NULL, NULL,
    (SELECT count(*) < ?4 AND NOT max(is_cut) FROM part) FROM part WHERE NOT is_cut
    ORDER BY created DESC, id DESC LIMIT 1)
  ORDER BY is_end, created, id`

/** A row of a search, without zod, because there are many. */
type Found = { created: number; id: string; name: unknown; email: unknown; is_other: unknown }
const isFound = (row: unknown): row is Found =>
  typeof row === 'object' &&
  row !== null &&
  'created' in row &&
  typeof row.created === 'number' &&
  'id' in row &&
  typeof row.id === 'string'
const EndRow = z.object({ created: z.number(), id: z.string(), is_end: z.number() })

/** Is between the texts of a user. No stored text and no search has it, because it is half a character. */
const BETWEEN = '\ud800'

/**
 * A text in the form in which search compares texts: NFKC, in upper case, so that ß is SS and ς is Σ (U8).
 * The Turkish letters ı and İ are I. ASCII is only in upper case then, as by SQLite.
 */
export const folded = (text: string): string =>
  text.normalize('NFKC').toLowerCase().toUpperCase().replaceAll('I\u0307', 'I').normalize('NFKC')

const PlaceRow = z.object({ created: z.number(), id: z.string() })
const placeOf = ({ created, id }: z.infer<typeof PlaceRow>): UserPlace => [created, id]

/** The place of the last of the next `rows` users after a place, in one database; null if there are fewer. */
async function nthPlace(db: TenantDatabase, after: Place, rows: number): Promise<UserPlace | null> {
  const row = await db.find(PlaceRow, NTH, db.tenantId, ...after, rows)
  return row === undefined ? null : placeOf(row)
}

/** The places of the users of one database after a place: `limit` of them after the first `skip`. */
async function placesAfter(
  db: TenantDatabase,
  after: Place,
  { limit, skip }: Pick<Page, 'limit' | 'skip'>,
): Promise<UserPlace[]> {
  return (await db.list(PlaceRow, PAGE, db.tenantId, ...after, skip + limit, limit, skip)).map(placeOf)
}

const comparePlaces = ([a, x]: UserPlace, [b, y]: UserPlace): number => a - b || compareText(x, y)

/** The places of a page of users, oldest first (G7, O3). Throws 429 like any scan (P11). */
export async function pageOfUsers(scope: Scope, page: Page): Promise<UserPlace[]> {
  const { databases, tenant } = scope
  const everyone = databases.usersOf(tenant.id)
  const beginning = page.after ?? BEGINNING
  const skip = (after: Place, rows: number) =>
    nthPlaceOfAll(databases, tenant.id, UserPlace.parse(after), rows)
  // A database that has all users skips some of them by itself, and answers only those of the page.
  const isOne = (await everyone.holders()).length === 1
  const most = isOne ? LARGEST_PART : MOST_MERGED
  const list = { name: JSON.stringify(['users', beginning]), beginning, skip, most }
  const start = await startOfPage(scope, list, page)
  if (start === null) return []
  const after = UserPlace.parse(start.after)
  if (isOne) {
    const places = await everyone.askAll((db) => placesAfter(db, after, { ...page, skip: start.skip }))
    const [only, ...others] = places
    if (only !== undefined && others.length === 0) return only
    // Some users have moved to another database meanwhile.
  }
  return (await nextPlaces(databases, tenant.id, after, start.skip + page.limit)).slice(start.skip)
}

const MOST_MERGED = 1_000

// The next users after the place ?2, ?3, and up to the place ?4, ?5.
const UP_TO = `
  SELECT count(*) AS users FROM users
  WHERE tenant_id = ?1 AND (created, id) > (?2, ?3) AND (created, id) <= (?4, ?5)`

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
    const share = Math.floor(left / (await databases.usersOf(tenantId).holders()).length)
    const ends = await databases.usersOf(tenantId).askAll((db) => nthPlace(db, from, share))
    // A database that has all users has counted them.
    if (ends.length === 1) return ends[0] ?? null
    const [first] = ends.flatMap((place) => (place === null ? [] : [place])).sort(comparePlaces)
    // Each database has fewer users than its share.
    if (first === undefined) return null
    const counts = await databases.usersOf(tenantId).askAll(async (db) => {
      return (await db.one(z.object({ users: z.number() }), UP_TO, db.tenantId, ...from, ...first)).users
    })
    left -= counts.reduce((sum, users) => sum + users, 0)
    if (left <= 0) return first
    after = first
  }
}

async function nextPlaces(
  databases: Databases,
  tenantId: string,
  after: UserPlace,
  limit: number,
): Promise<UserPlace[]> {
  const lists = await databases.usersOf(tenantId).askAll((db) => placesAfter(db, after, { limit, skip: 0 }))
  return lists.flat().sort(comparePlaces).slice(0, limit)
}

/** Users fit if the text is in their id, name or email (null: any), and they have these attributes, by id. */
export type UserFilter = { search: string | null; attributes: ReadonlyMap<string, string> }

/**
 * The places of a page of the users who fit a filter, oldest first (G7, U8, O3). Calls `pause` before each
 * step. A step reads a part of all databases, after the same place. The users up to the first end of these
 * parts are complete; the next step begins there. So no user is read twice or missed, also if the user is
 * moved between two steps (B3, B5).
 */
export async function searchForUsers(
  { databases, tenant }: Pick<Scope, 'databases' | 'tenant'>,
  { limit, skip, after: beginning = BEGINNING }: Page,
  filter: UserFilter,
  pause: Pause,
): Promise<UserPlace[]> {
  const places: UserPlace[] = []
  const count = databases.names.length
  let left = skip
  let after = beginning
  for (let step = 0; ; step += 1) {
    const wanted = left + limit - places.length
    const part = { after, most: sizeOfPart(step * count), wanted, room: MOST_AT_ONCE / count }
    await pause()
    const parts = await databases.usersOf(tenant.id).askAll((db) => searchPart(db, part, filter))
    const [end] = parts.flatMap((one) => (one.end === null ? [] : [one.end])).sort(comparePlaces)
    const found = parts
      .flatMap((one) => one.places)
      .filter((place) => end === undefined || comparePlaces(place, end) <= 0)
      .sort(comparePlaces)
    places.push(...found.slice(left, left + limit - places.length))
    left = Math.max(0, left - found.length)
    if (end === undefined || places.length >= limit) return places
    after = end
  }
}

/**
 * Reads the next `most` users of one database after a place, or fewer: until the answer has `room` bytes, or
 * `wanted` users. Returns the places of users who fit, and the place of the last user read; null if it is the
 * last of all.
 */
async function searchPart(
  db: TenantDatabase,
  { after, most, wanted, room }: { after: UserPlace; most: number; wanted: number; room: number },
  { search, attributes }: UserFilter,
): Promise<{ places: UserPlace[]; end: UserPlace | null }> {
  const text = search === null ? null : folded(search)
  const values = JSON.stringify(Object.fromEntries(attributes))
  const rows = await db.rows(db.statement(SEARCH, db.tenantId, ...after, most, text, values, room, wanted))
  const end = EndRow.optional().parse(rows.pop())
  const places: UserPlace[] = []
  for (const row of rows) {
    if (!isFound(row)) throw new Error('A row of a search has no place.')
    if (row.is_other && text !== null && !folded([row.id, row.name, row.email].join(BETWEEN)).includes(text))
      continue
    places.push(placeOf(row))
  }
  return { places, end: end === undefined || end.is_end ? null : placeOf(end) }
}

const USERS = `
  SELECT ${shortColumns('?3')}, '[]' AS boosts
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ORDER BY asked.key`

/** These users in order, without own boosts, in parts for which there is room. Skips deleted ones. */
export async function* usersInOrder(
  { databases, tenant }: Pick<Scope, 'databases' | 'tenant'>,
  ids: readonly string[],
): AsyncGenerator<UserState[]> {
  const find = (db: TenantDatabase, own: readonly string[], short: number) =>
    db.statement(USERS, db.tenantId, JSON.stringify(own), short)
  for await (const { rows } of portionsOfAll(databases, tenant.id, ids, find)) yield rows.map(userOf)
}
