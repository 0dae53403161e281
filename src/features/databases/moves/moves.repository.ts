import * as z from 'zod'
import { TENANT_STATUSES } from '../../../access/tenants.types'
import type { AccountDatabase } from '../../../db/database'
import { type Directory, FIRST } from '../../../db/databases/directory'
import { guardSql } from '../../../db/guard'
import { bytesOf } from '../../../db/short-ids'
import type { Statement } from '../../../db/statement'
import { packed } from '../../../lib/packed'
import {
  ADD_FIGURES,
  FORGET_FIGURES,
  JOIN_PASS,
  READ_FIGURES,
  READ_PASS,
} from '../../analytics/analytics-moves.service'
import { MOVED_EVENTS } from '../databases.repository'
import {
  COPIED_LOGS,
  DEPARTING,
  DEPARTING_COUNTS,
  DEPARTING_USERS,
  REMOVE_VOIDED,
} from './moved-tables.register'
import type { ByName, Range } from './plan.model'

const json = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)

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
})
export type Move = z.infer<typeof Move>

/** The progress of the moves of a tenant, in the first database. Moments are milliseconds of real time. */
const Progress = z.object({
  move: Move.nullable().default(null),
  /** When the tenant was first seen with users in one database of several. */
  seen: z.number().nullable().default(null),
  /** Whether all users have their buckets; and the visit that stores them: the last user, if it found any. */
  isNumbered: z.boolean().default(false),
  numbering: z.object({ after: z.string(), found: z.boolean() }).nullable().default(null),
  /** Databases with rows of users who have left, and from when on these are deleted. */
  left: z.array(z.object({ name: z.string(), at: z.number() })).default([]),
})
export type Progress = z.infer<typeof Progress>

export const NOTHING_BEGUN: Progress = Progress.parse({})

const STATE = `
  SELECT t.status, t.config_version AS version,
    (SELECT json_array(asked, progress) FROM due_work WHERE tenant_id = ?1 AND kind = 'moves'
      AND subject = '') AS work,
    (SELECT json_object('version', version, 'places', json(places), 'placements', json(placements))
      FROM directory WHERE tenant_id = ?1) AS directory,
    (SELECT json_group_object(name, weight) FROM database_weights) AS weights
  FROM tenants t WHERE t.id = ?1`

const StateRow = z.object({
  status: z.enum(TENANT_STATUSES),
  version: z.number(),
  work: json(z.tuple([z.number(), json(Progress).nullable()])).nullable(),
  directory: json(
    z.object({
      version: z.number(),
      places: z.array(z.tuple([z.number(), z.string()])),
      placements: z.record(z.string(), z.number()),
    }),
  ).nullable(),
  weights: json(z.record(z.string(), z.number())),
})

/**
 * The facts about a tenant that the mover needs. `work` is null if no moves were asked for, and none are
 * under way.
 */
export type State = {
  status: z.infer<typeof StateRow>['status']
  /** The version of the configuration. */
  version: number
  work: { asked: number; progress: Progress } | null
  directory: Directory
  weights: ByName
}

/** Reads it in one round trip to the first database. Null if there is no such tenant. */
export async function readState(first: AccountDatabase, tenantId: string): Promise<State | null> {
  const [row] = await first.rows(first.statement(STATE, tenantId))
  if (row === undefined) return null
  const { status, version, work, directory, weights } = StateRow.parse(row)
  return {
    status,
    version,
    weights,
    work: work === null ? null : { asked: work[0], progress: work[1] ?? NOTHING_BEGUN },
    directory: directory ?? { version: 0, places: [[0, FIRST]], placements: {} },
  }
}

const STORE_PROGRESS = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress) VALUES (?1, 'moves', '', 0, ?2)
  ON CONFLICT DO UPDATE SET progress = excluded.progress`
/** Stores the progress. Only the tenant's Timekeeper does. */
export const storeProgress = (tenantId: string, progress: Progress): Statement => ({
  sql: STORE_PROGRESS,
  params: [tenantId, JSON.stringify(progress)],
})

const END = `DELETE FROM due_work WHERE tenant_id = ?1 AND kind = 'moves' AND subject = '' AND asked = ?2`
/** Ends the moves of a tenant, unless they were asked for again. */
export const endMoves = (tenantId: string, asked: number): Statement => ({
  sql: END,
  params: [tenantId, asked],
})

const PLACEMENT = `
  SELECT t.placement, t.config_version AS version, t.changing IS NOT NULL OR EXISTS (
    SELECT 1 FROM test_clock WHERE changing IS NOT NULL) AS isChanging FROM tenants t WHERE t.id = ?1`
const Placement = z.object({ placement: z.number(), version: z.number(), isChanging: z.number() })

/** The placement that a database notes for a tenant; null if it has no row of the tenant. */
export async function placementIn(db: AccountDatabase, tenantId: string) {
  return Placement.nullable().parse((await db.rows(db.statement(PLACEMENT, tenantId)))[0] ?? null)
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
  const [row] = await db.rows(db.statement(UNNUMBERED, tenantId, after, limit))
  const { count, last, ids } = Unnumbered.parse(row)
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
  SELECT bucket FROM users WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3 ORDER BY bucket DESC LIMIT ?4`
