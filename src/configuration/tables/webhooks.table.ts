import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { living, resource } from '../../platform/columns'
import { SWITCH_STATUSES } from '../enumerations'

/** Webhooks: the addresses that receive a tenant's events (W1). */
export const webhooks = sqliteTable(
  'webhooks',
  {
    ...resource(),
    /** Unique in its tenant (O2). */
    key: text('key').notNull(),
    url: text('url').notNull(),
    /** JSON: the types of events that it receives, or `["*"]`. */
    events: text('events').notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    /**
     * `whsec_` and base64. It signs deliveries, so it can't be stored as a hash. Empty after the webhook is
     * deleted.
     */
    secret: text('secret').notNull(),
    /** JSON: the secret before, and until when it signs too, in milliseconds. Null if there is none (W3). */
    previous: text('previous_secret'),
    /** When the receiver answered 410, in milliseconds, if that switched it off (W4). */
    goneAt: integer('gone_at'),
  },
  (table) => [
    index('webhooks_by_tenant').on(table.tenantId).where(living),
    uniqueIndex('webhooks_key').on(table.tenantId, table.key).where(living),
  ],
)
