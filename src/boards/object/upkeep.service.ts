import type * as z from 'zod'
import { MOST_READ } from '../../db/short-ids'
import { beginsAt, finalAt, finalUntil, firstDayOf, runHolding, statusOf } from '../../engine/runs.rules'
import { type Instant, instant } from '../../lib/clock'
import { packsOf } from '../../lib/packed'
import { LAST_DAY } from '../../lib/periods'
import { HOUR, MINUTE } from '../../lib/units'
import { utcDay } from '../../lib/zone'
import type { RunDueRequest } from '../board.messages'
import type { UserCursor } from '../board.types'
import type { Board } from './board.model'
import { cursorOf } from './chain.rules'

/** Up to when a board does what is due. */
type Moments = Omit<z.output<typeof RunDueRequest>, 'definition'> & {
  /** Whether time may go back: only where a test clock can be taken away (C1). */
  mayRewind: boolean
}

/** Users that are compared at once; those that are walked past in search of who has changed; ranges to one call. */
const CHUNK = 1_000
const WALK = 20_000
const CHUNKS = 10
/** By how much clocks and the ends of changes may differ: users who changed so long before a comparison are in the next one too. */
const MARGIN = 10 * MINUTE

/**
 * Does what is due of a board by `now`, or a part of it: compares it with D1 hourly (L12), and makes runs final after a full
 * comparison (L8). Answers when it wants to be called next, with what is overdue by `until` done once; null for never.
 */
export async function runDue(
  board: Board,
  { now, until, grace, mayRewind }: Moments,
): Promise<Instant | null> {
  const { definition } = board
  const status = statusOf(definition, now)
  if (status === 'inactive') return null
  // A test clock that was taken away has left the board in its future.
  if (mayRewind && now + HOUR < board.progress.compared && definition.finished === null) {
    board.rewind((finalUntil(definition, now) ?? firstDayOf(definition) - 1) + 1)
  }
  if (status === 'scheduled') return beginsAt({ start: firstDayOf(definition) })
  // Under a set clock, where nothing is late, what is told is told at its time; in real time when it is, so that fifteen minutes lie between (W5).
  const toldAt = grace === 0 ? now : until
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    if (board.progress.comparison === null && !beginComparison(board, now, grace)) {
      board.events.tell(toldAt)
      return nextDue(board, until, grace)
    }
    board.roll(utcDay(now))
    await compareChunk(board, { grace, toldAt })
  }
  return now
}

/** When a board that has nothing left to do by now is due again: at the next full hour, when the next run is final, or when it has something to tell. */
function nextDue(board: Board, until: Instant, grace: number): Instant | null {
  if (isOver(board)) return null
  const hour = (Math.floor(until / HOUR) + 1) * HOUR
  return instant(Math.min(hour, nextFinal(board, grace) ?? hour, board.events.dueAt ?? hour))
}

/** Whether all runs are final. */
function isOver({ definition, progress }: Board): boolean {
  return runHolding(definition, progress.openFrom) === null
}

/** When the oldest run that isn't final is made so; at once where the board was finished by hand (L7). */
function nextFinal({ definition, progress }: Board, grace: number): Instant | null {
  const run = runHolding(definition, progress.openFrom)
  if (run === null) return null
  const final = finalAt(run)
  return definition.finished ?? (final && instant(final + grace))
}

/** Begins the comparison that is due, if any: of all users before a run is final, else of those who have changed. */
function beginComparison(board: Board, now: Instant, grace: number): boolean {
  const { progress } = board
  const final = nextFinal(board, grace)
  const mustCompareAll = progress.mustCompareAll || (final !== null && final <= now)
  if (isOver(board) || !(mustCompareAll || hourOf(now) !== hourOf(progress.compared))) return false
  const since = mustCompareAll || now < progress.compared ? 0 : Math.max(0, progress.compared - MARGIN)
  board.progress = { ...progress, comparison: { since, began: now, after: '' } }
  return true
}

const hourOf = (at: number) => Math.floor(at / HOUR)

/** Compares the next users in order of id with what D1 has, and counts anew those who differ. */
async function compareChunk(board: Board, options: { grace: number; toldAt: Instant }): Promise<void> {
  const { comparison } = board.progress
  if (comparison === null) return
  const { since, after } = comparison
  const last = await board.whileMoving((moved) => compareRange(board, after, since, moved))
  // A change of the configuration may have called for another comparison meanwhile.
  if (board.progress.comparison !== comparison) return
  if (last === null) endComparison(board, comparison, options)
  else board.progress = { ...board.progress, comparison: { ...comparison, after: last } }
}

/** Compares a range of users; answers its last id, null at the end. */
async function compareRange(
  board: Board,
  after: string,
  since: number,
  moved: ReadonlySet<string>,
): Promise<string | null> {
  const walked = since === 0 ? CHUNK : WALK
  const { userCursors, last } =
    board.definition.input === null
      ? { userCursors: [], last: null }
      : await board.userCursorsAfter(after, since, walked)
  if (since === 0) eraseGone(board, after, last, userCursors, moved)
  const behind = userCursors.filter((mark) => isBehind(board, mark))
  // A user has as many rows as changes, more or less, and is one to the parameters.
  for (const some of packsOf(behind, MOST_READ, ({ seq }) => Math.max(seq, MOST_READ / CHUNK))) {
    for await (const truth of board.recount(some)) board.settle(truth)
  }
  return last
}

/** Takes out the users of this range of ids whom D1 no longer has (U8). */
function eraseGone(
  board: Board,
  after: string,
  last: string | null,
  userCursors: readonly UserCursor[],
  moved: ReadonlySet<string>,
): void {
  const present = new Set(userCursors.map(({ iid }) => iid))
  const known = board.store.usersBetween(after, last)
  board.erase(known.filter(({ iid }) => !present.has(iid) && !moved.has(iid)))
}

function isBehind(board: Board, { userId, iid, seq, cursor, group }: UserCursor): boolean {
  const rows = board.store.ofUser(userId, iid)
  if (cursor !== null && cursor > (cursorOf(rows) ?? -1)) return true
  const open = rows.filter(({ run }) => !board.isFinal(run))
  return open.some((row) => row.group !== group && row.grouped <= seq)
}

/** Makes the runs final that were due when the comparison began (L8). */
function endComparison(
  board: Board,
  { since, began }: { since: number; began: number },
  { grace, toldAt }: { grace: number; toldAt: Instant },
): void {
  const { definition, progress } = board
  const mustCompareAll = since !== 0 && progress.mustCompareAll
  const openFrom = since === 0 ? firstOpen(board, began - grace) : progress.openFrom
  if (openFrom > progress.openFrom) {
    board.events.finish(openFrom, toldAt)
    for (const run of board.store.openRuns(progress.openFrom)) {
      if (run >= openFrom) continue
      if (progress.day !== null) board.snapshot(run, progress.day)
      board.store.finish(run, definition.maxParticipants)
    }
  }
  board.progress = { ...progress, comparison: null, mustCompareAll, compared: began, openFrom }
}

/** The first day of the oldest run that isn't final at a moment; the day after the last one where all are. */
function firstOpen({ definition, progress }: Board, at: number): number {
  const last = definition.finished === null ? finalUntil(definition, instant(at)) : LAST_DAY
  return last === null ? progress.openFrom : Math.max(progress.openFrom, last + 1)
}
