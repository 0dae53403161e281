import { IMPLICIT_TENANT_ID } from '../../../access/tenants.repository'
import { settleCopy } from '../../../db/databases/copies'
import type { Databases } from '../../../db/databases/databases'
import { type Directory, FIRST, holdersOf } from '../../../db/databases/directory'
import { isConflict } from '../../../db/guard'
import type { Statement } from '../../../db/statement'
import { type Instant, instant } from '../../../lib/clock'
import { bucketOf } from '../../../lib/ids'
import { packsOf, utf8Bytes } from '../../../lib/packed'
import { systemNow, wait } from '../../../lib/system-clock'
import { SECOND } from '../../../lib/units'
import type { Context } from '../../../runtime/context'
import { logProblem } from '../../../runtime/log'
import { removeMovedRows } from '../../../store/user-data/user-rows.repository'
import { COPIED_LOGS } from './moved-tables.register'
import type { Move, Progress, State, Work } from './moves.repository'
import * as repository from './moves.repository'
import { type ByName, heldBy, nextRange, placesAfter, type Range, wantedBy } from './plan.model'

/*
 * The mover of buckets (B3). A move takes a range of buckets from one database to another:
 *
 * 1. The rows of the logs are copied, and copied again for users who have changed meanwhile (by their `seq`).
 *    Nobody finds the copies, because the other database has no rows of these users.
 * 2. The departure: one batch in the old database. From then on it refuses batches by the old directory, so
 *    that requests wait.
 * 3. The arrival: one batch in the new database, with the rest.
 * 4. The switch: one write of the directory. Requests go on, to the new database.
 * 5. Half a minute later, the rows in the old database are deleted.
 *
 * The placements of both databases and the version of the directory say how far it is. So a move that was
 * interrupted goes on from there, whenever the tenant's Timekeeper runs.
 */

/** The most users of a move; one bucket may have more. Users whose rows are read at once. */
const MOST_USERS = 500
const READ_AT_ONCE = 100
/** How many changed users are left for the departure. */
const FEW_CHANGED = 20
/** After this many rounds of copying changed users, the departure comes anyway. */
const MOST_ROUNDS = 20
/** Users whose buckets are stored in one step, and users whose rows are deleted. */
const NUMBERED_AT_ONCE = 1_000
const DELETED_AT_ONCE = 50
/** The most bytes of rows in one batch. */
const MOST_BYTES = 4_000_000
/** How long one call works, in ms. */
const BUDGET = 2 * SECOND
/** The pauses after a failure, and while other work is under way, in ms. */
const PAUSE = SECOND
const SOON = 200
/**
 * How long rows stay in the old database, in ms: a request that read a user there before the departure may
 * still read rows.
 */
const STAY = 30 * SECOND
/**
 * How long a tenant with users in one database waits for its first move, in ms: an isolate of the version
 * before knows no other database, and may still serve a request.
 */
const FIRST_WAIT = 30 * SECOND
/** How long a switch waits for a change of the configuration, in ms, and the pause between two looks. */
const PATIENCE = 10 * SECOND
const LOOK = 15

/** A context of moves: all databases, the tenant, and the kinds of work on users. */
type Moving = { databases: Databases; tenantId: string; kinds: readonly string[] }

/** When moves go on after a step: at once, or at a later moment. Null if nothing is left to do. */
type Next = 'now' | Instant | null

const inMs = (ms: number): Instant => instant(systemNow() + ms)

/**
 * Finishes a move whose departure is done, before any other work of the tenant: work on users must not run
 * while some of them are between two databases.
 */
