import { sql } from 'drizzle-orm'
import { index, integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { RECAP_FREQUENCIES, TENANT_STATUSES } from './tenants.types'

/**
 * A tenant, with its settings and the version of its configuration. With multi-tenancy off, there is only the
 * implicit tenant.
 */
export const tenants = sqliteTable(
  'tenants',
  {
    id: text('id').primaryKey(),
    /**
     * The customer's own identifier, accepted in `Tenant-ID` (T2). It is free again once the tenant is
     * archived.
     */
    customerId: text('customer_id').notNull(),
    name: text('name').notNull(),
    /** `purging`: it is archived, and is being erased. */
    status: text('status', { enum: TENANT_STATUSES }).notNull().default('active'),
    /** Counts the changes to the tenant's configuration; 0 means that nothing was ever configured. */
    configVersion: integer('config_version').notNull().default(0),
    /**
     * The random name of the last change that raised it. If D1's reply is lost, the change finds out by this
     * name that it was stored.
     */
    configChange: text('config_change'),
    controlRatio: real('control_ratio').notNull().default(0),
    recapFrequency: text('recap_frequency', { enum: RECAP_FREQUENCIES }).notNull().default('weekly'),
    /** JSON: the streak settings, see streak-settings.types.ts; null if they were never set. */
    streaks: text('streaks'),
    /** The secret that signs links in notifications (N3); null until the first template is made. */
    linkSecret: text('link_secret'),
    /** Whether this is a copy in a database that is not the first one (B4). */
    isCopy: integer('is_copy').notNull().default(0),
    /**
     * How often the buckets that this database holds have changed (B3). A batch by an older directory is
     * refused.
     */
    placement: integer('placement').notNull().default(0),
    /**
     * In a copy, JSON: the change of the configuration that it expects (`change`), and until when that may be
     * stored (`until`). While it is set, no batch about users is accepted. Else null (B4).
     */
    changing: text('changing'),
    /**
     * JSON: the work on users that the last change begins in the copies: names of statements, parameters.
     * Null if it begins none, and when all copies have begun it.
     */
    configWork: text('config_work'),
    created: integer('created').notNull(),
    updated: integer('updated').notNull(),
  },
  (table) => [
    uniqueIndex('tenants_by_customer').on(table.customerId).where(sql`status = 'active'`),
    index('tenants_with_work').on(table.id).where(sql`config_work IS NOT NULL`),
  ],
)
