import * as z from 'zod'
import type { TenantDatabase } from '../../platform/database'

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
