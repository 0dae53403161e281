import { getTableColumns } from 'drizzle-orm'
import * as z from 'zod'
import { firstPack, MOST_AT_ONCE } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import type { ColumnNames } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { users } from '../tables.sql.ts'
import { OWN_BOOSTS, type Several, usersStatement } from './users.sql.ts'

/*
 * A user may take almost two megabytes, but most take two thousand bytes. So a read of many users gets the
 * short rows completely, and of long rows only the length. Then it reads as many long rows as an isolate has
 * room for. The next step reads the rest.
 */

/** The columns of a user that may be long. */
const LONG = [
  'device_tokens',
  'attributes',
  'metrics',
  'points',
  'counters',
  'last_seq_by_input',
  'streak',
  'achievements',
  'revoked',
  'preferences',
] as const satisfies readonly ColumnNames<typeof users>[]
type Long = (typeof LONG)[number]

/** The columns of a user that `userOf` reads, from the table. */
const ALL = Object.values(getTableColumns(users))
  .map(({ name }) => name)
  .filter((name) => name !== users.tenantId.name)

/** SQL: the bytes of the long columns of a user `u`. SQLite knows them without reading the columns. */
const BYTES = LONG.map((name) => `coalesce(octet_length(u.${name}), 0)`).join(' + ')

const longColumn = (name: string, short: string) =>
  `CASE WHEN ${BYTES} <= ${short} THEN u.${name} END AS ${name}`

/**
 * SQL: long columns of a user `u`, and the bytes of all long columns as `bytes`. The columns are null if the
 * user has more bytes than `short`, the SQL of a number.
 */
export const shortOnly = (names: readonly Long[], short: string): string =>
  [`${BYTES} AS bytes`, ...names.map((name) => longColumn(name, short))].join(', ')

/** The SQL of the values that columns of a user get instead of their own, by column. */
export type Instead = Readonly<Partial<Record<ColumnNames<typeof users>, string>>>

/**
 * SQL: all columns of a user `u` except the own boosts. Long ones are as in `shortOnly`, or whole if `short`
 * is null. Columns in `instead` are not read.
 */
export function userColumns(short: string | null, instead: Instead = {}): string {
  const values: Readonly<Record<string, string | undefined>> = instead
  const isLong = (name: string) => LONG.some((long) => long === name)
  const columns = ALL.map((name) => {
    const value = values[name]
    if (value !== undefined) return `${value} AS ${name}`
    return short !== null && isLong(name) ? longColumn(name, short) : `u.${name}`
  })
  return [...(short === null ? [] : [`${BYTES} AS bytes`]), ...columns].join(', ')
}

const COLUMNS = `${userColumns('?5')}, ${OWN_BOOSTS}`

const SEVERAL = `
  SELECT ${COLUMNS} FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`
const NEXT = `
  SELECT ${COLUMNS} FROM users u WHERE u.tenant_id = ?1 AND u.id > ?2 ORDER BY u.id LIMIT ?6`

/** The most bytes of a user who is read completely together with `users` others. */
export const shortAmong = (users: number): number => Math.floor(MOST_AT_ONCE / Math.max(users, 1))

/**
 * Finds several users, like `usersStatement`. Read by `portionOf`. `short` is the most bytes of a user who is
 * read completely.
 */
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
  /**
   * The number of found users that this portion covers, erased ones included, and the id of the last of them.
   * The id is null if no user was found.
   */
  taken: number
  last: string | null
  /** Whether more users were found. */
  isCut: boolean
  /** The bytes of the rows. */
  bytes: number
}

/**
 * Reads the first of the users that a statement has found. The long columns of users with more than `short`
 * bytes are read here.
 */
export async function portionOf(
  db: TenantDatabase,
  found: readonly unknown[] | undefined,
  {
    short,
    room = MOST_AT_ONCE,
    whole = (ids) => usersStatement(db, { ids }, systemNow()),
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
  const ids = first.filter(({ bytes }) => bytes > short).map(({ id }) => id)
  const long = WithId.parse(ids.length === 0 ? [] : await whole(ids))
  const byId = new Map(long.map((row) => [row.id, row]))
  const rows = first.flatMap((row) => (row.bytes > short ? (byId.get(row.id) ?? []) : [row]))
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
    const whole = (some: readonly string[]) =>
      asked(some, (db, own) => usersStatement(db, { ids: own }, systemNow()))
    const portion = await portionBy(left, { short, room: MOST_AT_ONCE }, whole)
    yield portion
    left = left.slice(portion.taken)
  }
}

/**
 * Reads the first of these users, as many as there is room for. `covered` is the number of ids, from the
 * first on, that were read.
 */
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