export async function finishMove(
  context: Context,
  tenantId: string,
  kinds: readonly string[],
): Promise<void> {
  const { databases } = context
  if (!databases.isSeveral) return
  const state = await repository.readState(databases.first, tenantId)
  // The erasure of a tenant deletes its work: the copies of a move go first.
  if (state?.status === 'purging' && state.work !== null) {
    for (let next: Instant | null = systemNow(); next !== null; ) {
      next = await stepMoves(context, tenantId, kinds, true)
      if (next !== null && next > systemNow()) throw new Error("a move can't be cleaned")
    }
    return
  }
  const move = state?.work?.progress.move ?? null
  if (state === null || move === null) return
  const moving = { databases, tenantId, kinds }
  if (isAllBound(databases, state.directory) && (await hasDeparted(moving, move)))
    await arriveAndSwitch(moving, move)
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
  if (!databases.isSeveral) return null
  const moving = { databases, tenantId, kinds }
  const end = systemNow() + BUDGET
  try {
    for (let next: Next = 'now'; ; ) {
      const state = await repository.readState(databases.first, tenantId)
      if (state === null) return null
      next = await step(context, moving, state, mayWork)
      if (next !== 'now') return next
      if (!mayWork || systemNow() > end) return systemNow()
    }
  } catch (error) {
    if (!isConflict(error))
      logProblem('warn', { tenant: tenantId, work: 'moves', error: `a move waits: ${String(error)}` })
    return inMs(PAUSE)
  }
}

/** Whether all databases that hold users of a tenant are bound. */
const isAllBound = ({ names }: Databases, directory: Directory): boolean =>
  holdersOf(directory).every((name) => names.includes(name))

/** How many buckets each database should hold, or null if the tenant stays as it is. */
export function wantedOf(
  { databases, isAlone }: { databases: Databases; isAlone: boolean },
  { isAsked, directory, weights }: { isAsked: boolean; directory: Directory; weights: State['weights'] },
): ByName | null {
  const holders = holdersOf(directory)
  const isToSpread =
    isAlone ||
    isAsked ||
    holders.length > 1 ||
    holders.some((name) => weights[name] === 0) ||
    directory.version > 0
  if (!isToSpread || !isAllBound(databases, directory)) return null
  return wantedBy(databases.names, weights, heldBy(directory))
}

/** Whether the tenant is the only one, so that it spreads over all databases by itself. */
export const isAlone = ({ variables }: Pick<Context, 'variables'>, tenantId: string): boolean =>
  variables.MULTI_TENANCY === 'off' && tenantId === IMPLICIT_TENANT_ID

async function step(context: Context, moving: Moving, state: State, mayWork: boolean): Promise<Next> {
  const { databases, tenantId } = moving
  const progress = state.work?.progress ?? repository.NOTHING_BEGUN
  const isEnding = state.status === 'purging'
  const wanted = isEnding
    ? null
    : wantedOf({ databases, isAlone: isAlone(context, tenantId) }, { ...state, isAsked: state.work !== null })
  const range = wanted === null ? null : nextRange(state.directory, wanted)
  if (progress.move === null && range === null && progress.left.length === 0 && state.work === null)
    return null
  if (!mayWork) return 'now'
  if (progress.move !== null) return goOn(moving, state, progress.move, wanted)
  const started = range === null ? null : await begin(moving, state, range)
  if (started === 'now') return 'now'
  const cleaned = await clean(moving, state, isEnding)
  if (cleaned === 'now') return 'now'
  const times = [started, cleaned].filter((at) => at !== null)
  if (times.length > 0) return instant(Math.min(...times))
  if (state.work !== null) await databases.first.run(repository.endMoves(tenantId, state.work.asked))
  return null
}

const store = ({ databases, tenantId }: Moving, progress: Progress) =>
  databases.first.run(repository.storeProgress(tenantId, progress))

// -- Begin --

