import * as z from 'zod'
import { FIRST_OFFSET, type Instant, instant } from '../../lib/clock'
import { localDay } from '../../lib/zone'
import { beginsAt, latestRuns, type Run } from '../../rules/runs.rules'
import type { Definition, Progress, Row } from '../board'
import {
  type BoardEventRow,
  BoardEventState,
  type BoardEventStore,
  type BoardEventType,
  type BoardPosition,
  causesEvent,
  compared,
  type Fact,
  flushAt,
  isSame,
  joined,
  listens,
  type Place,
  type SentList,
  sentListOf,
  TOP,
} from '../notify/board-events.sql.ts'
import type { Score } from '../score.rules'
import type { BoardStore } from './board.sql.ts'
import type { Rankings } from './ranking'

/** The part of a board that other code reads: its definition, its scores and its rankings. */
export type BoardView = {
  readonly store: BoardStore
  readonly rankings: Rankings
  readonly definition: Definition
  readonly progress: Progress
  /** A score as it is served (L3, G11). */
  readonly served: (score: Score) => number
  /** The run with a local day, in days since 1970-01-01. */
  readonly runHolding: (day: number) => Run | null
}

/** Code that follows the changes of a board. */
export type BoardListener = {
  moved(before: Row | null, after: Row): void
  /** Anything may have changed, or time has passed. */
  look(): void
}

const Values = z.array(z.string())

/** The first places of a group in a run, in the order of L4 (W6). */
function topOf(board: BoardView, run: number, group: string): Place[] {
  return placesOf(board, run, group, TOP)
}

function placesOf({ rankings, served }: BoardView, run: number, group: string, limit?: number): Place[] {
  const { entries } = rankings.of(run, group)
  return entries
    .slice(0, limit)
    .map(({ userId, iid, score }, index) => [userId, iid, index + 1, served(score)])
}

const named = ({ definition: { breakdown } }: BoardView, group: string): [string, string][] =>
  Values.parse(JSON.parse(group)).map((value, index) => [breakdown[index] ?? '', value])

function positionOf({ rankings, served }: BoardView, row: Row | null): BoardPosition {
  const rank = rankings.rankOf(row)
  return row === null || rank === null ? null : { rank, group: row.group, value: served(row.score) }
}

/**
 * The differences between the runs that are not final and the last sent lists, for the types that webhooks
 * listen to (W5). They count as sent from then on. It writes one row for each group with changed first
 * places, and one for each group with a changed rank.
 */
function changesOf(board: BoardView, sent: BoardEventStore, listened: readonly string[]): Fact[] {
  const { openFrom } = board.progress
  const starts = new Set([...board.store.openRuns(openFrom), ...sent.runs(openFrom)])
  return [...starts].flatMap((start) => {
    const run = board.runHolding(start)
    if (run === null) return []
    return [
      ...(listens(listened, 'leaderboard.changed') ? topChanges(board, sent, run) : []),
      ...(listens(listened, 'leaderboard.rank_changed') ? rankChanges(board, sent, run) : []),
    ]
  })
}

/** The groups that have ranks, or had some in the last sent lists, in order. */
const groupsOf = (board: BoardView, sent: BoardEventStore, what: 'tops' | 'ranks', { start }: Run) =>
  [...new Set([...board.store.groups(start), ...sent.groups(start, what)])].sort()

function topChanges(board: BoardView, sent: BoardEventStore, run: Run): Fact[] {
  return groupsOf(board, sent, 'tops', run).flatMap((group): Fact[] => {
    const top = topOf(board, run.start, group)
    if (isSame(sent.list(run.start, 'tops', group), top)) return []
    sent.setSent(run.start, 'tops', group, sentListOf(top))
    return [{ type: 'leaderboard.changed', run, group: named(board, group), top }]
  })
}

function rankChanges(board: BoardView, sent: BoardEventStore, run: Run): Fact[] {
  const moves = groupsOf(board, sent, 'ranks', run).flatMap((group) => {
    const present = placesOf(board, run.start, group)
    const { moves, list } = compared(sent.list(run.start, 'ranks', group), present)
    // If only erased users were in a group, its list is deleted.
    if (moves.length > 0 || list.length === 0) sent.setSent(run.start, 'ranks', group, list)
    return moves.map((move) => ({ ...move, group: named(board, group) }))
  })
  return joined(moves).map((move) => ({ type: 'leaderboard.rank_changed', run, ...move }))
}

/** The finished events of a run: a fact for each group with ranks, or one if it has none (W6). */
function endOf(board: BoardView, run: Run, series: number): Fact[] {
  const groups = board.store
    .groups(run.start)
    .map((group) => ({ group: named(board, group), top: topOf(board, run.start, group) }))
    .filter(({ top }) => top.length > 0)
  const ends = groups.length > 0 ? groups : [{ group: [], top: [] }]
  return ends.map((end) => ({ type: 'leaderboard.finished', run, ...end, series }))
}

/**
 * If webhooks begin to listen to a type, the present state counts as sent. If none listens any more, the sent
 * lists are deleted.
 */
