import * as z from 'zod'
import { presentState } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { HOUR, type Instant, instant, MINUTE } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { systemNow } from '../../lib/system-clock'
import { utcDay } from '../../lib/zone'
import type { TenantContext } from '../../platform/context'
import type { AccountDatabase, Statement } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { isConflict } from '../../platform/guard'
import { logWork } from '../../platform/log'
import { LATE } from '../../store/day-sums/day-sums.sql.ts'
import { findWork, firstDueOf, readProgress, type Work } from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'
import { beginAllAgain, scheduleAll, scheduleBegun } from '../../time/timekeeper.sql.ts'
import { countUsers, ladderOf, nextRange } from './count.sql.ts'
import { ERASED_EVENTS } from './figures.sql.ts'

// For the erasure of users, and for databases: other features never import SQL of this one.
export { countedUsers, leaveFigures } from './figures.sql.ts'

/**
 * The progress of the work `analytics`. Moments are in milliseconds. All changes before `until` are counted:
 * if the tenant had no such work before, it is the moment of the change that made it due, by the triggers of
 * `migrations/0000_first.sql`. `pass` is null before it has begun. It reads the logs from `since` on, and the
 * pass after it from `nextSince` on. `ladder` names its levels. If `isAll`, it visits users without a change
 * too. It has visited the users up to the id `after`, and `hasCounted` says if it has counted one of them.
 */
export const Progress = z.object({
  until: z.number().nullable().default(null),
  pass: z
    .object({
      began: z.number(),
      since: z.number(),
      nextSince: z.number(),
      ladder: z.string(),
      isAll: z.boolean(),
      after: z.string(),
      hasCounted: z.boolean(),
    })
    .nullable()
    .default(null),
})

/** See `Progress`. */
export type Progress = z.infer<typeof Progress>
/** A pass in progress, see `Progress`. */
export type Pass = NonNullable<Progress['pass']>

/** Reads the last finished pass of a tenant. The fields are those of the table. */
export const READ_PASS = 'SELECT updated, since, ladder FROM analytics_passes WHERE tenant_id = ?1'
const FinishedPass = z.object({ updated: z.number(), since: z.number().nullable(), ladder: z.string() })

const lastOf = ({ results }: D1Result) => FinishedPass.nullable().parse(results[0] ?? null)

const FIRST_LATE = `SELECT ${firstDueOf('?2')} AS due`

const FINISH = `
  INSERT INTO analytics_passes (tenant_id, updated, since, ladder) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET updated = excluded.updated, since = excluded.since, ladder = excluded.ladder`
const FORGET_SINCE = 'UPDATE analytics_passes SET since = NULL, updated = min(updated, ?1)'

/**
 * The moment up to which all changes are counted, as far as that is known: when the last finished pass began.
 * If nothing was changed after that pass, no pass is due, and it is the last full hour. Null before the first
 * pass. With several databases, it is the earliest of their moments. A database without a pass, beside others
 * that have one, got its first users not long ago: all changes before the first one of these are counted.
 */
export async function readUpdated(
  databases: Databases,
  tenantId: string,
  now: Instant,
): Promise<Instant | null> {
  const fullHour = Math.floor(now / HOUR) * HOUR
  const all = await databases.usersOf(tenantId).askAll(async (db) => {
    const [result, work] = await Promise.all([
      db.run(db.statement(READ_PASS, db.tenantId)),
      findWork(db, 'analytics', Progress),
    ])
    const until = work === undefined ? fullHour : (work.progress?.until ?? 0)
    return { last: lastOf(result), until, isDue: work !== undefined }
  })
  // A database in which nothing was ever changed has no pass, and none is due.
  const counting = all.filter(({ last, isDue }) => last !== null || isDue)
  if (counting.every(({ last }) => last === null)) return null
  const updated = Math.min(...counting.map(({ last, until }) => Math.max(last?.updated ?? 0, until)))
  return updated === 0 ? null : instant(updated)
}

/** Makes the next pass of each tenant due at a moment, however far the test clock moves (C1). */
export const requestPasses = (db: AccountDatabase, at: Instant): Statement => scheduleAll(db, 'analytics', at)

