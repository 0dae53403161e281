import { compareClock } from '../../access/clock.sql.ts'
import { fillDeletedKeys } from '../../access/deleted-keys'
import { IMPLICIT_TENANT_ID } from '../../access/tenants.sql.ts'
import { settleCopy } from '../../configuration/copies'
import { type Instant, instant, MINUTE, SECOND } from '../../lib/clock'
import { bucketOf } from '../../lib/ids'
import { systemNow } from '../../lib/system-clock'
import type { Context } from '../../platform/context'
import type { Databases } from '../../platform/databases/databases'
import { type Directory, FIRST, holdersOf } from '../../platform/databases/directory'
import { isConflict, mayBeStored, nullIfConflict } from '../../platform/guard'
import { logProblem } from '../../platform/log'
import { removeMovedRows } from '../../store/user-data/user-data.sql.ts'
import * as logs from './copies.sql.ts'
import {
  arriveAndSwitch,
  copy,
  DELETED_AT_ONCE,
  hasDeparted,
  type Moving,
  mayLeave,
  OF_FIRST,
  removeCopies,
  withLeft,
} from './copying'
import type { Move, Progress, State } from './databases.sql.ts'
import * as repository from './databases.sql.ts'
import { type ByName, heldBy, nextRange, type Range, wantedBy } from './plan'

/*
 * The mover of buckets (B3). A move takes a range of buckets from one database to another:
 *
 * 1. The rows of the logs are copied, and copied again for users who have changed meanwhile (by their `seq`).
 *    Nobody finds the copies, because the other database has no rows of these users.
 * 2. The departure: one batch in the old database. From then on it refuses batches by the old directory, so
 *    that requests wait.
 * 3. The arrival: one batch in the new database, with the rest.
 * 4. The switch: one write of the directory. Requests go on, to the new database.
 * 5. When no other move can begin, and half a minute after the last one, the rows in the old database are
 *    deleted.
 *
 * The placements of both databases and the version of the directory say how far it is. So a move that was
 * interrupted goes on from there, whenever the tenant's Timekeeper runs.
 */

/** The most users of a move; one bucket may have more. */
const MOST_USERS = 500
/** The most bytes of the rows of these users: they travel in one batch. */
const MOST_BYTES = 4_000_000
const NUMBERED_AT_ONCE = 2_000
/** After this many rounds of copying changed users, the departure comes anyway. */
const MOST_ROUNDS = 20
const BUDGET = 2 * SECOND
/** About the most batches of one step. */
const MOST_BATCHES = 300
/** The pauses after a failure, and while other work is under way, in ms. */
const PAUSE = SECOND
const SOON = 200
/** The pause of an archived tenant: its work that was under way goes on only after a restore (T3, M3). */
const PAUSE_OF_ARCHIVED = 5 * MINUTE
/** How long users don't move to a new database, in ms: isolates that don't know it may still serve. */
const FIRST_WAIT = 30 * SECOND

/** When moves go on after a step: at once, or at a later moment. Null if nothing is left to do. */
type Next = 'now' | Instant | null

const inMs = (ms: number): Instant => instant(systemNow() + ms)

/**
 * Finishes a move that has departed, or may depart at any moment: no work on users may run while some are between
 * two databases.
 */
export async function finishMove(
  context: Context,
  tenantId: string,
  kinds: readonly string[],
): Promise<void> {
  const { databases } = context
  if (databases.others.length === 0) return
  const state = await repository.readState(databases.first, tenantId)
  // The erasure of a tenant deletes its work: the copies of a move go first.
  if (state?.status === 'purging' && state.work !== null) {
    for (let next: Instant | null = systemNow(); next !== null; ) {
      next = await stepMoves(context, tenantId, kinds, true)
      if (next !== null && next > systemNow()) throw new Error("a move can't be cleaned")
    }
    return
  }
  const move = state?.progress.move ?? null
  if (state === null || move === null || move.version !== state.directory.version) return
  const moving = { databases, tenantId, kinds }
  if (!isAllBound(databases, state.directory)) return
  let isGone = await hasDeparted(moving, move)
  // A departure without an answer may still be stored, also in the middle of the work on users.
  if (!isGone && move.isLeaving && (await isReady(moving, state, move))) {
    await logs.depart(databases.named(move.source), tenantId, move).catch((error: unknown) => {
      if (mayBeStored(error)) throw error
    })
    isGone = await hasDeparted(moving, move)
  }
  if (isGone) await arriveAndSwitch(moving, move)
}

