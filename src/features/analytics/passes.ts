import * as z from 'zod'
import { HOUR, type Instant, instant } from '../../lib/clock'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { findWork, firstDueOf } from '../../time/due-work.sql.ts'
import type { DueKind } from '../../time/kinds'
import { beginAllAgain, scheduleAll, scheduleBegun } from '../../time/timekeeper.sql.ts'
import * as figures from './figures.sql.ts'

/**
 * The progress of the work `analytics`. Moments are in milliseconds.
 *
 * - `until`: if the tenant had no work `analytics` before, the moment of the change that made it due. All
 *   earlier changes are counted. The triggers in migrations/0019_analytics.sql write it.
 * - `pass`: the pass in progress, null before it has begun. `since` is the moment from which on it reads the
 *   logs, and `nextSince` the same for the pass after it. It counts users by the levels that `ladder` names.
 *   `isAll` is true if it visits users without a change too. It has visited the users up to the id `after`,
 *   and `hasCounted` is true if it has counted one of them.
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

/*
 * The last finished pass of each tenant, and the moments that a pass begins with.
 */

/** The last finished pass of a tenant. The fields are those of the table. */
export type FinishedPass = { updated: number; since: number | null; ladder: string }

const LAST = 'SELECT updated, since, ladder FROM analytics_passes WHERE tenant_id = ?1'
const Last = z.object({ updated: z.number(), since: z.number().nullable(), ladder: z.string() })

const lastOf = ({ results }: D1Result): FinishedPass | null => Last.nullable().parse(results[0] ?? null)

/**
 * Work that logs rows with a past moment: ticks (P4), and events of a batch under a test clock (E9). That
 * moment is not before the time at which the work is due.
 */
const LATE: readonly [DueKind, DueKind] = ['ticks', 'inbox']
const FIRST_LATE = `SELECT ${firstDueOf('?2, ?3')} AS due`

/**
 * The last finished pass, null before the first one; and the moment of the earliest rows that are still to be
 * logged late, in milliseconds, null if there are none.
 */
export async function readPasses(
  db: TenantDatabase,
): Promise<{ last: FinishedPass | null; firstLate: number | null }> {
  const { last, late } = await db.batchOf({
    last: db.statement(LAST, db.tenantId),
    late: db.statement(FIRST_LATE, db.tenantId, ...LATE),
  })
  const { due } = z.object({ due: z.number().nullable() }).parse(late.results[0])
  return { last: lastOf(last), firstLate: due }
}

const FINISH = `
  INSERT INTO analytics_passes (tenant_id, updated, since, ladder) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET updated = excluded.updated, since = excluded.since, ladder = excluded.ladder`

/** Stores a pass as finished. Part of its last batch. */
export const finishPass = (db: TenantDatabase, { updated, since, ladder }: FinishedPass): Statement =>
  db.statement(FINISH, db.tenantId, updated, since, ladder)

const FORGET_SINCE = 'UPDATE analytics_passes SET since = NULL, updated = min(updated, ?1)'

/** Makes the next pass of each tenant read the whole logs of changed users. `now` is the present time. */
export const forgetSince = (db: AccountDatabase, now: Instant): Statement => db.statement(FORGET_SINCE, now)

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
      db.run(db.statement(LAST, db.tenantId)),
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

/**
 * A statement that makes the next pass of each tenant due at a moment, if there is one, however many full
 * hours the test clock passes on the way (C1).
 */
export const requestPasses = (db: AccountDatabase, at: Instant): Statement => scheduleAll(db, 'analytics', at)

/**
 * A statement that does the same for tenants that had no next pass before the work of the move has changed
 * their users. `meta.changes` is the number of these tenants.
 */
export const requestNewPasses = (db: AccountDatabase, at: Instant): Statement =>
  scheduleBegun(db, 'analytics', at)

/**
 * The statements for when the clock goes back to `now` (C1): the next pass of each tenant also finds rows
 * that are earlier than the last pass, and a pass in progress begins again.
 */
export const restartPasses = (db: AccountDatabase, now: Instant): Statement[] => [
  beginAllAgain(db, 'analytics'),
  forgetSince(db, now),
]

/**
 * A statement for a user who is erased: the figures stay as they are; from the next day on, the user has no
 * streak and no level any more (I1). Part of the batch that deletes the user, before the user's rows.
 */
export const leaveFigures = (db: TenantDatabase, userId: string, now: Instant): Statement =>
  figures.leaveFigures(db, userId, now)