/** The same for tenants that had no next pass before the move. `meta.changes` is their number. */
export const requestNewPasses = (db: AccountDatabase, at: Instant): Statement =>
  scheduleBegun(db, 'analytics', at)

/** For a clock that goes back to `now` (C1): passes also find rows before the last one, or begin again. */
export const restartPasses = (db: AccountDatabase, now: Instant): Statement[] => [
  beginAllAgain(db, 'analytics'),
  db.statement(FORGET_SINCE, now),
]

/*
 * The data of the analytics in each database with users, for buckets that move (B3). A database
 * adds the changes of its users to its own figures, and the figures of all databases are added up. So the
 * figures stay when a user leaves, and the state in which the user is counted moves along.
 */

/** Up to which moment users who leave a database are counted; null if all is counted, or it is not known. */
export function countedUntil(
  pass: { updated: number } | null,
  works: readonly { kind: string; progress: string | null }[],
): number | null {
  const due = works.find(({ kind }) => kind === 'analytics')
  if (due === undefined) return null
  return Math.max(pass?.updated ?? 0, readProgress(Progress, due.progress)?.until ?? 0) || null
}

/**
 * Gives a database without users the pass of the one from which the first ones arrive: they were counted by
 * it. ?2 to ?4 are its moments and its levels. Comes before the users.
 */
export const TAKE_PASS = `
  INSERT INTO analytics_passes (tenant_id, updated, since, ladder) SELECT ?1, ?2, ?3, ?4
  WHERE NOT EXISTS (SELECT 1 FROM users WHERE tenant_id = ?1) ON CONFLICT DO NOTHING`

/**
 * Lets the next pass of a database find what is not counted yet of users who arrive: it reads the logs from
 * the earlier moment of both, and visits all users if they were counted by other levels. ?2 and ?3 are the
 * other database's; ?2 is null if it has no pass. The pass is no later than the moment up to which these
 * users are counted, ?4, if that is not null.
 */
export const JOIN_PASS = `
  UPDATE analytics_passes SET since = CASE WHEN since IS NULL OR ?2 IS NULL THEN NULL ELSE min(since, ?2) END,
    ladder = CASE WHEN ladder = ?3 THEN ladder ELSE '' END, updated = min(updated, coalesce(?4, updated))
  WHERE tenant_id = ?1`

/** All figures of a database that holds no users any more, and their addition to those of another one. */
export const READ_FIGURES = `
  SELECT json_array(figure, subject_no, day, part, amount) AS row FROM analytics_figures WHERE tenant_id = ?1`
export const ADD_FIGURES = `
  INSERT INTO analytics_figures (tenant_id, figure, subject_no, day, part, amount)
  SELECT ?2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`
export const FORGET_FIGURES = [
  'DELETE FROM analytics_figures WHERE tenant_id = ?1',
  'DELETE FROM analytics_passes WHERE tenant_id = ?1',
] as const

/** The counted events of all tenants of a database, without those of users who were erased. */
export const EVENTS_OF_FIGURES = `
  SELECT coalesce(sum(f.amount), 0) AS n FROM tenants t
  CROSS JOIN analytics_figures f
    ON f.tenant_id = t.id AND f.figure IN ('events', '${ERASED_EVENTS}') AND f.subject_no = 0`

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    analytics: true
  }
}

/** By how much the moment of a row may be before its commit: clocks differ, and commits may be slow. */
const MARGIN = 10 * MINUTE
/** If a pass counts at most this many users, all in one range, another one follows soon. */
const FEW_USERS = 10
/** The most ranges without a changed user that one step passes. */
const MOST_RANGES = 10

/** The analytics: counts the changes of users since the last pass, a minute or at most an hour ago (I1). */
export const analyticsJob = defineJob({
  kind: 'analytics',
  of: 'users',
  progress: Progress,
  step: analyticsStep,
})

