import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { living, resource } from '../../platform/columns'
import { METRIC_UNIT_TYPES } from '../enumerations'

/** Metrics: the quantities that events count. */
export const metrics = sqliteTable(
  'metrics',
  {
    ...resource(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    unitType: text('unit_type', { enum: METRIC_UNIT_TYPES }).notNull(),
    units: text('units').notNull(),
  },
  (table) => [uniqueIndex('metrics_key').on(table.tenantId, table.key).where(living)],
)
