import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { amongUnmoved, overUsers, type Unmoved } from '../db/guard'
import { localDayOf } from '../db/local-time'
import { bytesOf, idOf } from '../db/short-ids'
import type { Change } from '../engine/change.rules'
import type { UserState } from '../engine/state.types'
import type { Pause, StreakRun, StreakState } from '../engine/streaks/streak-state.types'
import { followEarliest, makeDueEarlier } from '../jobs/due-work.repository'
import { type Instant, instant } from '../lib/clock'
import { portionOf, shortAmong, shortOnly, userColumns } from './portions.repository'
import { userOf } from './users.repository'

const END = `
  INSERT INTO streak_runs (user_iid, first, last, started, marks, length)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?1)
  WHERE ${amongUnmoved('value ->> 0')}
  ON CONFLICT DO UPDATE SET last = excluded.last, started = excluded.started, marks = excluded.marks,
    length = excluded.length`

/** Keeps the streaks that changes have ended: one row each. */
export function keepRuns(
  db: TenantDatabase,
  changes: readonly Pick<Change, 'after' | 'ended'>[],
  among: Unmoved,
): D1PreparedStatement[] {
  const rows = changes.flatMap(({ after, ended }) =>
    ended.map(({ first, last, started, marks, length }) => [after.iid, first, last, started, marks, length]),
  )
  return overUsers(db, END, rows, among)
}

const FORGET = `
  DELETE FROM streak_runs WHERE user_iid IN (SELECT value ->> 0 FROM json_each(?1) WHERE ${amongUnmoved('value ->> 0')})`

/** Forgets all streaks of users that are over: they are counted anew (S9). */
export function forgetRuns(
  db: TenantDatabase,
  iids: readonly string[],
  among: Unmoved,
): D1PreparedStatement[] {
  return overUsers(
    db,
    FORGET,
    iids.map((iid) => [iid]),
    among,
  )
}

/** A streak that is over, as its row has it. */
export const StreakRunRow = z.object({
  first: z.number(),
  last: z.number(),
  started: z.number(),
  marks: z.string(),
  length: z.number(),
})

const PauseRows = z.array(z.object({ id: z.string(), start: z.number(), end: z.number() }))

const RUNS = `
  SELECT first, last, started, marks, length FROM streak_runs WHERE user_iid = ?1 AND last >= ?2 ORDER BY first`

/** The streaks of a user that are over and reach a day, oldest first. */
export async function runsSince(db: TenantDatabase, userIid: string, day: number): Promise<StreakRun[]> {
  return z.array(StreakRunRow).parse(await db.rows(db.statement(RUNS, userIid, day)))
}

const IID = '(SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'
const PAST_RUNS = `
  SELECT first, last, started, marks, length FROM streak_runs WHERE user_iid = ${IID} AND last >= ?3 ORDER BY first`
const OWN_PAUSES = `
  SELECT id, start, "end" FROM streak_pauses
  WHERE user_iid = ${IID} AND "end" >= start AND deleted IS NULL`
const ALL_PAUSES = `${OWN_PAUSES} ORDER BY start, id`

/** The streaks of a user that are over and reach a day, and the pauses that are not deleted, oldest first each. */
export type StreakPast = { runs: StreakRun[]; pauses: Pause[] }

/** Reads what is past of a user's streak, by the caller's id of the user. Parsed by `parsePast`. */
export function pastStatements(
  db: TenantDatabase,
  userId: string,
  since: number,
): Record<'runs' | 'pauses', D1PreparedStatement> {
  return {
    runs: db.statement(PAST_RUNS, db.tenantId, userId, since),
    pauses: db.statement(ALL_PAUSES, db.tenantId, userId),
  }
}

/** What `pastStatements` have read. */
export function parsePast({ runs, pauses }: Record<'runs' | 'pauses', D1Result>): StreakPast {
  return {
    runs: z.array(StreakRunRow).parse(runs.results),
    pauses: PauseRows.parse(pauses.results),
  }
}

// In order of creation: ids of one millisecond are in no particular order.
const PAUSES_PAGE = `${OWN_PAUSES} ORDER BY rowid LIMIT ?3 OFFSET ?4`

/** A page of the pauses of a user that are not deleted, by the caller's id of the user, oldest first (G7). */
export async function pausesPage(
  db: TenantDatabase,
  userId: string,
  { limit, skip }: { limit: number; skip: number },
): Promise<Pause[]> {
  return PauseRows.parse(await db.rows(db.statement(PAUSES_PAGE, db.tenantId, userId, limit, skip)))
}