/** Does one step of a pass in one transaction, so that a repeated step counts nothing twice (I1). */
async function analyticsStep(context: TenantContext, work: Work<Progress>): Promise<void> {
  const { config, clock } = await presentState(context)
  if (config === null) return
  const now = clock ?? systemNow()
  try {
    await step(context, config, now, work.progress?.pass ? work : await begin(context, config, now, work))
  } catch (error) {
    // Another run has done the step, or the clock went back.
    if (!isConflict(error)) throw error
  }
}

/**
 * Begins a pass, and returns the work as it is stored before users are read. From then on, a change of a
 * counted user asks for the work again: an empty pass deletes work that was not asked for again.
 */
async function begin(
  { db }: TenantContext,
  config: Configuration,
  now: Instant,
  work: Work<Progress>,
): Promise<Work<Progress>> {
  const { finished, late } = await db.batchOf({
    finished: db.statement(READ_PASS, db.tenantId),
    late: db.statement(FIRST_LATE, db.tenantId, LATE),
  })
  const last = lastOf(finished)
  const { due: firstLate } = z.object({ due: z.number().nullable() }).parse(late.results[0])
  const ladder = namedId(instant(0), JSON.stringify(ladderOf(config)))
  const pass: Pass = {
    began: now,
    since: last?.since ?? 0,
    nextSince: Math.min(now - MARGIN, firstLate ?? now),
    ladder,
    isAll: ladder !== last?.ladder,
    after: '',
    hasCounted: false,
  }
  const begun = { progress: { until: work.progress?.until ?? null, pass }, dueAt: now }
  await db.batch([work.progressUnchanged(), work.put(begun, false)])
  return work.after(begun)
}

async function step(
  context: TenantContext,
  config: Configuration,
  now: Instant,
  work: Work<Progress>,
): Promise<void> {
  const { db, cost } = context
  const [began, before] = [systemNow(), { ...cost }]
  const { progress } = work
  if (progress === null || progress.pass === null) return
  const { after, last, users, isEnd } = await changedUsers(context, config, progress.pass)
  const isSmall = after === '' && users <= FEW_USERS
  const pass = { ...progress.pass, after: last, hasCounted: progress.pass.hasCounted || users > 0 }
  await db.batch([
    work.progressUnchanged(),
    ...(users > 0 ? countUsers(db, config, { ...pass, after, last, today: utcDay(now) }) : []),
    ...(isEnd
      ? end(context, work, pass, isSmall ? soon(now) : nextHour(now))
      : // Due now, so that other work that is due goes first.
        [work.put({ progress: { ...progress, pass }, dueAt: now })]),
  ])
  const milliseconds = systemNow() - began
  if (users > 0) logWork({ work: 'analytics', tenant: db.tenantId, milliseconds, users }, cost, before)
}

/** The next range with changed users after those that a pass has visited, or the last one that was read. */
async function changedUsers({ db }: TenantContext, config: Configuration, { isAll, after: first }: Pass) {
  const levelled = config.systems.reduce((all, { levels }) => all + (levels.length > 0 ? 2 : 1), 0)
  let after = first
  let range = await nextRange(db, after, { isAll, levelled })
  for (let ranges = 1; ranges < MOST_RANGES && range.users === 0 && !range.isEnd; ranges += 1) {
    after = range.last
    range = await nextRange(db, after, { isAll, levelled })
  }
  return { after, ...range }
}

/**
 * Ends a pass. After a pass that has counted a user there is another one, at the moment `next`. Otherwise the
 * work is deleted, unless it was asked for since the pass began, because a user has changed.
 */
function end({ db }: TenantContext, work: Work<Progress>, pass: Pass, next: Instant): Statement[] {
  const { began, nextSince, ladder, hasCounted } = pass
  return [
    db.statement(FINISH, db.tenantId, began, nextSince, ladder),
    // If it is asked for already, a change of a user writes no row of due work.
    work.put({ progress: null, dueAt: next }, hasCounted ? true : null),
    ...(hasCounted ? [] : [work.endUnlessAsked()]),
  ]
}

/** A small pass may run each minute: that costs at most a few dollars a month (docs/scale.md). */
const soon = (now: Instant): Instant => instant(now + MINUTE)
const nextHour = (now: Instant): Instant => instant((Math.floor(now / HOUR) + 1) * HOUR)
