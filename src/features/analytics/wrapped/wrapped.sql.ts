import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { DAY, FURTHEST_OFFSET, type Instant } from '../../../lib/clock'
import { packed } from '../../../lib/packed'
import { dayBegins } from '../../../lib/zone'
import {
  bytesOf,
  idOf,
  json,
  LOGS,
  type Log,
  localDayOf,
  numberOf,
  numbersIn,
  numbersOfEach,
} from '../../../platform/columns'
import type { Statement, TenantDatabase } from '../../../platform/database'
import type { Databases } from '../../../platform/databases/databases'
import { FIRST } from '../../../platform/databases/directory'
import type { UserState } from '../../../rules/state'
import { firstId } from '../../../store/users/pages.sql.ts'
import { DUE_AT, type DueKind } from '../../../time/due-work.sql.ts'
import type { Count, DayChange, Days, Distribution, Periods } from './wrapped.rules'

/** The moments that contain these days in every zone. */
const momentsOf = ({ first, last }: Days) => ({
  from: dayBegins(first, FURTHEST_OFFSET),
  to: dayBegins(last + 1, -FURTHEST_OFFSET),
})

/** The user whose log is read, up to the change `seq` of the state that was read. */
type Reader = Pick<UserState, 'iid' | 'seq'>

/**
 * Changes by local day, from day ?4 on. Later changes than day ?5 count as one day, the day after it. Only
 * events since ?3 are read.
 */
const daily = (of: Log) => `
  WITH RECURSIVE ${numbersIn(of, bytesOf('?1'))}
  SELECT ${idOf(of.table, 'd.no')} AS subject, day, count, change FROM (
    SELECT used.no, min(${localDayOf('l')}, ?5 + 1) AS day, count(*) AS count,
      total(l.${of.amount}) AS change
    FROM used CROSS JOIN ${of.log} l ON l.user_iid = ${bytesOf('?1')} AND l.${of.no} = used.no AND l.at >= ?3
      AND l.seq <= ?2
    GROUP BY 1, 2 HAVING day >= ?4) d`

const EVENTS = daily(LOGS.events)
const AWARDS = daily(LOGS.awards)

const DayRows = z.array(
  z.object({ subject: z.string(), day: z.number(), count: z.number(), change: z.number() }),
)

/**
 * A user's events by metric and awards by points system, summed by stored local day (E8), from the year's
 * first day on. All days after the year are one day.
 */
export async function readDays(
  db: TenantDatabase,
  { iid, seq }: Reader,
  year: Days,
): Promise<{ events: DayChange[]; awards: DayChange[] }> {
  const asked = [iid, seq, momentsOf(year).from, year.first, year.last] as const
  const { events, awards } = await db.batchOf({
    events: db.statement(EVENTS, ...asked),
    awards: db.statement(AWARDS, ...asked),
  })
  return { events: DayRows.parse(events.results), awards: DayRows.parse(awards.results) }
}

// Sums by day first, so that the join with periods gets days, not events. CROSS JOIN keeps the order in
// SQLite.
const BY_ATTRIBUTE = `
  WITH days AS MATERIALIZED (
    SELECT m.value AS metric_id, a.key AS attribute, a.value, ${localDayOf('e')} AS day,
      total(e.value) AS change
    FROM json_each(?3) m CROSS JOIN events e ON e.user_iid = ${bytesOf('?1')}
      AND e.metric_no = ${numberOf('metrics', 'm.value')}
      AND e.at <= ?4 AND e.seq <= ?2 AND e.attributes IS NOT NULL
    CROSS JOIN json_each(e.attributes) a GROUP BY 1, 2, 3, 4)
  SELECT p.value ->> 0 AS period, d.metric_id AS metricId, d.attribute, d.value,
    total(d.change) AS total, total(d.change) FILTER (WHERE d.day >= p.value ->> 1) AS change
  FROM json_each(?5) p CROSS JOIN days d ON d.day <= p.value ->> 2
  GROUP BY 1, 2, 3, 4 HAVING max(d.day) >= p.value ->> 1
  ORDER BY 2, 3, 4`

const AttributeRows = z.array(
  z.object({
    period: z.string(),
    metricId: z.string(),
    attribute: z.string(),
    value: z.string(),
    total: z.number(),
    change: z.number(),
  }),
)

/** The change in a period, and the total at its end, of a user's events with one value of an attribute. */
export type AttributeSums = z.infer<typeof AttributeRows>[number]

/**
 * Sums a user's events by the values of attributes that occurred in these periods. Parsed by
 * `parseAttributes`.
 */
export function attributesStatement(
  db: TenantDatabase,
  { iid, seq }: Reader,
  metricIds: readonly string[],
  periods: Periods,
): Statement {
  const list = Object.entries(periods).map(([name, { first, last }]) => [name, first, last])
  const { to } = momentsOf(periods.year)
  return db.statement(BY_ATTRIBUTE, iid, seq, JSON.stringify(metricIds), to, JSON.stringify(list))
}

