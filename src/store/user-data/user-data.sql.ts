import * as z from 'zod'
import { bytesOf } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { tablesOfUsers } from './register'

const ROWS = 5_000

/** The statements that delete some rows of users from each table with the user in its key, by primary key. */
const REMOVE = tablesOfUsers().map(({ name, key, by }) => ({
  name,
  sql: `
  DELETE FROM ${name} WHERE (${key.join(', ')}) IN (
    SELECT ${key.map((column) => `t.${column}`).join(', ')} FROM json_each(?1) asked
    CROSS JOIN ${name} t ON t.user_iid = ${by === 'bytes' ? bytesOf('asked.value') : 'asked.value'}
      LIMIT ${ROWS})`,
}))

/** Deletes the next rows of users, by iid, from all tables. Returns whether these were the last ones. */
export const removeRows = (db: TenantDatabase, iids: readonly string[]): Promise<boolean> =>
  removeFrom(db, REMOVE, iids, [])

/**
 * The same for users who live in another database. The first database keeps their own boosts: it has the
 * boosts of all users (B4). `guard` raises a conflict if users have arrived here meanwhile.
 */
export const removeMovedRows = (
  db: TenantDatabase,
  iids: readonly string[],
  { isFirst, guard }: { isFirst: boolean; guard: Statement },
): Promise<boolean> =>
  removeFrom(db, isFirst ? REMOVE.filter(({ name }) => name !== 'points_boosts') : REMOVE, iids, [guard])

async function removeFrom(
  db: TenantDatabase,
  tables: typeof REMOVE,
  iids: readonly string[],
  guards: readonly Statement[],
): Promise<boolean> {
  const asked = JSON.stringify(iids)
  const { results } = await db.batchOf({
    guards: [...guards],
    results: tables.map(({ sql }) => db.statement(sql, asked)),
  })
  return results.every(({ meta }) => meta.changes < ROWS)
}

/** The same for rows that an erasure deletes at once, and that a move may have left behind (B3). */
const LEFT_BEHIND = [
  'DELETE FROM outbox WHERE tenant_id = ?1 AND user_iid = ?2',
  'DELETE FROM pending_notifications WHERE tenant_id = ?1 AND user_iid = ?2',
  "UPDATE audit_log SET fields = '{}' WHERE tenant_id = ?1 AND user_iid = ?2 AND fields <> '{}'",
]
const LEFT_USER = 'DELETE FROM users WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3'

/**
 * Deletes the next rows of a user who was erased, in every database: a move that is under way, or that ended
 * a short time ago, may have copied some of them (B3). Returns whether these were the last ones.
 */
export async function removeRowsEverywhere(
  databases: Databases,
  tenantId: string,
  { userId, iid }: { userId: string; iid: string },
): Promise<boolean> {
  const ends = await Promise.all(
    databases.all(tenantId).map(async ({ db }) => {
      await db.batch([
        ...LEFT_BEHIND.map((sql) => db.statement(sql, tenantId, iid)),
        db.statement(LEFT_USER, tenantId, userId, iid),
      ])
      return removeRows(db, [iid])
    }),
  )
  return ends.every((isEnd) => isEnd)
}

const boards = (which: string) =>
  `SELECT id AS name FROM leaderboards WHERE tenant_id = ?1${which} AND id > ?2 ORDER BY id LIMIT ?3`
const deliveryQueues = (which: string) => `
  SELECT name FROM (SELECT 'webhook:' || id AS name FROM webhooks WHERE tenant_id = ?1${which}
    UNION ALL SELECT 'email:' || ?1 UNION ALL SELECT 'push:' || ?1)
  WHERE name > ?2 ORDER BY name LIMIT ?3`

const LIVING = ' AND deleted IS NULL'
const SQL = {
  boards: { all: boards(''), living: boards(LIVING) },
  deliveryQueues: { all: deliveryQueues(''), living: deliveryQueues(LIVING) },
} as const

const Names = z.array(z.object({ name: z.string() }))

/**
 * The names of the tenant's next leaderboards or delivery queues, in order. `living` leaves out deleted
 * resources, but not inactive ones. `all` includes deleted resources. Their objects have deleted all data of
 * users.
 */
export async function objectsAfter(
  db: TenantDatabase,
  kind: keyof typeof SQL,
  which: 'living' | 'all',
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.rows(db.statement(SQL[kind][which], db.tenantId, after, limit))
  return Names.parse(rows).map(({ name }) => name)
}
