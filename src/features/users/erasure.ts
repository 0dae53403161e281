import * as z from 'zod'
import {
  type Deletion,
  noteDeletions,
  notingDeletedKeys,
  refuseKeys,
  refusingKeys,
  tryToNoteDeletions,
} from '../../access/deleted-keys'
import { dropKeyRecord, keyCacheOf, prefixesOf } from '../../access/keys.sql.ts'
import { userEntry } from '../../configuration/audit.rules'
import { auditEntriesIf } from '../../configuration/audit.sql.ts'
import { boardObject } from '../../leaderboards/updates'
import { type Instant, instant } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { timeOf } from '../../lib/ids'
import { newId } from '../../lib/new-id'
import { wait, within } from '../../lib/system-clock'
import { bytesOf } from '../../platform/columns'
import type { Context, Scope, TenantContext } from '../../platform/context'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { guardSql, isConflict, nullIfConflict } from '../../platform/guard'
import { logProblem } from '../../platform/log'
import type { ErasedAtOnce, ErasureStage } from '../../store/user-data/register'
import { objectsAfter, removeRowsEverywhere } from '../../store/user-data/user-data.sql.ts'
import { countErasure } from '../../store/users/counters.sql.ts'
import { findIid } from '../../store/users/users.sql.ts'
import { scheduleEach, type Work } from '../../time/due-work.sql.ts'
import { defineJob, type When } from '../../time/job'
import { wakeTimekeeper } from '../../time/timekeeper'
import { leaveFigures } from '../analytics/counting'

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
const emptyAudit = (whose: string) =>
  `UPDATE audit_log SET fields = '{}' WHERE tenant_id = ?1 AND ${whose} AND fields <> '{}'`

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
async function usersByIid(
  db: AccountDatabase,
  asked: readonly { tenantId: string; iid: string }[],
): Promise<z.infer<typeof Found>> {
  const list = asked.map(({ tenantId, iid }) => [tenantId, timeOf(iid), iid])
  return asked.length === 0 ? [] : Found.parse(await db.rows(db.statement(BY_IID, JSON.stringify(list))))
}

/** SQL: there is a user, or a key of a user, with the id that is the subject of an entry of the audit log. */
const USER_OR_KEY_EXISTS = `(EXISTS (SELECT 1 FROM users WHERE tenant_id = ?2 AND id = value ->> 0)
  OR EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = ?2 AND user_id = value ->> 0))`

// The tenant may be erased meanwhile. Then nothing of it is stored any more.
const TENANT_EXISTS = 'EXISTS (SELECT 1 FROM tenants WHERE id = ?1)'

// The work keeps the caller's id, because the user's row is deleted before it ends. `?6` is whether that was
// done, as JSON.
const USER_LEFT = `
  SELECT 'user:' || ?5 AS subject,
    json_object('userId', ?4, 'iid', ?5, 'prefixes', json('[]'), 'isGone', json(?6)) AS progress
  WHERE ?5 IS NOT NULL AND ${TENANT_EXISTS}` as const
// The keys have rows of their own: they are deleted in the same batch, so one that is repeated must not replace
// their list. Work that is due at the same moment is done in the order of the subjects: the keys come first.
const LEFT = `${USER_LEFT}
  UNION ALL SELECT 'keys:' || ?7 || ':' || part, json_object('userId', ?4, 'iid', NULL, 'prefixes',
    json(json_group_array(prefix ORDER BY prefix)))
  FROM (SELECT prefix, (row_number() OVER (ORDER BY prefix) - 1) / ${MOST_PREFIXES} AS part FROM api_keys
    WHERE tenant_id = ?1 AND user_id = ?4) GROUP BY part` as const

/** SQL: the tenant exists, and its audit log does not say yet that the user, the subject, was deleted. */
const DELETION_NOT_NOTED = `EXISTS (SELECT 1 FROM tenants WHERE id = ?2)
  AND NOT EXISTS (SELECT 1 FROM audit_log WHERE tenant_id = ?2
    AND user_iid = value ->> 0 AND kind = 'user' AND action = 'delete')`

const WAITING = 'SELECT 1 FROM inbox WHERE tenant_id = ?1 LIMIT 1'
const IS_STILL = guardSql('coalesce((SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2), ?3) IS ?3')

const Prefixes = z.array(z.object({ prefix: z.string() }))

/** The tables whose rows the first part of an erasure deletes. The second part deletes the others. */
type OfAccess = Extract<ErasedAtOnce, 'api_keys' | 'inbox' | 'parked_events'>

