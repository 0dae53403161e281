import { and, eq, isNull } from 'drizzle-orm'
import type { TenantDatabase } from '../../db/database'
import type { Instant } from '../../shared/clock'
import type { Webhook } from '../configuration/configuration'
import type { Draft } from '../configuration/items'
import { among, groupsOf } from '../configuration/items.repository'
import { webhooks } from './webhooks.table'

/** The columns that an insert fills. */
const COLUMNS = 8

/** Stores what an admin write made of the tenant's webhooks (G7). Of a deleted one the row stays, without its secret. */
export function storeWebhooks(
  { db, now }: { db: TenantDatabase; now: Instant },
  draft: Draft<Webhook>,
): D1PreparedStatement[] {
  const { tenantId } = db
  const own = and(eq(webhooks.tenantId, tenantId), isNull(webhooks.deleted))
  const rows = draft.added.map((webhook) => ({
    ...webhook,
    events: JSON.stringify(webhook.events),
    tenantId,
  }))
  const inserts = groupsOf(rows, COLUMNS).map((group) => db.orm.insert(webhooks).values(group))
  const updates = draft.changed.map(({ id, url, events, status, secret, updated }) =>
    db.orm
      .update(webhooks)
      .set({ url, events: JSON.stringify(events), status, secret, updated })
      .where(and(own, eq(webhooks.id, id))),
  )
  const deletes =
    draft.removed.length === 0
      ? []
      : [
          db.orm
            .update(webhooks)
            .set({ deleted: now, secret: '' })
            .where(and(own, among(webhooks.id, draft.removed))),
        ]
  return [...inserts, ...updates, ...deletes].map((query) => db.built(query))
}
