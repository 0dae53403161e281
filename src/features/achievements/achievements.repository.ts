import { and, eq, isNull } from 'drizzle-orm'
import type { Achievement } from '../../config/configuration.types'
import type { Draft } from '../../config/drafts.rules'
import { achievements } from '../../config/tables/achievements.table'
import { among, groupsOf } from '../../db/queries'
import type { Scope } from '../../runtime/context'

/** The columns that an insert fills. */
const COLUMNS = 20

/** Stores what an admin write made of the tenant's achievements; a deleted one's row stays (G5). */
export function storeAchievements(scope: Scope, draft: Draft<Achievement>): D1PreparedStatement[] {
  const { db, tenant, now } = scope
  const inserts = groupsOf(draft.added, COLUMNS).map((group) =>
    db.orm
      .insert(achievements)
      .values(group.map((one) => ({ ...columnsOf(one), id: one.id, tenantId: tenant.id }))),
  )
  const updates = draft.changed.map((one) =>
    db.orm
      .update(achievements)
      .set(columnsOf(one))
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
  return [...inserts, ...updates, ...(removed.length === 0 ? [] : [removal])].map((query) => db.built(query))
}

const columnsOf = ({ id: _id, ...achievement }: Achievement) => ({
  ...achievement,
  achievementIds: JSON.stringify(achievement.achievementIds),
  userAttributes: JSON.stringify(achievement.userAttributes),
  eventAttributes: JSON.stringify(achievement.eventAttributes),
})
