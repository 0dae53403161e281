import { DAY, HOUR, type Instant, instant, MINUTE } from '../../lib/clock'
import { packsOf } from '../../lib/packed'
import { LAST_DAY, utcDay } from '../../lib/zone'
import { MOST_READ } from '../../platform/columns'
import { logProblem } from '../../platform/log'
import { beginsAt, finalAt, finalUntil, firstDayOf, runHolding, statusOf } from '../../rules/runs.rules'
import type { DueAsked, UserCursor } from '../board'
import { ZERO } from '../score.rules'
import type { Board } from './board'
import { cursorOf, settled } from './chain.rules'
import type { UpkeepNote } from './recount.sql.ts'

type Moments = DueAsked & {
  now: Instant
  /** Whether a test clock can be removed (C1). Else time goes back only if the machine's clock was ahead (C3). */
  mayRewind: boolean
}

/** Users to compare at once; users to walk past in search of changed ones; ranges in one call. */
const CHUNK = 1_000
const WALK = 20_000
const CHUNKS = 10
/** By how much clocks may differ. Users who changed this long before a comparison are in the next one too. */
const MARGIN = 10 * MINUTE

/**
 * Does the due work of a board by `now`, or a part of it. It compares the board with D1 each hour (L12), and
 * makes runs final after a full comparison (L8). Returns when it must be called next, or null if never. Work
 * that is overdue at `until` is done once.
 */
export async function runDue(
  board: Board,
  { now, until, grace, mayRewind }: Moments,
): Promise<Instant | null> {
  const { definition } = board
  const status = statusOf(definition, now)
  if (status === 'inactive') return null
  // A clock that went back has left the board in the future (C1, C3).
  const present = mayRewind ? now : until
  if (present + HOUR < board.progress.compared && definition.finished === null) {
    board.rewind((finalUntil(definition, now) ?? firstDayOf(definition) - 1) + 1)
  }
  // At least once a day, so that a due time says whether the clock was ahead (C3).
  if (status === 'scheduled')
    return instant(Math.min(beginsAt({ start: firstDayOf(definition) }), until + DAY))
  // Under a test clock nothing is late, so events are sent at their due time. In real time they are sent at
  // the present time, so that there are fifteen minutes between two flushes (W5).
  const sentAt = grace === 0 ? now : until
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    if (board.progress.comparison === null && !beginComparison(board, now, grace)) {
      board.events.queueDueEvents(sentAt)
      return nextDue(board, { now, until, isCompared: chunk > 0 }, grace)
    }
    // Late work reads the scores as they are now, so days that are over are recorded first (L10).
    board.roll(utcDay(sentAt))
    await compareChunk(board, { grace, sentAt })
  }
  return now
}

/**
 * Reads all scores of a board again if D1 was brought back to an earlier moment since they were read (M2).
 * Does at most `CHUNKS` chunks of users, which are all users of a small board. Further calls continue, and so
 * does the upkeep. An inactive board is read again when it becomes active.
 */
export async function refill(board: Board, now: Instant): Promise<void> {
  if (board.progress.epoch < board.definition.epoch) {
    const note = await board.readNote()
    if (board.progress.epoch < board.definition.epoch) board.reopen(board.definition.epoch, note)
  }
  if (board.definition.status === 'inactive') return
  for (let chunk = 0; chunk < CHUNKS && board.progress.isRefilling; chunk += 1) {
    if (board.progress.comparison === null) beginFullComparison(board, now)
    await compareChunk(board, null)
  }
}

/**
 * Notices that D1 was brought back without `npm run restored`: then it has forgotten a comparison that it had
 * noted (M2). Returns the note that D1 has.
 */
export async function checkNote(board: Board): Promise<UpkeepNote | null> {
  const note = await board.readNote()
  const { noted, compared, epoch } = board.progress
  if (note === null) return null
  if (note.compared < noted) {
    warn(board, 'D1 has forgotten an upkeep')
    board.reopen(epoch, note)
  } else {
    // After a test clock went back, D1 has the note of a later time.
    const known = Math.min(note.compared, compared)
    if (known !== noted) board.progress = { ...board.progress, noted: known }
  }
  return note
}

function warn({ definition }: Board, reason: string): void {
  const error = `the leaderboard is ahead of D1 and is filled again: ${reason}`
  logProblem('warn', { leaderboard: definition.id, error })
}

/**
 * When a board is due again: at the next full hour, when a run is made final, or to send events. If this call came
 * late and has not compared the board (`isCompared`), the comparison of the last full hour is still to be done.
 */
function nextDue(
  board: Board,
  { now, until, isCompared }: { now: Instant; until: Instant; isCompared: boolean },
  grace: number,
): Instant | null {
  if (isOver(board)) return null
  const last = Math.floor(until / HOUR) * HOUR
  const hour = now < last && !isCompared ? last : last + HOUR
  return instant(Math.min(hour, nextFinal(board, grace) ?? hour, board.events.dueAt ?? hour))
}

function isOver({ definition, progress }: Board): boolean {
  return runHolding(definition, progress.openFrom) === null
}

/** When the oldest open run is made final. At once if the board was finished by hand (L7). */
function nextFinal({ definition, progress }: Board, grace: number): Instant | null {
  const run = runHolding(definition, progress.openFrom)
  if (run === null) return null
  const final = finalAt(run)
  return definition.finished ?? (final && instant(final + grace))
}

