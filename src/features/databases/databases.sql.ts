import * as z from 'zod'
import { IMPLICIT_TENANT_ID, TENANT_STATUSES } from '../../access/tenants.sql.ts'
import { bytesOf, json } from '../../platform/columns'
import { type AccountDatabase, type Statement, statement } from '../../platform/database'
import { type Directory, FIRST, Places, UNSPREAD } from '../../platform/databases/directory'
import { guardSql } from '../../platform/guard'
import {
  ASKED_AND_PROGRESS,
  endWork,
  hasWorkOf,
  MovedWork,
  scheduleForTenants,
  storeNumbered,
  workOfKinds,
} from '../../time/moved-work.sql.ts'
import { EVENTS_OF_FIGURES } from '../analytics/counting'
import { BYTES_OF_USER } from './moved-tables'
import type { Range } from './plan'

const FORGET = 'DELETE FROM database_weights'
const STORE = 'INSERT INTO database_weights (name, weight) SELECT key, value FROM json_each(?1)'

const FORGET_WEIGHTS_OF_OTHERS =
  'DELETE FROM database_weights WHERE name NOT IN (SELECT value FROM json_each(?1))'
/** Forgets the weights of databases that are not bound any more: another one may get the name later. */
export const forgetWeights = (names: readonly string[]): Statement =>
  statement(FORGET_WEIGHTS_OF_OTHERS, JSON.stringify(names))

/** Stores weights, and with several databases lets all tenants be spread by them. */
export async function storeWeights(
  first: AccountDatabase,
  weights: Readonly<Record<string, number>>,
  { isSpread, audit }: { isSpread: boolean; audit: readonly Statement[] },
): Promise<void> {
  await first.batch([
    ...audit,
    first.statement(FORGET),
    first.statement(STORE, JSON.stringify(weights)),
    ...(isSpread ? [scheduleForTenants(first, 'moves')] : []),
  ])
}

const PAGE = 1_000
const DIRECTORIES = `
  SELECT d.tenant_id AS tenantId, d.places,
    ${hasWorkOf('d.tenant_id', "'moves'")} AS isAsked
  FROM directory d JOIN tenants t ON t.id = d.tenant_id AND t.status IN ('active', 'archived')
  WHERE d.tenant_id > ?1 ORDER BY d.tenant_id LIMIT ${PAGE}`
const NEVER_SPREAD = `
  SELECT t.id AS tenantId, ?3 AS places, ${hasWorkOf('t.id', "'moves'")} AS isAsked
  FROM tenants t WHERE t.id > ?1 AND t.is_copy = 0 AND t.status IN ('active', 'archived')
    AND NOT EXISTS (SELECT 1 FROM directory WHERE tenant_id = t.id)
    AND (?2 OR t.id <> '${IMPLICIT_TENANT_ID}' OR t.config_version > 0
      OR EXISTS (SELECT 1 FROM users WHERE tenant_id = t.id))
  ORDER BY t.id LIMIT ${PAGE}`
const SpreadRow = z.object({
  tenantId: z.string(),
  isAsked: z.number().transform((asked) => asked === 1),
  places: json(Places),
})

/** Which databases hold the buckets of a tenant, and whether moves were asked for. */
export type Spread = Pick<Directory, 'places'> & { tenantId: string; isAsked: boolean }

/**
 * The spreads of all tenants, page by page: first those with a directory, then those that were never spread.
 * `isAlone`: there are no tenants but the implicit one.
 */
export async function* spreads(first: AccountDatabase, isAlone: boolean): AsyncGenerator<Spread[]> {
  yield* spreadsOf((after) => first.list(SpreadRow, DIRECTORIES, after))
  const never = [isAlone ? 1 : 0, JSON.stringify(UNSPREAD.places)] as const
  yield* spreadsOf((after) => first.list(SpreadRow, NEVER_SPREAD, after, ...never))
}

async function* spreadsOf(pageAfter: (tenantId: string) => Promise<Spread[]>): AsyncGenerator<Spread[]> {
  for (let after = ''; ; ) {
    const page = await pageAfter(after)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.tenantId
  }
}

