import { z } from 'zod'
import type { TenantDatabase } from '../../db/database'

/** The name under which a tenant's users are counted; completions are by the achievement's id. */
export const USERS = 'users'

const TALLY = `
  INSERT INTO tallies (tenant_id, name, count) SELECT ?1, value, count(*) FROM json_each(?2) GROUP BY value
  ON CONFLICT DO UPDATE SET count = count + excluded.count`

/** Counts one more of each name: a row each. Part of the batch that stores what is counted (A5). */
export function tally(db: TenantDatabase, names: readonly string[]): D1PreparedStatement[] {
  return names.length === 0 ? [] : [db.statement(TALLY, db.tenantId, JSON.stringify(names))]
}

const ALL = 'SELECT name, count FROM tallies WHERE tenant_id = ?1'

/** How many users a tenant has, and how many have completed each achievement, by name (A5). */
export async function readTallies(db: TenantDatabase): Promise<ReadonlyMap<string, number>> {
  const rows = z
    .array(z.object({ name: z.string(), count: z.number() }))
    .parse(await db.rows(db.statement(ALL, db.tenantId)))
  return new Map(rows.map(({ name, count }) => [name, count]))
}
