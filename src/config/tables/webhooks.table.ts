import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { living, resource } from '../../db/columns'
import { SWITCH_STATUSES } from '../enumerations.types'

/** Webhooks: whom a tenant wants to be told of what happens (W1). */
export const webhooks = sqliteTable(
  'webhooks',
  {
    ...resource(),
    url: text('url').notNull(),
    /** JSON: the types of events that it is told of, or `["*"]`. */
    events: text('events').notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    /** `whsec_` and base64: it signs, so it can't be kept as a hash. Empty once the webhook is deleted. */
    secret: text('secret').notNull(),
  },
  (table) => [index('webhooks_by_tenant').on(table.tenantId).where(living)],
)