const HOLDERS = 'SELECT name FROM held_databases WHERE tenants > 0'
/** The names of the databases that hold users of any tenant with a directory (B3). */
export async function holders(first: AccountDatabase): Promise<string[]> {
  return (await first.list(z.object({ name: z.string() }), HOLDERS)).map(({ name }) => name)
}

const USERS = `
  SELECT coalesce(sum(c.count), 0) AS n FROM tenants t
  CROSS JOIN tenant_counters c ON c.tenant_id = t.id AND c.name = ?1`

// Rows of users who have left, or have not arrived yet, do not count.
const EVENTS = `
  SELECT (SELECT count(*) FROM events)
    - (SELECT count(*) FROM users u CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
        WHERE u.tenant_id > 'moved:' AND u.tenant_id < 'moved;')
    - (SELECT count(*) FROM arriving_users a CROSS JOIN events e ON e.user_iid = ${bytesOf('a.user_iid')}) AS n`

/** Up to this size of a database, its events are counted one by one. */
const SMALL = 48_000_000

const Sum = z.object({ n: z.number() })
const sumOf = ({ results }: D1Result): number => Math.max(0, Sum.parse(results[0]).n)

/** The name of the counter of events that came with users who moved, or left with them. */
export const MOVED_EVENTS = 'moved events'

/**
 * How many users and events a database has, and its size. The events of a large database are those that the
 * analytics have counted, which is at most an hour ago.
 */
export async function readSizes(
  db: AccountDatabase,
): Promise<{ users: number; events: number; bytes: number }> {
  const users = await db.run(db.statement(USERS, 'users'))
  const bytes = users.meta.size_after
  if (bytes <= SMALL) {
    const events = await db.run(db.statement(EVENTS))
    return { users: sumOf(users), events: sumOf(events), bytes }
  }
  const { counted, moved } = await db.batchOf({
    counted: db.statement(EVENTS_OF_FIGURES),
    moved: db.statement(USERS, MOVED_EVENTS),
  })
  const events = Sum.parse(counted.results[0]).n + Sum.parse(moved.results[0]).n
  return { users: sumOf(users), events: Math.max(0, events), bytes }
}

const KIND = 'moves'

const Sweep = z.looseObject({
  through: z.number().optional(),
  sweep: z.unknown().optional(),
  found: z.unknown().optional(),
  pass: z.unknown().optional(),
})

/** All due work on users in a database. `kinds` are the kinds of such work. */
export async function workIn(db: AccountDatabase, tenantId: string, kinds: readonly string[]) {
  return z.array(MovedWork).parse(await db.rows(workOfKinds(tenantId, kinds)))
}

/** The parts of the progress of a sweep that matter for a move. */
export const sweepOf = ({ progress }: MovedWork) => (progress === null ? null : json(Sweep).parse(progress))

/** A move of buckets. The numbers are those from before it. */
const Move = z.object({
  source: z.string(),
  target: z.string(),
  first: z.number(),
  last: z.number(),
  /** The version of the directory, and the placements of both databases. */
  version: z.number(),
  left: z.number(),
  joined: z.number(),
  /** Whether the departure may have been sent. From then on the move is not given up. */
  isLeaving: z.boolean(),
  /** How many events of the users the analytics had counted then, for the list of databases (B3). */
  events: z.number(),
})
export type Move = z.infer<typeof Move>

/** The progress of the moves of a tenant, in the first database. Moments are milliseconds of real time. */
const Progress = z.object({
  /** Raised by each write, so that a write that is stored late is refused. */
  no: z.number(),
  move: Move.nullable(),
  /** Whether all users have their buckets; and the visit that stores them: the last user, if it found any. */
  isNumbered: z.boolean(),
  numbering: z.object({ after: z.string(), found: z.boolean() }).nullable(),
  /** Databases with rows of users who have left, and from when on these are deleted. */
  left: z.array(z.object({ name: z.string(), at: z.number() })),
})
export type Progress = z.infer<typeof Progress>

const NOTHING_BEGUN: Progress = { no: 0, move: null, isNumbered: false, numbering: null, left: [] }

