import * as z from 'zod'
import { readTestClock } from '../../../access/clock.sql.ts'
import { DAY, type Instant, instant, LAST_OFFSET } from '../../../lib/clock'
import { packed } from '../../../lib/packed'
import { systemNow } from '../../../lib/system-clock'
import { civilDateOfDay, dayBegins } from '../../../lib/zone'
import { bytesOf, idOf, json, LOGS, type Log, localDayOf, numbersOfEach } from '../../../platform/columns'
import type { Scope, TenantContext } from '../../../platform/context'
import type { Statement, TenantDatabase } from '../../../platform/database'
import { FIRST } from '../../../platform/databases/directory'
import { isConflict } from '../../../platform/guard'
import { logProblem } from '../../../platform/log'
import { firstId } from '../../../store/users/pages.sql.ts'
import { schedule, type Work } from '../../../time/due-work.sql.ts'
import { defineJob } from '../../../time/job'
import { wakeTimekeeper } from '../../../time/timekeeper'
import {
  type Count,
  type Days,
  type Distribution,
  daysOfYear,
  distributionOf,
  merged,
  mostValues,
  periodsIn,
} from './wrapped.rules'
import { markerOf, momentsOf, servedAs } from './wrapped.sql.ts'

/** The progress of a build: the last user who is counted, and when the build began. */
const Progress = z.object({ after: z.string(), began: z.number() })
type Progress = z.infer<typeof Progress>

/** The name of a period in the distributions: its kind, and its first day in the year. */
export const distributionName = (kind: string, { first }: Days): string => `${kind} ${civilDateOfDay(first)}`

/** Requests the distributions of a year (R2). Never throws: the next request for a wrapped tries again. */
export async function requestDistributions(scope: Scope, year: number): Promise<void> {
  try {
    const db = scope.databases.home(scope.tenant.id)
    await db.batch([schedule(db, 'distributions', { at: scope.now, subject: String(year) })])
    await wakeTimekeeper(scope)
  } catch (error) {
    logProblem('warn', { tenant: scope.tenant.id, error: `distributions not requested: ${String(error)}` })
  }
}

/** The most users of one step, and changes in all their lives. One user alone may have more. */
const MOST_USERS = 300
const MOST_CHANGES = 30_000

const buildingAs = (year: number) => `building ${servedAs(year)}`

// The last user of the next step, in order of their ids; null if no user is left.
const LAST = `
  SELECT max(id) AS last FROM (
    SELECT id, sum(seq) OVER (ORDER BY id) - seq AS before
    FROM (SELECT id, seq FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3))
  WHERE before < ?4`

const LastRow = z.object({ last: z.string().nullable() })

const FORGET = "DELETE FROM change_distributions WHERE tenant_id = ?1 AND period BETWEEN ?2 AND ?2 || '~'"
const forget = (db: TenantDatabase, prefix: string) => db.statement(FORGET, db.tenantId, prefix)

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
type Counts = { period: string; subject: string; document: readonly Count[] }

/** The counts of a build so far. Parsed by `countsIn`. */
const built = (db: TenantDatabase, year: number) => db.statement(BUILT, db.tenantId, buildingAs(year))
const countsIn = ({ results }: D1Result): Counts[] => CountRows.parse(results)

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

const MARK = `
  INSERT INTO change_distributions (tenant_id, period, subject, document)
    VALUES (?1, ?2, '', json_object('at', ?3))`

/**
 * Does one bounded step of building a year's distributions (R2): counts the changes of the next users, or
 * replaces the published distributions. Idempotent. A year is built daily, and for the last time one day
 * after it has ended in every zone.
 */
