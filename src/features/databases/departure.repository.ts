import * as z from 'zod'
import { packed } from '../../lib/packed'
import type { AccountDatabase } from '../../platform/database'
import { guardSql } from '../../platform/guard'
import type { Statement } from '../../platform/statement'
import {
  ADD_FIGURES,
  countedUntil,
  FORGET_FIGURES,
  JOIN_PASS,
  READ_FIGURES,
  READ_PASS,
  TAKE_PASS,
} from '../analytics/analytics-moves.service'
import { type Buckets, leaveOut, rowsOf } from './copied-logs.repository'
import { MOVED_EVENTS } from './databases.repository'
import { DEPARTING, DEPARTING_COUNTS, DEPARTING_USERS, LEFTOVERS } from './moved-tables.register'
import type { Move } from './moves.repository'
import { countsFrom, forgetWork, joinWork, USERS_WORK, Work } from './users-work.repository'

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
    work: db.statement(USERS_WORK, tenantId, JSON.stringify(kinds)),
    pass: db.statement(READ_PASS, tenantId),
    figures: withFigures ? [db.statement(READ_FIGURES, tenantId)] : [],
    events: db.statement(READ_EVENTS, tenantId),
  })
  const works = z.array(Work).parse(work.results)
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
  {
    departed,
    version,
    newer,
    replaces,
  }: { departed: Departed; version: number; newer: readonly Statement[]; replaces: readonly string[] },
): Promise<void> {
  const insert = (sql: string, rows: readonly string[]) =>
    packed(rows).map((list) => db.statement(sql, list, tenantId))
  const { pass, until } = departed
  await db.batch([
    db.statement(MAY_JOIN, tenantId, joined, version),
    ...newer,
    ...(replaces.length === 0 ? [] : [forgetWork(tenantId, replaces)]),
    joinWork(tenantId, departed.work),
    ...DEPARTING.flatMap(({ insert: sql }, index) => insert(sql, departed.tables[index] ?? [])),
    ...packed(departed.counts).map((list) => db.statement(DEPARTING_COUNTS.insert, list)),
    ...(pass === null ? [] : [db.statement(TAKE_PASS, tenantId, pass.updated, pass.since, pass.ladder)]),
    ...insert(
      DEPARTING_USERS.insert,
      departed.users.map(({ row }) => row),
    ),
    ...insert(ADD_FIGURES, departed.figures),
    db.statement(JOIN_PASS, tenantId, pass?.since ?? null, pass?.ladder ?? '', until),
    ...(until === null ? [] : [countsFrom(tenantId, until)]),
    db.statement(RAISE, tenantId, first, last),
    db.statement(ADD_EVENTS, tenantId, events + departed.movedEvents),
    leaveOut(
      tenantId,
      departed.users.map(({ iid }) => iid),
    ),
    db.statement(NEXT_PLACEMENT, tenantId),
  ])
}

const NextUsers = z.array(z.object({ id: z.string(), iid: z.string() }))

/** The next users who have left, and whose rows are still there. */
export async function departedUsers(db: AccountDatabase, tenantId: string, limit: number) {
  return NextUsers.parse(await db.rows(db.statement(DEPARTING_USERS.next, tenantId, limit)))
}

/** Deletes rows of users who have left, when the rows of their logs are gone. */
export const forgetDeparted = (
  tenantId: string,
  users: readonly { id: string; iid: string }[],
): Statement[] => [
  ...DEPARTING.filter(({ isByUser }) => isByUser).map(({ forget }) => ({
    sql: forget,
    params: [tenantId, JSON.stringify(users.map(({ iid }) => iid))],
  })),
  { sql: DEPARTING_USERS.forget, params: [tenantId, JSON.stringify(users.map(({ id }) => id))] },
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
  ...FORGET_FIGURES.map((sql) => ({ sql, params: [tenantId] })),
  { sql: FORGET_COUNTERS, params: [tenantId] },
  forgetWork(tenantId, kinds),
]

/**
 * Takes the next rows that belong to no user from a database that the tenant has left to another one. Returns
 * whether these were the last ones.
 */
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