const STATE = `
  SELECT t.status, t.config_version AS version,
    ${ASKED_AND_PROGRESS} AS work,
    (SELECT json_object('version', version, 'places', json(places), 'placements', json(placements))
      FROM directory WHERE tenant_id = ?1) AS directory,
    (SELECT json_group_object(name, weight) FROM database_weights) AS weights,
    (SELECT json_group_object(name, since) FROM known_databases) AS known
  FROM tenants t WHERE t.id = ?1`

const StateRow = z.object({
  status: z.enum(TENANT_STATUSES),
  version: z.number(),
  work: json(z.tuple([z.number(), json(Progress).nullable()])).nullable(),
  directory: json(
    z.object({
      version: z.number(),
      places: Places,
      placements: z.record(z.string(), z.number()),
    }),
  ).nullable(),
  weights: json(z.record(z.string(), z.number())),
  /** Since when each database but the first is bound, in milliseconds of real time. */
  known: json(z.record(z.string(), z.number())),
})

/** What the mover needs to know of a tenant. `work` is null if no moves were asked for or are under way. */
export type State = Omit<z.output<typeof StateRow>, 'work' | 'directory'> & {
  work: { asked: number } | null
  progress: Progress
  directory: Directory
}

/** Reads it in one round trip to the first database. Null if there is no such tenant. */
export async function readState(first: AccountDatabase, tenantId: string): Promise<State | null> {
  const row = await first.find(StateRow, STATE, tenantId, KIND)
  if (row === undefined) return null
  const { work, directory, ...rest } = row
  return {
    ...rest,
    work: work === null ? null : { asked: work[0] },
    progress: work?.[1] ?? NOTHING_BEGUN,
    directory: directory ?? UNSPREAD,
  }
}

/** Stores the progress, unless it was stored again since it was read: then this is a conflict. */
export const storeProgress = (tenantId: string, progress: Progress): Statement[] =>
  storeNumbered(tenantId, KIND, progress)

const NOTE_TARGET = `
  INSERT INTO directory (tenant_id, version, places, placements, moving) VALUES (?1, 0, ?3, '{}', ?2)
  ON CONFLICT DO UPDATE SET moving = excluded.moving`
/**
 * Stores the progress with a move that begins, or without one that is given up. From then on, a change of the
 * configuration is prepared in the new database, too (B4).
 */
export const storeMove = (tenantId: string, progress: Progress): Statement[] => [
  statement(NOTE_TARGET, tenantId, progress.move?.target ?? null, JSON.stringify(UNSPREAD.places)),
  ...storeProgress(tenantId, progress),
]

/** Ends the moves of a tenant, unless they were asked for again. */
export const endMoves = (tenantId: string, asked: number): Statement => endWork(tenantId, KIND, asked)

const PLACEMENT = `
  SELECT t.placement, t.config_version AS version, t.changing IS NOT NULL OR EXISTS (
    SELECT 1 FROM test_clock WHERE changing IS NOT NULL) AS isChanging FROM tenants t WHERE t.id = ?1`
const Placement = z.object({ placement: z.number(), version: z.number(), isChanging: z.number() })

/** The placement that a database notes for a tenant; null if it has no row of the tenant. */
export async function placementIn(db: AccountDatabase, tenantId: string) {
  return (await db.find(Placement, PLACEMENT, tenantId)) ?? null
}

// -- Numbering --

const UNNUMBERED = `
  SELECT count(*) AS count, max(id) AS last, json_group_array(id) FILTER (WHERE bucket IS NULL) AS ids
  FROM (SELECT id, bucket FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3)`
const NUMBER = `
  UPDATE users SET bucket = asked.value ->> 1 FROM json_each(?2) asked
  WHERE users.tenant_id = ?1 AND users.id = asked.value ->> 0 AND users.bucket IS NULL`
const Unnumbered = z.object({
  count: z.number(),
  last: z.string().nullable(),
  ids: json(z.array(z.string())),
})

/** The users without a bucket among the next ones; `last` is the last user, null at the end. */
export async function unnumbered(db: AccountDatabase, tenantId: string, after: string, limit: number) {
  const { count, last, ids } = await db.one(Unnumbered, UNNUMBERED, tenantId, after, limit)
  return { ids, last: count < limit ? null : last }
}