/** The buckets of the last users of a range, in descending order. */
export async function lastBuckets(
  db: AccountDatabase,
  tenantId: string,
  { first, last }: Pick<Range, 'first' | 'last'>,
  limit: number,
): Promise<number[]> {
  const rows = await db.rows(db.statement(LAST_USERS, tenantId, first, last, limit))
  return z
    .array(z.object({ bucket: z.number() }))
    .parse(rows)
    .map(({ bucket }) => bucket)
}

// -- Due work --

const USERS_WORK = `
  SELECT kind, subject, due_at AS dueAt, progress FROM due_work
  WHERE tenant_id = ?1 AND kind IN (SELECT value FROM json_each(?2))`
const Sweep = z.looseObject({
  through: z.number().optional(),
  sweep: z.unknown().optional(),
  found: z.unknown().optional(),
  pass: z.unknown().optional(),
})
const Work = z.object({
  kind: z.string(),
  subject: z.string(),
  dueAt: z.number(),
  progress: z.string().nullable(),
})
/** A piece of due work on users. */
export type Work = z.infer<typeof Work>

/** All due work on users in a database. `kinds` are the kinds of such work. */
export async function workIn(
  db: AccountDatabase,
  tenantId: string,
  kinds: readonly string[],
): Promise<Work[]> {
  return z.array(Work).parse(await db.rows(db.statement(USERS_WORK, tenantId, JSON.stringify(kinds))))
}

/** The parts of the progress of a sweep that matter for a move. */
export const sweepOf = ({ progress }: Work) => (progress === null ? null : json(Sweep).parse(progress))

const FORGET_WORK = `
  DELETE FROM due_work WHERE tenant_id = ?1 AND kind IN (SELECT value FROM json_each(?2))`
