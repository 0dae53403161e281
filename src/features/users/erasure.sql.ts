import * as z from 'zod'
import { refusingKeys } from '../../access/deleted-keys'
import type { Instant } from '../../lib/clock'
import { timeOf } from '../../lib/ids'
import { bytesOf } from '../../platform/columns'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { guardSql } from '../../platform/guard'
import type { ErasedAtOnce } from '../../store/user-data/register'
import { countErasure } from '../../store/users/counters.sql.ts'
import { scheduleEach } from '../../time/due-work.sql.ts'

/** The most key prefixes in one row of due work, so that they fit. A user may have any number of keys. */
const MOST_PREFIXES = 10_000

const UNCOUNT = `
  UPDATE tenant_counters SET count = count - 1 WHERE tenant_id = ?1 AND name IN (
    SELECT 'users' FROM users WHERE tenant_id = ?1 AND id = ?2
    UNION SELECT a.value ->> 0 FROM users u, json_each(u.achievements) a WHERE u.tenant_id = ?1
      AND u.id = ?2)`

const REMOVE = 'DELETE FROM users WHERE tenant_id = ?1 AND id = ?2'

const REMOVE_KEYS = 'DELETE FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2 RETURNING prefix'

const ROWS_OF_PERSON = 'user_iid = (SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'

/** Messages about the user that are not sent yet. */
const REMOVE_OUTBOX = `DELETE FROM outbox WHERE tenant_id = ?1 AND ${ROWS_OF_PERSON}`
const REMOVE_PENDING = `DELETE FROM pending_notifications WHERE tenant_id = ?1 AND ${ROWS_OF_PERSON}`
const REMOVE_POINTS_NOTIFICATIONS = `DELETE FROM points_notifications WHERE ${ROWS_OF_PERSON}`

const REMOVE_COUNTED = `
  DELETE FROM counted_users WHERE user_iid =
    (SELECT ${bytesOf('iid')} FROM users WHERE tenant_id = ?1 AND id = ?2)`

/** Entries of the audit log stay, without the values of fields (Z1). */
const EMPTY_AUDIT = `
  UPDATE audit_log SET fields = '{}' WHERE tenant_id = ?1 AND ${ROWS_OF_PERSON} AND fields <> '{}'`

/** The user of a batch event, in the form in which isolates exchange events (see events/commands.ts). */
const WHOSE = "->> '$.body.user.id'"

// `instr` skips rows that can't contain an event of the user: most rows. They are not parsed.
const EMPTY_INBOX = `
  UPDATE inbox SET seq = seq + 1, events = (
    SELECT json_group_array(CASE WHEN e.value ${WHOSE} = ?2 THEN json('null') ELSE json(e.value) END
      ORDER BY e.key)
    FROM json_each(inbox.events) e)
  WHERE tenant_id = ?1 AND instr(events, ?3) > 0`

const REMOVE_PARKED = `
  DELETE FROM parked_events WHERE tenant_id = ?1 AND instr(event, ?3) > 0 AND event ${WHOSE} = ?2`

// A user's internal id has the moment of the creation, by which the index finds the user.
const BY_IID = `
  SELECT u.tenant_id AS tenantId, u.id, u.iid FROM json_each(?1) e
  CROSS JOIN users u ON u.tenant_id = e.value ->> 0 AND u.created = e.value ->> 1 AND u.iid = e.value ->> 2`
const Found = z.array(z.object({ tenantId: z.string(), id: z.string(), iid: z.string() }))

/** The users who exist, of users by tenant and internal id (M3). */
export async function usersByIid(
  db: AccountDatabase,
  asked: readonly { tenantId: string; iid: string }[],
): Promise<z.infer<typeof Found>> {
  const list = asked.map(({ tenantId, iid }) => [tenantId, timeOf(iid), iid])
  return asked.length === 0 ? [] : Found.parse(await db.rows(db.statement(BY_IID, JSON.stringify(list))))
}

/** SQL: there is a user, or a key of a user, with the id that is the subject of an entry of the audit log. */
export const USER_OR_KEY_EXISTS = `(EXISTS (SELECT 1 FROM users WHERE tenant_id = ?2 AND id = value ->> 0)
  OR EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = ?2 AND user_id = value ->> 0))`

// The tenant may be erased meanwhile. Then nothing of it is stored any more.
const TENANT_EXISTS = 'EXISTS (SELECT 1 FROM tenants WHERE id = ?1)'

// The work keeps the caller's id, because the user's row is deleted before it ends. The keys have rows of
// their own: they are deleted in the same batch, so one that is repeated must not replace their list. Work
// that is due at the same moment is done in the order of the subjects: the keys come before the user.
const LEFT = `
  SELECT 'user:' || ?5 AS subject,
    json_object('userId', ?4, 'iid', ?5, 'prefixes', json('[]'), 'isGone', json('false')) AS progress
  WHERE ?5 IS NOT NULL AND ${TENANT_EXISTS}
  UNION ALL SELECT 'keys:' || ?6 || ':' || part, json_object('userId', ?4, 'iid', NULL, 'prefixes',
    json(json_group_array(prefix ORDER BY prefix)))
  FROM (SELECT prefix, (row_number() OVER (ORDER BY prefix) - 1) / ${MOST_PREFIXES} AS part FROM api_keys
    WHERE tenant_id = ?1 AND user_id = ?4) GROUP BY part` as const

