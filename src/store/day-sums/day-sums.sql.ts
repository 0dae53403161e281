import { blob, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { DAY, type Instant, instant, MINUTE } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import { bytesOf, json, LOGS, localDayOf, Moment, numberOf } from '../../platform/columns'
import type { TenantContext } from '../../platform/context'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { logProblem } from '../../platform/log'
import { type Pause, sharedScans, sizeOfPart } from '../../platform/scans'
import { type DueKind, firstDueOf } from '../../time/due-work.sql.ts'
import {
  type DayChange,
  firstMoment,
  firstMomentAfter,
  type KeptDays,
  lastClosedDay,
  type SummaryRange,
  sumOf,
} from './day-sums.rules'

/**
 * Sums of a user's log by local day, for days that can't change any more. With them, an event summary reads a
 * long log only once (P12). They can be made again from the log at any time. platform/columns.ts explains the ids.
 * WITHOUT ROWID.
 */
export const daySums = sqliteTable(
  'day_sums',
  {
    userIid: blob('user_iid').notNull(),
    /** Whether the sums are of events of a metric, or of awards of a points system. */
    log: text('log', { enum: ['events', 'awards'] }).notNull(),
    /** The number of the metric or points system. */
    no: integer('no').notNull(),
    /** The last day that is summed up, in days since 1970-01-01. */
    through: integer('through').notNull(),
    /** JSON: `[[day, change]]`, ascending, of days with rows. In millionths of a metric, or in points. */
    days: text('days').notNull(),
    /**
     * The user's `seq` as of which the sums are right. A correction raises it and empties the sums, so that
     * sums that were read before it are not kept (V2).
     */
    seq: integer('seq').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.log, table.no] })],
)

/** The rows that are summed up: a user's events of a metric, or awards of a points system. */
export type Subject = { log: keyof typeof LOGS; id: string }

/** A user as read. Both ids are needed, so that no user who was erased meanwhile is found. */
type UserKey = { id: string; iid: string }

/** SQL for each log: its order, a row's place as a text, and the user's total for the subject's id ?4. */
const READ = {
  events: {
    ...LOGS.events,
    key: 'at, seq',
    place: "'%016d %012d', at, seq",
    total: '(SELECT m.value ->> 1 FROM json_each(u.metrics) m WHERE m.value ->> 0 = ?4)',
  },
  awards: {
    ...LOGS.awards,
    key: 'at, seq, position',
    place: "'%016d %012d %06d', at, seq, position",
    total: `u.points ->> ('$."' || ?4 || '"')`,
  },
} as const

const eachLog = <T>(make: (log: (typeof READ)[keyof typeof READ]) => T) => ({
  events: make(READ.events),
  awards: make(READ.awards),
})

/**
 * Work that logs rows with a past time, none from before it is due, as JSON: ticks (P4), batches under a test clock
 * (E9), anniversaries (A7), and streaks at their deadlines and after new settings (S3, S9).
 */
const LATE_KINDS = ['ticks', 'inbox', 'anniversaries', 'streaks', 'recount'] as const satisfies DueKind[]
export const LATE = JSON.stringify(LATE_KINDS)

const LOG_STATE = eachLog(
  ({ log, table, total }) => `
  SELECT u.seq, coalesce(${total}, 0) AS total, d.through, d.days,
    ${firstDueOf('?5')} AS late
  FROM users u LEFT JOIN day_sums d
    ON d.user_iid = ${bytesOf('u.iid')} AND d.log = '${log}' AND d.no = ${numberOf(table, '?4')}
  WHERE u.tenant_id = ?1 AND u.id = ?2 AND u.iid = ?3`,
)

/**
 * The next ?7 rows after a place of the log, by local day, up to the user's change ?6. Each day has the place
 * of its last row, as a text that sorts as places do. `total` adds floats: `sum` would fail if the changes of
 * a day go beyond 64 bits before others take them back (E1).
 */
const page = (from: string) =>
  eachLog(
    ({ log, no, table, key, place, amount }) => `
  SELECT day, total(change) AS change, count(*) AS count, max(place) AS last FROM (
    SELECT ${localDayOf()} AS day, ${amount} AS change, printf(${place}) AS place FROM ${log}
    WHERE user_iid = ${bytesOf('?1')} AND ${no} = ${numberOf(table, '?2')}
      AND (${key}) > (${from}, ?4${log === 'awards' ? ', ?5' : ''}) AND seq <= ?6
    ORDER BY ${key} LIMIT ?7)
  GROUP BY day`,
  )

const PAGE = page('?3')

// From the moment ?3 on, or after the kept days if that is later. ?8 is the first moment after the day -1.
const FIRST_PAGE = eachLog(
  ({ log, table }) =>
    page(`max(?3, coalesce((SELECT (d.through + 1) * ${DAY} + ?8 FROM day_sums d
        WHERE d.user_iid = ${bytesOf('?1')} AND d.log = '${log}' AND d.no = ${numberOf(table, '?2')}), ?3))`)[
      log
    ],
)

const LogStateRow = z
  .object({
    seq: z.number(),
    total: z.number(),
    late: Moment.nullable(),
    through: z.number().nullable(),
    days: json(z.array(z.tuple([z.number(), z.number()]))).nullable(),
  })
  .transform(({ through, days, ...rest }) => ({
    ...rest,
    kept:
      through === null || days === null
        ? null
        : { through, days: days.map(([day, change]) => ({ day, change })) },
  }))

