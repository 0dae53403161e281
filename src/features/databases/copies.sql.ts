import * as z from 'zod'
import { packed } from '../../lib/packed'
import { type AccountDatabase, type Statement, statement } from '../../platform/database'
import { guardSql } from '../../platform/guard'
import { forgetWork, joinWork, lowerUntil, MovedWork, workOfKinds } from '../../time/moved-work.sql.ts'
import {
  ADD_FIGURES,
  countedUntil,
  FORGET_FIGURES,
  JOIN_PASS,
  READ_FIGURES,
  READ_PASS,
  TAKE_PASS,
} from '../analytics/counting'
import { MOVED_EVENTS, type Move } from './databases.sql.ts'
import {
  COPIED_LOGS,
  DEPARTING,
  DEPARTING_COUNTS,
  DEPARTING_USERS,
  LEFTOVERS,
  REMOVE_VOIDED,
} from './moved-tables'
import type { Range } from './plan'

/* The rows of logs that are copied before their users move (B3), and up to where they are copied. */

const SEQS = 'SELECT iid, seq FROM users WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3'
const ARRIVING = 'SELECT user_iid AS iid, seq FROM arriving_users WHERE tenant_id = ?1'
const ARRIVE = `
  INSERT INTO arriving_users (tenant_id, user_iid, seq) SELECT ?1, value ->> 0, value ->> 1 FROM json_each(?2)
  WHERE true ON CONFLICT DO UPDATE SET seq = excluded.seq`
const LEAVE_OUT = `
  DELETE FROM arriving_users WHERE tenant_id = ?1 AND user_iid IN (SELECT value FROM json_each(?2))`
const PLACEMENT_IS = guardSql(`
  coalesce((SELECT placement FROM tenants WHERE id = ?1), 0) = ?2`)

const Seqs = z.array(z.object({ iid: z.string(), seq: z.number() }))
/** Users by internal id, each with a `seq`. */
export type Seqs = ReadonlyMap<string, number>
const seqsOf = (result: D1Result): Seqs =>
  new Map(Seqs.parse(result.results).map(({ iid, seq }) => [iid, seq]))

/** A range of buckets. */
export type Buckets = Pick<Range, 'first' | 'last'>
const seqs = (tenantId: string, { first, last }: Buckets) => statement(SEQS, tenantId, first, last)

/** The users of a range. */
export const seqsIn = async (db: AccountDatabase, tenantId: string, range: Buckets): Promise<Seqs> =>
  seqsOf(await db.run(seqs(tenantId, range)))

/** The users whose rows are copied to a database, and up to which `seq`. */
export const arrivingIn = async (db: AccountDatabase, tenantId: string): Promise<Seqs> =>
  seqsOf(await db.run(db.statement(ARRIVING, tenantId)))

/** Notes users whose rows are copied, each up to a `seq`; -1: not all of them yet. */
export const arrive = (
  tenantId: string,
  users: readonly (readonly [iid: string, seq: number])[],
): Statement => statement(ARRIVE, tenantId, JSON.stringify(users))

/** Forgets such users. */
export const leaveOut = (tenantId: string, iids: readonly string[]): Statement =>
  statement(LEAVE_OUT, tenantId, JSON.stringify(iids))

/**
 * A guard: holds while a database has this placement, so while no users have arrived or left since it was
 * read. Each write of a move has it, because a write without an answer may be stored much later. Without it,
 * a late deletion of copies could delete the rows of users who have arrived since then.
 */
export const placementIs = (tenantId: string, placement: number): Statement =>
  statement(PLACEMENT_IS, tenantId, placement)

/** The same for the new database of a move: holds until the users have arrived. */
export const notYetJoined = (tenantId: string, { joined }: Move): Statement => placementIs(tenantId, joined)

const Rows = z.array(z.object({ row: z.string() }))
/** The rows of a result, each as JSON. */
export const rowsOf = ({ results }: D1Result): string[] => Rows.parse(results).map(({ row }) => row)

/** Rows of the logs, each as JSON, in the order of the logs. */
export type LogRows = readonly (readonly string[])[]

/** All rows of users in all logs, and the range's `seq` then. Not `isAll`: too many to read at once. */
export async function readLogs(
  db: AccountDatabase,
  tenantId: string,
  range: Buckets,
  iids: readonly string[],
) {
  const asked = JSON.stringify(iids.map((iid) => [iid]))
  const { users, logs } = await db.batchOf({
    users: seqs(tenantId, range),
    logs: COPIED_LOGS.map(({ read }) => db.statement(read, asked)),
  })
  const rows = logs.map(rowsOf)
  const isAll = COPIED_LOGS.every(({ most }, index) => (rows[index]?.length ?? 0) <= most)
  return { rows, isAll, seqs: seqsOf(users) }
}

/** The rows of some users that are newer than a `seq`, in the same way. `departed`: after the departure. */
export async function readNewer(
  db: AccountDatabase,
  tenantId: string,
  range: Buckets,
  users: readonly (readonly [iid: string, seq: number])[],
) {
  const asked = JSON.stringify(users)
  const { present, logs } = await db.batchOf({
    present: seqs(tenantId, range),
    logs: COPIED_LOGS.map(({ newer }) => db.statement(newer, asked)),
  })
  return { rows: logs.map(rowsOf), seqs: seqsOf(present) }
}

