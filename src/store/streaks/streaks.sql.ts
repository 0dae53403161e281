import * as z from 'zod'
import { type Instant, instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import { type ColumnNames, type ColumnValues, columnList } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import { onlyUnchanged, overUsers, type UnchangedUsers } from '../../platform/guard'
import type { BulkChange, Change } from '../../rules/change.rules'
import type { UserState } from '../../rules/state'
import type { Pause, StreakRun } from '../../rules/streaks/streak-state.rules'
import { followEarliest, scheduleEarliest } from '../../time/due-work.sql.ts'
import { streakRuns } from '../tables.sql.ts'
import { type Instead, portionOf, shortAmong, userColumns } from '../users/portions.sql.ts'
import { OWN_BOOSTS, userOf } from '../users/users.sql.ts'
import { ALL_PAUSES, IID, PauseRows } from './pauses.sql.ts'

const RUN_VALUES: ColumnValues<typeof streakRuns, StreakRun & { userIid: string; lost: Instant | null }> = {
  userIid: ({ userIid }) => userIid,
  first: ({ first }) => first,
  last: ({ last }) => last,
  started: ({ started }) => started,
  history: ({ history }) => history,
  length: ({ length }) => length,
  lost: ({ lost }) => lost,
}
const RUN_LIST = columnList(streakRuns, RUN_VALUES)

const END = `
  INSERT INTO streak_runs (${RUN_LIST.columns})
  SELECT ${RUN_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(RUN_LIST.value('userIid'))}
  ON CONFLICT DO UPDATE SET ${RUN_LIST.update(['userIid', 'first'])}`

/**
 * Stores the streaks that changes have ended, one row each, with the moment. A recount does not know the
 * moments (S9).
 */
export function keepRuns(
  db: TenantDatabase,
  changes: readonly (Pick<Change, 'after' | 'ended'> & Pick<BulkChange, 'replacesRuns'>)[],
  among: UnchangedUsers,
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
export function forgetRuns(db: TenantDatabase, iids: readonly string[], among: UnchangedUsers): Statement[] {
  return overUsers(
    db,
    FORGET,
    iids.map((iid) => [iid]),
    among,
  )
}

/** A past streak, as in its row. Only histories need when it was `lost` (X2). */
export const StreakRunRow = z.object({
  first: z.number(),
  last: z.number(),
  started: z.number(),
  history: z.string(),
  length: z.number(),
} satisfies Record<Exclude<ColumnNames<typeof streakRuns>, 'user_iid' | 'lost'>, z.ZodType>)

const RUN_NAMES = Object.keys(StreakRunRow.shape)

/** SQL: the columns of a past streak `r` that `StreakRunRow` parses. */
export const RUN_COLUMNS = RUN_NAMES.map((name) => `r.${name}`).join(', ')

/** SQL: the same as a JSON object. */
export const RUN_OBJECT = `json_object(${RUN_NAMES.map((name) => `'${name}', r.${name}`).join(', ')})`

const RUNS = `
  SELECT ${RUN_COLUMNS} FROM streak_runs r WHERE r.user_iid = ?1 AND r.last >= ?2 ORDER BY r.first`

/** The past streaks of a user with a last period that begins on a day or later, oldest first. */
export async function runsSince(db: TenantDatabase, userIid: string, day: number): Promise<StreakRun[]> {
  return z.array(StreakRunRow).parse(await db.rows(db.statement(RUNS, userIid, day)))
}

const PAST_RUNS = `
  SELECT ${RUN_COLUMNS} FROM streak_runs r WHERE r.user_iid = ${IID} AND r.last >= ?3 ORDER BY r.first`

/**
 * The past streaks of a user with a last period that begins on a day or later, and the pauses that are not
 * deleted, both oldest first.
 */
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
  return {
    runs: z.array(StreakRunRow).parse(runs.results),
    pauses: PauseRows.parse(pauses.results),
  }
}

const EARLIEST = '(SELECT min(streak_due) FROM users WHERE tenant_id = ?1 AND streak_due IS NOT NULL)'

/**
 * Schedules the Timekeeper for a streak's deadline. Writes a row only if it is earlier than all others of the
 * tenant. Part of the batch that stores the deadline.
 */
export function scheduleStreakDeadline(db: TenantDatabase, due: Instant): Statement {
  return scheduleEarliest(db, 'streaks', '?3', due)
}

/** Sets the row of due work to the earliest deadline, or deletes it if there is none. */
export function nextDeadline(db: TenantDatabase): Statement[] {
  return followEarliest(db, 'streaks', EARLIEST)
}

/** Schedules the Timekeeper for the earliest deadline of these changes, if they have one. */
export function scheduleEarliestDeadline(
  db: TenantDatabase,
  changes: readonly { after: { streak: { due: Instant | null } } }[],
): Statement[] {
  const dues = changes.flatMap(({ after }) => after.streak.due ?? [])
  return dues.length === 0 ? [] : [scheduleStreakDeadline(db, instant(Math.min(...dues)))]
}

/**
 * Columns that do not decide about a streak, and the empty values that users get instead. Changes of such
 * users must be `onlyStreak`.
 */
const EMPTY = {
  email: 'NULL',
  name: 'NULL',
  subscribe_to_emails: '0',
  device_tokens: 'NULL',
  metrics: "'[]'",
  points: "'{}'",
  counters: "'[]'",
  achievements: "'[]'",
} satisfies Instead

const dueOf = (columns: string) => `
  SELECT ${columns} FROM users u WHERE u.tenant_id = ?1 AND u.streak_due <= ?2
    AND u.streak_due = (SELECT min(streak_due) FROM users WHERE tenant_id = ?1 AND streak_due <= ?2)
  LIMIT ?6`

const DUE = dueOf(`${userColumns('?5', EMPTY)}, '[]' AS boosts`)
const DUE_WHOLE = dueOf(`${userColumns('?5')}, ${OWN_BOOSTS}`)

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

const Deadline = z.object({ streak_due: z.number().transform(instant) })

/**
 * The users that `dueStatement` has found, as many as there is room for, and their deadline. Null if no user
 * was found.
 */
export async function dueUsers(
  db: TenantDatabase,
  result: D1Result,
  limit: number,
): Promise<{ deadline: Instant; users: UserState[] } | null> {
  const [first] = result.results
  if (first === undefined) return null
  const deadline = Deadline.parse(first).streak_due
  const { rows } = await portionOf(db, result.results, { short: shortAmong(limit) })
  // A long row is read later, and its deadline may have changed meanwhile.
  return { deadline, users: rows.map(userOf).filter(({ streak }) => streak.due === deadline) }
}

const STREAKS = `
  SELECT ${userColumns(null, { ...EMPTY, attributes: "'{}'", last_seq_by_input: "'{}'" })}, '[]' AS boosts
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
  const rows = z
    .array(StreakRunRow.extend({ userIid: z.string() }))
    .parse(await db.rows(db.statement(RUNS_OF_SEVERAL, pairs)))
  return Map.groupBy(rows, ({ userIid }) => userIid)
}
