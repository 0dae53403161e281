import { and, eq, isNull } from 'drizzle-orm'
import type { Webhook } from '../configuration/configuration.types'
import type { Draft } from '../configuration/drafts.rules'
import { freeKeys } from '../configuration/free-keys.repository'
import { webhooks } from '../configuration/tables/webhooks.table'
import type { Instant } from '../lib/clock'
import type { Statement, TenantDatabase } from '../platform/database'
import { among } from '../platform/guard'

/** Stores a draft of the tenant's webhooks (G7). The row of a deleted webhook stays, without its secret. */
export function storeWebhooks(
  { db, now }: { db: TenantDatabase; now: Instant },
  before: readonly Webhook[],
  draft: Draft<Webhook>,
): Statement[] {
  const { tenantId } = db
  const own = and(eq(webhooks.tenantId, tenantId), isNull(webhooks.deleted))
  const rows = draft.added.map((webhook) => ({
    ...webhook,
    tenantId,
  }))
  const updates = draft.changed.map(({ id, ...fields }) =>
    db.orm
      .update(webhooks)
      .set(fields)
      .where(and(own, eq(webhooks.id, id))),
  )
  const deletes =
    draft.removed.length === 0
      ? []
      : [
          db.orm
            .update(webhooks)
            .set({ deleted: now, secret: '', previous: null })
            .where(and(own, among(webhooks.id, draft.removed))),
        ]
  return [
    ...freeKeys({ db }, webhooks, before, draft.changed),
    ...db.inserts(webhooks, rows),
    ...[...updates, ...deletes].map((query) => db.built(query)),
  ]
}
