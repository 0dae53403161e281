import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Instant } from '../lib/clock'
import { jsonRow, packed } from '../lib/packed'
import type { JsonValue } from './columns'
import { CONFLICT_WORD, DatabaseError, type Statement, type TenantDatabase } from './database'

/** Whether the column's value is one of these. They are one parameter, because D1 accepts at most 100. */
export function among(column: SQLiteColumn, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
}

/** Whether the row is the tenant's. The plus keeps SQLite from reading all of the tenant by its index. */
export function ofTenant(column: SQLiteColumn, tenantId: string): SQL {
  return sql`+${column} = ${tenantId}`
}

/**
 * The only SQL that raises a conflict: all guards are made from it. Outside triggers, SQLite raises an error
 * with a custom text only if a function fails and quotes its argument, as `json_extract` quotes an invalid
 * path.
 */
export const CONFLICT = `json_extract('{}', '${CONFLICT_WORD}')`

/**
 * The SQL of a guard: a statement that only reads, and raises a conflict if the condition is not true. A
 * conflict undoes the whole batch. A write batch begins with its guards. The batch of one user's commands is
 * the only exception: its guard is in the statement that stores the user.
 */
export const guardSql = (condition: string): string =>
  `SELECT CASE WHEN ${condition} THEN 1 ELSE ${CONFLICT} END`

const CONFIGURATION_UNCHANGED = guardSql(
  "(SELECT config_version FROM tenants WHERE id = ?1 AND status = 'active') = ?2",
)

/** A guard: holds while the tenant is active and its configuration has this version. */
export function configurationUnchanged(db: TenantDatabase, version: number): Statement {
  return db.statement(CONFIGURATION_UNCHANGED, db.tenantId, version)
}

const USERS_UNCHANGED = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?2) asked WHERE coalesce((
    SELECT iid || ':' || seq FROM users u WHERE u.tenant_id = ?1
      AND u.id = asked.value ->> 0), '') <> asked.value ->> 1)`)

/** A guard: holds while users have this `iid` and `seq`, or are absent if `was` is null. */
export function usersUnchanged(
  db: TenantDatabase,
  users: readonly { id: string; was: { iid: string; seq: number } | null }[],
): Statement {
  const asked = users.map(({ id, was }) => [id, was === null ? '' : `${was.iid}:${was.seq}`])
  return db.statement(USERS_UNCHANGED, db.tenantId, JSON.stringify(asked))
}

/** The JSON of `usersAsRead`, as they were read. Null if a guard raises a conflict for all. */
export type UsersAsRead = string | null

/**
 * For the batch of a group of users that don't depend on each other. In such a batch, no guard raises a
 * conflict. Instead, each statement has this condition on its rows, so it skips users who have changed. The
 * statement that stores the users, and so raises their `seq`, comes last. `iid` is the SQL of the user's
 * internal id; a new user has the future one. The tenant is ?2, and ?3 is the result of `usersAsRead`.
 */
export const onlyUnchanged = (iid: JsonValue): string => `(?3 IS NULL OR ${iid} IN (
    SELECT g.value ->> 0 FROM json_each(?3, '$.users') g
    WHERE (SELECT config_version FROM tenants WHERE id = ?2 AND status = 'active') = ?3 ->> 'version'
      AND coalesce((SELECT now FROM test_clock WHERE ?3 ->> 'testClock'), 0) = ?3 ->> 'clock'
      AND coalesce((SELECT iid || ':' || seq FROM users WHERE tenant_id = ?2
        AND id = g.value ->> 1), '') = g.value ->> 2))`

/**
 * The users as they were read, for `onlyUnchanged`. A user is unchanged if the tenant is active, its
 * configuration has this version, the test clock shows the same time (`clock`: null if it is not set, `any`
 * if it does not matter), and the user has the same `iid` and `seq`, or is absent if `was` is null. `iid` is
 * the id that the rows have for the user.
 */
export function usersAsRead(
  db: TenantDatabase,
  { version, clock }: { version: number; clock: Instant | null | 'any' },
  users: readonly { iid: string; id: string; was: { iid: string; seq: number } | null }[],
): UsersAsRead {
  return JSON.stringify({
    version,
    clock: clock === 'any' ? 0 : (clock ?? 0),
    testClock: db.testClock && clock !== 'any' ? 1 : 0,
    users: users.map(({ iid, id, was }) => [iid, id, was === null ? '' : `${was.iid}:${was.seq}`]),
  })
}

/**
 * Statements over rows about users; each row is a list of values. There are as few statements as the length
 * of a parameter allows. The rows are ?1, and their condition is `onlyUnchanged`.
 */
export function overUsers(
  db: TenantDatabase,
  sql: string,
  rows: readonly (readonly unknown[])[],
  among: UsersAsRead,
): Statement[] {
  return packed(rows.map(jsonRow)).map((list) => db.statement(sql, list, db.tenantId, among))
}

const CLOCK_UNCHANGED = guardSql('coalesce((SELECT now FROM test_clock WHERE ?1), 0) = ?2')

/** A guard: holds while the test clock shows the same time; null if it is not set (C1). */
export function clockUnchanged(db: TenantDatabase, clock: Instant | null): Statement {
  return db.statement(CLOCK_UNCHANGED, db.testClock ? 1 : 0, clock ?? 0)
}

/** The outcomes after which the same request may succeed later. */
const AWAY = /\bD1_ERROR \((unknown|not stored)\): /

/**
 * Whether a statement failed because D1 could not be reached, was overloaded or restarted, or because the
 * disk or the database is full. The same request may succeed later. The error may come from an object.
 */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof Error && AWAY.test(error.message)
}

/** Whether a batch failed, but may be stored, or may still be stored later. */
export function mayBeStored(error: unknown): boolean {
  return error instanceof DatabaseError && error.outcome === 'unknown'
}

/** Whether the database rejects the data of a batch, so that a retry fails too. False for a conflict. */
export function isRefusedByDatabase(error: unknown): boolean {
  return error instanceof DatabaseError && /SQLITE_(TOOBIG|CONSTRAINT|MISMATCH|RANGE)/.test(error.message)
}

/** Whether a batch failed because a value or a row is longer than the database allows. */
export function isTooBig(error: unknown): boolean {
  return error instanceof DatabaseError && error.message.includes('SQLITE_TOOBIG')
}

/** True if a batch failed because one of its guards did not hold, and for no other reason. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && error.outcome === 'conflict'
}

/** For `catch`: null if nothing was stored because a guard did not hold. Throws any other error. */
export function nullIfConflict(error: unknown): null {
  if (!isConflict(error)) throw error
  return null
}

/**
 * Whether a batch was refused because the database does not hold the same users as when it was chosen, or
 * because its copy of the configuration is old (B3, B4). Nothing was stored.
 */
export function hasMoved(error: unknown): boolean {
  return error instanceof DatabaseError && error.outcome === 'misplaced'
}
