import type { Placement } from '../../engine/placement.types'
import { type Run, runHolding } from '../../engine/runs.rules'
import type { Instant } from '../../lib/clock'
import { LAST_DAY } from '../../lib/periods'
import { utcDay } from '../../lib/zone'
import { type Applying, Definition, meaningOf, type ScoreChange } from '../board.messages'
import type { Recounted, Row } from '../board.types'
import { BoardEventStore } from '../notify/board-events.store'
import { type Score, servedValue, ZERO } from '../score.rules'
import type { BoardStore } from './board.store'
import { BoardEvents } from './board-events.model'
import type { BoardView } from './board-view.types'
import { applied, follows, replaced, type Sum, settled, sumsOf } from './chain.rules'
import { GroupSizes } from './group-sizes.cache'
import { newProgress, Progress } from './progress.types'
import { Rankings } from './rankings.model'
import {
  type Countable,
  recountable,
  recountScopeOf,
  type Source,
  type UserCursorPage,
} from './recount.repository'

/** Days that a user's log is taken to have where it isn't known how far the board has got. */
const LONGEST = 4_000

/**
 * One leaderboard: the scores of its runs, in order. An index of D1's log: it applies each user's changes exactly once and in
 * their order, whatever happens to the messages, and counts a user anew from the log where one is missing (L12).
 */
export class Board implements BoardView {
  readonly store: BoardStore
  readonly #source: Source
  readonly rankings: Rankings
  readonly groupSizes = new GroupSizes()
  readonly events: BoardEvents
  /** While a comparison waits for D1: users whose scores have moved meanwhile, whom its page may not know of. */
  #moved: Set<string> | null = null
  #definition: Definition
  #progress: Progress
  #lastRun: Run | null = null
  #isClosed = false

  /** Opens what the store holds; `definition` is taken where it holds nothing yet. */
  constructor(store: BoardStore, source: Source, definition: Definition) {
    this.store = store
    this.rankings = new Rankings(store, () => this.places)
    this.events = new BoardEvents(this, new BoardEventStore(store.sql))
    this.#source = source
    this.#definition = definition
    this.#progress = newProgress(definition)
    if (store.note('board') === null) store.setNote('board', definition)
    this.reload()
  }

  /** Reads what is stored anew, where memory may be ahead of it. Whoever waits for D1 meanwhile goes on with this same board. */
  reload(): void {
    this.#forgetRankings()
    this.#lastRun = null
    const progress = this.store.note('progress')
    this.#definition = Definition.parse(this.store.note('board'))
    this.#progress = progress === null ? newProgress(this.#definition) : Progress.parse(progress)
    this.events.reload()
  }