/** The earliest deadline of a tenant's streaks, which is when the row of due work is due. */
const EARLIEST = '(SELECT min(streak_due) FROM users WHERE tenant_id = ?1 AND streak_due IS NOT NULL)'

/**
 * Sees to it that a deadline of a streak is known to the Timekeeper. Writes a row only where it is earlier than all others of the
 * tenant; part of the batch that stores the deadline.
 */
export function announce(db: TenantDatabase, due: Instant): D1PreparedStatement {
  return makeDueEarlier(db, 'streaks', due)
}

/** Has the row of due work say when the earliest deadline is; takes it away where there is none. */
export function nextDeadline(db: TenantDatabase): D1PreparedStatement[] {
  return followEarliest(db, 'streaks', EARLIEST)
}

// What is sorted is the whole log, so that only what comes of it is named.
const LOG = `
  SELECT at, seq, ${idOf('metrics', 'e.metric_no')} AS metricId, value, ${localDayOf()} AS day
  FROM (SELECT at, seq, metric_no, value, utc_offset FROM events
    WHERE user_iid = ${bytesOf('?1')} AND seq <= ?2 AND (at, seq) > (?3, ?4) ORDER BY at, seq LIMIT ?5) e
  ORDER BY at, seq`

const LoggedRow = z.object({
  at: z.number().transform(instant),
  seq: z.number(),
  metricId: z.string(),
  value: z.number(),
  day: z.number(),
})
const LoggedRows = z.array(LoggedRow)
type LoggedEvent = z.output<typeof LoggedRow>

const byTime = (a: LoggedEvent, b: LoggedEvent) => a.at - b.at || a.seq - b.seq

/** Events of one page of a user's log. */
const PAGE = 20_000

/** A user's events in order of time, those that the user as read has counted. */
export async function* logOf(
  db: TenantDatabase,
  { iid, seq }: { iid: string; seq: number },
): AsyncGenerator<z.output<typeof LoggedRows>[number]> {
  let after = { at: -1, seq: -1 }
  for (;;) {
    const rows = LoggedRows.parse(await db.rows(db.statement(LOG, iid, seq, after.at, after.seq, PAGE)))
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last
  }
}

/** The events of so many users that one read takes. */
const LOGS_PAGE = 30_000

// CROSS JOIN takes one user after another, so that the read ends with its limit; to sort would take all of it first.
const LOGS = `
  SELECT asked.value ->> 0 AS userIid, e.at, e.seq, ${idOf('metrics', 'e.metric_no')} AS metricId, e.value,
    ${localDayOf('e')} AS day
  FROM json_each(?1) asked CROSS JOIN events e ON e.user_iid = ${bytesOf('asked.value ->> 0')} AND e.seq <= asked.value ->> 1
  LIMIT ?2`

/** The whole logs of the first of these users, by our own ids and in order of time: of those that one read of a bounded length takes. */
export async function logsOf(
  db: TenantDatabase,
  users: readonly { iid: string; seq: number }[],
): Promise<{ complete: ReadonlyMap<string, readonly z.output<typeof LoggedRow>[]> }> {
  const asked = JSON.stringify(users.map(({ iid, seq }) => [iid, seq]))
  const rows = z
    .array(LoggedRow.extend({ userIid: z.string() }))
    .parse(await db.rows(db.statement(LOGS, asked, LOGS_PAGE)))
  const logs = Map.groupBy(rows, ({ userIid }) => userIid)
  const complete = new Map<string, readonly z.output<typeof LoggedRow>[]>()
  // Of the one with whom the read ended there may be more.
  const last = rows.length < LOGS_PAGE ? undefined : rows.at(-1)?.userIid
  for (const { iid } of users) {
    if (iid === last) break
    const log = logs.get(iid) ?? []
    complete.set(iid, log.toSorted(byTime))
  }
  return { complete }
}

const STALE_IID = `(SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2 AND streak ->> 'frequency' IS NOT NULL
  AND (streak ->> 'frequency' <> ?3 OR coalesce(streak ->> 'epoch', 0) <> ?4))`
const STALE_LOG = `
  SELECT at, seq, ${idOf('metrics', 'e.metric_no')} AS metricId, value, ${localDayOf()} AS day
  FROM events e WHERE user_iid = ${bytesOf(STALE_IID)} LIMIT ?5`
const STALE_PAUSES = `
  SELECT id, start, "end" FROM streak_pauses WHERE user_iid = ${STALE_IID} AND "end" >= start ORDER BY start, id`