/**
 * Does moves of a tenant for about two seconds. Returns when they continue, in real time; null if the users
 * are spread by weight and nothing is left to clean. Without `mayWork` it only says that.
 */
export async function stepMoves(
  context: Context,
  tenantId: string,
  kinds: readonly string[],
  mayWork: boolean,
): Promise<Instant | null> {
  const { databases } = context
  if (databases.others.length === 0) return null
  const moving = { databases, tenantId, kinds }
  const end = systemNow() + BUDGET
  try {
    for (let next: Next = 'now'; ; ) {
      const state = await repository.readState(databases.first, tenantId)
      if (state === null) return null
      next = await step(context, moving, state, mayWork && databases.hasRoom(MOST_BATCHES))
      if (next !== 'now') return next
      if (!mayWork || systemNow() > end || !databases.hasRoom(MOST_BATCHES)) return systemNow()
    }
  } catch (error) {
    if (!isConflict(error))
      logProblem('warn', { tenant: tenantId, work: 'moves', error: `a move waits: ${String(error)}` })
    return inMs(PAUSE)
  }
}

const isAllBound = ({ names }: Databases, directory: Pick<Directory, 'places'>): boolean =>
  holdersOf(directory).every((name) => names.includes(name))

/** How many buckets each database should hold, or null if the tenant stays as it is. */
export function wantedOf(context: Context, spread: repository.Spread, weights: ByName): ByName | null {
  const { databases } = context
  const { tenantId, isAsked } = spread
  const holders = holdersOf(spread)
  const isUneven = holders.length > 1 || holders.some((name) => weights[name] === 0)
  const isToSpread = isAlone(context, tenantId) || isAsked || isUneven
  if (!isToSpread || !isAllBound(databases, spread)) return null
  return wantedBy(databases.names, weights, heldBy(spread))
}

/** Whether the tenant is the only one, so that it spreads over all databases by itself. */
export const isAlone = ({ variables }: Pick<Context, 'variables'>, tenantId: string): boolean =>
  variables.MULTI_TENANCY === 'off' && tenantId === IMPLICIT_TENANT_ID

async function step(context: Context, moving: Moving, state: State, mayWork: boolean): Promise<Next> {
  const { databases, tenantId } = moving
  const { progress } = state
  const isEnding = state.status === 'purging'
  const spread = { tenantId, isAsked: state.work !== null, places: state.directory.places }
  const wanted = isEnding ? null : wantedOf(context, spread, state.weights)
  const range = wanted === null ? null : nextRange(state.directory, wanted)
  if (progress.move === null && range === null && progress.left.length === 0 && state.work === null)
    return null
  if (!mayWork) return 'now'
  if (progress.move !== null) return goOn(moving, state, progress.move, wanted)
  const started = range === null ? null : await begin(moving, state, range, isAlone(context, tenantId))
  if (started === 'now') return 'now'
  const cleaned = await clean(moving, state, isEnding)
  if (cleaned === 'now') return 'now'
  const times = [started, cleaned].filter((at) => at !== null)
  if (times.length > 0) return instant(Math.min(...times))
  if (state.work !== null) await databases.first.run(repository.endMoves(tenantId, state.work.asked))
  return null
}

const store = ({ databases, tenantId }: Moving, progress: Progress) =>
  databases.first.batch(repository.storeProgress(tenantId, progress))

// -- Begin --

