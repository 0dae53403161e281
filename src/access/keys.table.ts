import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { KEY_SCOPES } from '../platform/key-scopes.types'
import { SURFACES } from './surface.types'

/**
 * Keys: application keys of one user, admin keys of the whole account (K1). The body of a key is never
 * stored.
 */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    no: integer('no').primaryKey({ autoIncrement: true }),
    id: text('id').notNull().unique(),
    prefix: text('prefix').notNull().unique(),
    kind: text('kind', { enum: SURFACES }).notNull(),
    /** Null for an admin key. */
    tenantId: text('tenant_id'),
    /** The user of an application key, by the caller's own id. */
    userId: text('user_id'),
    /** The name of an admin key. */
    name: text('name'),
    /** SHA-256 of the body, in hexadecimal. */
    hash: text('hash').notNull(),
    /** The things that an application key may do (K5). */
    scope: text('scope', { enum: KEY_SCOPES }).notNull().default('write'),
    /** When an application key ends, in milliseconds; null for never (K5). */
    expires: integer('expires'),
    created: integer('created').notNull(),
  },
  (table) => [
    index('api_keys_by_tenant').on(table.tenantId),
    index('api_keys_by_user').on(table.tenantId, table.userId),
  ],
)
