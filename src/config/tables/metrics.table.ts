import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { living, resource } from '../../db/columns'

/** Metrics: what events are counted in. */
export const metrics = sqliteTable(
  'metrics',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    unitType: text('unit_type', { enum: ['number', 'currency'] }).notNull(),
    units: text('units').notNull(),
  },
  (table) => [uniqueIndex('metrics_key').on(table.tenantId, table.key).where(living)],
)
