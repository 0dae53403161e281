import { and, sql } from 'drizzle-orm'
import type { Statement, TenantDatabase } from '../platform/database'
import { among, ofTenant } from '../platform/guard'
import type { leaderboards } from './tables/leaderboards.table'
import type { pointsBoosts, pointsTriggers } from './tables/points.table'
import type { notificationTemplates } from './tables/templates.table'
import type { webhooks } from './tables/webhooks.table'

type Rekeyed =
  | typeof leaderboards
  | typeof pointsTriggers
  | typeof pointsBoosts
  | typeof webhooks
  | typeof notificationTemplates

/**
 * Statements that give temporary keys to resources that get another key. They are stored one after another,
 * and one may get the key that another had. Temporary keys are keys that no caller can choose (G5).
 */
export function freeKeys(
  { db }: { db: TenantDatabase },
  table: Rekeyed,
  before: readonly { id: string; key: string }[],
  changed: readonly { id: string; key: string }[],
): Statement[] {
  const keys = new Map(before.map(({ id, key }) => [id, key]))
  const rekeyed = changed.filter(({ id, key }) => keys.get(id) !== key).map(({ id }) => id)
  if (rekeyed.length === 0) return []
  const query = db.orm
    .update(table)
    .set({ key: sql`'~' || ${table.id}` })
    .where(and(ofTenant(table.tenantId, db.tenantId), among(table.id, rekeyed)))
  return [db.built(query)]
}
