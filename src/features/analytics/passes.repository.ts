import * as z from 'zod'
import { type Instant, instant } from '../../lib/clock'
import { HOUR } from '../../lib/units'
import type { AccountDatabase, TenantDatabase } from '../../platform/database'
import { askAll } from '../../platform/databases/ask-all'
import type { Databases } from '../../platform/databases/databases-databases'
import type { Statement } from '../../platform/statement'
import type { DueKind } from '../../time/due-kinds.types'
import { firstDueOf, workState } from '../../time/due-work.repository'
import { parseProgress } from './pass.codec'

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
  const all = await askAll(databases, tenantId, async (db) => {
    const [result, { dueAt, progress }] = await Promise.all([
      db.run(db.statement(LAST, db.tenantId)),
      workState(db, 'analytics' satisfies DueKind),
    ])
    const until = dueAt === null ? fullHour : (parseProgress(progress).until ?? 0)
    return { last: lastOf(result), until, isDue: dueAt !== null }
  })
  // A database in which nothing was ever changed has no pass, and none is due.
  const counting = all.filter(({ last, isDue }) => last !== null || isDue)
  if (counting.every(({ last }) => last === null)) return null
  const updated = Math.min(...counting.map(({ last, until }) => Math.max(last?.updated ?? 0, until)))
  return updated === 0 ? null : instant(updated)
}
