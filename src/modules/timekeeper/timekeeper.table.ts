import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * What falls due, and when: the truth that the Timekeepers' alarms only follow. A row is written in the same batch as the
 * configuration that calls for it. WITHOUT ROWID.
 */
export const dueWork = sqliteTable(
  'due_work',
  {
    tenantId: text('tenant_id').notNull(),
    /**
     * What is due: ticks of time triggers, deadlines of streaks, a recount of all streaks, completions of an achievement by those who
     * qualify already, the spread of users' changes in a year, the upkeep of a leaderboard, events that wait in the inbox, what is left of an erased user,
     * changes of points that are still to be told, completed achievements and other occasions of which users are told, boosts that begin
     * or end, what a courier is to try again, the erasure of the whole tenant.
     */
    kind: text('kind', {
      enum: [
        'ticks',
        'streaks',
        'recount',
        'inbox',
        'erasure',
        'purge',
        'backdate',
        'spreads',
        'leaderboard',
        'outbox',
        'notices',
        'schedule',
        'boosts',
        'courier',
      ],
    }).notNull(),
    /** The id of the achievement or leaderboard, the erased user's own one of ours, the year, or the courier's name; empty for what a tenant has but once. */
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