function rebase(
  board: BoardView,
  sent: BoardEventStore,
  { before, after }: { before: readonly string[]; after: readonly string[] },
): void {
  const begins = (type: Parameters<typeof listens>[1]) => listens(after, type) && !listens(before, type)
  const ends = (type: Parameters<typeof listens>[1]) => listens(before, type) && !listens(after, type)
  if (ends('leaderboard.changed')) sent.forget('tops')
  if (ends('leaderboard.rank_changed')) sent.forget('ranks')
  for (const run of board.store.openRuns(board.progress.openFrom)) {
    for (const group of board.store.groups(run)) {
      if (begins('leaderboard.changed'))
        sent.setSent(run, 'tops', group, sentListOf(topOf(board, run, group)))
      if (begins('leaderboard.rank_changed'))
        sent.setSent(run, 'ranks', group, sentListOf(placesOf(board, run, group)))
    }
  }
}

/**
 * The webhook events of a board (W5, W6). There are two kinds: runs that begin or end, and flushes, which
 * send the differences between the last sent lists and the present ranking. An event counts as sent once it
 * is in the board's own outbox. While no webhook listens, nothing is written.
 */
export class BoardEvents {
  readonly #board: BoardView
  readonly #store: BoardEventStore
  /** Null if no webhook has ever listened. */
  #state: BoardEventState | null = null
  /** The time of the next flush that the board's row in D1 already has; null if it has none. */
  #scheduledAt: Instant | null = null
  /** The moment of the last call. */
  now = instant(0)

  constructor(board: BoardView, store: BoardEventStore) {
    this.#board = board
    this.#store = store
  }

  /** Reads the stored state again. After a failed write, memory may have changes that storage lacks. */
  reload(): void {
    const state = this.#board.store.sql.note('events')
    this.#state = state === null ? null : BoardEventState.parse(state)
  }