/** Work that both databases have goes on at the earlier moment; what both have done is done. */
const JOIN_WORK = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?2) WHERE true
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1,
    progress = CASE WHEN progress ->> '$.through' < excluded.progress ->> '$.through'
      THEN json_set(progress, '$.through', excluded.progress -> '$.through') ELSE progress END`

const joinWork = (tenantId: string, works: readonly Work[]): Statement => ({
  sql: JOIN_WORK,
  params: [
    tenantId,
    JSON.stringify(works.map(({ kind, subject, dueAt, progress }) => [kind, subject, dueAt, progress])),
  ],
})

export const forgetWork = (tenantId: string, kinds: readonly string[]): Statement => ({
  sql: FORGET_WORK,
  params: [tenantId, JSON.stringify(kinds)],
})

// -- Copies --

const SEQS = 'SELECT iid, seq FROM users WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3'
const ARRIVING = 'SELECT user_iid AS iid, seq FROM arriving_users WHERE tenant_id = ?1'
const ARRIVE = `
  INSERT INTO arriving_users (tenant_id, user_iid, seq) SELECT ?1, value ->> 0, value ->> 1 FROM json_each(?2)
  WHERE true ON CONFLICT DO UPDATE SET seq = excluded.seq`
const LEAVE_OUT = `
  DELETE FROM arriving_users WHERE tenant_id = ?1 AND user_iid IN (SELECT value FROM json_each(?2))`
const JOINED = guardSql(`
  coalesce((SELECT placement FROM tenants WHERE id = ?1), 0) = ?2`)

const Seqs = z.array(z.object({ iid: z.string(), seq: z.number() }))
/** Users by internal id, each with a `seq`. */
export type Seqs = ReadonlyMap<string, number>
const seqsOf = (result: D1Result): Seqs =>
  new Map(Seqs.parse(result.results).map(({ iid, seq }) => [iid, seq]))

type Buckets = Pick<Range, 'first' | 'last'>
const seqs = (tenantId: string, { first, last }: Buckets): Statement => ({
  sql: SEQS,
  params: [tenantId, first, last],
})

/** The users of a range. */
export const seqsIn = async (db: AccountDatabase, tenantId: string, range: Buckets): Promise<Seqs> =>
  seqsOf(await db.run(seqs(tenantId, range)))

/** The users whose rows are copied to a database, and up to which `seq`. */
export const arrivingIn = async (db: AccountDatabase, tenantId: string): Promise<Seqs> =>
  seqsOf(await db.run(db.statement(ARRIVING, tenantId)))

export const arrive = (
  tenantId: string,
  users: readonly (readonly [iid: string, seq: number])[],
): Statement => ({
  sql: ARRIVE,
  params: [tenantId, JSON.stringify(users)],
})

export const leaveOut = (tenantId: string, iids: readonly string[]): Statement => ({
  sql: LEAVE_OUT,
  params: [tenantId, JSON.stringify(iids)],
})

/** A guard: a copy is written only before the users have arrived. */
export const notYetJoined = (tenantId: string, { joined }: Move): Statement => ({
  sql: JOINED,
  params: [tenantId, joined],
})

const Rows = z.array(z.object({ row: z.string() }))
const rowsOf = ({ results }: D1Result): string[] => Rows.parse(results).map(({ row }) => row)

/** Rows of the logs, each as JSON, in the order of the logs. */
export type LogRows = readonly (readonly string[])[]

/**
 * All rows of some users in all logs, and the `seq` of the users of the range at that moment. `isAll` is
 * false if there are too many rows to read at once.
 */
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
  COPIED_LOGS.flatMap(({ insert }, index) =>
    packed(rows[index] ?? []).map((list) => ({ sql: insert, params: [list] })),
  )

/** Statements that insert the rows that `readNewer` has found. */
export const insertNewer = (
  rows: LogRows,
  users: readonly (readonly [iid: string, seq: number])[],
): Statement[] => [
  ...COPIED_LOGS.filter(({ hasNewer }) => !hasNewer).map(({ remove }) => ({
    sql: remove,
    params: [JSON.stringify(users.map(([iid]) => iid))],
  })),
  ...insertLogs(rows),
  { sql: REMOVE_VOIDED, params: [JSON.stringify(users)] },
]

// -- Departure and arrival --

const MAY_LEAVE = guardSql(`
  EXISTS (SELECT 1 FROM tenants WHERE id = ?1 AND placement = ?2 AND changing IS NULL)
    AND NOT EXISTS (SELECT 1 FROM test_clock WHERE changing IS NOT NULL)
    AND NOT (?3 AND EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = 'erasure'))`)
const EVENTS_IN_RANGE = `
  SELECT count(*) AS n FROM users u CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
  WHERE u.tenant_id = ?1 AND u.bucket BETWEEN ?2 AND ?3`
const NAMES = `
  SELECT name, count(*) AS n FROM (
    SELECT 'users' AS name FROM users WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3
    UNION ALL SELECT a.value ->> 0 FROM users u, json_each(u.achievements) a
      WHERE u.tenant_id = ?1 AND u.bucket BETWEEN ?2 AND ?3)
  GROUP BY name`
const LOWER_EVENTS = `
  INSERT INTO tenant_counters (tenant_id, name, count) SELECT ?1, '${MOVED_EVENTS}', -n FROM (
    ${EVENTS_IN_RANGE}) WHERE true
  ON CONFLICT DO UPDATE SET count = count + excluded.count`
const RAISE_EVENTS = `
  INSERT INTO tenant_counters (tenant_id, name, count) SELECT ?1, '${MOVED_EVENTS}', n + ?4 FROM (
    ${EVENTS_IN_RANGE}) WHERE true
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
  { first, last, left }: Move,
  isEmptied: boolean,
): Promise<void> {
  const range = [tenantId, first, last] as const
  await db.batch([
    db.statement(MAY_LEAVE, tenantId, left, isEmptied ? 1 : 0),
    db.statement(LOWER, ...range),
    db.statement(LOWER_EVENTS, ...range),
    ...DEPARTING.map(({ depart: sql }) => db.statement(sql, ...range)),
    db.statement(DEPARTING_USERS.depart, ...range),
    db.statement(NEXT_PLACEMENT, tenantId),
  ])
}

