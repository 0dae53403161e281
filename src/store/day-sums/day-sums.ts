import { type Instant, instant } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import type { TenantContext } from '../../platform/context'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { logProblem } from '../../platform/log'
import { type Pause, sharedScans, sizeOfPart } from '../../platform/scans'
import {
  type DayChange,
  firstMoment,
  firstMomentAfter,
  type KeptDays,
  lastClosedDay,
  type SummaryRange,
  sumOf,
} from './day-sums.rules'
import {
  forgetDaySums,
  keepDays,
  type LogPlace,
  type LogState,
  placeBefore,
  readLogState,
  readPage,
  restartDaySums,
  type Subject,
  type UserKey,
} from './day-sums.sql.ts'

const daySumsOf = sharedScans<DaySums>()

/** A user's changes by local day, and the total after them. */
type DaySums = { days: readonly DayChange[]; total: number }

/**
 * The number of rows of a log that any request reads at once, and, if there are more, the number of rows in
 * the first parts of a scan.
 */
export type Limits = { atOnce: number; part: number }
const LIMITS: Limits = { atOnce: 1_000, part: 5_000 }

type Scope = TenantContext & { now: Instant }

/**
 * A user's changes by stored local day, from the first day of a range on, and the total as of the same moment
 * (P12). If there are more than 1,000 rows, the whole log is read in parts, and the sums of closed days are
 * kept. The next call then reads only later rows. Throws 404 if the user is erased, and 429 like any scan
 * (P11).
 */
export async function readDaySums(
  scope: Scope,
  user: UserKey,
  subject: Subject,
  range: SummaryRange,
  limits = LIMITS,
): Promise<DaySums> {
  const { db, instance } = scope
  const from = firstMoment(range)
  const { kept, total, page } = await logStateOf(scope, user, subject, from, limits.atOnce)
  if (page.count < limits.atOnce) {
    if (kept === null || firstMomentAfter(kept.through) <= from) return { days: page.days, total }
    const days = [...kept.days, ...page.days.filter(({ day }) => day > kept.through)]
    if (sumOf(days) === total) return { days, total }
  }
  return daySumsOf(instance).run(
    {
      tenantId: db.tenantId,
      name: JSON.stringify([user.iid, subject.log, subject.id]),
      read: (pause) => sumUp(scope, user, subject, limits, pause),
      mayBeOlder: () => false,
    },
    scope.waitUntil,
  )
}

async function logStateOf(scope: Scope, user: UserKey, subject: Subject, from: Instant, limit: number) {
  const logState = await readLogState(scope.db, user, subject, from, limit)
  if (logState === null) throw errors.notFound('This user')
  return logState
}

/** Sums up a whole log, except the kept days, and keeps the sums of the days that are closed by now. */
async function sumUp(
  scope: Scope,
  user: UserKey,
  subject: Subject,
  limits: Limits,
  pause: Pause,
): Promise<DaySums> {
  const { db, now } = scope
  await pause()
  const logState = await logStateOf(scope, user, subject, instant(0), 1)
  const read = (kept: KeptDays | null) => sumsFrom(scope, user, subject, logState, kept, limits, pause)
  const known = await read(logState.kept)
  // If something was logged for a day that counted as closed, the sums don't add up to the total. Then the
  // whole log is read.
  const isRight = logState.kept === null || sumOf(known) === logState.total
  if (!isRight)
    logProblem('warn', {
      tenant: db.tenantId,
      error: 'sums of days did not equal the total, and were made again',
    })
  const days = isRight ? known : await read(null)
  const through = lastClosedDay(now, logState.late)
  const last = isRight && logState.kept !== null ? logState.kept.through : Number.NEGATIVE_INFINITY
  const hasMore = !isRight || days.some(({ day }) => day > last && day <= through)
  if (hasMore && sumOf(days) === logState.total) {
    await pause()
    const closed = { through, days: days.filter(({ day }) => day <= through) }
    const kept = { ...user, seq: logState.seq }
    await keepDays(db, kept, subject, closed, { closedAt: now, systemNow: systemNow() })
  }
  return { days, total: logState.total }
}

/** The changes of all days, ascending: the kept sums for kept days, the log for the other days. */
async function sumsFrom(
  { db }: Scope,
  { iid }: UserKey,
  subject: Subject,
  { seq }: LogState,
  kept: KeptDays | null,
  { part }: Limits,
  pause: Pause,
): Promise<DayChange[]> {
  const through = kept?.through ?? Number.NEGATIVE_INFINITY
  const sums = new Map(kept?.days.map(({ day, change }) => [day, change]))
  let after: LogPlace | null = placeBefore(kept === null ? 0 : firstMomentAfter(through))
  for (let nth = 0; after !== null; nth += 1) {
    const limit = sizeOfPart(nth, part)
    await pause()
    const page = await readPage(db, { iid, seq }, subject, after, limit)
    for (const { day, change } of page.days) if (day > through) sums.set(day, (sums.get(day) ?? 0) + change)
    after = page.count < limit ? null : page.last
  }
  return [...sums].map(([day, change]) => ({ day, change })).sort((a, b) => a.day - b.day)
}

/**
 * A statement that empties the kept sums of a user's log, in the batch of a change that alters past days
 * (V2).
 */
export const restartSums = (
  db: TenantDatabase,
  user: { iid: string; seq: number },
  subject: Subject,
): Statement => restartDaySums(db, user, subject)

/** A statement that deletes all kept sums, for when the clock goes back (C1). */
export const forgetSums = (db: AccountDatabase): Statement => forgetDaySums(db)
