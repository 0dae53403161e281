import { and, eq } from 'drizzle-orm'
import { NO_UPKEEP } from '../../boards/object/upkeep-note.repository'
import { deleteBoards } from '../../config/board-deletions.repository'
import type { Leaderboard } from '../../config/configuration.types'
import type { Draft } from '../../config/drafts.rules'
import { freeKeys } from '../../config/free-keys.repository'
import { leaderboards } from '../../config/tables/leaderboards.table'
import type { Statement } from '../../db/statement'
import type { Scope } from '../../runtime/context'

/**
 * Statements that store the changes of an admin write. `before` are the tenant's leaderboards before it. The
 * row of a deleted leaderboard stays (G5).
 */
export function storeLeaderboards(
  scope: Scope,
  before: readonly Leaderboard[],
  draft: Draft<Leaderboard>,
): Statement[] {
  const { db, tenant } = scope
  const rows = draft.added.map((board) => ({
    ...columnsOf(board),
    id: board.id,
    tenantId: tenant.id,
    upkeep: NO_UPKEEP,
  }))
  const updates = draft.changed.map((board) =>
    db.orm
      .update(leaderboards)
      .set(columnsOf(board))
      .where(and(eq(leaderboards.tenantId, tenant.id), eq(leaderboards.id, board.id))),
  )
  return [
    ...freeKeys(scope, leaderboards, before, draft.changed),
    ...db.inserts(leaderboards, rows),
    ...updates.map((query) => db.built(query)),
    ...deleteBoards(scope, 'id', draft.removed),
  ]
}

const columnsOf = ({ id: _id, ...board }: Leaderboard) => ({
  ...board,
  breakdown: JSON.stringify(board.breakdown),
})
