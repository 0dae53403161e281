import * as z from 'zod'
import { readTestClock } from '../../access/clock.sql.ts'
import {
  type Deletion,
  DeletionPlace,
  nextDeletions,
  noteDeletions,
  notingDeletedKeys,
  refuseKeys,
  refusingKeys,
} from '../../access/deleted-keys'
import { dropKeyRecord, forgetKeys, recordsWithoutKey, removeKeysByPrefix } from '../../access/keys.sql.ts'
import { advanceRedo, readRestored } from '../../access/restores.sql.ts'
import { changeTenants } from '../../configuration/copies'
import { boardObject } from '../../leaderboards/updates'
import type { Instant } from '../../lib/clock'
import { systemNow, within } from '../../lib/system-clock'
import type { Context, TenantContext } from '../../platform/context'
import type { Statement } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { FIRST } from '../../platform/databases/directory'
import { isConflict, nullIfConflict } from '../../platform/guard'
import { logWork } from '../../platform/log'
import type { PurgeStage } from '../../store/user-data/register'
import { objectsAfter, removeRows, removeRowsEverywhere } from '../../store/user-data/user-data.sql.ts'
import { findWork, type Work } from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'
import { wakeForPurge } from '../../time/timekeeper'
import { ErasureProgress, eraseAgain } from '../users/erasure'
import * as repository from './purge.sql.ts'

/** Objects and KV records that one step visits, all at once, and the timeout for them in milliseconds. */
const OBJECTS = 20
const RECORDS = 100
const PATIENCE = 10_000
const USERS = 100
/** How long a purge waits for delivery queues to stop, in ms. An unreachable one stops within a second. */
const STOPPING = 3_000

/**
 * Begins the erasure of an archived tenant. From then on nothing of the tenant is delivered, and its keys don't
 * work. `first` are statements that belong to it. Returns whether there is such a tenant.
 */
export function beginPurge(
  { db, databases }: Context,
  tenantId: string,
  now: Instant,
  first: readonly Statement[],
): Promise<boolean> {
  return changeTenants(databases, [tenantId], ({ before, after }) =>
    repository.acceptPurge(db.of(tenantId), now, { before: [...before, ...first], after }),
  )
}

/** Erases a tenant again that a restore has brought back (M3). Its Timekeeper does the rest. */
async function purgeAgain(context: Context, tenantId: string, now: Instant): Promise<void> {
  const archived = repository.archive(context.db.of(tenantId))
  if (await beginPurge(context, tenantId, now, [archived])) await wakeForPurge(context, tenantId)
}

/** Stops the tenant's delivery queues at once. Never throws: a later step visits them again. */
export async function stopDeliveryQueues({ db, env }: TenantContext): Promise<void> {
  const stop = async () => {
    const names = await objectsAfter(db, 'deliveryQueues', 'all', '', OBJECTS + 2)
    await Promise.all(names.map((name) => env.DELIVERY_QUEUE.getByName(name).purge()))
  }
  await within(STOPPING, stop()).catch(() => undefined)
}

const Progress = z.object({
  stage: z.number(),
  /** The last object or KV record that the stage has visited. */
  after: z.string(),
  /** Prefixes of deleted keys that still have a record in KV. */
  prefixes: z.array(z.string()),
  database: z.string(),
  walked: z.object({ table: z.number(), no: z.number() }),
})
type Progress = z.infer<typeof Progress>
const BEGINNING: Progress = { stage: 0, after: '', prefixes: [], database: '', walked: { table: 0, no: 0 } }

/** Whether the stage is done, otherwise its progress; and statements to store with it. */
type Portion = {
  isEnd: boolean
  progress?: Partial<Progress>
  statements?: readonly Statement[]
}

const END: Portion = { isEnd: true }
const GO_ON: Portion = { isEnd: false }

async function objects(
  context: TenantContext,
  kind: 'deliveryQueues' | 'boards',
  after: string,
): Promise<Portion> {
  const names = await objectsAfter(context.db, kind, 'all', after, OBJECTS)
  const purge = async (name: string) =>
    kind === 'boards'
      ? boardObject(context, name).purge()
      : context.env.DELIVERY_QUEUE.getByName(name).purge()
  await visited(names, purge)
  return names.length < OBJECTS ? END : { isEnd: false, progress: { after: names.at(-1) ?? after } }
}

