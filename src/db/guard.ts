import type { Database } from './database'

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
export function configurationUnchanged(db: Database, tenantId: string, version: number): D1PreparedStatement {
  return db.statement(CONFIGURATION_UNCHANGED, tenantId, version)
}

/**
 * Holds while the configuration is at this version and the user is as read: the same person (`iid`) at the same `seq`, or, where
 * null, absent.
 */
export function bothUnchanged(
  db: Database,
  tenantId: string,
  version: number,
  userId: string,
  was: { iid: string; seq: number } | null,
): D1PreparedStatement {
  return db.statement(BOTH_UNCHANGED, tenantId, version, userId, was === null ? '' : `${was.iid}:${was.seq}`)
}

const USERS_UNCHANGED = `
  SELECT CASE WHEN EXISTS (SELECT 1 FROM json_each(?2) asked WHERE NOT EXISTS (
    SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = asked.value ->> 0
      AND u.iid = asked.value ->> 1 AND u.seq = asked.value ->> 2)) THEN json('conflict') ELSE 1 END`

/** Holds while all of these users are as read. */
export function usersUnchanged(
  db: Database,
  tenantId: string,
  users: readonly { id: string; iid: string; seq: number }[],
): D1PreparedStatement {
  return db.statement(
    USERS_UNCHANGED,
    tenantId,
    JSON.stringify(users.map(({ id, iid, seq }) => [id, iid, seq])),
  )
}

/** Whether a batch failed because one of its guards no longer held. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && error.message.includes('malformed JSON')
}
