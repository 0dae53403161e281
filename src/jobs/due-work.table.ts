import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { DueKind } from './due-kinds.types'

/**
 * What falls due, and when: the truth that the Timekeepers' alarms only follow. A row is written in the same batch as the
 * configuration that calls for it. WITHOUT ROWID.
 */
export const dueWork = sqliteTable(
  'due_work',
  {
    tenantId: text('tenant_id').notNull(),
    /** What is due. */
    kind: text('kind').$type<DueKind>().notNull(),
    /** What it is about, as its kind names that, such as an id; empty for what a tenant has but once. */
    subject: text('subject').notNull(),
    /** In milliseconds, by the service's clock. */
    dueAt: integer('due_at').notNull(),
    /** How often it was asked for: whoever has done it sees whether it was asked for again meanwhile. */
    asked: integer('asked').notNull().default(0),
    /** JSON: how far the work has got; null where it has not begun. */
    progress: text('progress'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.kind, table.subject] })],
)
