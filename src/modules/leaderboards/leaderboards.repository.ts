import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Scope } from '../../context'
import type { Leaderboard } from '../configuration/configuration'
import type { Draft } from '../configuration/items'
import { among, groupsOf } from '../configuration/items.repository'
import { leaderboards } from './leaderboards.table'

/** The columns that an insert fills. */
const COLUMNS = 20

/** Stores what an admin write made of the tenant's leaderboards, which were `before`; a deleted one's row stays (G5). */
export function storeLeaderboards(
  scope: Scope,
  before: readonly Leaderboard[],
  draft: Draft<Leaderboard>,
): D1PreparedStatement[] {
  const { db, tenant } = scope
  const inserts = groupsOf(draft.added, COLUMNS).map((group) =>
    db.orm
      .insert(leaderboards)
      .values(group.map((board) => ({ ...columnsOf(board), id: board.id, tenantId: tenant.id }))),
  )
  const updates = draft.changed.map((board) =>
    db.orm
      .update(leaderboards)
      .set(columnsOf(board))
      .where(and(eq(leaderboards.tenantId, tenant.id), eq(leaderboards.id, board.id))),
  )
  return [
    ...freeKeys(scope, before, draft.changed),
    ...[...inserts, ...updates].map((query) => db.built(query)),
    ...deleteBoards(scope, 'id', draft.removed),
  ]
}

const columnsOf = ({ id: _id, ...board }: Leaderboard) => ({
  ...board,
  breakdown: JSON.stringify(board.breakdown),
})

/**
 * Takes the keys away from those that get another one, since they are stored one after another and one may get the key that
 * another had. What they have meanwhile is no key that anybody could choose.
 */
function freeKeys(
  { db, tenant }: Scope,
  before: readonly Leaderboard[],
  changed: readonly Leaderboard[],
): D1PreparedStatement[] {
  const keys = new Map(before.map(({ id, key }) => [id, key]))
  const rekeyed = changed.filter(({ id, key }) => keys.get(id) !== key).map(({ id }) => id)
  if (rekeyed.length === 0) return []
  const query = db.orm
    .update(leaderboards)
    .set({ key: sql`'~' || ${leaderboards.id}` })
    .where(and(eq(leaderboards.tenantId, tenant.id), among(leaderboards.id, rekeyed)))
  return [db.built(query)]
}

/** Deletes the leaderboards with these ids, or those of these metrics or points systems (G9). */
export function deleteBoards(
  { db, tenant, now }: Scope,
  by: 'id' | 'metricId' | 'systemId',
  ids: readonly string[],
): D1PreparedStatement[] {
  if (ids.length === 0) return []
  const query = db.orm
    .update(leaderboards)
    .set({ deleted: now })
    .where(
      and(eq(leaderboards.tenantId, tenant.id), isNull(leaderboards.deleted), among(leaderboards[by], ids)),
    )
  return [db.built(query)]
}