/** Stores the buckets of users. */
export async function number(
  db: AccountDatabase,
  tenantId: string,
  buckets: readonly (readonly [id: string, bucket: number])[],
): Promise<void> {
  if (buckets.length > 0) await db.run(db.statement(NUMBER, tenantId, JSON.stringify(buckets)))
}

const HAS_USERS = 'SELECT 1 FROM users WHERE tenant_id = ?1 LIMIT 1'
export async function hasUsers(db: AccountDatabase, tenantId: string): Promise<boolean> {
  return (await db.rows(db.statement(HAS_USERS, tenantId))).length > 0
}

const LAST_USERS = `
  SELECT bucket, ${BYTES_OF_USER} AS bytes FROM users
  WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3 ORDER BY bucket DESC LIMIT ?4`
/** The buckets of the last users of a range, in descending order, and about how many bytes each row has. */
export async function lastUsers(
  db: AccountDatabase,
  tenantId: string,
  { first, last }: Pick<Range, 'first' | 'last'>,
  limit: number,
): Promise<{ bucket: number; bytes: number }[]> {
  const user = z.object({ bucket: z.number(), bytes: z.number() })
  return db.list(user, LAST_USERS, tenantId, first, last, limit)
}

const COUNTED = 'SELECT iid, counted FROM users WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3'
const COUNTED_EVENTS = `
  SELECT count(*) AS n FROM json_each(?1) asked CROSS JOIN events e
  ON e.user_iid = ${bytesOf('asked.value ->> 0')} AND e.seq <= asked.value ->> 1`
const COUNTED_AT_ONCE = 20

/** How many events of the users of a range the analytics have counted. */
export async function countedEvents(
  db: AccountDatabase,
  tenantId: string,
  { first, last }: Pick<Range, 'first' | 'last'>,
): Promise<number> {
  const user = z.object({ iid: z.string(), counted: z.number() })
  const users = await db.list(user, COUNTED, tenantId, first, last)
  let sum = 0
  for (let from = 0; from < users.length; from += COUNTED_AT_ONCE) {
    const some = users.slice(from, from + COUNTED_AT_ONCE).map(({ iid, counted }) => [iid, counted])
    sum += (await db.find(Sum, COUNTED_EVENTS, JSON.stringify(some)))?.n ?? 0
  }
  return sum
}

const NOTE_KNOWN = `
  INSERT INTO known_databases (name, since) SELECT value, ?2 FROM json_each(?1) WHERE value <> '${FIRST}'
  ON CONFLICT DO UPDATE SET since = excluded.since WHERE excluded.since < since`
const FORGET_UNBOUND = `
  DELETE FROM known_databases WHERE name NOT IN (SELECT value FROM json_each(?1))`
/** Notes which databases are bound, and forgets those that are not. `at` is in milliseconds of real time. */
export const noteDatabases = (names: readonly string[], at: number): Statement[] => [
  statement(FORGET_UNBOUND, JSON.stringify(names)),
  statement(NOTE_KNOWN, JSON.stringify(names), at),
]

// -- The switch --

const MAY_SWITCH = guardSql(`
  coalesce((SELECT version FROM directory WHERE tenant_id = ?1), 0) = ?2
    AND (SELECT config_version FROM tenants WHERE id = ?1) = ?3`)
const SWITCH = `
  INSERT INTO directory (tenant_id, version, places, placements) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET version = excluded.version, places = excluded.places,
    placements = excluded.placements, moving = NULL`

/** The switch: the directory leads to the new database. A conflict if the configuration has changed. */
export async function switchTo(
  first: AccountDatabase,
  tenantId: string,
  directory: Directory,
  version: number,
  progress: Progress,
): Promise<void> {
  const { places, placements } = directory
  await first.batch([
    first.statement(MAY_SWITCH, tenantId, directory.version - 1, version),
    first.statement(SWITCH, tenantId, directory.version, JSON.stringify(places), JSON.stringify(placements)),
    ...storeProgress(tenantId, progress),
  ])
}
