import { settleCopy } from '../../configuration/copies'
import { SECOND } from '../../lib/clock'
import { packsOf, utf8Bytes } from '../../lib/packed'
import { systemNow, wait } from '../../lib/system-clock'
import type { Statement } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { FIRST } from '../../platform/databases/directory'
import { nullIfConflict } from '../../platform/guard'
import { removeMovedRows } from '../../store/user-data/user-data.sql.ts'
import type { MovedWork } from '../../time/moved-work.sql.ts'
import * as logs from './copies.sql.ts'
import type { Move, Progress, State } from './databases.sql.ts'
import * as repository from './databases.sql.ts'
import { COPIED_LOGS } from './moved-tables'
import { placesAfter } from './plan'

/* Copies the rows of users who are going to move, while the users are still in the old database (B3). */

/** A context of moves: all databases, the tenant, and the kinds of work on users. */
export type Moving = { databases: Databases; tenantId: string; kinds: readonly string[] }

const READ_AT_ONCE = 100
/** How many changed users may be left for the departure. */
const FEW_CHANGED = 20
/** Users whose rows are deleted at once. */
export const DELETED_AT_ONCE = 50
const MOST_BYTES = 4_000_000

/** Copies rows of users who have none there yet, or who have changed. `ready`: few users are left. */
export async function copy(moving: Moving, move: Move): Promise<'ready' | 'more'> {
  const { databases, tenantId } = moving
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const here = await logs.seqsIn(source, tenantId, move)
  const there = await logs.arrivingIn(target, tenantId)
  const gone = new Map([...there].filter(([iid]) => !here.has(iid)))
  if (gone.size > 0) await removeCopies(moving, move.target, gone, move.joined)
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
  const { rows, seqs } = await logs.readNewer(source, tenantId, move, changed)
  const now = changed.flatMap(([iid]) => {
    const seq = seqs.get(iid)
    return seq === undefined ? [] : [[iid, seq] as const]
  })
  await target.batch([
    logs.notYetJoined(tenantId, move),
    ...logs.insertNewer(rows, changed),
    logs.arrive(tenantId, now),
  ])
  return changed.length <= FEW_CHANGED ? 'ready' : 'more'
}

/** Copies all rows of the first of these users. Returns how many users that were. */
async function copyWhole(
  moving: Moving,
  move: Move,
  iids: readonly string[],
  there: logs.Seqs,
): Promise<number> {
  const { databases, tenantId } = moving
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const begun = new Map(iids.flatMap((iid) => (there.has(iid) ? [[iid, -1] as const] : [])))
  if (begun.size > 0) await removeCopies(moving, move.target, begun, move.joined)
  let some = iids
  for (;;) {
    const { rows, isAll, seqs } = await logs.readLogs(source, tenantId, move, some)
    if (isAll) {
      // The rows of a user who was erased meanwhile are noted too, so that they are found and deleted.
      const users = some.map((iid) => [iid, seqs.get(iid) ?? -1] as const)
      await writeParts(moving, move, logs.insertLogs(rows), users)
      return some.length
    }
    if (some.length === 1) break
    some = some.slice(0, Math.ceil(some.length / 4))
  }
  const [iid] = some
  if (iid === undefined) return 0
  // So many rows that they are read page by page. Changes that happen meanwhile are newer than this `seq`.
  const seq = (await logs.seqsIn(source, tenantId, move)).get(iid)
  await target.batch([logs.notYetJoined(tenantId, move), logs.arrive(tenantId, [[iid, -1]])])
  for (const log of COPIED_LOGS) {
    for (let after: string | null = null; ; ) {
      const rows = await logs.readPage(source, log, iid, after)
      const inserts = logs.insertLogs(COPIED_LOGS.map((one) => (one === log ? rows : [])))
      await writeParts(moving, move, inserts, [])
      after = rows.at(-1) ?? null
      if (after === null || rows.length < log.most) break
    }
  }
  if (seq !== undefined)
    await target.batch([logs.notYetJoined(tenantId, move), logs.arrive(tenantId, [[iid, seq]])])
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
      logs.notYetJoined(tenantId, move),
      ...part,
      ...(users.length === 0 ? [] : [logs.arrive(tenantId, isLast ? users : unfinished)]),
    ])
  }
}

/**
 * Deletes copies of users who are not coming. Returns whether there were none. `placement` is that of the
 * database, read before the copies were found. Raises a conflict if users have arrived there since then.
 */
export async function removeCopies(
  { databases, tenantId }: Moving,
  name: string,
  users: logs.Seqs,
  placement: number,
): Promise<boolean> {
  const db = databases.named(name)
  const guard = logs.placementIs(tenantId, placement)
  const iids = [...users.keys()]
  for (let from = 0; from < iids.length; from += DELETED_AT_ONCE) {
    const some = iids.slice(from, from + DELETED_AT_ONCE)
    while (!(await removeMovedRows(db.of(tenantId), some, { isFirst: name === FIRST, guard }))) {}
    await db.batch([guard, logs.leaveOut(tenantId, some)])
  }
  return iids.length === 0
}

/* When users may leave a database, and how they arrive in the other one (B3). */