/** What both parts of an erasure need. `iid` is null if there is no such user. */
type Erased = { now: Instant; iid: string | null }

/**
 * The first part of an erasure, in one batch in the first database: deletes the keys and the waiting events,
 * so that no request and no batch can act for the user any more, and adds the rest of the erasure as due work
 * (U8). Returns the prefixes of the keys, and whether a step of the inbox may be under way.
 */
async function removeAccess(
  home: TenantDatabase,
  userId: string,
  { now, iid, before }: Erased & { before: readonly Statement[] },
): Promise<{ prefixes: string[]; isWaiting: boolean }> {
  const { tenantId } = home
  const asJson = JSON.stringify(userId)
  const removals: Record<OfAccess, Statement> = {
    api_keys: home.statement(REMOVE_KEYS, tenantId, userId),
    inbox: home.statement(EMPTY_INBOX, tenantId, userId, asJson),
    parked_events: home.statement(REMOVE_PARKED, tenantId, userId, asJson),
  }
  const { api_keys, inbox, left } = await home.batchOf({
    before,
    due: scheduleEach(home, 'erasure', now, LEFT, userId, iid, 'false', newId(now)),
    log: iid === null ? [] : [home.statement(emptyAudit('user_iid = ?2'), tenantId, iid)],
    ...removals,
    left: home.statement(WAITING, tenantId),
  })
  return {
    prefixes: Prefixes.parse(api_keys.results).map(({ prefix }) => prefix),
    isWaiting: inbox.meta.changes > 0 || left.results.length > 0,
  }
}

/**
 * The second part, in one batch in the database of the user: deletes the row, by which all other data is
 * found, and the messages that are not sent. From then on this database refuses the keys. Throws a conflict
 * if there is a user with another internal id than `iid`, or any user if it is null. `isWaiting`: a step of
 * the inbox may be under way.
 */
async function removeFromHolder(
  db: TenantDatabase,
  userId: string,
  { now, iid, prefixes, isWaiting }: Erased & { prefixes: readonly string[]; isWaiting: boolean },
): Promise<void> {
  const { tenantId } = db
  // Keep this order: the user goes after the rows that are found by the iid.
  const removals: Record<Exclude<ErasedAtOnce, OfAccess>, Statement> = {
    outbox: db.statement(REMOVE_OUTBOX, tenantId, userId),
    pending_notifications: db.statement(REMOVE_PENDING, tenantId, userId),
    points_notifications: db.statement(REMOVE_POINTS_NOTIFICATIONS, tenantId, userId),
    audit_log: db.statement(emptyAudit(ROWS_OF_PERSON), tenantId, userId),
    counted_users: db.statement(REMOVE_COUNTED, tenantId, userId),
    users: db.statement(REMOVE, tenantId, userId),
  }
  await db.batch([
    db.statement(IS_STILL, tenantId, userId, iid),
    ...refusingKeys(prefixes),
    ...(isWaiting ? [countErasure(db)] : []),
    db.statement(UNCOUNT, tenantId, userId),
    leaveFigures(db, userId, now),
    ...Object.values(removals),
  ])
}

/** After this many failures of D1 the erasure is given up. Then all of the batch is stored, or nothing. */
const MOST_FAILURES = 3
/** Keys, leaderboards and delivery queues that one step visits, all at once. */
const KEYS = 100
const BOARDS = 20
const DELIVERY_QUEUES = 20
/** Timeout of a visit, in milliseconds. */
const PATIENCE = 10_000

/**
 * Erases a user everywhere (U8), whether or not there is such a user. Deletes the user from D1 at once, so
 * that no request finds the user and no change of theirs can be stored. The Timekeeper does the rest in
 * steps; the first step runs before the response.
 */
export async function eraseUser(scope: Scope, userId: string): Promise<{ id: string }> {
  const { db, now } = scope
  const { tenantId } = db
  // Before anything is deleted, so that it cannot be missed. A later stage notes it again, with the keys.
  const iid = await findIid(db, userId)
  await tryToNoteDeletions(scope, iid === null ? [] : [{ kind: 'user', tenantId, iid }])
  await erase(scope, tenantId, userId, { now, iid, audit: (found) => auditOf(scope, userId, found) })
  await wakeTimekeeper(scope)
  return { id: userId }
}

