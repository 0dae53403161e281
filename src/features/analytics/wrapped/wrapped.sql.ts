import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { DAY, FURTHEST_OFFSET, type Instant } from '../../../lib/clock'
import { dayBegins } from '../../../lib/zone'
import { bytesOf, idOf, LOGS, type Log, localDayOf, numberOf, numbersIn } from '../../../platform/columns'
import type { Statement, TenantDatabase } from '../../../platform/database'
import type { UserState } from '../../../rules/state'
import { DUE_AT, type DueKind } from '../../../time/due-work.sql.ts'
import type { DayChange, Days, Periods } from './wrapped.rules'

/** The moments that contain these days in every zone. */
export const momentsOf = ({ first, last }: Days) => ({
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

/** A user's events and awards, summed by stored local day (E8), from the year's first day on. */
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

/** Sums a user's events by attribute values of these periods. Parsed by `parseAttributes`. */
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

const yearName = (year: number) => String(year).padStart(4, '0')

/** The prefix of all rows of a year that are published. */
export const servedAs = (year: number) => `${yearName(year)} `
/** The row that marks a year's distributions as published. */
export const markerOf = (year: number) => `${yearName(year)} built`

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

/** A change to find the place of. `period` is as in the table, without the year. */
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