/** Begins the next move. Returns a moment if it has to wait. `isOnly`: there is no other tenant. */
async function begin(moving: Moving, state: State, range: Range, isOnly: boolean): Promise<Next> {
  const { databases, tenantId } = moving
  const { progress } = state
  const source = databases.named(range.source)
  const target = databases.named(range.target)
  const waiting = progress.left.find(({ name }) => name === range.target)
  if (waiting !== undefined) return instant(Math.max(waiting.at, systemNow() + SOON))
  if (range.target !== FIRST) {
    const isEmpty = state.directory.version === 0 && !(await repository.hasUsers(source, tenantId))
    // Without any users there was no version before.
    const known = state.known[range.target]
    const since = isEmpty && isOnly ? 0 : (known ?? systemNow())
    if (known !== since) await databases.first.batch(repository.noteDatabases(databases.names, since))
    if (!isEmpty && systemNow() < since + FIRST_WAIT) return instant(since + FIRST_WAIT)
  }
  // Users who came while there was one database have no bucket. They are in the first one.
  if (range.source === FIRST && !progress.isNumbered) return numberUsers(moving, progress, range.source)
  const { placement = 0 } = (await repository.placementIn(target, tenantId)) ?? {}
  const copies = await logs.arrivingIn(target, tenantId)
  if (!(await removeCopies(moving, range.target, copies, placement))) return 'now'
  if ((await compareClock(databases, range.target)) !== 'settled') return inMs(SOON)
  if (range.target !== FIRST) {
    await fillDeletedKeys(databases.first, target)
    if ((await settleCopy(databases, tenantId, range.target)) !== 'settled') return inMs(SOON)
  }
  const [left, joined] = [
    await repository.placementIn(source, tenantId),
    await repository.placementIn(target, tenantId),
  ]
  if (left === null || joined === null) return inMs(SOON)
  const first = await firstBucket(moving, range)
  const { version } = state.directory
  const placements = { left: left.placement, joined: joined.placement }
  const move = { ...range, ...placements, first, version, isLeaving: false, events: 0 }
  await databases.first.batch(repository.storeMove(tenantId, { ...progress, move }))
  return 'now'
}

/** The first bucket of a part of a range: at most about 500 users, and a few megabytes of their rows. */
async function firstBucket({ databases, tenantId }: Moving, range: Range): Promise<number> {
  const last = await repository.lastUsers(databases.named(range.source), tenantId, range, MOST_USERS + 1)
  let bytes = 0
  const cut = last.find((user, index) => {
    bytes += user.bytes
    return index === MOST_USERS || (index > 0 && bytes > MOST_BYTES)
  })?.bucket
  if (cut === undefined) return range.first
  // The users of the bucket `cut` are not all among these.
  return Math.min(cut + 1, range.last)
}

/** Stores the buckets of users who have none, because there was one database when they came. */
async function numberUsers(moving: Moving, progress: Progress, name: string): Promise<Next> {
  const { databases, tenantId } = moving
  const db = databases.named(name)
  const { after, found: foundBefore } = progress.numbering ?? { after: '', found: false }
  const { ids, last } = await repository.unnumbered(db, tenantId, after, NUMBERED_AT_ONCE)
  const buckets = ids.map((id) => [id, bucketOf(tenantId, id)] as const)
  await repository.number(db, tenantId, buckets)
  const found = foundBefore || ids.length > 0
  if (last !== null) await store(moving, { ...progress, numbering: { after: last, found } })
  // Visited again until none is found: an isolate of the version before may have added one.
  else if (found) await store(moving, { ...progress, numbering: { after: '', found: false } })
  else await store(moving, { ...progress, numbering: null, isNumbered: true })
  return 'now'
}

// -- Copy --

