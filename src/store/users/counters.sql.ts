import * as z from 'zod'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { guardSql, onlyUnchanged, overUsers, type UsersAsRead } from '../../platform/guard'

/** The name of the counter of a tenant's users. Counters of completions have the achievement's id as name. */
export const USERS = 'users'

const COUNT = `
  INSERT INTO tenant_counters (tenant_id, name, count) SELECT ?2, value ->> 1, count(*) FROM json_each(?1)
  WHERE ${onlyUnchanged('value ->> 0')} GROUP BY value ->> 1
  ON CONFLICT DO UPDATE SET count = count + excluded.count`

/** Adds one to each named counter, a written row each, in the batch that stores the change (A5). */
export function changeTenantCounters(
  db: TenantDatabase,
  names: readonly (readonly [iid: string, name: string])[],
  among: UsersAsRead,
): Statement[] {
  return overUsers(db, COUNT, names, among)
}

/** Counts erasures. It only changes, so that the inbox notices one of a user who did not exist (U8, B6). */
export const ERASURES = 'erasures'

const COUNT_ERASURE = `
  INSERT INTO tenant_counters (tenant_id, name, count)
  SELECT id, '${ERASURES}', 1 FROM tenants WHERE id = ?1
  ON CONFLICT DO UPDATE SET count = count + 1`
const COUNTED_ERASURES = `
  coalesce((SELECT count FROM tenant_counters WHERE tenant_id = ?1 AND name = '${ERASURES}'), 0)`
const READ_ERASURES = `SELECT ${COUNTED_ERASURES} AS count`
const NO_ERASURE = guardSql(`${COUNTED_ERASURES} = ?2`)

/** Counts an erasure, if the tenant still exists. Part of the batch that deletes the user. */
export const countErasure = (db: TenantDatabase): Statement => db.statement(COUNT_ERASURE, db.tenantId)

/** Reads how many users were erased in this database. Parsed by `parseErasures`. */
export const erasuresStatement = (db: TenantDatabase): Statement => db.statement(READ_ERASURES, db.tenantId)

export const parseErasures = (result: D1Result): number =>
  z.object({ count: z.number() }).parse(result.results[0]).count

/** A guard: holds while nobody was erased in this database. */
export const noErasureSince = (db: TenantDatabase, count: number): Statement =>
  db.statement(NO_ERASURE, db.tenantId, count)

const LOWER = 'UPDATE tenant_counters SET count = count - 1 WHERE tenant_id = ?1 AND name = ?2'

/** Takes one from a counter (V4). Part of a batch with a guard of the user. */
export function lowerTenantCounter(db: TenantDatabase, name: string): Statement {
  return db.statement(LOWER, db.tenantId, name)
}

const ALL = 'SELECT name, count FROM tenant_counters WHERE tenant_id = ?1'

/** The number of users of a tenant, and the number of users who have completed each achievement, by name. */
export type TenantCounters = ReadonlyMap<string, number>

/** Reads the counters that one database has of a tenant. Parsed by `parseTenantCounters`. */
export function tenantCountersStatement(db: TenantDatabase): Statement {
  return db.statement(ALL, db.tenantId)
}

/** Parses the result of `tenantCountersStatement` (A5). */
export function parseTenantCounters(result: D1Result): TenantCounters {
  const rows = z.array(z.object({ name: z.string(), count: z.number() })).parse(result.results)
  return new Map(rows.map(({ name, count }) => [name, count]))
}

/** Reads the counters of a tenant: the sums over its databases (A5, B5). */
export async function readTenantCounters(databases: Databases, tenantId: string): Promise<TenantCounters> {
  const lists = await databases
    .usersOf(tenantId)
    .askAll(async (db) => parseTenantCounters(await db.run(tenantCountersStatement(db))))
  const sums = new Map<string, number>()
  for (const [name, count] of lists.flatMap((list) => [...list]))
    sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}