async function distributionStep(context: TenantContext, work: Work<Progress>): Promise<void> {
  const { db, databases } = context
  const now = (await readTestClock(db)) ?? systemNow()
  const year = Number(work.subject)
  const days = daysOfYear(year)
  const { after, began } = work.progress ?? { after: '', began: now }
  const ends = await databases.usersOf(db.tenantId).askAll(async (own) => {
    return (await own.one(LastRow, LAST, own.tenantId, after, MOST_USERS, MOST_CHANGES)).last
  })
  const last = firstId(ends)
  const next =
    last === null
      ? { progress: null, dueAt: afterBuild(days, instant(began), now) }
      : { progress: { after: last, began }, dueAt: now }
  // The guard includes the due time, because a finished build has no progress, like a build that has not
  // begun.
  const unchanged = work.progressUnchanged()
  try {
    // A build that was broken off may have left counts. They are not part of this build.
    if (work.progress === null) await db.batch([unchanged, forget(db, buildingAs(year))])
    const stored =
      last === null ? await served(db, year, now) : await counted(context, year, { after, last }, days)
    await db.batch([unchanged, ...stored, work.put(next)])
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}

/** Counts the changes of these users, and adds them to the counts so far. */
async function counted(
  { db, databases }: TenantContext,
  year: number,
  { after, last }: { after: string; last: string },
  days: Days,
): Promise<Statement[]> {
  const { from, to } = momentsOf(days)
  const calendar = JSON.stringify(calendarOf(days))
  const answers = await databases.usersOf(db.tenantId).askAll(async (own, name) => {
    const { fresh, known } = await own.batchOf({
      fresh: own.statement(FRESH, own.tenantId, after, last, from, to, calendar),
      known: name === FIRST ? [built(own, year)] : [],
    })
    return { fresh: countsIn(fresh), known: known.map(countsIn) }
  })
  const [known = countsIn(await db.run(built(db, year)))] = answers.flatMap((one) => one.known)
  const before = new Map(known.map((one) => [keyOf(one), one.document]))
  const fresh = [
    ...Map.groupBy(
      answers.flatMap((one) => one.fresh),
      keyOf,
    ),
  ]
  const added = fresh.filter(([key]) => !before.has(key)).length
  const most = mostValues(known.length + added)
  const all = fresh.flatMap(([key, [first, ...others]]) => {
    if (first === undefined) return []
    const documents = [first, ...others].map(({ document }) => document)
    return [{ ...first, document: merged([before.get(key) ?? [], ...documents], most) }]
  })
  return store(db, buildingAs(year), all)
}

const keyOf = ({ period, subject }: Counts) => `${period} ${subject}`

/** Replaces the published distributions. */
async function served(db: TenantDatabase, year: number, now: Instant): Promise<Statement[]> {
  const counts = countsIn(await db.run(built(db, year)))
  const active = new Map(
    counts.flatMap(({ period, subject, document: [users] }) =>
      subject === '' && users !== undefined ? [[period, users[1]]] : [],
    ),
  )
  const distributions = counts.flatMap(({ period, subject, document }) =>
    subject === '' ? [] : [{ period, subject, document: distributionOf(document, active.get(period) ?? 0) }],
  )
  return [
    forget(db, servedAs(year)),
    ...store(db, servedAs(year), distributions),
    db.statement(MARK, db.tenantId, markerOf(year), now),
    forget(db, buildingAs(year)),
  ]
}

/** When a year's distributions are due again; null if they can't change any more. */
function afterBuild({ last }: Days, began: Instant, now: Instant): Instant | null {
  const isOver = began >= dayBegins(last + 2, LAST_OFFSET)
  return isOver ? null : instant(now + DAY)
}

/** Each day of the year, with each period that contains it. */
function calendarOf(year: Days): (readonly [number, string])[] {
  const named = (kind: string, periods: readonly Days[]) =>
    periods.flatMap((period) => {
      const name = distributionName(kind, period)
      const length = period.last - period.first + 1
      return Array.from({ length }, (_, nth) => [period.first + nth, name] as const)
    })
  return [
    ...named('week', periodsIn(year, 'weekly')),
    ...named('month', periodsIn(year, 'monthly')),
    ...named('year', [year]),
  ]
}

declare module '../../../time/due-work.sql.ts' {
  interface DueKinds {
    distributions: true
  }
}

/** Builds the distributions of users' changes in a year (R1). The subject is the year. */
export const distributionsJob = defineJob({
  kind: 'distributions',
  of: 'tenant',
  progress: Progress,
  // Its time stays if the test clock is removed: the next request for a wrapped makes it due again.
  keepsItsTime: true,
  step: distributionStep,
})
