import { and, eq, isNull } from 'drizzle-orm'
import type { Achievement } from '../../configuration/configuration.types'
import type { Draft } from '../../configuration/drafts.rules'
import { achievements } from '../../configuration/tables/achievements.table'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { among } from '../../platform/guard'

/** Statements that store the changes of an admin write. The row of a deleted achievement stays (G5). */
export function storeAchievements(scope: Scope, draft: Draft<Achievement>): Statement[] {
  const { db, tenant, now } = scope
  const rows = draft.added.map((one) => ({ ...one, tenantId: tenant.id }))
  const updates = draft.changed.map((one) =>
    db.orm
      .update(achievements)
      .set(one)
      .where(and(eq(achievements.tenantId, tenant.id), eq(achievements.id, one.id))),
  )
  const { removed } = draft
  const removal = db.orm
    .update(achievements)
    .set({ deleted: now })
    .where(
      and(
        eq(achievements.tenantId, tenant.id),
        isNull(achievements.deleted),
        among(achievements.id, removed),
      ),
    )
  return [
    ...db.inserts(achievements, rows),
    ...[...updates, ...(removed.length === 0 ? [] : [removal])].map((query) => db.built(query)),
  ]
}

