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

/** The last finished pass of each tenant. Moments are in milliseconds. WITHOUT ROWID. */
export const analyticsPasses = sqliteTable('analytics_passes', {
  tenantId: text('tenant_id').primaryKey().notNull(),
  /** When it began. */
  updated: integer('updated').notNull(),
  /**
   * All rows of the logs that were stored since then are of this moment or a later one. Null if that is not
   * known.
   */
  since: integer('since'),
  /** Names the levels by which users are counted. If the levels change, the next pass visits all users. */
  ladder: text('ladder').notNull(),
})

/**
 * The state in which each user is counted in the figures. A pass compares it with the user, and adds the
 * difference. `users.counted` says up to which change the user's logs are counted. WITHOUT ROWID.
 */
export const countedUsers = sqliteTable('counted_users', {
  userIid: blob('user_iid').primaryKey().notNull(),
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
