import { and, eq, isNull, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { among, ofTenant } from '../../platform/guard'
import type { Draft, Keyed } from './drafts.rules'

/** A table of configured resources. */
export type ResourceTable = SQLiteTable & Record<'id' | 'tenantId' | 'key' | 'deleted', SQLiteColumn>

/** Columns that only stored rows have: their values in new rows, and those that deleted rows get. */
export type Columns = {
  added?: Readonly<Record<string, unknown>>
  cleared?: Readonly<Record<string, unknown>>
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/**
 * Statements that store a draft: the new rows, and of changed rows the columns that changed. The row of a
 * deleted resource stays (G5). First, resources that get another key have temporary ones, which no caller can
 * choose: they are stored one after another, and one may get the key that another had (O1).
 */
export function storeDraft(
  { db, tenant, now }: Pick<Scope, 'db' | 'tenant' | 'now'>,
  table: ResourceTable,
  draft: Draft<Keyed>,
  { added = {}, cleared = {} }: Columns = {},
): Statement[] {
  const its = (ids: readonly string[]) =>
    and(ofTenant(table.tenantId, tenant.id), isNull(table.deleted), among(table.id, ids))
  const changed = draft.changes.flatMap(({ before, after }) => {
    if (before === null || after === null) return []
    const was = new Map<string, unknown>(Object.entries(before))
    const columns = Object.entries(after).filter(([name, value]) => !isSame(value, was.get(name)))
    return { id: after.id, set: Object.fromEntries(columns) }
  })
  const rows = draft.added.map((resource) => ({ ...resource, ...added, tenantId: tenant.id }))
  const rekeyed = changed.flatMap(({ id, set }) => ('key' in set ? id : []))
  const freed = db.orm
    .update(table)
    .set({ key: sql`'~' || ${table.id}` })
    .where(its(rekeyed))
  const updates = changed.map(({ id, set }) =>
    db.orm
      .update(table)
      .set(set)
      .where(and(eq(table.tenantId, tenant.id), isNull(table.deleted), eq(table.id, id))),
  )
  const removal = db.orm
    .update(table)
    .set({ deleted: now, ...cleared })
    .where(its(draft.removed))
  return [
    ...(rekeyed.length === 0 ? [] : [db.built(freed)]),
    ...db.inserts(table, rows),
    ...updates.map((query) => db.built(query)),
    ...(draft.removed.length === 0 ? [] : [db.built(removal)]),
  ]
}

/** Deletes the resources with one of these ids in a column: what they refer to is deleted too (G9). */
export function deleteWith(
  { db, tenant, now }: Scope,
  table: ResourceTable,
  column: SQLiteColumn,
  ids: readonly string[],
): Statement[] {
  if (ids.length === 0) return []
  const its = and(eq(table.tenantId, tenant.id), isNull(table.deleted), among(column, ids))
  return [db.built(db.orm.update(table).set({ deleted: now }).where(its))]
}