  #set(change: Partial<BoardEventState>): void {
    if (this.#state === null) return
    const next = { ...this.#state, ...change }
    if (JSON.stringify(next) === JSON.stringify(this.#state)) return
    this.#state = next
    this.#board.store.sql.setNote('events', next)
  }

  get #listened(): readonly string[] {
    return this.#state?.listened ?? []
  }

  #listens(...types: BoardEventType[]): boolean {
    return types.some((type) => listens(this.#listened, type))
  }

  /** When the next flush is due. Null if none is due, or no webhook listens to its events any more. */
  get #due(): Instant | null {
    return this.#listens('leaderboard.changed', 'leaderboard.rank_changed')
      ? (this.#state?.due ?? null)
      : null
  }

  /**
   * Adopts the types that webhooks listen to now. A webhook that begins to listen gets no earlier events: the
   * present state counts as sent. If the board is new and was never compared, it gets all events.
   */
  updateListeners(now: Instant): void {
    this.now = now
    const { definition, progress } = this.#board
    const { version, listened } = definition
    // After the object was evicted, the definition may be older than the state.
    if (this.#state !== null && version <= this.#state.version) return
    const [before, after]: [readonly string[], string[]] = [this.#listened, listened.map(([type]) => type)]
    if (JSON.stringify(after) === JSON.stringify(before)) return
    const since = instant(Math.min(now, ...listened.map(([, at]) => at)))
    const isNew = progress.compared === 0
    const fresh = {
      begun: isNew ? null : (this.#begunBy(since, null).at(-1)?.start ?? null),
      ended: progress.openFrom,
      flushed: this.#state?.flushed ?? 0,
      due: null,
      series: this.#state?.series ?? 0,
    }
    const kept = this.#state === null || before.length === 0 ? fresh : this.#state
    this.#state = { ...kept, version, listened: after }
    this.#board.store.sql.setNote('events', this.#state)
    rebase(this.#board, this.#store, { before, after })
  }

  /**
   * Adapts to a changed configuration. If the runs or the groups are others, the last sent lists are deleted,
   * since nothing was sent about the new ones. Any place may have changed, so a flush is scheduled.
   */
  adopt(before: Definition, now: Instant): void {
    this.now = now
    const after = this.#board.definition
    const isSame = (['start', 'runUnit', 'runInterval'] as const).every(
      (name) => before[name] === after[name],
    )
    if (this.#state !== null) {
      const hasSameGroups = JSON.stringify(before.breakdown) === JSON.stringify(after.breakdown)
      if (!isSame || !hasSameGroups) this.#store.forget('all')
      if (!isSame) {
        const { openFrom: ended } = this.#board.progress
        this.#set({ begun: null, ended, series: this.#state.series + 1 })
      }
    }
    this.scheduleFlush()
  }

  /** Goes back with a test clock. Runs that begin or end after this moment are reported again (C1). */
  rewind(openFrom: number): void {
    if (this.#state === null) return
    const { begun, ended, series } = this.#state
    const last = this.#begunBy(this.now, null).at(-1)?.start ?? null
    this.#set({
      begun: begun === null || last === null ? null : Math.min(begun, last),
      ended: Math.min(ended, openFrom),
      flushed: 0,
      due: null,
      series: series + 1,
    })
    this.scheduleFlush()
  }

  /**
   * Goes back with D1 (M2). The runs from this day on end again: their final rankings count as sent, and only
   * the differences are sent. Call it before the final rankings are deleted.
   */
  reopen(openFrom: number): void {
    if (this.#state === null) return
    for (const { run, group } of this.#board.store.finalGroups(openFrom)) {
      const ranking = this.#board.store.finalGroup(run, group)
      const list = ranking.map(({ userId, iid, score }): SentList[number] =>
        userId === null || iid === null ? null : [userId, iid, this.#board.served(score)],
      )
      if (this.#listens('leaderboard.changed')) this.#store.setSent(run, 'tops', group, list.slice(0, TOP))
      if (this.#listens('leaderboard.rank_changed')) this.#store.setSent(run, 'ranks', group, list)
    }
    this.#set({ ended: Math.min(this.#state.ended, openFrom) })
    this.scheduleFlush()
  }

  /** Runs `move`, which moves a score, and schedules a flush if that may have changed something to send. */
  watch(before: Row | null, after: Row, move: () => void): void {
    const isKnown = this.#listened.length === 0 || this.#state?.due !== null
    const was = isKnown ? null : positionOf(this.#board, before)
    move()
    if (!isKnown && causesEvent(this.#listened, was, positionOf(this.#board, after))) this.scheduleFlush()
  }

  /** Schedules the next flush, unless one is scheduled. One row for any number of changes. */
  scheduleFlush(): void {
    if (this.#state?.due !== null || !this.#listens('leaderboard.changed', 'leaderboard.rank_changed')) return
    this.#set({ due: flushAt(this.now, this.#state.flushed) })
  }

  /** The time of the next flush if D1 does not have it; from now on, D1 counts as having it. Else null. */
  takeDueChange(): Instant | null {
    const due = this.#due
    if (due === null || due === this.#scheduledAt) return null
    this.#scheduledAt = due
    return due
  }

  /** When the next event has to be sent: a flush, or the beginning of a run. Null if none is known. */
  get dueAt(): Instant | null {
    const dues = [this.#due, this.#nextBegin].filter((one) => one !== null)
    return dues.length === 0 ? null : instant(Math.min(...dues))
  }

  get #nextBegin(): Instant | null {
    const { definition, runHolding } = this.#board
    const begun = this.#state?.begun ?? null
    if (!this.#listens('leaderboard.started') || definition.finished !== null || begun === null) return null
    const end = runHolding(begun)?.end ?? null
    const next = end === null ? null : runHolding(end + 1)
    return next && beginsAt(next)
  }

  /** Adds the events that are due by a moment to the outbox. From then on they count as sent. */
  queueDueEvents(by: Instant): void {
    if (this.#state === null || this.#listened.length === 0) return
    const facts = this.#begin(by)
    if (this.#state.due !== null && this.#state.due <= by) facts.push(...this.#flush(by))
    this.#store.add(by, facts)
  }

  /**
   * Adds the `leaderboard.finished` events of the runs that end before the day `openFrom` to the outbox,
   * after all other events of these runs (L8). Call it before the runs are made final.
   */
  finish(openFrom: number, by: Instant): void {
    if (this.#state === null || this.#listened.length === 0) return
    const facts = this.#begin(by)
    if (this.#state.due !== null) facts.push(...this.#flush(by))
    const { begun, ended, series } = this.#state
    if (begun !== null && this.#listens('leaderboard.finished')) {
      for (const run of latestRuns(this.#board.definition, Math.min(begun, openFrom - 1), ended - 1))
        facts.push(...endOf(this.#board, run, series))
    }
    this.#store.forgetBefore(openFrom)
    this.#store.add(by, facts)
    this.#set({ ended: Math.max(ended, openFrom) })
  }

  #begin(by: Instant): Fact[] {
    const runs = this.#begunBy(by, this.#state?.begun ?? null)
    const last = runs.at(-1)
    if (last === undefined) return []
    this.#set({ begun: last.start })
    const series = this.#state?.series ?? 0
    return this.#listens('leaderboard.started')
      ? runs.map((run) => ({ type: 'leaderboard.started', run, series }))
      : []
  }

  /** Runs that have begun somewhere by a moment, and start after `after`. None begins after a finish (L7). */
  #begunBy(by: Instant, after: number | null): Run[] {
    const { definition } = this.#board
    const day = localDay(Math.min(by, definition.finished ?? by), FIRST_OFFSET)
    return latestRuns(definition, day, after ?? Number.NEGATIVE_INFINITY)
  }

  #flush(by: Instant): Fact[] {
    this.#set({ flushed: by, due: null })
    return changesOf(this.#board, this.#store, this.#listened)
  }

  /** The first rows of the outbox, and whether there are more. */
  outbox(): { events: BoardEventRow[]; hasMore: boolean } {
    const { rows, hasMore } = this.#store.page()
    return { events: rows, hasMore }
  }

  handed(rows: readonly (readonly [no: number, id: string])[]): void {
    this.#store.remove(rows)
  }

  /** Deletes a user from the sent lists and the outbox (U8). */
  erase(iid: string): void {
    if (this.#state !== null) this.#store.erase(iid)
  }
}
