import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { DueKind } from './kinds'

/**
 * Due work. This table is the truth, and the Timekeepers' alarms only follow it. A row is written in the
 * batch that stores its reason. WITHOUT ROWID.
 */
export const dueWork = sqliteTable(
  'due_work',
  {
    tenantId: text('tenant_id').notNull(),
    kind: text('kind').$type<DueKind>().notNull(),
    /**
     * The subject of the work, such as an id; the kind defines its form. Empty if a tenant has the kind only
     * once.
     */
    subject: text('subject').notNull(),
    /** In milliseconds, by the service's clock. */
    dueAt: integer('due_at').notNull(),
    /**
     * How often the work was asked for. If this has changed after a step, the work was asked for again
     * meanwhile.
     */
    asked: integer('asked').notNull().default(0),
    /** JSON: the progress of the work; null if it has not begun. */
    progress: text('progress'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.kind, table.subject] })],
)
