import * as z from 'zod'
import { readTestClock } from '../../../access/clock.sql.ts'
import { DAY, type Instant, instant, LAST_OFFSET } from '../../../lib/clock'
import { systemNow } from '../../../lib/system-clock'
import { civilDateOfDay, dayBegins } from '../../../lib/zone'
import type { Scope, TenantContext } from '../../../platform/context'
import type { Statement, TenantDatabase } from '../../../platform/database'
import { isConflict } from '../../../platform/guard'
import { logProblem } from '../../../platform/log'
import { schedule, type Work } from '../../../time/due-work.sql.ts'
import { defineJob } from '../../../time/job'
import { wakeTimekeeper } from '../../../time/timekeeper'
import { type Days, daysOfYear, distributionOf, merged, mostValues, periodsIn } from './wrapped.rules'
import {
  type Counts,
  countChanges,
  forgetBuild,
  lastOfStep,
  publishDistributions,
  readCounts,
  storeCounts,
} from './wrapped.sql.ts'

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
  const last = await lastOfStep(databases, db.tenantId, after)
  const next =
    last === null
      ? { progress: null, dueAt: afterBuild(days, instant(began), now) }
      : { progress: { after: last, began }, dueAt: now }
  // The guard includes the due time, because a finished build has no progress, like a build that has not
  // begun.
  const unchanged = work.progressUnchanged()
  try {
    // A build that was broken off may have left counts. They are not part of this build.
    if (work.progress === null) await db.batch([unchanged, forgetBuild(db, year)])
    const stored =
      last === null ? await served(db, year, now) : await counted(context, year, { after, last }, days)
    await db.batch([unchanged, ...stored, work.put(next)])
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}

async function counted(
  { db, databases }: TenantContext,
  year: number,
  users: { after: string; last: string },
  days: Days,
): Promise<Statement[]> {
  const calendar = calendarOf(days)
  const { fresh: lists, known } = await countChanges(databases, db.tenantId, year, users, days, calendar)
  const before = new Map(known.map((one) => [keyOf(one), one.document]))
  const fresh = [...Map.groupBy(lists.flat(), keyOf)]
  const added = fresh.filter(([key]) => !before.has(key)).length
  const most = mostValues(known.length + added)
  const all = fresh.flatMap(([key, [first, ...others]]) => {
    if (first === undefined) return []
    const documents = [first, ...others].map(({ document }) => document)
    return [{ ...first, document: merged([before.get(key) ?? [], ...documents], most) }]
  })
  return storeCounts(db, year, all)
}

const keyOf = ({ period, subject }: Counts) => `${period} ${subject}`

async function served(db: TenantDatabase, year: number, now: Instant): Promise<Statement[]> {
  const counts = await readCounts(db, year)
  const active = new Map(
    counts.flatMap(({ period, subject, document: [users] }) =>
      subject === '' && users !== undefined ? [[period, users[1]]] : [],
    ),
  )
  const distributions = counts.flatMap(({ period, subject, document }) =>
    subject === '' ? [] : [{ period, subject, document: distributionOf(document, active.get(period) ?? 0) }],
  )
  return publishDistributions(db, year, distributions, now)
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