/**
 * The state of a user's log: the total after the change `seq`, the kept days, and `late`. `late` is the
 * earliest time of rows that are still to come although their time may be past. It is null if there are none.
 */
type LogState = { seq: number; total: number; late: Instant | null; kept: KeptDays | null }

/** The end of a page of the log: `at`, `seq` and the position among the awards of a change. */
type LogPlace = readonly [at: number, seq: number, position: number]

const PageRows = z.array(
  z.object({ day: z.number(), change: z.number(), count: z.number(), last: z.string() }),
)

/** A part of a log: its changes by local day, how many rows it has, and its last place, if there are any. */
type LogPage = { days: DayChange[]; count: number; last: LogPlace | null }

function parsePage(results: unknown): LogPage {
  const rows = PageRows.parse(results)
  const last = rows
    .map((row) => row.last)
    .sort()
    .at(-1)
  const [at = 0, seq = 0, position = 0] = last?.split(' ').map(Number) ?? []
  return {
    days: rows.map(({ day, change }) => ({ day, change })),
    count: rows.reduce((sum, { count }) => sum + count, 0),
    last: last === undefined ? null : [at, seq, position],
  }
}

/** The place before all rows at a moment or later. */
const placeBefore = (moment: number): LogPlace => [moment, -1, -1]

/** A user's log state and its first rows from a moment on, without kept days. Null if the user is erased. */
async function readLogState(
  db: TenantDatabase,
  user: UserKey,
  { log, id }: Subject,
  from: Instant,
  limit: number,
): Promise<(LogState & { page: LogPage }) | null> {
  const all = Number.MAX_SAFE_INTEGER
  const { logState, rows } = await db.batchOf({
    logState: db.statement(LOG_STATE[log], db.tenantId, user.id, user.iid, id, LATE),
    rows: db.statement(FIRST_PAGE[log], user.iid, id, ...placeBefore(from), all, limit, firstMomentAfter(-1)),
  })
  const [row] = logState.results
  return row === undefined ? null : { ...LogStateRow.parse(row), page: parsePage(rows.results) }
}

/** The next rows of a user's log after a place, up to a change of the user. */
async function readPage(
  db: TenantDatabase,
  { iid, seq }: { iid: string; seq: number },
  { log, id }: Subject,
  after: LogPlace,
  limit: number,
): Promise<LogPage> {
  return parsePage(await db.rows(db.statement(PAGE[log], iid, id, ...after, seq, limit)))
}

// Stores nothing of an erased user or tenant, nothing from a clock that has gone back since (C1), and nothing
// that was read before a correction (V2).
const KEEP = eachLog(
  ({ log, table }) => `
  INSERT INTO day_sums (user_iid, log, no, through, days, seq)
  SELECT ${bytesOf('?1')}, '${log}', ${numberOf(table, '?2')}, ?3, ?4, ?10
  WHERE EXISTS (SELECT 1 FROM users WHERE tenant_id = ?5 AND id = ?6 AND iid = ?1)
    AND EXISTS (SELECT 1 FROM tenants WHERE id = ?5 AND status = 'active')
    AND coalesce((SELECT now FROM test_clock WHERE ?7), ?8) >= ?9
  ON CONFLICT DO UPDATE SET through = excluded.through, days = excluded.days, seq = excluded.seq
    WHERE excluded.seq >= day_sums.seq`,
)

/** No row of a log is of this local day or an earlier one, in days since 1970-01-01. */
const BEFORE_ALL_DAYS = -2

/** By how much the clocks of two isolates may differ, in milliseconds. */
const SKEW = MINUTE

/** Keeps the sums of days that were closed at the moment `closedAt`, as of `seq`. Writes one row. */
async function keepDays(
  db: TenantDatabase,
  { id, iid, seq }: UserKey & { seq: number },
  subject: Subject,
  { through, days }: KeptDays,
  { closedAt, systemNow }: { closedAt: Instant; systemNow: Instant },
): Promise<void> {
  const list = JSON.stringify(days.map(({ day, change }) => [day, change]))
  const guards = [db.tenantId, id, db.testClock ? 1 : 0, systemNow + SKEW, closedAt, seq]
  await db.batch([db.statement(KEEP[subject.log], iid, subject.id, through, list, ...guards)])
}

const RESTART = eachLog(
  ({ log, table }) => `
  INSERT INTO day_sums (user_iid, log, no, through, days, seq)
  VALUES (${bytesOf('?1')}, '${log}', ${numberOf(table, '?2')}, ${BEFORE_ALL_DAYS}, '[]', ?3)
  ON CONFLICT DO UPDATE SET through = excluded.through, days = excluded.days, seq = excluded.seq`,
)

/**
 * Empties the sums of a user's log, because the change `seq` alters days that may be closed (V2). Sums that
 * were read before that change are not kept any more. Writes one row. Needs a guard of the user.
 */
export function restartSums(
  db: TenantDatabase,
  { iid, seq }: { iid: string; seq: number },
  { log, id }: Subject,
): Statement {
  return db.statement(RESTART[log], iid, id, seq)
}

/** Deletes all sums, for when the clock goes back: closed days are open again then (C1). */
export function forgetSums(db: AccountDatabase): Statement {
  return db.statement('DELETE FROM day_sums')
}

const daySumsOf = sharedScans<DaySums>()

type DaySums = { days: readonly DayChange[]; total: number }

/** The rows of a log that any request reads at once, and those in the first parts of a scan. */
type Limits = { atOnce: number; part: number }
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
