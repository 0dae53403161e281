import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import type { Instant } from '../../lib/clock'
import { utcDay } from '../../lib/zone'
import { bytesOf, numberOf } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { EVER } from './analytics.rules'

/** The figures (I1, I2), one number in each row. A pass adds to them. WITHOUT ROWID. */
export const analyticsFigures = sqliteTable(
  'analytics_figures',
  {
    tenantId: text('tenant_id').notNull(),
    figure: text('figure').notNull(),
    /**
     * The number of the metric, points system or achievement; 0 for all of them together. That of a points
     * system is negative where the figure `level` says who has points.
     */
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
  /** All rows of the logs that were stored since then have this moment or a later one. Null: not known. */
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
  /** JSON: points system number → number of the level in which the user is counted (`LADDER`). */
  levels: text('levels').notNull(),
})

/**
 * The figures that a pass keeps:
 *
 * - `events`, `value`: the number of events by local date, and the sum of their values, in millionths.
 * - `active`: different users with an event on a local date.
 * - `gap`: those of them whose last active date before was `part` days earlier, up to 29.
 * - `created`: users by local date of creation; the part is 1 for the control group.
 * - `kept 1` to `kept 30`: those of them who were active that many days after that date.
 * - `points`, `trigger`: the sum of the entries of the ledger by local date; the part is the trigger.
 * - `level`: by how much the number of users with a level (the part) changes on a date.
 * - `holders`: the same of users who have points. It is stored as a level of its own (`LADDER`).
 * - `completions`: completed achievements by local date.
 * - `streak`: users by class of streak length, the part. It has the date 0, and later dates for erasures.
 *
 * `erased events` is no answer of the analytics: minus the number of these events that erasures have deleted.
 */
export type Figure =
  | 'events'
  | 'value'
  | 'active'
  | 'gap'
  | 'created'
  | `kept ${number}`
  | 'points'
  | 'trigger'
  | 'level'
  | 'holders'
  | 'completions'
  | 'streak'

/**
 * Figures of a resource by its id, or of all together, by local days. If `isRunning`, the figures of all
 * earlier days are read too, as one sum of the day `first` − 1.
 */
export type Asked = {
  figure: Figure
  id?: string
  first: number
  last: number
  isRunning?: boolean
}

/** A number: the index of its request, its local day, its part, and the key of the part. */
const Rows = z.array(
  z.object({
    nth: z.number(),
    day: z.number(),
    part: z.number(),
    key: z.string().nullable(),
    amount: z.number(),
  }),
)
export type FigureRow = z.infer<typeof Rows>[number]

// A list of ids and numbers of resources, so that each id is looked up once.
const READ = `
  WITH asked AS MATERIALIZED (
    SELECT key AS nth, value ->> 0 AS figure, value ->> 5 * CASE WHEN value ->> 1 IS NULL THEN 0 ELSE coalesce(
      ${numberOf('metrics', 'value ->> 1')}, ${numberOf('points_systems', 'value ->> 1')},
      ${numberOf('achievements', 'value ->> 1')}) END AS no,
      value ->> 2 AS first, value ->> 3 AS last, value ->> 4 AS since FROM json_each(?2)),
  summed AS MATERIALIZED (
    SELECT a.nth, a.figure, max(f.day, a.first - 1) AS day, f.part, sum(f.amount) AS amount
    FROM asked a CROSS JOIN analytics_figures f ON f.tenant_id = ?1 AND f.figure = a.figure
      AND f.subject_no = a.no AND f.day >= a.since AND f.day <= a.last
    GROUP BY 1, 2, 3, 4)
  SELECT nth, day, part, CASE figure WHEN 'trigger' THEN (SELECT key FROM points_triggers WHERE no = part)
    WHEN 'level' THEN (SELECT key FROM points_levels WHERE no = part) END AS key, amount
  FROM summed WHERE amount <> 0`

/** The rows of each request, in order, without zeros: those of each database, to be added up (B5). */
export async function readFigures(
  databases: Databases,
  tenantId: string,
  asked: readonly Asked[],
): Promise<FigureRow[][]> {
  const list = asked.map(({ figure, id, first, last, isRunning = false }) => [
    ...[figure === 'holders' ? 'level' : figure, id ?? null, first, last],
    ...[isRunning ? EVER : first, figure === 'holders' ? -1 : 1],
  ])
  const lists = await databases
    .usersOf(tenantId)
    .askAll(async (db) => Rows.parse(await db.rows(db.statement(READ, db.tenantId, JSON.stringify(list)))))
  const byRequest = Map.groupBy(lists.flat(), ({ nth }) => nth)
  return asked.map((_, nth) => byRequest.get(nth) ?? [])
}

/** The figure that says how many counted events erasures have deleted, as a negative number. */
export const ERASED_EVENTS = 'erased events'

const LEAVE = `
  INSERT INTO analytics_figures (tenant_id, figure, subject_no, day, part, amount)
  WITH gone AS MATERIALIZED (
    SELECT streak, levels FROM counted_users
    WHERE user_iid = (SELECT ${bytesOf('iid')} FROM users WHERE tenant_id = ?1 AND id = ?2))
  SELECT ?1, 'streak', 0, ?3, streak, -1 FROM gone
  UNION ALL SELECT ?1, 'level', CAST(k.key AS INTEGER), ?3, k.value, -1
    FROM gone CROSS JOIN json_each(gone.levels) k
  UNION ALL SELECT ?1, '${ERASED_EVENTS}', 0, 0, 0, -count(*)
    FROM users u CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')} AND e.seq <= u.counted
    WHERE u.tenant_id = ?1 AND u.id = ?2 HAVING count(*) > 0
  ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`
/**
 * The statement for a user who is erased. The figures stay as they are; from the next day on, the user has no
 * streak and no level any more. A figure of its own notes how many counted events are deleted. Part of the
 * batch that deletes the user, before the user's rows.
 */
export const leaveFigures = (db: TenantDatabase, userId: string, now: Instant): Statement =>
  db.statement(LEAVE, db.tenantId, userId, utcDay(now) + 1)
