import * as z from 'zod'
import { firstPack, MOST_AT_ONCE } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { withLongRows } from '../../platform/scans'
import { users } from '../tables.sql.ts'
import { JSON_COLUMNS, OWN_BOOSTS, USER_COLUMNS, usersStatement } from './users.sql.ts'

/*
 * A user may take almost two megabytes, but most take two thousand bytes. So a read of many users gets the
 * short rows completely, and of long rows only the length. Then it reads as many long rows as an isolate has
 * room for. The next step reads the rest.
 */

type Column = keyof typeof users.$inferSelect

const LONG: readonly Column[] = JSON_COLUMNS

/** SQL: the bytes of the long columns of a user `u`. SQLite knows them without reading the columns. */
const BYTES = LONG.map((name) => `coalesce(octet_length(u.${users[name].name}), 0)`).join(' + ')

/** The SQL of the values that columns of a user get instead of their own. */
export type Instead = Readonly<Partial<Record<Column, string>>>

/**
 * SQL: columns of a user `u`, and the bytes of all long columns as `bytes`. Long columns are null if the user
 * has more bytes than `short`, the SQL of a number. Columns in `instead` are not read.
 */
export function shortColumns(
  short: string,
  { names = USER_COLUMNS, instead = {} }: { names?: readonly Column[]; instead?: Instead } = {},
): string {
  const columns = names.map((name) => {
    const own = `u.${users[name].name}`
    const value = LONG.includes(name) ? `CASE WHEN ${BYTES} <= ${short} THEN ${own} END` : own
    return `${instead[name] ?? value} AS "${name}"`
  })
  return [`${BYTES} AS bytes`, ...columns].join(', ')
}

const COLUMNS = `${shortColumns('?5')}, ${OWN_BOOSTS}`

const SEVERAL = `
  SELECT ${COLUMNS} FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`
const NEXT = `
  SELECT ${COLUMNS} FROM users u WHERE u.tenant_id = ?1 AND u.id > ?2 ORDER BY u.id LIMIT ?6`

/** The most bytes of a user who is read completely together with `users` others. */
export const shortAmong = (users: number): number => Math.floor(MOST_AT_ONCE / Math.max(users, 1))

/** The users to read: users with these ids, or the next `limit` ones in order of their ids. */
type Several = { ids: readonly string[] } | { after: string; limit: number }

/** Finds several users, for `portionOf`. `short` is the most bytes of a user who is read completely. */
export function portionStatement(
  db: TenantDatabase,
  several: Several,
  short = shortAmong('ids' in several ? several.ids.length : several.limit),
): Statement {
  const testClock = db.testClock ? 1 : 0
  return 'ids' in several
    ? db.statement(SEVERAL, db.tenantId, JSON.stringify(several.ids), systemNow(), testClock, short)
    : db.statement(NEXT, db.tenantId, several.after, systemNow(), testClock, short, several.limit)
}

const WithId = z.array(z.looseObject({ id: z.string() }))
const Found = z.array(z.looseObject({ id: z.string(), bytes: z.number() }))

/** The first of the found users, as many as there is room for, in their order. */
export type Portion = {
  /** Their rows for `userOf`. Users who were erased meanwhile are left out. */
  rows: unknown[]
  /** How many found users it covers, erased ones included, and the id of the last one; null for none. */
  taken: number
  last: string | null
  /** Whether more users were found. */
  isCut: boolean
  bytes: number
}

/** Reads the first of the users that a statement has found, and those with more than `short` bytes whole. */
export async function portionOf(
  db: TenantDatabase,
  found: readonly unknown[] | undefined,
  {
    short,
    room = MOST_AT_ONCE,
    whole = (ids) => usersStatement(db, ids),
  }: {
    short: number
    /** The most bytes to read. The first user is read even if there is less room. */
    room?: number
    /** Makes the statement that reads users with all columns. */
    whole?: (ids: readonly string[]) => Statement
  },
): Promise<Portion> {
  return portionBy(found, { short, room }, (ids) => db.rows(whole(ids)))
}

/** The same over several databases. `whole` reads users with all columns. */
async function portionBy(
  found: readonly unknown[] | undefined,
  { short, room }: { short: number; room: number },
  whole: (ids: readonly string[]) => Promise<unknown[]>,
): Promise<Portion> {
  const all = Found.parse(found ?? [])
  const first = firstPack(all, room, ({ bytes }) => bytes)
  const isLong = ({ bytes }: { bytes: number }) => bytes > short
  const rows = await withLongRows(first, 'id', isLong, async (long) =>
    WithId.parse(await whole(long.map(({ id }) => id))),
  )
  return {
    rows,
    taken: first.length,
    last: first.at(-1)?.id ?? null,
    isCut: first.length < all.length,
    bytes: first.reduce((sum, one) => sum + one.bytes, 0),
  }
}

/**
 * Reads several users from the databases that hold them, each time as many as there is room for, in the given
 * order (B5). `find` makes the statement that finds users, for `portionOf`. Users who do not exist are left
 * out.
 */
export async function* portionsOfAll(
  databases: Databases,
  tenantId: string,
  ids: readonly string[],
  find: (db: TenantDatabase, ids: readonly string[], short: number) => Statement,
): AsyncGenerator<Portion> {
  const short = shortAmong(ids.length)
  const asked = async (
    some: readonly string[],
    statement: (db: TenantDatabase, own: readonly string[]) => Statement,
  ) => (await databases.usersOf(tenantId).askAbout(some, (db, own) => db.rows(statement(db, own)))).flat()
  const nth = new Map(ids.map((id, index) => [id, index]))
  const nthOf = ({ id }: { id: string }) => nth.get(id) ?? 0
  const found = Found.parse(await asked(ids, (db, own) => find(db, own, short)))
  found.sort((a, b) => nthOf(a) - nthOf(b))
  for (let left = found; left.length > 0; ) {
    const whole = (some: readonly string[]) => asked(some, (db, own) => usersStatement(db, own))
    const portion = await portionBy(left, { short, room: MOST_AT_ONCE }, whole)
    yield portion
    left = left.slice(portion.taken)
  }
}

/** Reads the first of these users, as many as there is room for. `covered` says how many ids that were. */
export async function readPortion(
  db: TenantDatabase,
  ids: readonly string[],
): Promise<{ rows: unknown[]; covered: number }> {
  if (ids.length === 0) return { rows: [], covered: 0 }
  const found = await db.run(portionStatement(db, { ids }))
  return coveredBy(ids, await portionOf(db, found.results, { short: shortAmong(ids.length) }))
}

/** The same from the databases that hold these users (B5). */
export async function readPortionOfAll(
  databases: Databases,
  tenantId: string,
  ids: readonly string[],
): Promise<{ rows: unknown[]; covered: number }> {
  const find = (db: TenantDatabase, own: readonly string[], short: number) =>
    portionStatement(db, { ids: own }, short)
  for await (const portion of portionsOfAll(databases, tenantId, ids, find)) return coveredBy(ids, portion)
  return { rows: [], covered: ids.length }
}

/** The number of the requested ids, from the first on, that a portion covers. */
export function coveredBy(
  ids: readonly string[],
  { rows, last, isCut }: Pick<Portion, 'rows' | 'last' | 'isCut'>,
): { rows: unknown[]; covered: number } {
  return { rows, covered: isCut && last !== null ? ids.indexOf(last) + 1 : ids.length }
}
