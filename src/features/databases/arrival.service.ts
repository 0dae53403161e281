import { settleCopy } from '../../configuration/copies/copies'
import { systemNow, wait } from '../../lib/system-clock'
import { SECOND } from '../../lib/units'
import { FIRST } from '../../platform/databases/directory'
import { isConflict } from '../../platform/guard'
import type { Statement } from '../../platform/statement'
import * as logs from './copied-logs.repository'
import { copyWhole, type Moving, READ_AT_ONCE } from './copying.service'
import * as departure from './departure.repository'
import type { Move, Progress, State } from './moves.repository'
import * as repository from './moves.repository'
import { placesAfter } from './plan.model'
import type { Work } from './users-work.repository'
import * as works from './users-work.repository'

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

/** Whether the old database holds no buckets of the tenant after a move. */
export const isEmptiedBy = ({ directory }: State, move: Move): boolean =>
  !placesAfter(directory, move).some(([, name]) => name === move.source)

/** Notes that a database has rows to delete from a moment on. */
export const withLeft = ({ left }: Progress, name: string, at: number) => [
  ...left.filter((one) => one.name !== name),
  { name, at },
]

/** Kinds of work that visit users in the order of their ids, or by a moment that they have reached. */
const WALKS = ['backdate', 'recount']
const SWEEPS = ['ticks', 'boosts', 'schedule']
/** Work on users that the first database has without users, too: it announces boosts for everyone (W6). */
export const OF_FIRST = ['boosts']

/**
 * Whether users may leave: no work is in the middle of visiting users in one of the two databases, and both
 * have done the same moments.
 */
export async function mayLeave(
  { databases, tenantId, kinds }: Moving,
  state: State,
  move: Move,
): Promise<boolean> {
  const here = await works.workIn(databases.named(move.source), tenantId, kinds)
  const isHolder = state.directory.places.some(([, name]) => name === move.target)
  const ofTarget = isHolder ? kinds : move.target === FIRST ? OF_FIRST : []
  const there = await works.workIn(databases.named(move.target), tenantId, ofTarget)
  if (![...here, ...there].every(isQuiet)) return false
  for (const kind of SWEEPS) {
    const [a, b] = [here, there].map((list) => list.find((work) => work.kind === kind))
    if (a !== undefined && b !== undefined && !(isAhead(a, b) && isAhead(b, a))) return false
  }
  return true
}

function isQuiet(work: Work): boolean {
  if (WALKS.includes(work.kind)) return false
  const sweep = works.sweepOf(work)
  if (work.kind === 'schedule' && sweep === null) return false
  const { sweep: at = null, found = null, pass = null } = sweep ?? {}
  return at === null && found === null && pass === null
}

/** Whether the next moment of one is later than all that the other one has done. */
const isAhead = (a: Work, b: Work): boolean => a.dueAt > (works.sweepOf(b)?.through ?? 0)

/**
 * Brings departed users to the new database, and switches the directory. Each part may have been done before.
 * Waits for changes of the configuration.
 */
export async function arriveAndSwitch(moving: Moving, move: Move): Promise<void> {
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
  const stays = (kind: string) => STAYING.includes(kind) || (move.target === FIRST && OF_FIRST.includes(kind))
  const [source, target] = [databases.named(move.source), databases.named(move.target)]
  const [left, joined] = await Promise.all([
    repository.placementIn(source, tenantId),
    repository.placementIn(target, tenantId),
  ])
  // Work that the last change began has to be in the old database before it is read there.
  for (const [name, found] of [
    [move.source, left],
    [move.target, joined],
  ] as const) {
    if (found !== null && found.isChanging === 0 && found.version === state.version) continue
    const settled = name === FIRST ? 'changing' : await settleCopy(databases, tenantId, name)
    if (settled !== 'settled') return false
    return tryToArrive(moving, move)
  }
  if (joined === null) return false
  const [departed, arriving] = await Promise.all([
    departure.readDeparted(source, tenantId, move, { kinds, withFigures: isEmptied }),
    logs.arrivingIn(target, tenantId),
  ])
  if (joined.placement === move.joined) {
    const newer = await newerRows(moving, move, departed, arriving)
    await departure.join(databases.named(move.target), tenantId, move, {
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
  departed: departure.Departed,
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