/** Finishes erasures of users that were in progress. */
async function erasures(context: TenantContext, { after }: Progress): Promise<Portion> {
  const { db } = context
  const next = await findWork(db, 'erasure', ErasureProgress)
  if (next === undefined) return END
  if (next.progress === null) return { isEnd: false, statements: [next.end()] }
  const { userId, iid, prefixes } = next.progress
  const some = prefixes.filter((prefix) => prefix > after).slice(0, RECORDS)
  if (some.length > 0) {
    await visited(some, (prefix) => dropKeyRecord(context, prefix))
    return { isEnd: false, progress: { after: some.at(-1) ?? after } }
  }
  const { databases } = context
  if (iid !== null && !(await removeRowsEverywhere(databases, db.tenantId, { userId, iid }))) return GO_ON
  return { isEnd: false, progress: { after: '' }, statements: [next.end()] }
}

/** Deletes the next keys, then their records in KV. In between, their prefixes are in the progress. */
async function keys(context: TenantContext, prefixes: readonly string[]): Promise<Portion> {
  const { db } = context
  await refuseKeys(context, prefixes)
  await visited(prefixes, (prefix) => dropKeyRecord(context, prefix))
  const some = await repository.keysOf(db, RECORDS)
  if (some.length === 0) return END
  return {
    isEnd: false,
    progress: { prefixes: some },
    statements: [...notingDeletedKeys({ prefixes: some }), repository.removeKeys(db, some)],
  }
}

async function users({ db }: TenantContext): Promise<Portion> {
  const some = await repository.usersOf(db, USERS)
  if (some.length === 0) return END
  const iids = some.map(({ iid }) => iid)
  if (!(await removeRows(db, iids))) return GO_ON
  const ids = some.map(({ id }) => id)
  return { isEnd: false, statements: [repository.removeUsers(db, ids)] }
}

/**
 * The same portion in each database, the first one last. Its statements are stored in its database before the
 * progress, and in the first one together with it.
 */
function inEach(
  portion: (context: TenantContext, progress: Progress) => Promise<Portion>,
): (context: TenantContext, progress: Progress) => Promise<Portion> {
  return async (context, progress) => {
    const { databases, db: home } = context
    const places = databases.all(home.tenantId)
    const present = places.findIndex(({ name }) => name === progress.database)
    const [place, next] = places.slice(Math.max(0, present))
    if (place === undefined) return END
    const done = await portion({ ...context, db: place.db }, progress)
    const { isEnd, progress: reached, statements = [] } = done
    if (next === undefined) return { isEnd, progress: { ...reached, database: place.name }, statements }
    if (statements.length > 0) await place.db.batch(statements)
    if (!isEnd) return { isEnd, progress: { ...reached, database: place.name } }
    return { isEnd: false, progress: { after: '', walked: { table: 0, no: 0 }, database: next.name } }
  }
}

async function visited(places: readonly string[], visit: (place: string) => Promise<unknown>): Promise<void> {
  await Promise.all(places.map((place) => within(PATIENCE, visit(place))))
}

/**
 * The stages, in their order; each does its next portion. The tenant itself goes last. Stages that can still
 * send something come first. The configuration comes late, because other stages need it. The index of the
 * stage is stored, so keep the order.
 */
const PORTIONS: Record<
  Exclude<PurgeStage, 'tenant'>,
  (context: TenantContext, progress: Progress) => Promise<Portion>
> = {
  deliveryQueues: async (context, { after }) => {
    await noteDeletions(context, [{ kind: 'tenant', tenantId: context.db.tenantId }])
    return objects(context, 'deliveryQueues', after)
  },
  boards: (context, { after }) => objects(context, 'boards', after),
  erasures,
  keys: (context, { prefixes }) => keys(context, prefixes),
  users: inEach(users),
  rows: inEach(async ({ db }) => ((await repository.removeTenantRows(db)) ? END : GO_ON)),
  configuration: inEach(async ({ db }, progress) => {
    const walked = await repository.removeConfiguration(db, progress.walked)
    return walked === null ? END : { isEnd: false, progress: { walked } }
  }),
}
const STAGES = Object.values(PORTIONS)
const AGAIN = STAGES.indexOf(erasures)

