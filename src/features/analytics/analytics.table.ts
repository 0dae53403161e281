import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The figures of the analytics (I1, I2), one number in each row. A pass adds to them; reading them reads no
 * log. The figures are in figures.repository.ts. WITHOUT ROWID.
 */
export const analyticsFigures = sqliteTable(
  'analytics_figures',
  {
    tenantId: text('tenant_id').notNull(),
    figure: text('figure').notNull(),
    /** The number of the metric, points system or achievement; 0 for all of them together. */
    subjectNo: integer('subject_no').notNull(),
    /** The local date, in days since 1970-01-01. 0 if the figure has no dates. */
    day: integer('day').notNull(),
    /** The trigger, level or group of users that the number is about. 0 if there is none. */
    part: integer('part').notNull(),
    amount: integer('amount').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.figure, table.subjectNo, table.day, table.part] }),
  ],
)

/**
 * Up to which change each user is counted in the figures. A pass compares this with the user, and adds the
 * difference. WITHOUT ROWID.
 */
export const countedUsers = sqliteTable('counted_users', {
  userIid: blob('user_iid').primaryKey().notNull(),
  /** The user's `seq` up to which the log is counted. */
  seq: integer('seq').notNull(),
  /** JSON: the latest local days with a counted event: all of them from the day `daysFrom` on. */
  days: text('days').notNull(),
  daysFrom: integer('days_from').notNull(),
  /** The class of streak lengths in which the user is counted: its shortest length. */
  streak: integer('streak').notNull(),
  /** JSON: `[[achievement number, local day]]` of the counted completions. */
  completions: text('completions').notNull(),
  /** JSON: points system number → number of the level in which the user is counted. */
  levels: text('levels').notNull(),
})
