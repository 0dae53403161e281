import * as z from 'zod'
import { type Instant, instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import { columnList, fieldsOf, Moment, readingOf } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import { onlyUnchanged, overUsers, type UsersAsRead } from '../../platform/guard'
import type { BulkChange, Change } from '../../rules/change.rules'
import type { UserState } from '../../rules/state'
import type { Pause, StreakRun } from '../../rules/streaks/streak-state.rules'
import { followEarliest, scheduleEarliest } from '../../time/due-work.sql.ts'
import { streakPauses, streakRuns } from '../tables.sql.ts'
import { type Instead, portionOf, shortAmong, shortColumns } from './portions.sql.ts'
import { OWN_BOOSTS, userOf } from './users.sql.ts'

const PAUSE = readingOf(streakPauses, ['id', 'start', 'end'])
export const PauseRows = z.array(PAUSE.row)

/** SQL: the internal id of the user ?2, the caller's id. */
export const IID = '(SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'
const OWN_PAUSES = `
  SELECT ${PAUSE.columns('p')} FROM streak_pauses p
  WHERE user_iid = ${IID} AND "end" >= start AND deleted IS NULL`
const ALL_PAUSES = `${OWN_PAUSES} ORDER BY start, id`

// In order of creation. Ids of the same millisecond are in no special order.
const PAUSES_PAGE = `${OWN_PAUSES} ORDER BY rowid LIMIT ?3 OFFSET ?4`

/** A page of the pauses of a user that are not deleted, by the caller's id of the user, oldest first (G7). */
export async function pausesPage(
  db: TenantDatabase,
  userId: string,
  { limit, skip }: { limit: number; skip: number },
): Promise<Pause[]> {
  return PauseRows.parse(await db.rows(db.statement(PAUSES_PAGE, db.tenantId, userId, limit, skip)))
}

const PAUSES_OF_SEVERAL = `
  SELECT p.user_iid AS userIid, ${PAUSE.columns('p')} FROM json_each(?1) asked
  CROSS JOIN streak_pauses p ON p.user_iid = asked.value
  WHERE p."end" >= p.start AND (?2 OR p.deleted IS NULL) ORDER BY p.start, p.id`

/** Pauses that count (`living`) or ever did, by iid, oldest first. A deleted one has the days it counted. */
export async function pausesOfSeveral(
  db: TenantDatabase,
  userIids: readonly string[],
  which: 'living' | 'all' = 'all',
): Promise<ReadonlyMap<string, Pause[]>> {
  const asked = [JSON.stringify(userIids), which === 'all' ? 1 : 0] as const
  const rows = await db.list(PAUSE.row.extend({ userIid: z.string() }), PAUSES_OF_SEVERAL, ...asked)
  return Map.groupBy(rows, ({ userIid }) => userIid)
}

/** The pauses of a user that are not deleted, oldest first. */
export const pausesOf = async (db: TenantDatabase, userIid: string): Promise<Pause[]> =>
  (await pausesOfSeveral(db, [userIid], 'living')).get(userIid) ?? []

const OWN_PAUSE = readingOf(streakPauses, ['id', 'start', 'end', 'userId', 'userIid'])
/** A pause with its user. */
export type OwnPause = z.output<typeof OWN_PAUSE.row>

const PAUSE_LIST = columnList(streakPauses, fieldsOf(streakPauses, ['tenantId', 'deleted']))

const KEEP_PAUSES = `
  INSERT INTO streak_pauses (tenant_id, ${PAUSE_LIST.columns}) SELECT ?1, ${PAUSE_LIST.sql()}
    FROM json_each(?2)`

/** Stores new pauses. */
export function keepPauses(db: TenantDatabase, pauses: readonly OwnPause[]): Statement {
  return db.statement(KEEP_PAUSES, db.tenantId, JSON.stringify(pauses.map(PAUSE_LIST.values)))
}

const FIND_PAUSES = `
  SELECT ${OWN_PAUSE.columns('p')} FROM json_each(?2) asked
  CROSS JOIN streak_pauses p ON p.id = asked.value AND +p.tenant_id = ?1 AND p.deleted IS NULL`

/** The pauses of a tenant with these ids. Unknown ids are left out. */
export async function findPauses(db: TenantDatabase, ids: readonly string[]): Promise<OwnPause[]> {
  return db.list(OWN_PAUSE.row, FIND_PAUSES, db.tenantId, JSON.stringify(ids))
}

const DELETE_PAUSES = `
  WITH asked AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS last FROM json_each(?2))
  UPDATE streak_pauses SET deleted = ?3, "end" = min("end", asked.last) FROM asked
  WHERE streak_pauses.id = asked.id AND streak_pauses.tenant_id = ?1 AND deleted IS NULL`

/** Deletes pauses. Each one still counts up to the day `last`, for the periods that are over by then (S7). */
export function deletePauses(
  db: TenantDatabase,
  pauses: readonly { id: string; last: number }[],
  now: Instant,
): Statement {
  const rows = JSON.stringify(pauses.map(({ id, last }) => [id, last]))
  return db.statement(DELETE_PAUSES, db.tenantId, rows, now)
}

const RUN_LIST = columnList(streakRuns, fieldsOf(streakRuns))

const END = `
  INSERT INTO streak_runs (${RUN_LIST.columns})
  SELECT ${RUN_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(RUN_LIST.value('userIid'))}
  ON CONFLICT DO UPDATE SET ${RUN_LIST.update(['userIid', 'first'])}`

/** Stores the streaks that changes have ended, one row each. A recount does not know the moments (S9). */
export function keepRuns(
  db: TenantDatabase,
  changes: readonly (Pick<Change, 'after' | 'ended'> & Pick<BulkChange, 'replacesRuns'>)[],
  among: UsersAsRead,
): Statement[] {
  const rows = changes.flatMap(({ after, ended, replacesRuns }) => {
    const lost = replacesRuns === true ? null : after.changed
    return ended.map((run) => RUN_LIST.values({ userIid: after.iid, lost, ...run }))
  })
  return overUsers(db, END, rows, among)
}

const FORGET = `
  DELETE FROM streak_runs WHERE user_iid IN (SELECT value ->> 0 FROM json_each(?1)
    WHERE ${onlyUnchanged('value ->> 0')})`

/** Deletes all past streaks of users, because they are counted again (S9). */
export function forgetRuns(db: TenantDatabase, iids: readonly string[], among: UsersAsRead): Statement[] {
  return overUsers(
    db,
    FORGET,
    iids.map((iid) => [iid]),
    among,
  )
}

const RUN = readingOf(streakRuns, ['first', 'last', 'started', 'history', 'length'])
const RunRows = z.array(RUN.row)

/** A past streak with the moment at which it was lost. The moment is null after a recount (S9). */
export const LostRunRow = readingOf(streakRuns, ['first', 'last', 'started', 'history', 'length', 'lost']).row

/** SQL: the columns of a past streak `r`, without the moment at which it was lost. */
export const RUN_COLUMNS = RUN.columns('r')

/** SQL: the columns that `LostRunRow` parses, as a JSON object. */
export const RUN_OBJECT = `json_object(${Object.keys(LostRunRow.shape)
  .map((name) => `'${name}', r.${name}`)
  .join(', ')})`

const RUNS = `
  SELECT ${RUN_COLUMNS} FROM streak_runs r WHERE r.user_iid = ?1 AND r.last >= ?2 ORDER BY r.first`

/** The past streaks of a user with a last period that begins on a day or later, oldest first. */
export async function runsSince(db: TenantDatabase, userIid: string, day: number): Promise<StreakRun[]> {
  return RunRows.parse(await db.rows(db.statement(RUNS, userIid, day)))
}

const PAST_RUNS = `
  SELECT ${RUN_COLUMNS} FROM streak_runs r WHERE r.user_iid = ${IID} AND r.last >= ?3 ORDER BY r.first`

/** A user's past streaks whose last period begins on a day or later, and living pauses, oldest first. */
export type StreakPast = { runs: StreakRun[]; pauses: Pause[] }

/** Reads a user's past streaks and pauses, by the caller's id of the user. Parsed by `parsePast`. */
export function pastStatements(
  db: TenantDatabase,
  userId: string,
  since: number,
): Record<'runs' | 'pauses', Statement> {
  return {
    runs: db.statement(PAST_RUNS, db.tenantId, userId, since),
    pauses: db.statement(ALL_PAUSES, db.tenantId, userId),
  }
}

/** Parses the results of `pastStatements`. */
export function parsePast({ runs, pauses }: Record<'runs' | 'pauses', D1Result>): StreakPast {
  return { runs: RunRows.parse(runs.results), pauses: PauseRows.parse(pauses.results) }
}

const EARLIEST = '(SELECT min(streak_due) FROM users WHERE tenant_id = ?1 AND streak_due IS NOT NULL)'

/** Sets the row of due work to the earliest deadline, or deletes it if there is none. */
export function nextDeadline(db: TenantDatabase): Statement[] {
  return followEarliest(db, 'streaks', EARLIEST)
}

/** Schedules the Timekeeper for the earliest deadline of these changes, if it is the tenant's earliest. */
export function scheduleEarliestDeadline(
  db: TenantDatabase,
  changes: readonly { after: { streak: { due: Instant | null } } }[],
): Statement[] {
  const dues = changes.flatMap(({ after }) => after.streak.due ?? [])
  return dues.length === 0 ? [] : [scheduleEarliest(db, 'streaks', '?3', instant(Math.min(...dues)))]
}

/** Columns that do not decide about a streak. Changes of users without them must be `onlyStreak`. */
const EMPTY = {
  email: 'NULL',
  name: 'NULL',
  subscribeToEmails: '0',
  deviceTokens: 'NULL',
  metrics: "'[]'",
  points: "'{}'",
  counters: "'[]'",
  achievements: "'[]'",
} satisfies Instead

const dueOf = (columns: string) => `
  SELECT ${columns} FROM users u WHERE u.tenant_id = ?1 AND u.streak_due <= ?2
    AND u.streak_due = (SELECT min(streak_due) FROM users WHERE tenant_id = ?1 AND streak_due <= ?2)
  LIMIT ?6`

const DUE = dueOf(`${shortColumns('?5', { instead: EMPTY })}, '[]' AS boosts`)
const DUE_WHOLE = dueOf(`${shortColumns('?5')}, ${OWN_BOOSTS}`)

/**
 * Finds up to `limit` users with the earliest deadline of the tenant, if it is due by a moment. Reads only
 * the data that decides about the streak. If `isWhole`, because webhooks receive the users or points follow,
 * it reads everything. Read by `dueUsers`.
 */
export function dueStatement(
  db: TenantDatabase,
  by: Instant,
  { limit, isWhole }: { limit: number; isWhole: boolean },
): Statement {
  const given = [by, systemNow(), db.testClock ? 1 : 0, shortAmong(limit), limit]
  return db.statement(isWhole ? DUE_WHOLE : DUE, db.tenantId, ...given)
}

/** The first users that `dueStatement` has found, and their deadline. Null if no user was found. */
export async function dueUsers(
  db: TenantDatabase,
  result: D1Result,
  limit: number,
): Promise<{ deadline: Instant; users: UserState[] } | null> {
  const [first] = result.results
  if (first === undefined) return null
  const { streakDue: deadline } = z.object({ streakDue: Moment }).parse(first)
  const { rows } = await portionOf(db, result.results, { short: shortAmong(limit) })
  // A long row is read later, and its deadline may have changed meanwhile.
  return { deadline, users: rows.map(userOf).filter(({ streak }) => streak.due === deadline) }
}

const FEW = { ...EMPTY, attributes: "'{}'", lastSeqByInput: "'{}'" } satisfies Instead
const STREAKS = `
  SELECT ${shortColumns(String(Number.MAX_SAFE_INTEGER), { instead: FEW })}, '[]' AS boosts
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** Users by the caller's ids, with only the data that their streaks depend on. Unknown ids are left out. */
export async function readStreaks(db: TenantDatabase, ids: readonly string[]): Promise<UserState[]> {
  return (await db.rows(db.statement(STREAKS, db.tenantId, JSON.stringify(ids)))).map(userOf)
}

const RUNS_OF_SEVERAL = `
  SELECT r.user_iid AS userIid, ${RUN_COLUMNS} FROM json_each(?1) asked
  CROSS JOIN streak_runs r ON r.user_iid = asked.value ->> 0 AND r.last >= asked.value ->> 1 ORDER BY r.first`

/** The past streaks with a last period that begins on the day `since` or later, by internal id. */
export async function runsOfSeveral(
  db: TenantDatabase,
  asked: readonly { iid: string; since: number }[],
): Promise<ReadonlyMap<string, StreakRun[]>> {
  const pairs = JSON.stringify(asked.map(({ iid, since }) => [iid, since]))
  const rows = await db.list(RUN.row.extend({ userIid: z.string() }), RUNS_OF_SEVERAL, pairs)
  return Map.groupBy(rows, ({ userIid }) => userIid)
}
