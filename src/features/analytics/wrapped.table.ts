import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The distribution of the changes of all users who were active in a period (R2). It gives a user's place
 * among them. Built in the background, refreshed daily. WITHOUT ROWID.
 */
export const changeDistributions = sqliteTable(
  'change_distributions',
  {
    tenantId: text('tenant_id').notNull(),
    /**
     * The year, the kind of period, and its first day in that year: `2026 month 2026-03-01`. The row `2026
     * built` says that the year's distributions are published. Periods of a build begin with `building `.
     */
    period: text('period').notNull(),
    /** The id of the metric or points system. Empty for rows about all of them. */
    subject: text('subject').notNull(),
    /**
     * JSON: `users` is the number of active users, and `distribution` has `[change, users with less]`,
     * ascending. During a build: `[change, users]`, in no order, of users with a change in the subject.
     */
    document: text('document').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.period, table.subject] })],
)