/** How long rows stay in the old database, in ms: requests that read a user there may still read rows. */
const STAY = 30 * SECOND
/** How long a switch waits for a change of the configuration, in ms, and the pause between two looks. */
const PATIENCE = 10 * SECOND
const LOOK = 15

/** Whether the departure is done: the old database has no users of these buckets any more. */
export async function hasDeparted({ databases, tenantId }: Moving, { source, left }: Move): Promise<boolean> {
  const found = await repository.placementIn(databases.named(source), tenantId)
  return found !== null && found.placement > left
}

const isEmptiedBy = ({ directory }: State, move: Move): boolean =>
  !placesAfter(directory, move).some(([, name]) => name === move.source)

/** Notes that a database has rows to delete from a moment on. */
export const withLeft = ({ left }: Progress, name: string, at: number) => [
  ...left.filter((one) => one.name !== name),
  { name, at },
]

/** Kinds of work that visit users in the order of their ids, or by a moment that they have reached. */
const WALKS = ['backdate', 'recount']
const SWEEPS = ['ticks', 'boosts', 'schedule', 'anniversaries']
/** Work on users that the first database has without users, too: it announces boosts for everyone (W6). */
export const OF_FIRST = ['boosts']

/** Whether users may leave: no work is in the middle of users, and both have done the same moments. */
export async function mayLeave(
  { databases, tenantId, kinds }: Moving,
  state: State,
  move: Move,
): Promise<boolean> {
  const here = await repository.workIn(databases.named(move.source), tenantId, kinds)
  const isHolder = state.directory.places.some(([, name]) => name === move.target)
  const ofTarget = isHolder ? kinds : move.target === FIRST ? OF_FIRST : []
  const there = await repository.workIn(databases.named(move.target), tenantId, ofTarget)
  if (![...here, ...there].every(isQuiet)) return false
  for (const kind of SWEEPS) {
    const [a, b] = [here, there].map((list) => list.find((work) => work.kind === kind))
    if (a !== undefined && b !== undefined && !(isAhead(a, b) && isAhead(b, a))) return false
  }
  return true
}

function isQuiet(work: MovedWork): boolean {
  if (WALKS.includes(work.kind)) return false
  const sweep = repository.sweepOf(work)
  if (work.kind === 'schedule' && sweep === null) return false
  const { sweep: at = null, found = null, pass = null } = sweep ?? {}
  return at === null && found === null && pass === null
}

/** Whether the next moment of one is later than all that the other one has done. */
const isAhead = (a: MovedWork, b: MovedWork): boolean => a.dueAt > (repository.sweepOf(b)?.through ?? 0)

/** Brings departed users to the new database, and switches the directory. Any part may be done already. */
export async function arriveAndSwitch(moving: Moving, move: Move): Promise<void> {
  const until = systemNow() + PATIENCE
  for (;;) {
    if (await tryToArrive(moving, move).catch(nullIfConflict)) return
    if (systemNow() > until) throw new Error(`the move to ${move.target} waits for a change`)
    await wait(LOOK)
  }
}

/** The same once. Returns false if a change of the configuration or of the clock is under way. */
async function tryToArrive(moving: Moving, move: Move): Promise<boolean> {
  const { databases, tenantId, kinds } = moving
  const state = await repository.readState(databases.first, tenantId)
  // It was switched, but the answer was lost.
  if (state === null || state.progress.move === null) return true
  const { directory, progress } = state
  const isEmptied = isEmptiedBy(state, move)
  const isHolder = directory.places.some(([, name]) => name === move.target)
  const stays = (kind: string) => STAYING.includes(kind) || (move.target === FIRST && OF_FIRST.includes(kind))
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const [left, joined] = await Promise.all([
    repository.placementIn(source, tenantId),
    repository.placementIn(target, tenantId),
  ])
  // Work that the last change began has to be in the old database before it is read there.
  const both = [
    { name: move.source, found: left },
    { name: move.target, found: joined },
  ]
  for (const { name, found } of both) {
    if (found !== null && found.isChanging === 0 && found.version === state.version) continue
    const settled = name === FIRST ? 'changing' : await settleCopy(databases, tenantId, name)
    if (settled !== 'settled') return false
    return tryToArrive(moving, move)
  }
  if (joined === null) return false
  const [departed, arriving] = await Promise.all([
    logs.readDeparted(source, tenantId, move, { kinds, withFigures: isEmptied }),
    logs.arrivingIn(target, tenantId),
  ])
  if (joined.placement === move.joined) {
    const newer = await newerRows(moving, move, departed, arriving)
    await logs.join(databases.named(move.target), tenantId, move, {
      departed: { ...departed, work: departed.work.filter(({ kind }) => !STAYING.includes(kind)) },
      version: joined.version,
      newer,
      replaces: isHolder ? [] : kinds.filter((kind) => !stays(kind)),
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

/** Work that does not move: the analytics go on by a trigger. */
const STAYING = ['analytics']

/** Statements that bring the copies up to date. The users can't change any more. */
async function newerRows(
  moving: Moving,
  move: Move,
  departed: logs.Departed,
  arriving: logs.Seqs,
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
  const { rows } = await logs.readNewer(source, tenantId, move, changed)
  return logs.insertNewer(rows, changed)
}
