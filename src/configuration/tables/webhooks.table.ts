import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { jsonColumn, living, resource } from '../../platform/columns'
import { SUBSCRIPTIONS, type Subscription, SWITCH_STATUSES } from '../enumerations'

const Subscriptions: z.ZodType<readonly Subscription[]> = z.array(z.enum(SUBSCRIPTIONS))
const PreviousSecret = z.object({ secret: z.string(), until: z.number() })

/** Webhooks: the addresses that receive a tenant's events (W1). */
export const webhooks = sqliteTable(
  'webhooks',
  {
    ...resource(),
    /** Unique in its tenant (O2). */
    key: text('key').notNull(),
    url: text('url').notNull(),
    /** The types of events that it receives, each once, or `*` alone. */
    events: jsonColumn('events', Subscriptions).notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    /**
     * `whsec_` and base64. It signs deliveries, so it can't be stored as a hash. Empty after the webhook is
     * deleted.
     */
    secret: text('secret').notNull(),
    /** The secret before, and until when it signs too, in milliseconds. Null if there is none (W3). */
    previous: jsonColumn('previous_secret', PreviousSecret),
    /** When the receiver answered 410, in milliseconds, if that switched it off (W4). */
    goneAt: integer('gone_at'),
  },
  (table) => [
    index('webhooks_by_tenant').on(table.tenantId).where(living),
    uniqueIndex('webhooks_key').on(table.tenantId, table.key).where(living),
  ],
)