/** The entry of the audit log in the first database: one for each erased user, or for the keys of nobody. */
const auditOf = (scope: Scope, userId: string, iid: string | null): Statement[] => {
  const home = { ...scope, db: scope.databases.home(scope.db.tenantId) }
  const entryOf = (user: { id: string } | { iid: string }) => userEntry('user', 'delete', user, {})
  return iid === null
    ? auditEntriesIf(home, [{ subject: userId, entry: entryOf({ id: userId }) }], USER_OR_KEY_EXISTS)
    : auditEntriesIf(home, [{ subject: iid, entry: entryOf({ iid }) }], DELETION_NOT_NOTED)
}

/** How often an erasure begins again because the user was erased or created meanwhile. */
const MOST_CONFLICTS = 10

/**
 * Makes a user disappear: first the keys and waiting events in the first database, then the user in the
 * user's own, which may be the same one. Each part may be repeated. If this breaks off in between, the due
 * work of the first part does the second one. `iid` is null if there is no such user.
 */
async function erase(
  context: Context,
  tenantId: string,
  userId: string,
  { now, iid: first, audit }: Erased & { audit: (iid: string | null) => readonly Statement[] },
): Promise<void> {
  const { databases, instance } = context
  const home = databases.home(tenantId)
  const db = databases.usersOf(tenantId).of(userId)
  const prefixes = new Set(await prefixesOf(home, userId))
  let [iid, conflicts, isWaiting] = [first, 0, false]
  for (;;) {
    const before = [...audit(iid), ...notingDeletedKeys({ tenantId, userId })]
    const access = { now, iid, before }
    const { result: removed, wasRepeated } = await repeated(() => removeAccess(home, userId, access))
    for (const prefix of removed.prefixes) prefixes.add(prefix)
    for (const prefix of prefixes) keyCacheOf(instance).delete(prefix)
    // A try may be stored without an answer.
    isWaiting ||= removed.isWaiting || wasRepeated
    // A database that can't be reached gets them later. The user's own database gets them below.
    await refuseKeys(context, [...prefixes])
    const rest = { now, iid, prefixes: [...prefixes], isWaiting }
    try {
      await repeated(() => removeFromHolder(db, userId, rest))
      return
    } catch (error) {
      if (!isConflict(error)) throw error
      conflicts += 1
      if (conflicts >= MOST_CONFLICTS) throw errors.contended()
      iid = await findIid(db, userId)
    }
  }
}

/** Sends a batch again if D1 fails, and returns its result, and whether it was sent again. */
async function repeated<T>(send: () => Promise<T>): Promise<{ result: T; wasRepeated: boolean }> {
  for (let failures = 0; ; ) {
    try {
      return { result: await send(), wasRepeated: failures > 0 }
    } catch (error) {
      failures += 1
      if (isConflict(error) || failures >= MOST_FAILURES) throw error
      await wait(20 * failures)
    }
  }
}

/**
 * Erases users again who were erased before the database was brought back, and are there again (M3). The
 * internal id decides: a later user with the same id stays. Their Timekeepers do the rest.
 */
export async function eraseAgain(
  context: Context,
  erased: readonly { tenantId: string; iid: string }[],
  now: Instant,
): Promise<void> {
  const { databases } = context
  for (const name of databases.names) {
    for (const { tenantId, id, iid } of await usersByIid(databases.named(name), erased)) {
      const home = databases.home(tenantId)
      try {
        const present = await findIid(databases.usersOf(tenantId).of(id), id)
        if (present === iid) await erase(context, tenantId, id, { now, iid, audit: () => [] })
        // The rows in databases that do not hold the user go later.
        else await home.batch([scheduleEach(home, 'erasure', now, USER_LEFT, id, iid, 'true')])
      } catch (error) {
        // Erased meanwhile.
        if (!isConflict(error)) throw error
      }
    }
  }
}

/** The rest of an erasure, and its progress. */
export const ErasureProgress = z.object({
  userId: z.string(),
  /** Null if there were keys but no user. */
  iid: z.string().nullable(),
  /** Of the keys, ascending. */
  prefixes: z.array(z.string()),
  /** Whether the user was deleted in the user's own database. */
  isGone: z.boolean().default(true),
  /** The index of the stage in `STAGES`. */
  stage: z.number().default(0),
  /** The last place that the stage has visited; empty at its beginning. */
  after: z.string().default(''),
})
type Progress = z.infer<typeof ErasureProgress>

