import type { Instant } from '../shared/clock'
import type { TenantDatabase } from './database'

/**
 * Guards open a write batch, but for that of an event, whose guard stands in the statement that stores the user. A guard writes
 * nothing; it raises an error, which undoes the whole batch, unless what the decision was made from still holds. SQLite can raise an error of ours in a query only by way of a function that
 * fails: `json()` on a text that is no JSON.
 */
const CONFIGURATION_UNCHANGED = `
  SELECT CASE WHEN (SELECT config_version FROM tenants WHERE id = ?1) = ?2 THEN 1 ELSE json('conflict') END`

const BOTH_UNCHANGED = `
  SELECT CASE WHEN (SELECT config_version FROM tenants WHERE id = ?1) = ?2
    AND coalesce((SELECT iid || ':' || seq FROM users WHERE tenant_id = ?1 AND id = ?3), '') = ?4
    THEN 1 ELSE json('conflict') END`

/** Holds while the tenant's configuration is at this version. */
export function configurationUnchanged(db: TenantDatabase, version: number): D1PreparedStatement {
  return db.statement(CONFIGURATION_UNCHANGED, db.tenantId, version)
}

/**
 * Holds while the configuration is at this version and the user is as read: the same person (`iid`) at the same `seq`, or, where
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

const USERS_UNCHANGED = `
  SELECT CASE WHEN EXISTS (SELECT 1 FROM json_each(?2) asked WHERE coalesce((
    SELECT iid || ':' || seq FROM users u WHERE u.tenant_id = ?1 AND u.id = asked.value ->> 0), '') <> asked.value ->> 1)
    THEN json('conflict') ELSE 1 END`

/** Holds while all of these users are as read: the same persons at the same `seq`, or, where `was` is null, absent. */
export function usersUnchanged(
  db: TenantDatabase,
  users: readonly { id: string; was: { iid: string; seq: number } | null }[],
): D1PreparedStatement {
  const asked = users.map(({ id, was }) => [id, was === null ? '' : `${was.iid}:${was.seq}`])
  return db.statement(USERS_UNCHANGED, db.tenantId, JSON.stringify(asked))
}

const CLOCK_UNCHANGED = `
  SELECT CASE WHEN coalesce((SELECT now FROM test_clock WHERE ?1), 0) = ?2 THEN 1 ELSE json('conflict') END`

/** Holds while the test clock stands where it did; null where it is not set (C1). */
export function clockUnchanged(db: TenantDatabase, clock: Instant | null): D1PreparedStatement {
  return db.statement(CLOCK_UNCHANGED, db.testClock ? 1 : 0, clock ?? 0)
}

/** Whether a batch failed because the database refuses what it holds, and would again; not because of a guard, or of the way there. */
export function isRefusedByDatabase(error: unknown): boolean {
  return error instanceof Error && /SQLITE_(TOOBIG|CONSTRAINT|MISMATCH|RANGE)/.test(error.message)
}

/** Whether a batch failed because one of its guards no longer held. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && error.message.includes('malformed JSON')
}
