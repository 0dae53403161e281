import type { Instant } from '../lib/clock'
import { jsonRow, packed } from '../lib/packed'
import type { JsonValue } from './column-list'
import type { TenantDatabase } from './database'

/**
 * The SQL that raises a conflict, the only one: everything that guards a batch is made from it. Outside of triggers, SQLite raises an error
 * with a text of ours only if a function fails and quotes its argument, as `json_extract` quotes a path that is none. `isConflict` knows
 * the error. No path in a query comes from data, so nothing else has this text; malformed JSON has another one.
 */
export const CONFLICT = "json_extract('{}', 'laurel-conflict')"

/** How the error of `CONFLICT` begins: in D1, and in an object's own SQLite. */
const CONFLICT_ERROR = /^(D1_ERROR: )?bad JSON path: 'laurel-conflict'/

/**
 * The SQL of a guard: a statement that reads, writes nothing, and raises a conflict unless the condition is true. A conflict undoes the
 * whole batch. Guards open a write batch; only the batch of one user's commands has its guard in the statement that stores the user.
 */
export const guardSql = (condition: string): string =>
  `SELECT CASE WHEN ${condition} THEN 1 ELSE ${CONFLICT} END`

const CONFIGURATION_UNCHANGED = guardSql(
  "(SELECT config_version FROM tenants WHERE id = ?1 AND status = 'active') = ?2",
)

const BOTH_UNCHANGED = guardSql(`
  (SELECT config_version FROM tenants WHERE id = ?1 AND status = 'active') = ?2
    AND coalesce((SELECT iid || ':' || seq FROM users WHERE tenant_id = ?1 AND id = ?3), '') = ?4`)

/** Holds while the tenant is active, and its configuration at this version. */
export function configurationUnchanged(db: TenantDatabase, version: number): D1PreparedStatement {
  return db.statement(CONFIGURATION_UNCHANGED, db.tenantId, version)
}

/**
 * Holds while the tenant is active, the configuration at this version and the user as read: the same person (`iid`) at the same `seq`, or, where
 * null, absent.
 */
export function bothUnchanged(
  db: TenantDatabase,
  version: number,
  userId: string,
  was: { iid: string; seq: number } | null,
): D1PreparedStatement {
  return db.statement(
    BOTH_UNCHANGED,
    db.tenantId,
    version,
    userId,
    was === null ? '' : `${was.iid}:${was.seq}`,
  )
}

const USERS_UNCHANGED = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?2) asked WHERE coalesce((
    SELECT iid || ':' || seq FROM users u WHERE u.tenant_id = ?1 AND u.id = asked.value ->> 0), '') <> asked.value ->> 1)`)

/** Holds while all of these users are as read: the same persons at the same `seq`, or, where `was` is null, absent. */
export function usersUnchanged(
  db: TenantDatabase,
  users: readonly { id: string; was: { iid: string; seq: number } | null }[],
): D1PreparedStatement {
  const asked = users.map(({ id, was }) => [id, was === null ? '' : `${was.iid}:${was.seq}`])
  return db.statement(USERS_UNCHANGED, db.tenantId, JSON.stringify(asked))
}

/** Who of a group is as was read; see `unmoved`. Null where the whole batch has a guard that raises. */
export type UnchangedUsers = string | null

/**
 * For the batch of a group of users that don't depend on each other, in which no guard raises: whoever is no longer as read is left
 * out of each of its statements, all of which have this condition on their rows; what stores the users, and so moves them, comes last.
 * It is about the user whose own id (`iid`, of somebody new the one to be) is this expression. The tenant is ?2, and ?3 what `unmoved` gives.
 */
export const onlyUnchanged = (iid: JsonValue): string => `(?3 IS NULL OR ${iid} IN (
    SELECT g.value ->> 0 FROM json_each(?3, '$.users') g
    WHERE (SELECT config_version FROM tenants WHERE id = ?2 AND status = 'active') = ?3 ->> 'version'
      AND coalesce((SELECT now FROM test_clock WHERE ?3 ->> 'testClock'), 0) = ?3 ->> 'clock'
      AND coalesce((SELECT iid || ':' || seq FROM users WHERE tenant_id = ?2 AND id = g.value ->> 1), '') = g.value ->> 2))`

/**
 * Those users who are as read, while the tenant is active, the configuration at this version and the test clock stands where it did (null where it is not
 * set, `any` if it does not matter): the same persons at the same `seq`, or, where `was` is null, absent. `iid` is whom the rows are about.
 */
export function unchangedUsers(
  db: TenantDatabase,
  { version, clock }: { version: number; clock: Instant | null | 'any' },
  users: readonly { iid: string; id: string; was: { iid: string; seq: number } | null }[],
): UnchangedUsers {
  return JSON.stringify({
    version,
    clock: clock === 'any' ? 0 : (clock ?? 0),
    testClock: db.testClock && clock !== 'any' ? 1 : 0,
    users: users.map(({ iid, id, was }) => [iid, id, was === null ? '' : `${was.iid}:${was.seq}`]),
  })
}

/**
 * Statements over rows that are about users, each a list of values: as few as the length of a parameter allows. The rows are ?1; their condition is `amongUnmoved`.
 */
export function overUsers(
  db: TenantDatabase,
  sql: string,
  rows: readonly (readonly unknown[])[],
  among: UnchangedUsers,
): D1PreparedStatement[] {
  return packed(rows.map(jsonRow)).map((list) => db.statement(sql, list, db.tenantId, among))
}

const CLOCK_UNCHANGED = guardSql('coalesce((SELECT now FROM test_clock WHERE ?1), 0) = ?2')

/** Holds while the test clock stands where it did; null where it is not set (C1). */
export function clockUnchanged(db: TenantDatabase, clock: Instant | null): D1PreparedStatement {
  return db.statement(CLOCK_UNCHANGED, db.testClock ? 1 : 0, clock ?? 0)
}

/** Whether a batch failed because the database refuses what it holds, and would again; not because of a guard, or of the way there. */
export function isRefusedByDatabase(error: unknown): boolean {
  return error instanceof Error && /SQLITE_(TOOBIG|CONSTRAINT|MISMATCH|RANGE)/.test(error.message)
}

/** Whether a batch failed because a value or a row is longer than the database holds. */
export function isTooBig(error: unknown): boolean {
  return error instanceof Error && error.message.includes('SQLITE_TOOBIG')
}

/** True if a batch failed because one of its guards did not hold, and for no other reason. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && CONFLICT_ERROR.test(error.message)
}