/** The next rows of one user in one log, after a row. */
export async function readPage(
  db: AccountDatabase,
  { begin, goOn }: (typeof COPIED_LOGS)[number],
  iid: string,
  after: string | null,
): Promise<string[]> {
  return rowsOf(await db.run(after === null ? db.statement(begin, iid) : db.statement(goOn, iid, after)))
}

/** Statements that insert rows of the logs. */
export const insertLogs = (rows: LogRows): Statement[] =>
  COPIED_LOGS.flatMap(({ insert }, index) => packed(rows[index] ?? []).map((list) => statement(insert, list)))

/** Statements that insert the rows that `readNewer` has found. */
export const insertNewer = (
  rows: LogRows,
  users: readonly (readonly [iid: string, seq: number])[],
): Statement[] => [
  ...COPIED_LOGS.filter(({ hasNewer }) => !hasNewer).map(({ remove }) =>
    statement(remove, JSON.stringify(users.map(([iid]) => iid))),
  ),
  ...insertLogs(rows),
  statement(REMOVE_VOIDED, JSON.stringify(users)),
]

/* How users leave one database and arrive in another (B3), and the rows that they leave behind. */

const MAY_LEAVE = guardSql(`
  EXISTS (SELECT 1 FROM tenants WHERE id = ?1 AND placement = ?2 AND changing IS NULL AND status <> 'purging')
    AND NOT EXISTS (SELECT 1 FROM test_clock WHERE changing IS NOT NULL)`)
const NAMES = `
  SELECT name, count(*) AS n FROM (
    SELECT 'users' AS name FROM users WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3
    UNION ALL SELECT a.value ->> 0 FROM users u, json_each(u.achievements) a
      WHERE u.tenant_id = ?1 AND u.bucket BETWEEN ?2 AND ?3)
  GROUP BY name`
const ADD_EVENTS = `
  INSERT INTO tenant_counters (tenant_id, name, count) VALUES (?1, '${MOVED_EVENTS}', ?2)
  ON CONFLICT DO UPDATE SET count = count + excluded.count`
const READ_EVENTS = `
  SELECT coalesce((SELECT count FROM tenant_counters
    WHERE tenant_id = ?1 AND name = '${MOVED_EVENTS}'), 0) AS n`
const LOWER = `
  UPDATE tenant_counters SET count = count - gone.n FROM (${NAMES}) gone
  WHERE tenant_counters.tenant_id = ?1 AND tenant_counters.name = gone.name`
const RAISE = `
  INSERT INTO tenant_counters (tenant_id, name, count) SELECT ?1, name, n FROM (${NAMES}) WHERE true
  ON CONFLICT DO UPDATE SET count = count + excluded.count`
const NEXT_PLACEMENT = 'UPDATE tenants SET placement = placement + 1 WHERE id = ?1'

/**
 * The departure, in one batch: from then on the database refuses each batch that was sent by the old
 * directory, and nobody finds the users there. Their rows wait under another tenant.
 */
export async function depart(
  db: AccountDatabase,
  tenantId: string,
  { first, last, left, events }: Move,
): Promise<void> {
  const range = [tenantId, first, last] as const
  await db.batch([
    db.statement(MAY_LEAVE, tenantId, left),
    db.statement(LOWER, ...range),
    db.statement(ADD_EVENTS, tenantId, -events),
    ...DEPARTING.map(({ depart: sql }) => db.statement(sql, ...range)),
    db.statement(DEPARTING_USERS.depart, ...range),
    db.statement(NEXT_PLACEMENT, tenantId),
  ])
}

const DepartedUsers = z.array(z.object({ iid: z.string(), seq: z.number(), row: z.string() }))
const Pass = z.object({ updated: z.number(), since: z.number().nullable(), ladder: z.string() })

/** Everything of departed users but their logs, and the work on users that their database had. */
export async function readDeparted(
  db: AccountDatabase,
  tenantId: string,
  { first, last }: Buckets,
  { kinds, withFigures }: { kinds: readonly string[]; withFigures: boolean },
) {
  const range = [tenantId, first, last] as const
  const { users, tables, counts, work, pass, figures, events } = await db.batchOf({
    users: db.statement(DEPARTING_USERS.read, ...range),
    tables: DEPARTING.map(({ read }) => db.statement(read, ...range)),
    counts: db.statement(DEPARTING_COUNTS.read, ...range),
    work: workOfKinds(tenantId, kinds),
    pass: db.statement(READ_PASS, tenantId),
    figures: withFigures ? [db.statement(READ_FIGURES, tenantId)] : [],
    events: db.statement(READ_EVENTS, tenantId),
  })
  const works = z.array(MovedWork).parse(work.results)
  const lastPass = Pass.nullable().parse(pass.results[0] ?? null)
  return {
    users: DepartedUsers.parse(users.results),
    tables: tables.map(rowsOf),
    counts: rowsOf(counts),
    work: works,
    pass: lastPass,
    /** Up to which moment the analytics have counted their changes; null if all of them. */
    until: countedUntil(lastPass, works),
    figures: figures.flatMap(rowsOf),
    /** The events that moved, of a database that gives its last users away. */
    movedEvents: withFigures ? z.object({ n: z.number() }).parse(events.results[0]).n : 0,
  }
}
export type Departed = Awaited<ReturnType<typeof readDeparted>>

