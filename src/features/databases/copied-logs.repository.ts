import * as z from 'zod'
import { packed } from '../../lib/packed'
import type { AccountDatabase } from '../../platform/database'
import { guardSql } from '../../platform/guard'
import type { Statement } from '../../platform/statement'
import { COPIED_LOGS, REMOVE_VOIDED } from './moved-tables.register'
import type { Move } from './moves.repository'
import type { Range } from './plan.model'

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

/** Notes users whose rows are copied, each up to a `seq`; -1: not all of them yet. */
export const arrive = (
  tenantId: string,
  users: readonly (readonly [iid: string, seq: number])[],
): Statement => ({
  sql: ARRIVE,
  params: [tenantId, JSON.stringify(users)],
})

/** Forgets such users. */
export const leaveOut = (tenantId: string, iids: readonly string[]): Statement => ({
  sql: LEAVE_OUT,
  params: [tenantId, JSON.stringify(iids)],
})

/**
 * A guard: holds while a database has this placement, so while no users have arrived or left since it was
 * read. Each write of a move has it, because a write without an answer may be stored much later. Without it,
 * a late deletion of copies could delete the rows of users who have arrived since then.
 */
export const placementIs = (tenantId: string, placement: number): Statement => ({
  sql: PLACEMENT_IS,
  params: [tenantId, placement],
})

/** The same for the new database of a move: holds until the users have arrived. */
export const notYetJoined = (tenantId: string, { joined }: Move): Statement => placementIs(tenantId, joined)

const Rows = z.array(z.object({ row: z.string() }))
/** The rows of a result, each as JSON. */
export const rowsOf = ({ results }: D1Result): string[] => Rows.parse(results).map(({ row }) => row)

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
