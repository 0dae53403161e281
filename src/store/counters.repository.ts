import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { onlyUnchanged, overUsers, type UnchangedUsers } from '../db/guard'

/** The name under which a tenant's users are counted; completions are by the achievement's id. */
export const USERS = 'users'

const TALLY = `
  INSERT INTO tenant_counters (tenant_id, name, count) SELECT ?2, value ->> 1, count(*) FROM json_each(?1)
  WHERE ${onlyUnchanged('value ->> 0')} GROUP BY value ->> 1
  ON CONFLICT DO UPDATE SET count = count + excluded.count`

/** Counts one more of each name, with the own id of the user whom it is about: a row each. Part of the batch that stores what is counted (A5). */
export function changeTenantCounters(
  db: TenantDatabase,
  names: readonly (readonly [iid: string, name: string])[],
  among: UnchangedUsers,
): D1PreparedStatement[] {
  return overUsers(db, TALLY, names, among)
}

const ALL = 'SELECT name, count FROM tenant_counters WHERE tenant_id = ?1'

/** How many users a tenant has, and how many have completed each achievement, by name. */
export type TenantCounters = ReadonlyMap<string, number>

/** Reads the tallies of a tenant. Parsed by `parseTallies`. */
export function tenantCountersStatement(db: TenantDatabase): D1PreparedStatement {
  return db.statement(ALL, db.tenantId)
}

const Rows = z.array(z.object({ name: z.string(), count: z.number() }))

/** What `talliesStatement` has read (A5). */
export function parseTenantCounters(result: D1Result): TenantCounters {
  return new Map(Rows.parse(result.results).map(({ name, count }) => [name, count]))
}

/** How many users a tenant has, and how many have completed each achievement, by name (A5). */
export async function readTenantCounters(db: TenantDatabase): Promise<TenantCounters> {
  const result = await db.run(tenantCountersStatement(db))
  return parseTenantCounters(result)
}
