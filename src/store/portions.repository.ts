import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { firstPack, MOST_AT_ONCE } from '../lib/packed'
import { systemNow } from '../lib/system-clock'
import { OWN_BOOSTS, type Several, usersStatement } from './users.repository'

/*
 * A user may take almost two megabytes, and most take two thousand bytes. So what concerns many users reads short rows at once, of long ones
 * only how long they are, and then as many of those as an isolate has room for: the rest is left to the next step.
 */

/** The columns of a user that can be long. */
const LONG = [
  'device_tokens',
  'attributes',
  'metrics',
  'points',
  'counters',
  'last_seq_by_input',
  'streak',
  'achievements',
  'preferences',
] as const
type Long = (typeof LONG)[number]

const SHORT = `u.id, u.iid, u.seq, u.changed, u.email, u.name, u.tz, u.subscribe_to_emails, u.control, u.created, u.updated,
  u.streak_due, u.active_day`

/** The SQL of how many bytes a user `u` takes, which SQLite knows without reading them. */
const BYTES = LONG.map((name) => `coalesce(octet_length(u.${name}), 0)`).join(' + ')

/**
 * The SQL of some columns of a user `u` that can be long: null where the user takes more bytes than `short`, the SQL of a number; and of how
 * many bytes that are, as `bytes`.
 */
export const shortOnly = (names: readonly Long[], short: string): string =>
  [
    `${BYTES} AS bytes`,
    ...names.map((name) => `CASE WHEN ${BYTES} <= ${short} THEN u.${name} END AS ${name}`),
  ].join(', ')

/** The SQL of all columns of a user `u` but the own boosts; see `shortOnly`. */
export const userColumns = (short: string): string => `${SHORT}, ${shortOnly(LONG, short)}`

const COLUMNS = `${userColumns('?5')}, ${OWN_BOOSTS}`

const SEVERAL = `
  SELECT ${COLUMNS} FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`
const NEXT = `
  SELECT ${COLUMNS} FROM users u WHERE u.tenant_id = ?1 AND u.id > ?2 ORDER BY u.id LIMIT ?6`

/** The bytes of a user up to which they are read at once with so many others. */
export const shortAmong = (users: number): number => Math.floor(MOST_AT_ONCE / Math.max(users, 1))

/** Finds several users, as `usersStatement` does. Read by `portionOf`. */
export function portionStatement(db: TenantDatabase, several: Several): D1PreparedStatement {
  const testClock = db.testClock ? 1 : 0
  return 'ids' in several
    ? db.statement(
        SEVERAL,
        db.tenantId,
        JSON.stringify(several.ids),
        systemNow(),
        testClock,
        shortAmong(several.ids.length),
      )
    : db.statement(
        NEXT,
        db.tenantId,
        several.after,
        systemNow(),
        testClock,
        shortAmong(several.limit),
        several.limit,
      )
}

const WithId = z.array(z.looseObject({ id: z.string() }))
const Found = z.array(z.looseObject({ id: z.string(), bytes: z.number() }))

/** As many of the users that were found as there is room for, in their order. */
export type Portion = {
  /** Their rows, for `userOf`; those who were erased meanwhile are not among them. */
  rows: unknown[]
  /** How many of those that were found that is, the erased ones counted; the id of the last of them, null if none was found. */
  taken: number
  last: string | null
  /** Whether more were found. */
  isCut: boolean
}

/** Reads the first of the users that a statement has found, of which those with more than `short` bytes came without their long columns. */
export async function portionOf(
  db: TenantDatabase,
  found: readonly unknown[] | undefined,
  {
    short,
    whole = (ids) => usersStatement(db, { ids }, systemNow()),
  }: {
    short: number
    /** What reads those with all their columns. */
    whole?: (ids: readonly string[]) => D1PreparedStatement
  },
): Promise<Portion> {
  const all = Found.parse(found ?? [])
  const first = firstPack(all, MOST_AT_ONCE, ({ bytes }) => bytes)
  const ids = first.filter(({ bytes }) => bytes > short).map(({ id }) => id)
  const long = WithId.parse(ids.length === 0 ? [] : await db.rows(whole(ids)))
  const byId = new Map(long.map((row) => [row.id, row]))
  const rows = first.flatMap((row) => (row.bytes > short ? (byId.get(row.id) ?? []) : [row]))
  return { rows, taken: first.length, last: first.at(-1)?.id ?? null, isCut: first.length < all.length }
}

/** Reads the first of these users whose rows there is room for; `covered` says how many of the ids that answers, from the first on. */
export async function readPortion(
  db: TenantDatabase,
  ids: readonly string[],
): Promise<{ rows: unknown[]; covered: number }> {
  if (ids.length === 0) return { rows: [], covered: 0 }
  const found = await db.run(portionStatement(db, { ids }))
  return coveredBy(ids, await portionOf(db, found.results, { short: shortAmong(ids.length) }))
}

/** How many of the ids that were asked for a portion answers, from the first on. */
export function coveredBy(
  ids: readonly string[],
  { rows, last, isCut }: Portion,
): { rows: unknown[]; covered: number } {
  return { rows, covered: isCut && last !== null ? ids.indexOf(last) + 1 : ids.length }
}
