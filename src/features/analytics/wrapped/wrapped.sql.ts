import * as z from 'zod'
import { FURTHEST_OFFSET } from '../../../lib/clock'
import { dayBegins } from '../../../lib/zone'
import { localDayOf } from '../../../platform/columns'
import type { Statement, TenantDatabase } from '../../../platform/database'
import { bytesOf, idOf, LOGS, type Log, numberOf } from '../../../platform/short-ids'
import type { UserState } from '../../../rules/state'
import type { DayChange, Days, Periods } from './wrapped.rules'

/** The moments that contain these days in every zone. */
export const momentsOf = ({ first, last }: Days) => ({
  from: dayBegins(first, FURTHEST_OFFSET),
  to: dayBegins(last + 1, -FURTHEST_OFFSET),
})

/** The user whose log is read, up to the change `seq` of the state that was read. */
type Reader = Pick<UserState, 'iid' | 'seq'>

/**
 * Changes by local day, from day ?4 on. Later changes than day ?5 count as one day, the day after it. The
 * index finds each next metric or system of the user, and only events since ?3 are read.
 */
const daily = ({ log, no, table, amount }: Log) => `
  WITH RECURSIVE used(no) AS (
    SELECT min(${no}) FROM ${log} WHERE user_iid = ${bytesOf('?1')}
    UNION ALL SELECT (SELECT min(l.${no}) FROM ${log} l WHERE l.user_iid = ${bytesOf('?1')}
      AND l.${no} > used.no)
      FROM used WHERE used.no IS NOT NULL)
  SELECT ${idOf(table, 'd.no')} AS subject, day, count, change FROM (
    SELECT used.no, min(${localDayOf('l')}, ?5 + 1) AS day, count(*) AS count, total(l.${amount}) AS change
    FROM used CROSS JOIN ${log} l ON l.user_iid = ${bytesOf('?1')} AND l.${no} = used.no AND l.at >= ?3
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