/** Begins the next move. Returns a moment if it has to wait. */
async function begin(moving: Moving, state: State, range: Range): Promise<Next> {
  const { databases, tenantId } = moving
  const progress = state.work?.progress ?? repository.NOTHING_BEGUN
  const source = databases.named(range.source)
  const target = databases.named(range.target)
  const waiting = progress.left.find(({ name }) => name === range.target)
  if (waiting !== undefined) return instant(Math.max(waiting.at, systemNow() + SOON))
  if (state.directory.version === 0) {
    const seen = progress.seen ?? systemNow()
    const isEmpty = !(await repository.hasUsers(source, tenantId))
    if (progress.seen === null) await store(moving, { ...progress, seen })
    if (!isEmpty && systemNow() < seen + FIRST_WAIT) return instant(seen + FIRST_WAIT)
  }
  if (state.directory.version === 0 && !progress.isNumbered)
    return numberUsers(moving, progress, range.source)
  if (!(await removeCopies(moving, range.target, await repository.arrivingIn(target, tenantId)))) return 'now'
  await repository.beginClock(databases.first, target)
  if (range.target !== FIRST && (await settleCopy(databases, tenantId, range.target)) !== 'settled')
    return inMs(SOON)
  const [left, joined] = [
    await repository.placementIn(source, tenantId),
    await repository.placementIn(target, tenantId),
  ]
  if (left === null || joined === null) return inMs(SOON)
  const first = await firstBucket(moving, range)
  const { version } = state.directory
  const move = { ...range, first, version, left: left.placement, joined: joined.placement }
  await store(moving, { ...progress, move })
  return 'now'
}

/** The first bucket of a part of a range that has about 500 users at most. */
async function firstBucket({ databases, tenantId }: Moving, range: Range): Promise<number> {
  const last = await repository.lastBuckets(databases.named(range.source), tenantId, range, MOST_USERS + 1)
  const cut = last[MOST_USERS]
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
  await repository.number(
    db,
    tenantId,
    ids.map((id) => [id, bucketOf(tenantId, id)]),
  )
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
  if (await hasDeparted(moving, move)) {
    await arriveAndSwitch(moving, move)
    return 'now'
  }
  if (wanted === null || !isStillWanted(state.directory, move, wanted)) {
    // The copies are deleted before the next move to that database, or at the end.
    const progress = state.work?.progress ?? repository.NOTHING_BEGUN
    await store(moving, { ...progress, move: null, left: withLeft(progress, move.target, systemNow()) })
    return 'now'
  }
  for (let round = 0; round < MOST_ROUNDS; round += 1) if ((await copy(moving, move)) === 'ready') break
  const works = await quietWork(moving, state, move)
  if (works === null) return inMs(PAUSE)
  try {
    const { databases, tenantId } = moving
    await repository.depart(databases.named(move.source), tenantId, move, isEmptiedBy(state, move))
  } catch (error) {
    if (!isConflict(error)) throw error
    // A change of the configuration, or of the test clock, is under way there.
    return inMs(SOON)
  }
  await arriveAndSwitch(moving, move)
  return 'now'
}

/** Whether the old database has let the users go. */
async function hasDeparted({ databases, tenantId }: Moving, { source, left }: Move): Promise<boolean> {
  const found = await repository.placementIn(databases.named(source), tenantId)
  return found !== null && found.placement > left
}

/** Whether the weights still want a move: they may have changed since it began. */
function isStillWanted(directory: Directory, { source, target, first, last }: Move, wanted: ByName): boolean {
  const held = heldBy(directory)
  const size = last - first + 1
  return (
    (held[source] ?? 0) - (wanted[source] ?? 0) >= size && (wanted[target] ?? 0) - (held[target] ?? 0) >= size
  )
}

const isEmptiedBy = ({ directory }: State, move: Move): boolean =>
  !placesAfter(directory, move).some(([, name]) => name === move.source)

