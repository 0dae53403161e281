import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { living, resource } from '../../db/columns'

/** Attributes that users or events may carry. */
export const attributes = sqliteTable(
  'attributes',
  {
    ...resource(),
    type: text('type', { enum: ['user', 'event'] }).notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    /** Who may set it on users (K7): `user` for attributes that existed before this column, and for event attributes, where it means nothing. */
    writableBy: text('writable_by', { enum: ['admin', 'user'] })
      .notNull()
      .default('user'),
  },
  (table) => [uniqueIndex('attributes_key').on(table.tenantId, table.type, table.key).where(living)],
)