/** All at once. Returns the last; null if none are left. A failed visit throws in the second round. */
async function visited(
  places: readonly string[],
  most: number,
  stage: number,
  visit: (place: string) => Promise<void>,
): Promise<string | null> {
  const results = await Promise.allSettled(places.map((place) => within(PATIENCE, visit(place))))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined && stage >= SECOND_VISIT) throw failed.reason
  if (failed !== undefined) logProblem('warn', { error: `not visited: ${failed.reason}` })
  return places.length < most ? null : (places.at(-1) ?? null)
}

/** Does a portion of a stage. Returns the last place that it visited; null at the end of the stage. */
type Portion = (context: TenantContext, progress: Progress, now: Instant) => Promise<string | null>

/** The stages that visit places outside the database. */
const VISITS: Record<Exclude<ErasureStage, 'rows'>, Portion> = {
  keys: async (context, { iid, prefixes, stage, after }) => {
    const { tenantId } = context.db
    const next = prefixes.filter((prefix) => prefix > after).slice(0, KEYS)
    const keys = next.map((prefix): Deletion => ({ kind: 'key', prefix }))
    const deletions: Deletion[] = iid === null ? keys : [{ kind: 'user', tenantId, iid }, ...keys]
    if (stage < SECOND_VISIT) await tryToNoteDeletions(context, deletions)
    else await noteDeletions(context, deletions)
    await refuseKeys(context, next)
    return visited(next, KEYS, stage, (prefix) => dropKeyRecord(context, prefix))
  },
  boards: async (context, { iid, userId, stage, after }, now) => {
    if (iid === null) return null
    const boards = await objectsAfter(context.db, 'boards', 'living', after, BOARDS)
    return visited(boards, BOARDS, stage, async (id) => boardObject(context, id).erase({ userId, iid, now }))
  },
  deliveryQueues: async (context, { iid, userId, stage, after }) => {
    if (iid === null) return null
    const deliveryQueues = await objectsAfter(context.db, 'deliveryQueues', 'living', after, DELIVERY_QUEUES)
    return visited(deliveryQueues, DELIVERY_QUEUES, stage, async (name) =>
      context.env.DELIVERY_QUEUE.getByName(name).erase({ iid, userId }),
    )
  },
}

const rows: Portion = async ({ db, databases }, { userId, iid }) =>
  iid === null || (await removeRowsEverywhere(databases, db.tenantId, { userId, iid })) ? null : ''

/**
 * The stages, in their order. Keys, leaderboards and delivery queues are visited twice: records, changes or
 * messages that were in progress when the user disappeared may arrive after the first visit. The index of the
 * stage is stored, so keep the order.
 */
const STAGES: readonly Portion[] = [...Object.values(VISITS), rows, ...Object.values(VISITS)]
const SECOND_VISIT = STAGES.indexOf(rows) + 1

/**
 * Does the next step of an erasure: some keys, leaderboards, delivery queues or rows. A repeated step finds
 * nothing. The work ends when all data is gone. Throws if a place can't be reached on the second visit.
 */
async function erasureStep(
  context: TenantContext,
  work: Work<Progress>,
  { until, grace }: When,
): Promise<void> {
  const { db, databases } = context
  const { progress } = work
  if (progress === null) throw new Error('the erasure of nobody')
  const { userId, iid } = progress
  if (!progress.isGone && iid !== null) {
    const holder = databases.usersOf(db.tenantId).of(userId)
    const rest = { now: until, iid, prefixes: [], isWaiting: true }
    // After a conflict, there is a later user with the same id.
    await removeFromHolder(holder, userId, rest).catch(nullIfConflict)
    await db.batch([work.goOn({ ...progress, isGone: true })])
    return
  }
  const portion = STAGES[progress.stage]
  const after = portion === undefined ? null : await portion(context, progress, until)
  const stage = progress.stage + (after === null ? 1 : 0)
  if (stage === STAGES.length) {
    await db.batch([work.end()])
    return
  }
  // No write from before the erasure can arrive after these milliseconds.
  const dueAt = stage === SECOND_VISIT && after === null ? instant(until + grace) : null
  await db.batch([work.goOn({ ...progress, stage, after: after ?? '' }, dueAt)])
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    erasure: true
  }
}

/**
 * The rest of an erasure (U8): a piece of work for the user's rows, and one for the records of the keys, which
 * go first. It is in the first database, so that it deletes data in all of them.
 */
export const erasureJob = defineJob({
  kind: 'erasure',
  of: 'tenant',
  while: ['active', 'archived'],
  progress: ErasureProgress,
  step: erasureStep,
})
