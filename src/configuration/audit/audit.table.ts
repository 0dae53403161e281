import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { AUDIT_ACTIONS, AUDIT_KINDS } from './audit.types'

/** The audit logs: one entry for each resource that an admin request has changed (Z1). WITHOUT ROWID. */
export const auditLog = sqliteTable(
  'audit_log',
  {
    /** The tenant; empty in the log of the account. */
    tenantId: text('tenant_id').notNull(),
    /** A UUID v7 of the time of the change. */
    id: text('id').notNull(),
    at: integer('at').notNull(),
    /** The id of the admin key; null for the first one (K4), and for the demo. */
    keyId: text('key_id'),
    /** The name of the admin key at that time. Of a key from a variable: the name of the variable. */
    keyName: text('key_name'),
    action: text('action', { enum: AUDIT_ACTIONS }).notNull(),
    kind: text('kind', { enum: AUDIT_KINDS }).notNull(),
    resourceId: text('resource_id'),
    key: text('key'),
    /** The internal id of the user that the entry is about; null if it is about no user. */
    userIid: text('user_iid'),
    /** The `X-Request-Id` of the request. */
    requestId: text('request_id').notNull(),
    /** JSON: the changed fields before and after. Empty after the erasure of the user. */
    fields: text('fields').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('audit_log_by_user').on(table.tenantId, table.userIid).where(sql`user_iid IS NOT NULL`),
  ],
)