  /** Lets go of what memory holds of the rankings. */
  #forgetRankings(): void {
    this.rankings.clear()
    this.groupSizes.clear()
  }

  /** Keeps whoever still waits for D1 from storing anything: the leaderboard was deleted. */
  close(): void {
    this.#isClosed = true
  }

  get definition(): Definition {
    return this.#definition
  }

  /** How many users may be ranked in a group at present: nobody while the board is hidden (L5, S10). */
  get places(): number {
    return this.#definition.isHidden ? 0 : this.#definition.maxParticipants
  }

  get progress(): Progress {
    return this.#progress
  }

  set progress(progress: Progress) {
    this.#progress = progress
    this.store.setNote('progress', progress)
  }

  /** A score as it is served: rounded down, within 32 bits (L3, G11). */
  served = (score: Score): number => servedValue(score, this.#definition.rankBy)

  /** The run that holds a local day; most days are asked for over and over. */
  runHolding = (day: number): Run | null => {
    const last = this.#lastRun
    if (last !== null && last.start <= day && day <= (last.end ?? LAST_DAY)) return last
    this.#lastRun = runHolding(this.#definition, day)
    return this.#lastRun
  }

  isFinal = (run: number): boolean => {
    return run < this.#progress.openFrom
  }

  /** What of the log the runs that aren't final count. */
  get extent(): ReturnType<typeof recountScopeOf> {
    return recountScopeOf(this.#definition, this.#progress.openFrom)
  }

  /** Takes over how the leaderboard is configured now, and forgets what that makes untrue. */
  adopt(next: Definition, now: Instant): void {
    const before = this.#definition
    if (next.version <= before.version) return
    const differs = (...names: (keyof Definition)[]) =>
      names.some((name) => JSON.stringify(before[name]) !== JSON.stringify(next[name]))
    const { version, listened } = next
    const isOther = JSON.stringify({ ...before, version, listened }) !== JSON.stringify(next)
    // A day that is over ended by the rules of before.
    if (isOther) this.roll(utcDay(now))
    this.#definition = next
    if (!isOther) return
    this.#forgetRankings()
    this.#lastRun = null
    if (differs('start', 'runUnit', 'runInterval', 'breakdown')) {
      this.store.forgetFrom(Number.MIN_SAFE_INTEGER)
      this.store.forgetFinals(Number.MIN_SAFE_INTEGER)
      this.#progress = newProgress(next)
    } else if (differs('rankBy', 'input', 'startTime', 'endTime')) {
      this.store.forgetFrom(this.#progress.openFrom)
      this.store.unsettle()
    } else if (differs('end', 'finished')) this.store.unsettle()
    const mustCompareAll = this.#progress.mustCompareAll || next.status !== 'inactive'
    this.progress = { ...this.#progress, comparison: null, mustCompareAll }
    this.store.setNote('board', next)
    this.events.adopt(before, now)
  }

  /** Takes back what has run ahead of a clock that went back: runs that aren't final by then are open again (C1). */
  rewind(openFrom: number): void {
    this.store.forgetFrom(openFrom)
    this.store.forgetFinals(openFrom)
    this.store.unsettle()
    this.#forgetRankings()
    this.progress = { ...newProgress(this.#definition), openFrom }
    this.events.rewind(openFrom)
  }

  /** Writes down the day's end where a new UTC day has begun since ranks last moved (L10). */
  roll(day: number): void {
    const { day: last } = this.#progress
    if (last !== null && day <= last) return
    if (last !== null)
      for (const run of this.store.openRuns(this.#progress.openFrom)) this.snapshot(run, last)
    this.progress = { ...this.#progress, day }
  }

  /** Writes down where everyone stands in a run at the end of a day. */
  snapshot(run: number, day: number): void {
    this.store.snapshot(run, day, this.places, this.served)
  }

  /**
   * Applies changes, each user's in their order, and tells where each has put its user; null where it altered no score, or can't
   * be told, or isn't wanted. Users of whom a change is missing are counted anew from D1.
   */
  async apply({ changedAt, changes, wanted, under, isLate }: Applying): Promise<(Placement | null)[]> {
    if (this.#definition.status === 'inactive') return changes.map(() => null)
    this.roll(utcDay(changedAt))
    // They are about what was counted before, or by groups that are no more: only the log tells what they mean now.
    if (under.version < this.#definition.version && meaningOf(under) !== meaningOf(this.#definition)) {
      await this.recountNow(changedAt, [...new Set(changes.map(({ userId }) => userId))])
      return changes.map(() => null)
    }
    const behind = new Map<string, number[]>()
    // Where nobody wants the places in between, a user's scores are stored once, whatever number of changes they come of.
    const held = new Map<string, { before: readonly Row[]; after: readonly Row[] }>()
    const placements = changes.map((change, index) => {
      const waiting = behind.get(change.iid)
      const known = held.get(change.iid)
      const rows = known?.after ?? this.store.ofUser(change.userId, change.iid)
      // Of somebody unknown a late one may come after the erasure, which only the log tells (U8).
      if (waiting === undefined && !(isLate && rows.length === 0) && follows(change, rows)) {
        if (wanted) return this.#applyOne(change, rows)
        const after = replaced(rows, applied(this, rows, change, sumsOf(this, change)))
        held.set(change.iid, { before: known?.before ?? rows, after })
        return null
      }
      behind.set(change.iid, [...(waiting ?? []), index])
      return null
    })
    for (const { before, after } of held.values()) this.#putAll(before, after)
    if (behind.size === 0) return placements
    const users = [...behind.values()].flatMap(([first]) => changes[first ?? 0] ?? [])
    for await (const truth of this.recount(users)) {
      for (const [nth, index] of (behind.get(truth.iid) ?? []).entries()) {
        const change = changes[index]
        if (change !== undefined)
          placements[index] = this.#applyTruth(change, nth === 0 ? truth : null, wanted)
      }
    }
    return placements
  }

  /** Asks D1 for the scores of users, each as of one moment: of as many at a time as there is room for. */
  async *recount(users: readonly Countable[]): AsyncGenerator<Recounted> {
    const { day } = this.#progress
    // A local date is a day ahead of UTC at most.
    const days = day === null ? LONGEST : Math.max(1, day + 2 - this.extent.from)
    for (const pack of recountable(this.#definition, users, days)) {
      const userIds = pack.map(({ userId }) => userId)
      yield* await this.#asked(() => this.#source.recount(this.#definition, userIds, this.extent))
    }
  }

  /** Counts users anew from D1. */
  async recountNow(now: Instant, userIds: readonly string[]): Promise<void> {
    if (this.#definition.status === 'inactive') return
    for await (const truth of this.recount(userIds.map((userId) => ({ userId })))) {
      this.roll(utcDay(now))
      this.settle(truth)
    }
  }

  userCursorsAfter(after: string, since: number, limit: number): Promise<UserCursorPage> {
    return this.#asked(() => this.#source.userCursorsAfter(this.#definition, after, since, limit))
  }

  /** D1's answer to what the leaderboard wants to know by then: it may be configured otherwise while it waits. */
  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    const question = () => JSON.stringify([meaningOf(this.#definition), this.extent])
    for (;;) {
      const before = question()
      const answer = await ask()
      if (this.#isClosed) throw new Error('the leaderboard was deleted')
      if (question() === before) return answer
    }
  }

  /** Applies one change that follows what is known of its user. */
  #applyOne(change: ScoreChange, rows: readonly Row[]): Placement | null {
    const sums = sumsOf(this, change)
    const after = applied(this, rows, change, sums)
    const run = this.#alteredRun(sums)
    const rowIn = (list: readonly Row[]) => list.find((row) => row.run === run?.start) ?? null
    const previousRank = this.rankings.rankOf(rowIn(rows))
    this.#putAll(rows, after)
    return run && this.#placement(run, rowIn(after) ?? rowIn(rows), previousRank)
  }

  /** Tells where a change has put its user that came after a gap: by what the log says, unless that was done already. */
  #applyTruth(change: ScoreChange, truth: Recounted | null, wanted: boolean): Placement | null {
    const run = wanted ? this.#alteredRun(sumsOf(this, change)) : null
    const row = () =>
      this.store.ofUser(change.userId, change.iid).find((one) => one.run === run?.start) ?? null
    const previousRank = this.rankings.rankOf(row())
    if (truth !== null) this.settle(truth)
    return run && this.#placement(run, row(), previousRank)
  }

  /** The run whose score a change altered; null where it altered none. Of several, the last. */
  #alteredRun(sums: ReadonlyMap<number, Sum>): Run | null {
    const altered = [...sums].filter(([, { amount }]) => amount !== ZERO).map(([start]) => start)
    return altered.length === 0 ? null : this.runHolding(Math.max(...altered))
  }

  #placement(run: Run, row: Row | null, previousRank: number | null): Placement {
    const group = row?.group ?? null
    const threshold = group === null ? null : this.rankings.of(run.start, group).threshold
    return {
      run,
      rank: this.rankings.rankOf(row),
      previousRank,
      threshold: threshold === null ? 0 : this.served(threshold),
    }
  }

  /** Stores a user's scores that are others than before. */
  #putAll(before: readonly Row[], after: readonly Row[]): void {
    for (const row of after) this.#put(before.find(({ run }) => run === row.run) ?? null, row)
  }

  /** Stores a score, and moves it in the rankings that are in memory. */
  #put(before: Row | null, after: Row): void {
    this.#moved?.add(after.iid)
    if (before !== null && JSON.stringify(before) === JSON.stringify(after)) return
    this.events.watch(before, after, () => {
      this.store.put(after)
      this.rankings.move(before, after)
    })
  }

  /** Puts what the log says of a user in the place of what was known, unless that is ahead. */
  settle(truth: Recounted): void {
    const rows = this.store.ofUser(truth.userId, truth.iid)
    this.#putAll(rows, settled(this, rows, truth))
  }

  /** Does work that waits for D1, and that may ask which users' scores have moved meanwhile. */
  async whileMoving<T>(work: (moved: ReadonlySet<string>) => Promise<T>): Promise<T> {
    const moved = new Set<string>()
    this.#moved = moved
    try {
      return await work(moved)
    } finally {
      this.#moved = null
    }
  }

  /** Takes users out (U8). */
  erase(users: readonly { userId: string; iid: string }[]): void {
    const { rowsWritten } = this.store.sql
    for (const { userId, iid } of users) this.store.erase(userId, iid)
    for (const { iid } of users) this.events.erase(iid)
    if (this.store.sql.rowsWritten === rowsWritten) return
    this.#forgetRankings()
    this.events.stir()
  }
}
