import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { living, resource } from '../../platform/columns'
import { ATTRIBUTE_TYPES, ATTRIBUTE_WRITERS } from '../enumerations'

/** Attributes of users and of events. */
export const attributes = sqliteTable(
  'attributes',
  {
    ...resource(),
    type: text('type', { enum: ATTRIBUTE_TYPES }).notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    /**
     * The keys that may set it on users (K7): `user` for event attributes, for which it has no meaning.
     */
    writableBy: text('writable_by', { enum: ATTRIBUTE_WRITERS }).notNull().default('user'),
  },
  (table) => [uniqueIndex('attributes_key').on(table.tenantId, table.type, table.key).where(living)],
)