export const parseAttributes = (result: D1Result): AttributeSums[] => AttributeRows.parse(result.results)

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

/** The most users of one step, and changes in all their lives. One user alone may have more. */
const MOST_USERS = 300
const MOST_CHANGES = 30_000

const yearName = (year: number) => String(year).padStart(4, '0')

/** The prefix of all rows of a year: of published ones, and of those in a build. */
const servedAs = (year: number) => `${yearName(year)} `
const buildingAs = (year: number) => `building ${yearName(year)} `
/** The row that marks a year's distributions as published. */
const markerOf = (year: number) => `${yearName(year)} built`

// A removed test clock may leave work that is due far ahead, or distributions from a future time. Those do
// not count (C1).
const KNOWN = `
  SELECT coalesce(${DUE_AT} <= ?5 + ${DAY},
    EXISTS (SELECT 1 FROM change_distributions
      WHERE tenant_id = ?1 AND period = ?4 AND subject = '' AND document ->> '$.at' <= ?5)) AS isKnown`

/** Whether a year's distributions are published, or due soon. Parsed by `parseKnown`. */
export function knownStatement(db: TenantDatabase, year: number, subject: string, now: Instant): Statement {
  return db.statement(KNOWN, db.tenantId, 'distributions' satisfies DueKind, subject, markerOf(year), now)
}

export const parseKnown = (result: D1Result): boolean =>
  z.object({ isKnown: z.number() }).parse(result.results[0]).isKnown === 1

/**
 * A change to find the place of: the period as the table names it, without the year, and the metric or points
 * system.
 */
export type Placing = { period: string; subject: string; change: number }

// The first change that is not smaller says how many users have less. If there is none, all users have less.
const PLACES = `
  SELECT asked.key AS nth, s.document ->> '$.users' AS users, coalesce(
    (SELECT step.value ->> 1 FROM json_each(s.document, '$.distribution') step
      WHERE step.value ->> 0 >= asked.value ->> 2
      ORDER BY step.key LIMIT 1), s.document ->> '$.users') AS less
  FROM json_each(?3) asked CROSS JOIN change_distributions s
    ON s.tenant_id = ?1 AND s.period = ?2 || (asked.value ->> 0) AND s.subject = asked.value ->> 1`

/** How many users were active and how many have less, by index in the list. Parsed by `parsePlaces`. */
export function placesStatement(db: TenantDatabase, year: number, placings: readonly Placing[]): Statement {
  const list = placings.map(({ period, subject, change }) => [period, subject, change])
  return db.statement(PLACES, db.tenantId, servedAs(year), JSON.stringify(list))
}

const PlaceRows = z.array(z.object({ nth: z.number(), users: z.number(), less: z.number() }))

export const parsePlaces = (result: D1Result) => PlaceRows.parse(result.results)

const LAST = `
  SELECT max(id) AS last FROM (
    SELECT id, sum(seq) OVER (ORDER BY id) - seq AS before
    FROM (SELECT id, seq FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3))
  WHERE before < ?4`

const LastRow = z.object({ last: z.string().nullable() })

/**
 * The last user of the next step, in order of their ids; null if no user is left. In each database, a step
 * has so many users and changes at most.
 */
export async function lastOfStep(
  databases: Databases,
  tenantId: string,
  after: string,
): Promise<string | null> {
  const ends = await databases.usersOf(tenantId).askAll(async (db) => {
    const [row] = await db.rows(db.statement(LAST, db.tenantId, after, MOST_USERS, MOST_CHANGES))
    return LastRow.parse(row).last
  })
  return firstId(ends)
}

const FORGET = "DELETE FROM change_distributions WHERE tenant_id = ?1 AND period BETWEEN ?2 AND ?2 || '~'"

/** Deletes the counts of a build. */
export function forgetBuild(db: TenantDatabase, year: number): Statement {
  return db.statement(FORGET, db.tenantId, buildingAs(year))
}

/** The users' changes by subject and period of the calendar, by stored local day (E8). */
const changes = (usedName: string, { log, no, amount }: Log) => `
    SELECT d.iid, d.subject, c.period, sum(d.change) AS change
    FROM (SELECT u.iid, u.no AS subject, ${localDayOf('l')} AS day, sum(l.${amount}) AS change
      FROM ${usedName} u CROSS JOIN ${log} l
        ON l.user_iid = u.iid AND l.${no} = u.no AND l.at BETWEEN ?4 AND ?5 GROUP BY 1, 2, 3) d
    CROSS JOIN calendar c ON c.day = d.day GROUP BY 1, 2, 3`

