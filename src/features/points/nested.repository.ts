import { and, isNull } from 'drizzle-orm'
import type { pointsBoosts, pointsLevels, pointsTriggers } from '../../configuration/tables/points.table'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { among, ofTenant } from '../../platform/guard'

type Nested = typeof pointsLevels | typeof pointsTriggers | typeof pointsBoosts

/**
 * Statements that delete levels, triggers or boosts of points systems by id. The rows stay (G5). Empty if
 * there are no ids.
 */
export function deleteNested({ db, tenant, now }: Scope, table: Nested, ids: readonly string[]): Statement[] {
  if (ids.length === 0) return []
  const its = and(ofTenant(table.tenantId, tenant.id), among(table.id, ids), isNull(table.deleted))
  return [db.built(db.orm.update(table).set({ deleted: now }).where(its))]
}
