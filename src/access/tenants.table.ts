import { sql } from 'drizzle-orm'
import { integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { RECAP_FREQUENCIES, TENANT_STATUSES } from './tenants.types'

/** A tenant, with its settings and the version of its configuration. With multi-tenancy off there is the implicit one. */
export const tenants = sqliteTable(
  'tenants',
  {
    id: text('id').primaryKey(),
    /** The customer's own identifier, accepted in `Tenant-ID` (T2). It is free again once the tenant is archived. */
    customerId: text('customer_id').notNull(),
    name: text('name').notNull(),
    /** `purging`: it is archived, and is being erased. */
    status: text('status', { enum: TENANT_STATUSES }).notNull().default('active'),
    /** Counts the changes to the tenant's configuration; 0 means that nothing was ever configured. */
    configVersion: integer('config_version').notNull().default(0),
    /** Which change raised it last: a random name, by which a change whose answer was lost finds out that it went through. */
    configChange: text('config_change'),
    controlRatio: real('control_ratio').notNull().default(0),
    recapFrequency: text('recap_frequency', { enum: RECAP_FREQUENCIES }).notNull().default('weekly'),
    /** JSON: how streaks are counted, see streaks.settings.ts; null where it was never set. */
    streaks: text('streaks'),
    /** What links in notifications are signed with (N3); null until the first template is made. */
    linkSecret: text('link_secret'),
    created: integer('created').notNull(),
    updated: integer('updated').notNull(),
  },
  (table) => [uniqueIndex('tenants_by_customer').on(table.customerId).where(sql`status = 'active'`)],
)
