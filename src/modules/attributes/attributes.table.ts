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
  },
  (table) => [uniqueIndex('attributes_key').on(table.tenantId, table.type, table.key).where(living)],
)
