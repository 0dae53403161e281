import { and, eq, isNull } from 'drizzle-orm'
import type { Template } from '../../configuration/configuration.types'
import type { Draft } from '../../configuration/drafts.rules'
import { freeKeys } from '../../configuration/free-keys.repository'
import { notificationTemplates } from '../../configuration/tables/templates.table'
import type { Instant } from '../../lib/clock'
import type { Statement, TenantDatabase } from '../../platform/database'
import { among } from '../../platform/guard'
import { giveLinkSecret } from './unsubscribe.routes'

/**
 * Stores a draft of the tenant's templates (G7). With the first template, the tenant gets a secret for links.
 */
export function storeTemplates(
  { db, now }: { db: TenantDatabase; now: Instant },
  before: readonly Template[],
  draft: Draft<Template>,
): Statement[] {
  const { tenantId } = db
  const own = and(eq(notificationTemplates.tenantId, tenantId), isNull(notificationTemplates.deleted))
  const rows = draft.added.map((template) => ({ ...template, tenantId }))
  const updates = draft.changed.map((template) =>
    db.orm
      .update(notificationTemplates)
      .set(template)
      .where(and(own, eq(notificationTemplates.id, template.id))),
  )
  const removal = db.orm
    .update(notificationTemplates)
    .set({ deleted: now })
    .where(and(own, among(notificationTemplates.id, draft.removed)))
  const queries = [...updates, ...(draft.removed.length === 0 ? [] : [removal])]
  return [
    ...freeKeys({ db }, notificationTemplates, before, draft.changed),
    ...db.inserts(notificationTemplates, rows),
    ...queries.map((query) => db.built(query)),
    ...(draft.added.length === 0 ? [] : [giveLinkSecret(db)]),
  ]
}

