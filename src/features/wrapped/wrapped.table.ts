import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * How the changes of all users are spread who were active in a period, so that a user's own can be placed among them (R2). Built in the
 * background, refreshed daily. WITHOUT ROWID.
 */
export const changeDistributions = sqliteTable(
  'change_distributions',
  {
    tenantId: text('tenant_id').notNull(),
    /**
     * The year, what it is, and the first of its days in that year: `2026 month 2026-03-01`. `2026 built` says that the year's are
     * there; those that are being built begin with `building `.
     */
    period: text('period').notNull(),
    /** The id of the metric or points system; empty where that is all of them. */
    subject: text('subject').notNull(),
    /**
     * JSON: how many `users` were active, and as `spread` `[change, users with less]`, ascending. While it is built: `[change, users]`, in
     * no order, of those who had anything to do with the subject.
     */
    document: text('document').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.period, table.subject] })],
)