/** Goes on with a move: one part of the copies, or the departure, the arrival and the switch. */
async function goOn(moving: Moving, state: State, move: Move, wanted: ByName | null): Promise<Next> {
  const { databases, tenantId } = moving
  const { progress } = state
  const withCopies = { ...progress, move: null, left: withLeft(progress, move.target, systemNow()) }
  // The beginning of this move was stored late, when it had ended already.
  if (move.version !== state.directory.version) {
    await databases.first.batch(repository.storeMove(tenantId, withCopies))
    return 'now'
  }
  if (await hasDeparted(moving, move)) {
    await arriveAndSwitch(moving, move)
    return 'now'
  }
  const isEnding = state.status === 'purging'
  // A departure without an answer may still be stored. So the move goes on, unless the tenant is erased.
  if (isEnding || (!move.isLeaving && (wanted === null || !isStillWanted(state.directory, move, wanted)))) {
    // The copies are deleted before the next move to that database, or at the end.
    await databases.first.batch(repository.storeMove(tenantId, withCopies))
    return 'now'
  }
  if (!(await isReady(moving, state, move)))
    return inMs(state.status === 'archived' ? PAUSE_OF_ARCHIVED : PAUSE)
  const source = databases.named(move.source)
  const leaving = move.isLeaving
    ? move
    : { ...move, isLeaving: true, events: await repository.countedEvents(source, tenantId, move) }
  if (!move.isLeaving) {
    await store(moving, { ...progress, move: leaving })
    // The users who have changed while the events were counted.
    await copy(moving, move)
  }
  const left = await logs.depart(source, tenantId, leaving).catch(nullIfConflict)
  // A change of the configuration, or of the test clock, is under way there.
  if (left === null) return inMs(SOON)
  await arriveAndSwitch(moving, leaving)
  return 'now'
}

/** Brings the copies up to date. Returns whether the users may leave then. */
async function isReady(moving: Moving, state: State, move: Move): Promise<boolean> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) if ((await copy(moving, move)) === 'ready') break
  return mayLeave(moving, state, move)
}

/** Whether the weights still want a move: they may have changed since it began. */
function isStillWanted(directory: Directory, { source, target, first, last }: Move, wanted: ByName): boolean {
  const held = heldBy(directory)
  const size = last - first + 1
  return (
    (held[source] ?? 0) - (wanted[source] ?? 0) >= size && (wanted[target] ?? 0) - (held[target] ?? 0) >= size
  )
}

// -- Clean --

async function clean(moving: Moving, state: State, isEnding: boolean): Promise<Next> {
  const { databases, tenantId, kinds } = moving
  const { progress } = state
  const now = systemNow()
  for (const { name, at } of progress.left) {
    if (!databases.names.includes(name)) continue
    if (!isEnding && at > now) continue
    const db = databases.named(name)
    const { placement = 0 } = (await repository.placementIn(db, tenantId)) ?? {}
    const guard = logs.placementIs(tenantId, placement)
    const copies = await logs.arrivingIn(db, tenantId)
    if (!(await removeCopies(moving, name, copies, placement))) return 'now'
    const users = await logs.departedUsers(db, tenantId, DELETED_AT_ONCE)
    const isRest = users.length < DELETED_AT_ONCE
    const iids = users.map(({ iid }) => iid)
    while (!(await removeMovedRows(db.of(tenantId), iids, { isFirst: name === FIRST, guard }))) {}
    if (users.length > 0) await db.batch([guard, ...logs.forgetDeparted(tenantId, users)])
    if (!isRest) return 'now'
    while (!(await logs.forgetOthers(db, tenantId, guard))) {}
    if (!state.directory.places.some(([, holder]) => holder === name)) {
      const forgotten = name === FIRST ? kinds.filter((kind) => !OF_FIRST.includes(kind)) : kinds
      await db.batch([guard, ...logs.forgetSums(tenantId, forgotten)])
      const [holder = FIRST] = holdersOf(state.directory)
      while (!(await logs.takeLeftovers(db, databases.named(holder), tenantId, 'outbox'))) {}
      if (name !== FIRST) while (!(await logs.takeLeftovers(db, databases.first, tenantId, 'audit'))) {}
    }
    await store(moving, { ...progress, left: progress.left.filter((one) => one.name !== name) })
    return 'now'
  }
  const bound = progress.left.filter(({ name }) => databases.names.includes(name))
  return bound.length === 0 ? null : instant(Math.min(...bound.map(({ at }) => at)))
}