const MAY_JOIN = guardSql(`
  EXISTS (SELECT 1 FROM tenants WHERE id = ?1 AND placement = ?2 AND config_version = ?3
    AND changing IS NULL)`)

/**
 * The arrival, in one batch: the users, with all that was not copied before. `replaces` are the kinds of work
 * that a database without users takes over whole.
 */
export async function join(
  db: AccountDatabase,
  tenantId: string,
  { first, last, joined, events }: Move,
  arrival: { departed: Departed; version: number; newer: readonly Statement[]; replaces: readonly string[] },
): Promise<void> {
  const { departed, version, newer, replaces } = arrival
  const insert = (sql: string, rows: readonly string[]) =>
    packed(rows).map((list) => db.statement(sql, list, tenantId))
  const { pass, until } = departed
  const rowsOfUsers = departed.users.map(({ row }) => row)
  const iids = departed.users.map(({ iid }) => iid)
  await db.batch([
    db.statement(MAY_JOIN, tenantId, joined, version),
    ...newer,
    ...(replaces.length === 0 ? [] : [forgetWork(tenantId, replaces)]),
    joinWork(tenantId, departed.work),
    ...DEPARTING.flatMap(({ insert: sql }, index) => insert(sql, departed.tables[index] ?? [])),
    ...packed(departed.counts).map((list) => db.statement(DEPARTING_COUNTS.insert, list)),
    ...(pass === null ? [] : [db.statement(TAKE_PASS, tenantId, pass.updated, pass.since, pass.ladder)]),
    ...insert(DEPARTING_USERS.insert, rowsOfUsers),
    ...insert(ADD_FIGURES, departed.figures),
    db.statement(JOIN_PASS, tenantId, pass?.since ?? null, pass?.ladder ?? '', until),
    ...(until === null ? [] : [lowerUntil(tenantId, 'analytics', until)]),
    db.statement(RAISE, tenantId, first, last),
    db.statement(ADD_EVENTS, tenantId, events + departed.movedEvents),
    leaveOut(tenantId, iids),
    db.statement(NEXT_PLACEMENT, tenantId),
  ])
}

const NextUser = z.object({ id: z.string(), iid: z.string() })

/** The next users who have left, and whose rows are still there. */
export const departedUsers = (db: AccountDatabase, tenantId: string, limit: number) =>
  db.list(NextUser, DEPARTING_USERS.next, tenantId, limit)

/** Deletes rows of users who have left, when the rows of their logs are gone. */
export const forgetDeparted = (
  tenantId: string,
  users: readonly { id: string; iid: string }[],
): Statement[] => [
  ...DEPARTING.filter(({ isByUser }) => isByUser).map(({ forget }) =>
    statement(forget, tenantId, JSON.stringify(users.map(({ iid }) => iid))),
  ),
  statement(DEPARTING_USERS.forget, tenantId, JSON.stringify(users.map(({ id }) => id))),
]

const FORGOTTEN_AT_ONCE = 500

/** Deletes the next departed rows that are not found by their user. Returns whether these were the last. */
export async function forgetOthers(
  db: AccountDatabase,
  tenantId: string,
  guard: Statement,
): Promise<boolean> {
  const others = DEPARTING.filter(({ isByUser }) => !isByUser)
  const [, ...results] = await db.batch([
    guard,
    ...others.map(({ forget }) => db.statement(forget, tenantId, FORGOTTEN_AT_ONCE)),
  ])
  return results.every(({ meta }) => meta.changes < FORGOTTEN_AT_ONCE)
}

const FORGET_COUNTERS = 'DELETE FROM tenant_counters WHERE tenant_id = ?1'

/** Statements for a database that holds no users of the tenant any more: its sums, and its work on users. */
export const forgetSums = (tenantId: string, kinds: readonly string[]): Statement[] => [
  ...FORGET_FIGURES.map((sql) => statement(sql, tenantId)),
  statement(FORGET_COUNTERS, tenantId),
  forgetWork(tenantId, kinds),
]

/** Takes the next rows of no user from a database that the tenant has left. Returns if they are the last. */
export async function takeLeftovers(
  from: AccountDatabase,
  to: AccountDatabase,
  tenantId: string,
  kind: keyof typeof LEFTOVERS,
): Promise<boolean> {
  const { read, insert, remove } = LEFTOVERS[kind]
  const rows = rowsOf(await from.run(from.statement(read, tenantId)))
  if (rows.length === 0) return true
  await to.batch(packed(rows).map((list) => to.statement(insert, list)))
  await from.batch(packed(rows).map((list) => from.statement(remove, list)))
  return false
}