/** Copies rows of users who have none there yet, or who have changed. `ready`: few users are left. */
async function copy(moving: Moving, move: Move): Promise<'ready' | 'more'> {
  const { databases, tenantId } = moving
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const here = await repository.seqsIn(source, tenantId, move)
  const there = await repository.arrivingIn(target, tenantId)
  const gone = new Map([...there].filter(([iid]) => !here.has(iid)))
  if (gone.size > 0) await removeCopies(moving, move.target, gone)
  const fresh = [...here.keys()].filter((iid) => (there.get(iid) ?? -1) < 0)
  if (fresh.length > 0) {
    for (let from = 0; from < fresh.length; ) {
      const some = fresh.slice(from, from + READ_AT_ONCE)
      from += await copyWhole(moving, move, some, there)
    }
    return 'more'
  }
  const changed = [...there].filter(([iid, seq]) => here.has(iid) && here.get(iid) !== seq)
  if (changed.length === 0) return 'ready'
  const { rows, seqs } = await repository.readNewer(source, tenantId, move, changed)
  const now = changed.flatMap(([iid]) => {
    const seq = seqs.get(iid)
    return seq === undefined ? [] : [[iid, seq] as const]
  })
  await target.batch([
    repository.notYetJoined(tenantId, move),
    ...repository.insertNewer(rows, changed),
    repository.arrive(tenantId, now),
  ])
  return changed.length <= FEW_CHANGED ? 'ready' : 'more'
}

/** Copies all rows of the first of these users. Returns how many users that were. */
async function copyWhole(
  moving: Moving,
  move: Move,
  iids: readonly string[],
  there: repository.Seqs,
): Promise<number> {
  const { databases, tenantId } = moving
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const begun = new Map(iids.flatMap((iid) => (there.has(iid) ? [[iid, -1] as const] : [])))
  if (begun.size > 0) await removeCopies(moving, move.target, begun)
  let some = iids
  for (;;) {
    const { rows, isAll, seqs } = await repository.readLogs(source, tenantId, move, some)
    if (isAll) {
      // The rows of a user who was erased meanwhile are noted too, so that they are found and deleted.
      const users = some.map((iid) => [iid, seqs.get(iid) ?? -1] as const)
      await writeParts(moving, move, repository.insertLogs(rows), users)
      return some.length
    }
    if (some.length === 1) break
    some = some.slice(0, Math.ceil(some.length / 4))
  }
  const [iid] = some
  if (iid === undefined) return 0
  // So many rows that they are read page by page. Changes that happen meanwhile are newer than this `seq`.
  const seq = (await repository.seqsIn(source, tenantId, move)).get(iid)
  await target.batch([repository.arrive(tenantId, [[iid, -1]])])
  for (const log of COPIED_LOGS) {
    for (let after: string | null = null; ; ) {
      const rows = await repository.readPage(source, log, iid, after)
      const inserts = repository.insertLogs(COPIED_LOGS.map((one) => (one === log ? rows : [])))
      await writeParts(moving, move, inserts, [])
      after = rows.at(-1) ?? null
      if (after === null || rows.length < log.most) break
    }
  }
  if (seq !== undefined) await target.batch([repository.arrive(tenantId, [[iid, seq]])])
  return 1
}

/** Writes copies in batches of a few megabytes. Until the last one, the users are noted as incomplete. */
async function writeParts(
  { databases, tenantId }: Moving,
  move: Move,
  inserts: readonly Statement[],
  users: readonly (readonly [iid: string, seq: number])[],
): Promise<void> {
  const target = databases.named(move.target)
  const parts = packsOf(inserts, MOST_BYTES, ({ params }) => utf8Bytes(String(params[0])))
  const unfinished = users.map(([iid]) => [iid, -1] as const)
  for (const [index, part] of (parts.length === 0 ? [[]] : parts).entries()) {
    const isLast = index >= parts.length - 1
    await target.batch([
      repository.notYetJoined(tenantId, move),
      ...part,
      ...(users.length === 0 ? [] : [repository.arrive(tenantId, isLast ? users : unfinished)]),
    ])
  }
}