const EMPTY_AUDIT_OF = `
  UPDATE audit_log SET fields = '{}' WHERE tenant_id = ?1 AND user_iid = ?2 AND fields <> '{}'`

/**
 * SQL: the tenant exists, and no entry of its audit log says yet that the user was deleted whose internal id
 * is the subject of the entry.
 */
export const DELETION_NOT_NOTED = `EXISTS (SELECT 1 FROM tenants WHERE id = ?2)
  AND NOT EXISTS (SELECT 1 FROM audit_log WHERE tenant_id = ?2
    AND user_iid = value ->> 0 AND kind = 'user' AND action = 'delete')`

const WAITING = 'SELECT 1 FROM inbox WHERE tenant_id = ?1 LIMIT 1'
const IS_STILL = guardSql('coalesce((SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2), ?3) IS ?3')

const Prefixes = z.array(z.object({ prefix: z.string() }))

/** The tables whose rows the first part of an erasure deletes. The second part deletes the others. */
type OfAccess = Extract<ErasedAtOnce, 'api_keys' | 'inbox' | 'parked_events'>

/**
 * The first part of an erasure, in one batch in the first database: deletes the keys and the waiting events,
 * so that no request and no batch can act for the user any more, and adds the rest of the erasure as due work
 * (U8). `iid` is null if there is no such user. `spare` is the subject of the work on
 * keys. Returns the prefixes of the keys, and whether a step of the inbox may be under way.
 */
export async function removeAccess(
  home: TenantDatabase,
  userId: string,
  {
    now,
    spare,
    iid,
    before,
  }: { now: Instant; spare: string; iid: string | null; before: readonly Statement[] },
): Promise<{ prefixes: string[]; isWaiting: boolean }> {
  const { tenantId } = home
  const asJson = JSON.stringify(userId)
  const removals: Record<OfAccess, Statement> = {
    api_keys: home.statement(REMOVE_KEYS, tenantId, userId),
    inbox: home.statement(EMPTY_INBOX, tenantId, userId, asJson),
    parked_events: home.statement(REMOVE_PARKED, tenantId, userId, asJson),
  }
  const {
    api_keys: keys,
    inbox,
    left,
  } = await home.batchOf({
    before,
    due: scheduleEach(home, 'erasure', now, LEFT, userId, iid, spare),
    log: iid === null ? [] : [home.statement(EMPTY_AUDIT_OF, tenantId, iid)],
    ...removals,
    left: home.statement(WAITING, tenantId),
  })
  return {
    prefixes: Prefixes.parse(keys.results).map(({ prefix }) => prefix),
    isWaiting: inbox.meta.changes > 0 || left.results.length > 0,
  }
}

/**
 * The second part, in one batch in the database of the user: deletes the row, by which all other data is
 * found, and the messages that are not sent. From then on this database refuses the keys. Throws a conflict
 * if there is a user with another internal id than `iid`, or any user if it is null. `isWaiting`: a step of
 * the inbox may be under way.
 */
export async function removeFromHolder(
  db: TenantDatabase,
  userId: string,
  {
    iid,
    prefixes,
    isWaiting,
    figures,
  }: {
    iid: string | null
    prefixes: readonly string[]
    isWaiting: boolean
    figures: readonly Statement[]
  },
): Promise<void> {
  const { tenantId } = db
  // Keep this order: the user goes after the rows that are found by the iid.
  const removals: Record<Exclude<ErasedAtOnce, OfAccess>, Statement> = {
    outbox: db.statement(REMOVE_OUTBOX, tenantId, userId),
    pending_notifications: db.statement(REMOVE_PENDING, tenantId, userId),
    points_notifications: db.statement(REMOVE_POINTS_NOTIFICATIONS, tenantId, userId),
    audit_log: db.statement(EMPTY_AUDIT, tenantId, userId),
    counted_users: db.statement(REMOVE_COUNTED, tenantId, userId),
    users: db.statement(REMOVE, tenantId, userId),
  }
  await db.batch([
    db.statement(IS_STILL, tenantId, userId, iid),
    ...refusingKeys(prefixes),
    ...(isWaiting ? [countErasure(db)] : []),
    db.statement(UNCOUNT, tenantId, userId),
    ...figures,
    ...Object.values(removals),
  ])
}

const LEFT_ROWS = `
  SELECT 'user:' || ?5 AS subject, json_object('userId', ?4, 'iid', ?5, 'prefixes', json('[]')) AS progress
  WHERE ${TENANT_EXISTS}`

/** Adds the work to delete all rows of an erased user, in every database. */
export const leftRows = (
  home: TenantDatabase,
  userId: string,
  { now, iid }: { now: Instant; iid: string },
): Statement => scheduleEach(home, 'erasure', now, LEFT_ROWS, userId, iid)