/** What a streak is counted from: the log in order of time, null if one read can't take all of it, and all pauses that ever counted. */
export type StreakSources = { log: readonly LoggedEvent[] | null; pauses: readonly Pause[] }

/**
 * Reads what a user's streak is counted from, by the caller's id of the user; nothing unless the stored streak is of another frequency or epoch
 * than these (S9). Parsed by `parseSources`.
 */
export function sourcesIfStale(
  db: TenantDatabase,
  userId: string,
  { frequency, epoch }: Pick<StreakState, 'frequency' | 'epoch'>,
): D1PreparedStatement[] {
  return [
    db.statement(STALE_LOG, db.tenantId, userId, frequency, epoch, LOGS_PAGE),
    db.statement(STALE_PAUSES, db.tenantId, userId, frequency, epoch),
  ]
}

/** What `sourcesIfStale` has read. */
export function parseSources([log, pauses]: readonly (D1Result | undefined)[]): StreakSources {
  const rows = LoggedRows.parse(log?.results ?? [])
  return {
    log: rows.length < LOGS_PAGE ? rows.toSorted(byTime) : null,
    pauses: PauseRows.parse(pauses?.results ?? []),
  }
}

const PAUSES_OF_SEVERAL = `
  SELECT p.user_iid AS userIid, p.id, p.start, p."end" FROM json_each(?1) asked
  CROSS JOIN streak_pauses p ON p.user_iid = asked.value WHERE p."end" >= p.start ORDER BY p.start, p.id`

/** All pauses of users that ever counted, by our own ids, oldest first: deleted ones for as long as they did. */
export async function pausesOfSeveral(
  db: TenantDatabase,
  userIids: readonly string[],
): Promise<ReadonlyMap<string, Pause[]>> {
  const rows = z
    .array(z.object({ userIid: z.string(), id: z.string(), start: z.number(), end: z.number() }))
    .parse(await db.rows(db.statement(PAUSES_OF_SEVERAL, JSON.stringify(userIids))))
  return Map.groupBy(rows, ({ userIid }) => userIid)
}

const PAUSES = `
  SELECT id, start, "end" FROM streak_pauses WHERE user_iid = ?1 AND "end" >= start AND deleted IS NULL ORDER BY start, id`

/** The pauses of a user that are not deleted, oldest first. */
export async function pausesOf(db: TenantDatabase, userIid: string): Promise<Pause[]> {
  return PauseRows.parse(await db.rows(db.statement(PAUSES, userIid)))
}

/** Sees to it that the earliest deadline of these changes is known to the Timekeeper. */
export function announceFirst(
  db: TenantDatabase,
  changes: readonly { after: { streak: { due: Instant | null } } }[],
): D1PreparedStatement[] {
  const dues = changes.flatMap(({ after }) => after.streak.due ?? [])
  return dues.length === 0 ? [] : [announce(db, instant(Math.min(...dues)))]
}

/** What of a user decides on the streak and whom it concerns; the rest is left empty, as `onlyStreak` has it. */
const STREAK_COLUMNS = `u.id, u.iid, u.seq, u.changed, NULL AS email, NULL AS name, u.tz, 0 AS subscribe_to_emails,
    NULL AS device_tokens, u.control, u.created, u.updated, '[]' AS metrics, '{}' AS points, '[]' AS counters,
    u.streak_due, '[]' AS achievements, u.active_day,
    ${shortOnly(['attributes', 'touched', 'streak', 'preferences'], '?4')}`

const dueOf = (columns: string) => `
  SELECT ${columns}, '[]' AS boosts FROM users u WHERE u.tenant_id = ?1 AND u.streak_due <= ?2
    AND u.streak_due = (SELECT min(streak_due) FROM users WHERE tenant_id = ?1 AND streak_due IS NOT NULL) LIMIT ?3`

const DUE = dueOf(STREAK_COLUMNS)
const DUE_WHOLE = dueOf(userColumns('?4'))

/**
 * Finds so many users of those whose deadline is the earliest of the tenant, if it is due by a moment: what decides on the streak, or all but
 * the boosts, if somebody is to be told who they are. Read by `dueUsers`.
 */
export function dueStatement(
  db: TenantDatabase,
  by: Instant,
  { limit, isWhole }: { limit: number; isWhole: boolean },
): D1PreparedStatement {
  return db.statement(isWhole ? DUE_WHOLE : DUE, db.tenantId, by, limit, shortAmong(limit))
}