// Rows with an empty subject count the active users.
const FRESH = `
  WITH RECURSIVE
  chunk AS MATERIALIZED (SELECT ${bytesOf('iid')} AS iid FROM users WHERE tenant_id = ?1 AND id > ?2
    AND id <= ?3),
  calendar AS MATERIALIZED (SELECT value ->> 0 AS day, value ->> 1 AS period FROM json_each(?6)),
  ${numbersOfEach(LOGS.events, 'in_metrics', 'iid')},
  ${numbersOfEach(LOGS.awards, 'in_systems', 'iid')},
  done AS MATERIALIZED (${changes('in_metrics', LOGS.events)}),
  active AS MATERIALIZED (SELECT DISTINCT iid, period FROM done),
  earned AS (${changes('in_systems', LOGS.awards)}),
  fresh AS (
    SELECT period, '' AS subject, 0 AS change, count(*) AS users FROM active GROUP BY period
    UNION ALL SELECT period, ${idOf('metrics', 'subject')}, change, count(*) FROM done
      GROUP BY period, subject, change
    UNION ALL SELECT e.period, ${idOf('points_systems', 'e.subject')}, e.change, count(*)
      FROM earned e JOIN active a ON a.iid = e.iid AND a.period = e.period
        GROUP BY e.period, e.subject, e.change)
  SELECT period, subject, json_group_array(json_array(change, users)) AS document FROM fresh GROUP BY 1, 2`
const BUILT = `
  SELECT substr(period, length(?2) + 1) AS period, subject, document FROM change_distributions
  WHERE tenant_id = ?1 AND period BETWEEN ?2 AND ?2 || '~'`

const CountRows = z.array(
  z.object({
    period: z.string(),
    subject: z.string(),
    document: json(z.array(z.tuple([z.number(), z.number()]))),
  }),
)

/** The counts of the changes of a subject in a period. With an empty subject: of all active users. */
export type Counts = { period: string; subject: string; document: readonly Count[] }

/** The counts of a build so far. */
export async function readCounts(db: TenantDatabase, year: number): Promise<Counts[]> {
  return CountRows.parse(await db.rows(db.statement(BUILT, db.tenantId, buildingAs(year))))
}

/**
 * Counts the changes of the users with ids after `after` and up to `last`, one list for each database, and
 * reads the counts so far. `calendar` has pairs of a day and a period that contains it.
 */
export async function countChanges(
  databases: Databases,
  tenantId: string,
  year: number,
  { after, last }: { after: string; last: string },
  days: Days,
  calendar: readonly (readonly [number, string])[],
): Promise<{ fresh: Counts[][]; known: Counts[] }> {
  const { from, to } = momentsOf(days)
  const list = JSON.stringify(calendar)
  const answers = await databases.usersOf(tenantId).askAll(async (db, name) => {
    const { fresh, known } = await db.batchOf({
      fresh: db.statement(FRESH, db.tenantId, after, last, from, to, list),
      known: name === FIRST ? [db.statement(BUILT, db.tenantId, buildingAs(year))] : [],
    })
    return {
      fresh: CountRows.parse(fresh.results),
      known: known.map(({ results }) => CountRows.parse(results)),
    }
  })
  const [known = await readCounts(databases.home(tenantId), year)] = answers.flatMap((one) => one.known)
  return { fresh: answers.map((one) => one.fresh), known }
}

const STORE = `
  INSERT INTO change_distributions (tenant_id, period, subject, document)
  SELECT ?1, ?2 || (value ->> 0), value ->> 1, value ->> 2 FROM json_each(?3) WHERE true
  ON CONFLICT DO UPDATE SET document = excluded.document`

function store(
  db: TenantDatabase,
  prefix: string,
  rows: readonly { period: string; subject: string; document: readonly Count[] | Distribution }[],
): Statement[] {
  const items = rows.map((row) => JSON.stringify([row.period, row.subject, row.document]))
  return packed(items).map((list) => db.statement(STORE, db.tenantId, prefix, list))
}

/** Stores the counts so far. */
export const storeCounts = (db: TenantDatabase, year: number, counts: readonly Counts[]): Statement[] =>
  store(db, buildingAs(year), counts)

const MARK = `
  INSERT INTO change_distributions (tenant_id, period, subject, document)
    VALUES (?1, ?2, '', json_object('at', ?3))`

/** Replaces the published distributions. */
export function publishDistributions(
  db: TenantDatabase,
  year: number,
  distributions: readonly { period: string; subject: string; document: Distribution }[],
  now: Instant,
): Statement[] {
  return [
    db.statement(FORGET, db.tenantId, servedAs(year)),
    ...store(db, servedAs(year), distributions),
    db.statement(MARK, db.tenantId, markerOf(year), now),
    forgetBuild(db, year),
  ]
}
