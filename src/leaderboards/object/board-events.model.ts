import { type Instant, instant } from '../../lib/clock'
import { FIRST_OFFSET } from '../../lib/units'
import { localDay } from '../../lib/zone'
import { beginsAt, latestRuns, type Run } from '../../rules/runs.rules'
import { type Definition, groupOf } from '../board.messages'
import type { Row } from '../board.types'
import type { BoardEventRow, BoardEventType, Fact } from '../notify/board-events.messages'
import { causesEvent, flushAt, listens, type SentList, TOP } from '../notify/board-events.rules'
import { BoardEventState } from '../notify/board-events.state'
import type { BoardEventStore } from '../notify/board-events.store'
import type { BoardView } from './board-view.types'
import { changesOf, endOf, positionOf, rebase } from './flush.builder'

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
    const state = this.#board.store.note('events')
    this.#state = state === null ? null : BoardEventState.parse(state)
    this.#takeOver()
  }

  /**
   * Converts the state of an earlier version, which sent the first places of all groups together. If no flush
   * is due, the groups have not changed since then, and their present state counts as sent. Otherwise it is
   * unknown which groups have changed, and the flush sends all of them.
   */
  #takeOver(): void {
    if (this.#state === null || this.#state.isByGroup) return
    const hasGroups = this.#board.definition.breakdown.length > 0
    this.#store.takeOver(hasGroups ? null : groupOf([]))
    if (hasGroups && this.#state.due === null)
      rebase(this.#board, this.#store, {
        before: this.#listened.filter((type) => type !== 'leaderboard.changed'),
        after: this.#listened,
      })
    this.#set({ isByGroup: true })
  }

  #set(change: Partial<BoardEventState>): void {
    if (this.#state === null) return
    const next = { ...this.#state, ...change }
    if (JSON.stringify(next) === JSON.stringify(this.#state)) return
    this.#state = next
    this.#board.store.setNote('events', next)
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
      isByGroup: true,
      series: this.#state?.series ?? 0,
    }
    const kept = this.#state === null || before.length === 0 ? fresh : this.#state
    this.#state = { ...kept, version, listened: after }
    this.#board.store.setNote('events', this.#state)
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

  /**
   * Goes back with a test clock that went back. Runs that begin or end after this moment are reported again
   * (C1).
   */
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

  /**
   * The time of the next flush if D1 does not have it yet, else null. The caller stores it in D1: from this
   * call on, D1 counts as having it.
   */
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

  /**
   * Adds the events that are due by a moment to the outbox: runs that have begun, and the differences if a
   * flush is due. From then on they count as sent.
   */
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

  /**
   * The runs that have begun somewhere on Earth by a moment, in order; only those that start after the day
   * `after`. No run begins after the board was finished (L7).
   */
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

  /** Deletes rows that the delivery queues have received. */
  handed(rows: readonly (readonly [no: number, id: string])[]): void {
    this.#store.remove(rows)
  }

  /** Deletes a user from the sent lists and the outbox (U8). */
  erase(iid: string): void {
    if (this.#state !== null) this.#store.erase(iid)
  }
}