/** Begins a due comparison: with all users before a run is made final, else with users who have changed. */
function beginComparison(board: Board, now: Instant, grace: number): boolean {
  const { progress } = board
  const final = nextFinal(board, grace)
  const mustCompareAll = progress.mustCompareAll || (final !== null && final <= now)
  if (isOver(board) || !(mustCompareAll || hourOf(now) !== hourOf(progress.compared))) return false
  const since = mustCompareAll || now < progress.compared ? 0 : Math.max(0, progress.compared - MARGIN)
  board.progress = { ...progress, comparison: { since, began: now, after: '' } }
  return true
}

function beginFullComparison(board: Board, now: Instant): void {
  board.progress = { ...board.progress, comparison: { since: 0, began: now, after: '' } }
}

const hourOf = (at: number) => Math.floor(at / HOUR)

/** How a comparison makes runs final at its end; null if it makes none final. */
type Finishing = { grace: number; sentAt: Instant } | null

/** Compares the next users, in order of id, with D1, and recounts users who differ. */
async function compareChunk(board: Board, finishing: Finishing): Promise<void> {
  const { comparison } = board.progress
  if (comparison === null) return
  const { since, after } = comparison
  const last = await board.whileMoving((moved) => compareRange(board, after, since, moved))
  // A change of the configuration may have requested another comparison in the meantime.
  if (board.progress.comparison !== comparison) return
  if (last === null) endComparison(board, comparison, finishing)
  else board.progress = { ...board.progress, comparison: { ...comparison, after: last } }
}

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
  const ahead = userCursors.find((userCursor) => !moved.has(userCursor.iid) && isAhead(board, userCursor))
  if (ahead !== undefined) {
    warn(board, 'a comparison found a later change in it')
    board.reopen(board.progress.epoch, await board.readNote())
    return last
  }
  if (since === 0) eraseGone(board, after, last, userCursors, moved)
  const behind = userCursors.filter((userCursor) => isBehind(board, userCursor))
  // A pack is limited by the rows to read: a user has about as many as changes. It also has at most `CHUNK`
  // users, who must fit into a parameter.
  for (const some of packsOf(behind, MOST_READ, ({ seq }) => Math.max(seq, MOST_READ / CHUNK))) {
    for await (const truth of board.recount(some)) board.settle(truth)
  }
  return last
}

/** Deletes the users of this range of ids that D1 no longer has (U8). */
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
  // Scores from before a restore, of a user without a change now.
  if (open.length > 0 && cursorOf(rows) === -1) return true
  return open.some((row) => row.group !== group && row.grouped <= seq)
}

/** The most users whose scores are counted again to find out whether a board lacks a change. */
const MOST_DOUBTED = 100

/**
 * How many users have another score or group by the log than in this board, of those who have changed since its last
 * comparison (L12, G12). Of many users in doubt it counts the rest unseen. Null if the tenant has too many users
 * to look at. It only reads.
 */
export async function countUnconfirmed(board: Board): Promise<number | null> {
  const { definition, progress } = board
  if (definition.status === 'inactive' || definition.input === null || isOver(board)) return 0
  // A moment of 0 would ask for all users.
  const since = progress.mustCompareAll ? 1 : Math.max(1, progress.compared - MARGIN)
  const { userCursors, last } = await board.userCursorsAfter('', since, WALK)
  if (last !== null && (await board.userCursorsAfter(last, since, 1)).last !== null) return null
  const doubted = userCursors.filter((userCursor) => isBehind(board, userCursor))
  let count = Math.max(0, doubted.length - MOST_DOUBTED)
  for await (const truth of board.recount(doubted.slice(0, MOST_DOUBTED))) {
    const rows = board.store.ofUser(truth.userId, truth.iid)
    const isOther = settled(board, rows, truth).some(({ run, score, group }) => {
      const known = rows.find((row) => row.run === run)
      return known === undefined ? score !== ZERO : known.score !== score || known.group !== group
    })
    if (isOther) count += 1
  }
  return count
}

/** Whether a board has a change that D1 lacks. D1 gets each change first, so D1 was brought back (M2). */
function isAhead(board: Board, { userId, iid, seq, cursor }: UserCursor): boolean {
  const rows = board.store.ofUser(userId, iid)
  return (cursorOf(rows) ?? -1) > (cursor ?? 0) || rows.some(({ grouped }) => grouped > seq)
}

/** Makes the runs final that were due when the comparison began (L8). */
function endComparison(
  board: Board,
  { since, began }: { since: number; began: number },
  finishing: Finishing,
): void {
  const { definition, progress } = board
  const mustCompareAll = since !== 0 && progress.mustCompareAll
  const openFrom =
    finishing === null || since !== 0 ? progress.openFrom : firstOpen(board, began - finishing.grace)
  if (finishing !== null && openFrom > progress.openFrom) {
    board.events.finish(openFrom, finishing.sentAt)
    for (const run of board.store.openRuns(progress.openFrom)) {
      if (run >= openFrom) continue
      if (progress.day !== null) board.snapshot(run, progress.day)
      board.store.finish(run, definition.maxParticipants)
    }
  }
  const isRefilling = progress.isRefilling && since !== 0
  // `compared` goes back if work comes late, or if a test clock went back. If it stayed, the hours would
  // still differ, and the same comparison would be due again, without end. D1 then gets the note of an
  // earlier comparison, which must not look like a restore (M2).
  const noted = Math.min(progress.noted, began)
  board.progress = {
    ...progress,
    comparison: null,
    mustCompareAll,
    compared: began,
    noted,
    openFrom,
    isRefilling,
  }
}

/** The first day of the oldest run that is not final at a moment; after the last run if all are. */
function firstOpen({ definition, progress }: Board, at: number): number {
  const last = definition.finished === null ? finalUntil(definition, instant(at)) : LAST_DAY
  return last === null ? progress.openFrom : Math.max(progress.openFrom, last + 1)
}