const Deadline = z.object({ streak_due: z.number().transform(instant) })

/** The users that `dueStatement` has found, as many as there is room for, and their deadline; null if nobody was found. */
export async function dueUsers(
  db: TenantDatabase,
  result: D1Result,
  limit: number,
): Promise<{ at: Instant; users: UserState[] } | null> {
  const [first] = result.results
  if (first === undefined) return null
  const at = Deadline.parse(first).streak_due
  const { rows } = await portionOf(db, result.results, { short: shortAmong(limit) })
  // Of somebody with a long row the deadline may have moved since it was found.
  return { at, users: rows.map(userOf).filter(({ streak }) => streak.due === at) }
}

const STREAKS = `
  SELECT u.id, u.iid, u.seq, u.changed, NULL AS email, NULL AS name, u.tz, 0 AS subscribe_to_emails, NULL AS device_tokens,
    u.control, u.created, u.updated, '[]' AS metrics, '{}' AS points, '[]' AS counters, u.streak_due, '[]' AS achievements,
    u.active_day, '{}' AS attributes, '{}' AS touched, u.streak, u.preferences, '[]' AS boosts
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** Users by the caller's ids with what their streaks depend on, and nothing else; those who don't exist are not among them. */
export async function readStreaks(db: TenantDatabase, ids: readonly string[]): Promise<UserState[]> {
  return (await db.rows(db.statement(STREAKS, db.tenantId, JSON.stringify(ids)))).map(userOf)
}

const RUNS_OF_SEVERAL = `
  SELECT r.user_iid AS userIid, r.first, r.last, r.started, r.marks, r.length FROM json_each(?1) asked
  CROSS JOIN streak_runs r ON r.user_iid = asked.value ->> 0 AND r.last >= asked.value ->> 1 ORDER BY r.first`

/** The streaks that are over and reach a day, by user; the day is each user's own. */
export async function runsOfSeveral(
  db: TenantDatabase,
  asked: readonly { iid: string; since: number }[],
): Promise<ReadonlyMap<string, StreakRun[]>> {
  const pairs = JSON.stringify(asked.map(({ iid, since }) => [iid, since]))
  const rows = z
    .array(StreakRunRow.extend({ userIid: z.string() }))
    .parse(await db.rows(db.statement(RUNS_OF_SEVERAL, pairs)))
  return Map.groupBy(rows, ({ userIid }) => userIid)
}

const PAUSE = `
  INSERT INTO streak_pauses (id, tenant_id, user_id, user_iid, start, "end")
  SELECT value ->> 0, ?1, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2)`

/** A pause and whose it is. */
export type OwnPause = Pause & { userId: string; userIid: string }

/** Keeps new pauses. */
export function keepPauses(db: TenantDatabase, pauses: readonly OwnPause[]): D1PreparedStatement {
  const rows = pauses.map(({ id, userId, userIid, start, end }) => [id, userId, userIid, start, end])
  return db.statement(PAUSE, db.tenantId, JSON.stringify(rows))
}

const FIND_PAUSES = `
  SELECT p.id, p.user_id AS userId, p.user_iid AS userIid, p.start, p."end" FROM json_each(?2) asked
  CROSS JOIN streak_pauses p ON p.id = asked.value AND +p.tenant_id = ?1 AND p.deleted IS NULL`

/** Pauses of a tenant by their ids; those that don't exist are not among them. */
export async function findPauses(db: TenantDatabase, ids: readonly string[]): Promise<OwnPause[]> {
  const Rows = z.array(
    z.object({
      id: z.string(),
      userId: z.string(),
      userIid: z.string(),
      start: z.number(),
      end: z.number(),
    }),
  )
  return Rows.parse(await db.rows(db.statement(FIND_PAUSES, db.tenantId, JSON.stringify(ids))))
}

const DELETE_PAUSES = `
  WITH asked AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS last FROM json_each(?2))
  UPDATE streak_pauses SET deleted = ?3, "end" = min("end", asked.last) FROM asked
  WHERE streak_pauses.id = asked.id AND streak_pauses.tenant_id = ?1 AND deleted IS NULL`

/** Deletes pauses; each goes on to count up to a day, for what is over by then (S7). */
export function deletePauses(
  db: TenantDatabase,
  pauses: readonly { id: string; last: number }[],
  now: Instant,
): D1PreparedStatement {
  const rows = JSON.stringify(pauses.map(({ id, last }) => [id, last]))
  return db.statement(DELETE_PAUSES, db.tenantId, rows, now)
}
