import { and, eq, isNull } from 'drizzle-orm'
import type { Attribute } from '../../configuration/configuration.types'
import type { Draft } from '../../configuration/drafts.rules'
import { attributes } from '../../configuration/tables/attributes.table'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { among } from '../../platform/guard'

/** Statements that store the changes of an admin write. The row of a deleted attribute stays (G5). */
export function storeAttributes(scope: Scope, draft: Draft<Attribute>): Statement[] {
  const { db, tenant, now } = scope
  const own = (...conditions: Parameters<typeof and>) =>
    and(eq(attributes.tenantId, tenant.id), isNull(attributes.deleted), ...conditions)
  const rows = draft.added.map((attribute) => ({ ...attribute, tenantId: tenant.id }))
  const updates = draft.changed.map(({ id, name, writableBy, updated }) =>
    db.orm
      .update(attributes)
      .set({ name, writableBy, updated })
      .where(own(eq(attributes.id, id))),
  )
  const { removed } = draft
  const deletes =
    removed.length === 0
      ? []
      : [
          db.orm
            .update(attributes)
            .set({ deleted: now })
            .where(own(among(attributes.id, removed))),
        ]
  return [...db.inserts(attributes, rows), ...[...updates, ...deletes].map((query) => db.built(query))]
}
