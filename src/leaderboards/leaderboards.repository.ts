import { and, eq } from 'drizzle-orm'
import { deleteBoards } from '../configuration/configuration.sql.ts'
import type { Leaderboard } from '../configuration/configuration.types'
import type { Draft } from '../configuration/drafts.rules'
import { freeKeys } from '../configuration/free-keys.repository'
import { leaderboards } from '../configuration/tables/leaderboards.table'
import type { Scope } from '../platform/context'
import type { Statement } from '../platform/database'
import { NO_UPKEEP } from './object/upkeep-note'

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
    ...board,
    tenantId: tenant.id,
    upkeep: NO_UPKEEP,
  }))
  const updates = draft.changed.map((board) =>
    db.orm
      .update(leaderboards)
      .set(board)
      .where(and(eq(leaderboards.tenantId, tenant.id), eq(leaderboards.id, board.id))),
  )
  return [
    ...freeKeys(scope, leaderboards, before, draft.changed),
    ...db.inserts(leaderboards, rows),
    ...updates.map((query) => db.built(query)),
    ...deleteBoards(scope, 'id', draft.removed),
  ]
}

