import { and, eq, isNull } from 'drizzle-orm'
import { deleteBoards } from '../../configuration/configuration.sql.ts'
import type { Metric } from '../../configuration/configuration.types'
import type { Draft } from '../../configuration/drafts.rules'
import { metrics } from '../../configuration/tables/metrics.table'
import { pointsTriggers } from '../../configuration/tables/points.table'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { among } from '../../platform/guard'

/**
 * Statements that store the changes of an admin write. The triggers and leaderboards of a deleted metric are
 * deleted too (G5, G9).
 */
export function storeMetrics(scope: Scope, draft: Draft<Metric>): Statement[] {
  const { db, tenant } = scope
  const rows = draft.added.map((metric) => ({ ...metric, tenantId: tenant.id }))
  const updates = draft.changed.map(({ id, name, unitType, units, updated }) =>
    db.orm
      .update(metrics)
      .set({ name, unitType, units, updated })
      .where(and(eq(metrics.tenantId, tenant.id), isNull(metrics.deleted), eq(metrics.id, id))),
  )
  return [
    ...db.inserts(metrics, rows),
    ...updates.map((query) => db.built(query)),
    ...(draft.removed.length === 0 ? [] : deleteWithUses(scope, draft.removed)),
  ]
}

/** Deletes triggers and leaderboards too (G9). Streaks need no write: `termsOf` skips deleted metrics. */
function deleteWithUses(scope: Scope, ids: readonly string[]): Statement[] {
  const { db, tenant, now } = scope
  const ofMetrics = db.orm
    .update(metrics)
    .set({ deleted: now })
    .where(and(eq(metrics.tenantId, tenant.id), isNull(metrics.deleted), among(metrics.id, ids)))
  const ofTriggers = db.orm
    .update(pointsTriggers)
    .set({ deleted: now })
    .where(
      and(
        eq(pointsTriggers.tenantId, tenant.id),
        isNull(pointsTriggers.deleted),
        among(pointsTriggers.metricId, ids),
      ),
    )
  return [db.built(ofMetrics), db.built(ofTriggers), ...deleteBoards(scope, 'metricId', ids)]
}