/** Deletes copies of users who are not coming. Returns whether there were none. */
async function removeCopies(
  { databases, tenantId }: Moving,
  name: string,
  users: repository.Seqs,
): Promise<boolean> {
  const db = databases.named(name)
  const iids = [...users.keys()]
  for (let from = 0; from < iids.length; from += DELETED_AT_ONCE) {
    const some = iids.slice(from, from + DELETED_AT_ONCE)
    while (!(await removeMovedRows(db.of(tenantId), some, { isFirst: name === FIRST }))) {}
    await db.run(repository.leaveOut(tenantId, some))
  }
  return iids.length === 0
}

// -- Depart, arrive, switch --

/** Kinds of work that visit users in the order of their ids, or by a moment that they have reached. */
const WALKS = ['backdate', 'recount']
const SWEEPS = ['ticks', 'boosts', 'schedule']

/**
 * The work on users in both databases, if users may leave: nothing is in the middle of visiting users, and
 * both have done the same moments. Otherwise null.
 */
async function quietWork(
  { databases, tenantId, kinds }: Moving,
  state: State,
  move: Move,
): Promise<true | null> {
  const here = await repository.workIn(databases.named(move.source), tenantId, kinds)
  const isHolder = state.directory.places.some(([, name]) => name === move.target)
  const there = isHolder ? await repository.workIn(databases.named(move.target), tenantId, kinds) : []
  if (![...here, ...there].every(isQuiet)) return null
  if (isEmptiedBy(state, move) && here.some(({ kind }) => kind === 'erasure')) return null
  for (const kind of SWEEPS) {
    const [a, b] = [here, there].map((list) => list.find((work) => work.kind === kind))
    if (a !== undefined && b !== undefined && !(isAhead(a, b) && isAhead(b, a))) return null
  }
  return true
}

function isQuiet(work: Work): boolean {
  if (WALKS.includes(work.kind)) return false
  const sweep = repository.sweepOf(work)
  if (work.kind === 'schedule' && sweep === null) return false
  const { sweep: at = null, found = null, pass = null } = sweep ?? {}
  return at === null && found === null && pass === null
}

/** Whether the next moment of one is later than all that the other one has done. */
const isAhead = (a: Work, b: Work): boolean => a.dueAt > (repository.sweepOf(b)?.through ?? 0)

/**
 * Brings departed users to the new database, and switches the directory. Each part may have been done before.
 * Waits for changes of the configuration.
 */
async function arriveAndSwitch(moving: Moving, move: Move): Promise<void> {
  const until = systemNow() + PATIENCE
  for (;;) {
    try {
      if (await tryToArrive(moving, move)) return
    } catch (error) {
      if (!isConflict(error)) throw error
    }
    if (systemNow() > until) throw new Error(`the move to ${move.target} waits for a change`)
    await wait(LOOK)
  }
}

/** The same once. Returns false if a change of the configuration or of the clock is under way. */
async function tryToArrive(moving: Moving, move: Move): Promise<boolean> {
  const { databases, tenantId, kinds } = moving
  const state = await repository.readState(databases.first, tenantId)
  const progress = state?.work?.progress
  // It was switched, but the answer was lost.
  if (state === null || progress === undefined || progress.move === null) return true
  const { directory } = state
  const isEmptied = isEmptiedBy(state, move)
  const isHolder = directory.places.some(([, name]) => name === move.target)
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const [departed, arriving, joined] = await Promise.all([
    repository.readDeparted(source, tenantId, move, { kinds, withFigures: isEmptied }),
    repository.arrivingIn(target, tenantId),
    repository.placementIn(target, tenantId),
  ])
  if (joined === null || joined.isChanging !== 0 || joined.version !== state.version) {
    const settled = move.target === FIRST ? 'changing' : await settleCopy(databases, tenantId, move.target)
    if (settled !== 'settled') return false
    return tryToArrive(moving, move)
  }
  if (joined.placement === move.joined) {
    const newer = await newerRows(moving, move, departed, arriving)
    await repository.join(databases.named(move.target), tenantId, move, {
      departed: { ...departed, work: departed.work.filter(({ kind }) => !STAYING.includes(kind)) },
      version: joined.version,
      newer,
      replaces: isHolder ? [] : kinds.filter((kind) => !STAYING.includes(kind)),
    })
  }
  const arrived = new Set(departed.users.map(({ iid }) => iid))
  const isAnyGone = [...arriving.keys()].some((iid) => !arrived.has(iid))
  const placements = {
    ...directory.placements,
    [move.source]: move.left + 1,
    [move.target]: move.joined + 1,
  }
  const places = placesAfter(directory, move)
  const next = { version: move.version + 1, places, placements }
  await repository.switchTo(databases.first, tenantId, next, joined.version, {
    ...progress,
    move: null,
    left: [
      ...withLeft(progress, move.source, systemNow() + STAY),
      // Copies of users who were erased meanwhile.
      ...(isAnyGone ? [{ name: move.target, at: systemNow() }] : []),
    ],
  })
  databases.forget(tenantId)
  return true
}

