import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { living, resource } from '../../db/columns'
import { SWITCH_STATUSES } from '../enumerations.types'

/** Webhooks: the addresses that receive a tenant's events (W1). */
export const webhooks = sqliteTable(
  'webhooks',
  {
    ...resource(),
    url: text('url').notNull(),
    /** JSON: the types of events that it receives, or `["*"]`. */
    events: text('events').notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    /**
     * `whsec_` and base64. It signs deliveries, so it can't be stored as a hash. Empty after the webhook is
     * deleted.
     */
    secret: text('secret').notNull(),
  },
  (table) => [index('webhooks_by_tenant').on(table.tenantId).where(living)],
)
