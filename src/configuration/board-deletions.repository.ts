import { and, eq, isNull } from 'drizzle-orm'
import type { Scope } from '../platform/context'
import { among } from '../platform/queries'
import type { Statement } from '../platform/statement'
import { leaderboards } from './tables/leaderboards.table'

/**
 * Deletes the leaderboards with these ids, or the leaderboards of these metrics or points systems, which are
 * deleted in the same batch (G9).
 */
export function deleteBoards(
  { db, tenant, now }: Scope,
  by: 'id' | 'metricId' | 'systemId',
  ids: readonly string[],
): Statement[] {
  if (ids.length === 0) return []
  const query = db.orm
    .update(leaderboards)
    .set({ deleted: now })
    .where(
      and(eq(leaderboards.tenantId, tenant.id), isNull(leaderboards.deleted), among(leaderboards[by], ids)),
    )
  return [db.built(query)]
}