/** Work that does not move: an erasure ends where it began, and the analytics go on by a trigger. */
const STAYING = ['erasure', 'analytics']

const withLeft = ({ left }: Progress, name: string, at: number) => [
  ...left.filter((one) => one.name !== name),
  { name, at },
]

/** Statements that bring the copies up to date. The users can't change any more. */
async function newerRows(
  moving: Moving,
  move: Move,
  departed: repository.Departed,
  arriving: repository.Seqs,
): Promise<Statement[]> {
  const { databases, tenantId } = moving
  const source = databases.named(move.source)
  const fresh = departed.users.filter(({ iid }) => (arriving.get(iid) ?? -1) < 0).map(({ iid }) => iid)
  for (let from = 0; from < fresh.length; )
    from += await copyWhole(moving, move, fresh.slice(from, from + READ_AT_ONCE), arriving)
  const changed = departed.users.flatMap(({ iid, seq }) => {
    const copied = arriving.get(iid) ?? -1
    return copied < 0 || copied === seq ? [] : [[iid, copied] as const]
  })
  if (changed.length === 0) return []
  const { rows } = await repository.readNewer(source, tenantId, move, changed)
  return repository.insertNewer(rows, changed)
}

// -- Clean --

/** Deletes rows that users have left behind. Returns when that goes on. */
async function clean(moving: Moving, state: State, isEnding: boolean): Promise<Next> {
  const { databases, tenantId, kinds } = moving
  const progress = state.work?.progress ?? repository.NOTHING_BEGUN
  const now = systemNow()
  for (const { name, at } of progress.left) {
    if (!databases.names.includes(name)) continue
    if (!isEnding && at > now) continue
    const db = databases.named(name)
    const copies = await repository.arrivingIn(db, tenantId)
    if (!(await removeCopies(moving, name, copies))) return 'now'
    const users = await repository.departedUsers(db, tenantId, DELETED_AT_ONCE)
    const isRest = users.length < DELETED_AT_ONCE
    while (
      !(await removeMovedRows(
        db.of(tenantId),
        users.map(({ iid }) => iid),
        { isFirst: name === FIRST },
      ))
    ) {}
    if (users.length > 0)
      await db.batch(
        repository.forgetDeparted(
          tenantId,
          users.map(({ id }) => id),
        ),
      )
    if (!isRest) return 'now'
    if (!state.directory.places.some(([, holder]) => holder === name)) {
      await db.batch(repository.forgetSums(tenantId, kinds))
      const [holder = FIRST] = holdersOf(state.directory)
      while (!(await repository.takeLeftovers(db, databases.named(holder), tenantId, 'outbox'))) {}
      if (name !== FIRST) while (!(await repository.takeLeftovers(db, databases.first, tenantId, 'audit'))) {}
    }
    await store(moving, { ...progress, left: progress.left.filter((one) => one.name !== name) })
    return 'now'
  }
  const bound = progress.left.filter(({ name }) => databases.names.includes(name))
  return bound.length === 0 ? null : instant(Math.min(...bound.map(({ at }) => at)))
}