const DepartedUsers = z.array(z.object({ iid: z.string(), seq: z.number(), row: z.string() }))
const Pass = z.object({ since: z.number().nullable(), ladder: z.string() })

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
  return {
    users: DepartedUsers.parse(users.results),
    tables: tables.map(rowsOf),
    counts: rowsOf(counts),
    work: z.array(Work).parse(work.results),
    pass: Pass.nullable().parse(pass.results[0] ?? null),
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
  { first, last, joined }: Move,
  {
    departed,
    version,
    newer,
    replaces,
  }: { departed: Departed; version: number; newer: readonly Statement[]; replaces: readonly string[] },
): Promise<void> {
  const insert = (sql: string, rows: readonly string[]) =>
    packed(rows).map((list) => db.statement(sql, list, tenantId))
  const { pass } = departed
  await db.batch([
    db.statement(MAY_JOIN, tenantId, joined, version),
    ...newer,
    ...(replaces.length === 0 ? [] : [forgetWork(tenantId, replaces)]),
    joinWork(tenantId, departed.work),
    ...DEPARTING.flatMap(({ insert: sql }, index) => insert(sql, departed.tables[index] ?? [])),
    ...packed(departed.counts).map((list) => db.statement(DEPARTING_COUNTS.insert, list)),
    ...insert(
      DEPARTING_USERS.insert,
      departed.users.map(({ row }) => row),
    ),
    ...insert(ADD_FIGURES, departed.figures),
    db.statement(JOIN_PASS, tenantId, pass?.since ?? null, pass?.ladder ?? ''),
    db.statement(RAISE, tenantId, first, last),
    db.statement(RAISE_EVENTS, tenantId, first, last, departed.movedEvents),
    leaveOut(
      tenantId,
      departed.users.map(({ iid }) => iid),
    ),
    db.statement(NEXT_PLACEMENT, tenantId),
  ])
}

const MAY_SWITCH = guardSql(`
  coalesce((SELECT version FROM directory WHERE tenant_id = ?1), 0) = ?2
    AND (SELECT config_version FROM tenants WHERE id = ?1) = ?3`)
const SWITCH = `
  INSERT INTO directory (tenant_id, version, places, placements) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET version = excluded.version, places = excluded.places,
    placements = excluded.placements`

/**
 * The switch: from then on the directory leads to the new database. Throws a conflict if the configuration
 * has changed.
 */
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
    storeProgress(tenantId, progress),
  ])
}

// -- Afterwards --

const NextUsers = z.array(z.object({ id: z.string(), iid: z.string() }))

/** The next users who have left, and whose rows are still there. */
export async function departedUsers(db: AccountDatabase, tenantId: string, limit: number) {
  return NextUsers.parse(await db.rows(db.statement(DEPARTING_USERS.next, tenantId, limit)))
}

/** Deletes rows of users who have left, when the rows of their logs are gone. */
export const forgetDeparted = (tenantId: string, ids: readonly string[]): Statement[] => [
  ...DEPARTING.map(({ forget }) => ({ sql: forget, params: [tenantId] })),
  { sql: DEPARTING_USERS.forget, params: [tenantId, JSON.stringify(ids)] },
]

const FORGET_COUNTERS = 'DELETE FROM tenant_counters WHERE tenant_id = ?1'

/** Statements for a database that holds no users of the tenant any more: its sums, and its work on users. */
export const forgetSums = (tenantId: string, kinds: readonly string[]): Statement[] => [
  ...FORGET_FIGURES.map((sql) => ({ sql, params: [tenantId] })),
  { sql: FORGET_COUNTERS, params: [tenantId] },
  forgetWork(tenantId, kinds),
]

const LEFTOVERS = {
  outbox: {
    read: `SELECT json_array(tenant_id, at, seq, id, user_iid, messages) AS row FROM outbox
      WHERE tenant_id = ?1 ORDER BY at, seq, id LIMIT 100`,
    insert: `INSERT OR IGNORE INTO outbox (tenant_id, at, seq, id, user_iid, messages)
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?1)`,
    remove: `DELETE FROM outbox WHERE (tenant_id, at, seq, id) IN (
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1))`,
  },
  audit: {
    read: `SELECT json_array(tenant_id, id, at, key_id, key_name, action, kind, resource_id, key, user_iid,
      request_id, fields) AS row FROM audit_log WHERE tenant_id = ?1 ORDER BY id LIMIT 500`,
    insert: `INSERT OR IGNORE INTO audit_log (tenant_id, id, at, key_id, key_name, action, kind, resource_id,
        key, user_iid, request_id, fields)
      SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
        value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11 FROM json_each(?1)`,
    remove: `DELETE FROM audit_log WHERE (tenant_id, id) IN (
      SELECT value ->> 0, value ->> 1 FROM json_each(?1))`,
  },
} as const

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

const READ_CLOCK = 'SELECT now FROM test_clock WHERE changing IS NULL'
const BEGIN_CLOCK = `
  INSERT INTO test_clock (id, now, changing) SELECT 1, ?1, NULL WHERE NOT EXISTS (SELECT 1 FROM test_clock)`

/** Gives a database that was added while a test clock is set the same clock (C1). */
export async function beginClock(first: AccountDatabase, db: AccountDatabase): Promise<void> {
  const [row] = await first.rows(first.statement(READ_CLOCK))
  if (row === undefined) return
  const { now } = z.object({ now: z.number() }).parse(row)
  await db.run(db.statement(BEGIN_CLOCK, now))
}