/** Does the next step of erasing a tenant, which may be repeated. Throws if a place can't be reached. */
async function purgeStep(context: TenantContext, work: Work<Progress>): Promise<void> {
  const { db, databases } = context
  const progress = work.progress ?? BEGINNING
  const portion = STAGES[progress.stage]
  if (portion === undefined) {
    try {
      await removeCopies(databases, db.tenantId)
      await repository.removeTenant(db)
    } catch (error) {
      if (!isConflict(error)) throw error
      await db.batch([work.goOn({ ...BEGINNING, stage: AGAIN })])
    }
    return
  }
  const { statements = [], ...next } = await portion(context, progress)
  const reached = next.isEnd ? { ...BEGINNING, stage: progress.stage + 1 } : { ...progress, ...next.progress }
  // After a conflict, another run has gone on meanwhile. Its progress names keys that this one does not know.
  await db.batch([work.progressUnchanged(), ...statements, work.goOn(reached)]).catch(nullIfConflict)
}

/** Deletes the copies of a tenant in the other databases. Throws a conflict if rows are left there. */
async function removeCopies(databases: Databases, tenantId: string): Promise<void> {
  for (const { name, db } of databases.all(tenantId)) {
    if (name !== FIRST) await repository.removeCopy(db)
  }
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    purge: true
  }
}

/** Erases a whole tenant (U8, T3). */
export const purgeJob = defineJob({
  kind: 'purge',
  of: 'tenant',
  while: ['purging'],
  progress: Progress,
  step: purgeStep,
})

const PAGE = 100
/** After this many round trips, the next call does the rest. D1 accepts a thousand in one invocation. */
const MOST_ROUND_TRIPS = 600

type Of<K extends Deletion['kind']> = Extract<Deletion, { kind: K }>
const ofKind = <K extends Deletion['kind']>(deletions: readonly Deletion[], kind: K): Of<K>[] =>
  deletions.filter((one): one is Of<K> => one.kind === kind)

/**
 * Does the deletions of the list again, if the database was brought back to an earlier moment since this was
 * last done (M3). The cron trigger calls it every five minutes. It does a bounded part and stores its
 * progress. A deletion of something that D1 does not have costs a read.
 */
export async function redoDeletions(context: Context): Promise<void> {
  const { db, cost } = context
  const { epoch, redone, progress } = await readRestored(db)
  if (redone >= epoch) return
  const now = (await readTestClock(db)) ?? systemNow()
  const before = { ...cost }
  let after = progress === null ? null : DeletionPlace.parse(JSON.parse(progress))
  while (cost.roundTrips - before.roundTrips < MOST_ROUND_TRIPS) {
    const { deletions, last } = await nextDeletions(context, after, PAGE)
    if (last === null) {
      // A key that was made after the restored moment has no row any more, and only the first database knows that.
      const { prefixes, next } = await recordsWithoutKey(context, after?.cursor)
      if (prefixes.length > 0) await db.batch(refusingKeys(prefixes))
      await refuseKeys(context, prefixes)
      if (next !== undefined) {
        after = { at: -1, name: '', ...after, cursor: next }
        await db.batch([advanceRedo(db, epoch, JSON.stringify(after))])
        continue
      }
      await db.batch([advanceRedo(db, epoch, null)])
      // The cost is that of the call that has done the last deletion again.
      logWork({ work: 'redo', tenant: null, epoch }, cost, before)
      return
    }
    const prefixes = ofKind(deletions, 'key').map(({ prefix }) => prefix)
    const removed = await removeKeysByPrefix(db, prefixes, notingDeletedKeys({ prefixes }))
    forgetKeys(context, removed)
    await refuseKeys(context, removed)
    await eraseAgain(context, ofKind(deletions, 'user'), now)
    for (const { tenantId } of ofKind(deletions, 'tenant')) await purgeAgain(context, tenantId, now)
    // A deletion that comes meanwhile must not begin the walk over KV again.
    after = { ...last, ...(after?.cursor !== undefined && { cursor: after.cursor }) }
    await db.batch([advanceRedo(db, epoch, JSON.stringify(after))])
  }
}
