import * as z from 'zod'
import {
  type Deletion,
  noteDeletions,
  notingDeletedKeys,
  refuseKeys,
  tryToNoteDeletions,
} from '../../access/deleted-keys'
import { dropKeyRecord, keyCacheOf, prefixesOf } from '../../access/keys.sql.ts'
import { userEntry } from '../../configuration/audit.rules'
import { auditEntriesIf } from '../../configuration/audit.sql.ts'
import { boardObject } from '../../leaderboards/updates'
import { type Instant, instant } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import { wait, within } from '../../lib/system-clock'
import type { Context, Scope, TenantContext } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { isConflict } from '../../platform/guard'
import { logProblem } from '../../platform/log'
import type { ErasureStage } from '../../store/user-data/register'
import { objectsAfter, removeRowsEverywhere } from '../../store/user-data/user-data.sql.ts'
import { findIid } from '../../store/users/users.sql.ts'
import type { Work } from '../../time/due-work.sql.ts'
import { defineJob, type When } from '../../time/job'
import { wakeTimekeeper } from '../../time/timekeeper'
import { leaveFigures } from '../analytics/counting'
import {
  DELETION_NOT_NOTED,
  leftRows,
  removeAccess,
  removeFromHolder,
  USER_OR_KEY_EXISTS,
  usersByIid,
} from './erasure.sql.ts'

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
  {
    now,
    iid: first,
    audit,
  }: { now: Instant; iid: string | null; audit: (iid: string | null) => readonly Statement[] },
): Promise<void> {
  const { databases, instance } = context
  const home = databases.home(tenantId)
  const db = databases.usersOf(tenantId).of(userId)
  const prefixes = new Set(await prefixesOf(home, userId))
  let [iid, conflicts, isWaiting] = [first, 0, false]
  for (;;) {
    const before = [...audit(iid), ...notingDeletedKeys({ tenantId, userId })]
    const one = { now, iid, before }
    const { result: removed, wasRepeated } = await repeated(() =>
      removeAccess(home, userId, { ...one, spare: newId(now) }),
    )
    for (const prefix of removed.prefixes) prefixes.add(prefix)
    for (const prefix of prefixes) keyCacheOf(instance).delete(prefix)
    // A try may be stored without an answer.
    isWaiting ||= removed.isWaiting || wasRepeated
    // A database that can't be reached gets them later. The user's own database gets them below.
    await refuseKeys(context, [...prefixes])
    const rest = { iid, prefixes: [...prefixes], isWaiting, figures: [leaveFigures(db, userId, now)] }
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
      try {
        await eraseIfStill(context, tenantId, id, { now, iid })
      } catch (error) {
        // Erased meanwhile.
        if (!isConflict(error)) throw error
      }
    }
  }
}

/** Erases a user with this internal id again. The rows in databases that do not hold the user go later. */
async function eraseIfStill(
  context: Context,
  tenantId: string,
  userId: string,
  { now, iid }: { now: Instant; iid: string },
): Promise<void> {
  const present = await findIid(context.databases.usersOf(tenantId).of(userId), userId)
  if (present === iid) return erase(context, tenantId, userId, { now, iid, audit: () => [] })
  const home = context.databases.home(tenantId)
  await home.batch([leftRows(home, userId, { now, iid })])
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
  const { db } = context
  const { progress } = work
  if (progress === null) throw new Error('the erasure of nobody')
  if (!progress.isGone && progress.iid !== null) {
    await removeFromDatabase(context, progress.userId, progress.iid, until)
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

/** Deletes a user in the user's own database, unless that was done. */
async function removeFromDatabase(
  { db: { tenantId }, databases }: TenantContext,
  userId: string,
  iid: string,
  now: Instant,
): Promise<void> {
  const db = databases.usersOf(tenantId).of(userId)
  const figures = [leaveFigures(db, userId, now)]
  try {
    await removeFromHolder(db, userId, { iid, prefixes: [], isWaiting: true, figures })
  } catch (error) {
    // There is a later user with the same id.
    if (!isConflict(error)) throw error
  }
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
