import type { Instant } from '../../lib/clock'
import { LAST_DAY, utcDay } from '../../lib/zone'
import { firstDayOf, type Run, runHolding } from '../../rules/runs.rules'
import type { Placement } from '../../rules/state'
import {
  type Applying,
  Definition,
  meaningOf,
  newProgress,
  Progress,
  type Recounted,
  type Row,
  type ScoreChange,
} from '../board'
import { BoardEventStore } from '../notify/board-events.sql.ts'
import { type Score, servedValue, ZERO } from '../score.rules'
import type { BoardStore } from './board.sql.ts'
import { BoardEvents, type BoardListener, type BoardView } from './board-events'
import { applied, follows, replaced, type Sum, settled, sumsOf } from './chain.rules'
import { GroupSizes, Rankings } from './ranking'
import {
  type Countable,
  recountable,
  recountScopeOf,
  type Source,
  type UpkeepNote,
  type UserCursorPage,
} from './recount.sql.ts'

/** The number of days that a user's log is assumed to have if the board's day is unknown. */
const LONGEST = 4_000

/**
 * One leaderboard: the scores of its runs, in order. It is an index of D1's log. It applies each user's
 * changes exactly once and in order, even if messages are repeated, reordered or lost. If one is missing, it
 * recounts the user from the log (L12).
 */
export class Board implements BoardView {
  readonly store: BoardStore
  readonly #source: Source
  readonly rankings: Rankings
  readonly groupSizes = new GroupSizes()
  readonly events: BoardEvents
  readonly #listener: BoardListener
  /** Users whose scores have moved while a comparison waits for D1, so that its page may not know them. */
  #moved: Set<string> | null = null
  #definition: Definition
  #progress: Progress
  #lastRun: Run | null = null
  #isClosed = false

  /** Opens the stored board. If nothing is stored yet, it stores `definition`. */
  constructor(store: BoardStore, source: Source, definition: Definition, listener: BoardListener) {
    this.store = store
    this.#listener = listener
    this.rankings = new Rankings(
      (...group) => store.best(...group),
      () => this.places,
    )
    this.events = new BoardEvents(this, new BoardEventStore(store.sql))
    this.#source = source
    this.#definition = definition
    this.#progress = newProgress(definition)
    if (store.sql.note('board') === null) store.sql.setNote('board', definition)
    this.reload()
  }

  /** Reads the stored state again: memory may be ahead of it. Waiting work continues with this board. */
  reload(): void {
    this.#forgetRankings()
    this.#lastRun = null
    const progress = this.store.sql.note('progress')
    this.#definition = Definition.parse(this.store.sql.note('board'))
    this.#progress = progress === null ? newProgress(this.#definition) : Progress.parse(progress)
    this.events.reload()
  }

  #forgetRankings(): void {
    this.rankings.clear()
    this.groupSizes.clear()
    this.#listener.look()
  }

  /** Prevents work that still waits for D1 from storing anything: the leaderboard was deleted. */
  close(): void {
    this.#isClosed = true
  }

  get definition(): Definition {
    return this.#definition
  }

  /** How many users may be ranked in a group at present. None while the board is hidden (L5, S10). */
  get places(): number {
    return this.#definition.isHidden ? 0 : this.#definition.maxParticipants
  }

  get progress(): Progress {
    return this.#progress
  }

  set progress(progress: Progress) {
    this.#progress = progress
    this.store.sql.setNote('progress', progress)
  }

  /** A score as it is served: rounded down, within 32 bits (L3, G11). */
  served = (score: Score): number => servedValue(score, this.#definition.rankBy)

  /** The run with a local day. Most calls ask for the same run, so the last one is kept. */
  runHolding = (day: number): Run | null => {
    const last = this.#lastRun
    if (last !== null && last.start <= day && day <= (last.end ?? LAST_DAY)) return last
    this.#lastRun = runHolding(this.#definition, day)
    return this.#lastRun
  }

  isFinal = (run: number): boolean => {
    return run < this.#progress.openFrom
  }

  /** The part of the log that counts for runs that are not final. */
  get extent(): ReturnType<typeof recountScopeOf> {
    return recountScopeOf(this.#definition, this.#progress.openFrom)
  }

  /** Adopts a newer definition, and deletes everything that it makes invalid. */
  adopt(next: Definition, now: Instant): void {
    const before = this.#definition
    if (next.version <= before.version) return
    const differs = (...names: (keyof Definition)[]) =>
      names.some((name) => JSON.stringify(before[name]) !== JSON.stringify(next[name]))
    const { version, epoch, listened } = next
    const isOther = JSON.stringify({ ...before, version, epoch, listened }) !== JSON.stringify(next)
    // A day that is over ended under the old definition.
    if (isOther) this.roll(utcDay(now))
    this.#definition = next
    if (!isOther) return
    this.#forgetRankings()
    this.#lastRun = null
    if (differs('start', 'runUnit', 'runInterval', 'breakdown')) {
      this.store.forgetFrom(Number.MIN_SAFE_INTEGER)
      this.store.forgetFinals(Number.MIN_SAFE_INTEGER)
      const { epoch, isRefilling } = this.#progress
      this.#progress = { ...newProgress(next), epoch, isRefilling }
    } else if (meaningOf(before) !== meaningOf(next) || differs('startTime', 'endTime')) {
      this.store.forgetFrom(this.#progress.openFrom)
      this.store.unsettle()
    } else if (differs('end', 'finished')) this.store.unsettle()
    const mustCompareAll = this.#progress.mustCompareAll || next.status !== 'inactive'
    this.progress = { ...this.#progress, comparison: null, mustCompareAll }
    this.store.sql.setNote('board', next)
    this.events.adopt(before, now)
  }

  /** Goes back with a clock that went back. Runs that are not final at that time are open again (C1). */
  rewind(openFrom: number): void {
    this.store.forgetFrom(openFrom)
    this.store.forgetFinals(openFrom)
    this.store.unsettle()
    this.#forgetRankings()
    this.progress = { ...newProgress(this.#definition), openFrom, epoch: this.#progress.epoch }
    this.events.rewind(openFrom)
  }

  /** How far the upkeep had got by the present moment of D1; null if that is unknown. */
  readNote(): Promise<UpkeepNote | null> {
    return this.#source.readNote(this.#definition)
  }

  /** Notes in D1, which has `before`, how far the upkeep is; nothing while scores are read again (M2). */
  async writeNote(before: UpkeepNote | null): Promise<void> {
    const { openFrom, day, compared, isRefilling } = this.#progress
    if (isRefilling) return
    const after = { openFrom, day, compared }
    const isNoted = await this.#source.writeNote(this.#definition, { before, after })
    if (isNoted && this.#progress.noted !== compared) this.progress = { ...this.#progress, noted: compared }
  }

  /**
   * Begins to read all scores again from D1, which was brought back to an earlier moment. `note` says how far
   * the upkeep had got by then. Later final runs are open again, and later days leave the history. Final runs
   * from before stay. Until a comparison with all users has replaced them, the old scores are served (M2).
   */
  reopen(epoch: number, note: UpkeepNote | null): void {
    const known = this.#progress
    const openFrom = Math.max(
      firstDayOf(this.#definition),
      Math.min(known.openFrom, note?.openFrom ?? known.openFrom),
    )
    this.events.reopen(openFrom)
    this.store.forgetFinals(openFrom)
    if (note !== null) this.store.forgetDays(openFrom, note.day)
    this.store.distrust()
    this.#forgetRankings()
    this.progress = {
      ...newProgress(this.#definition),
      openFrom,
      day: note === null ? known.day : note.day,
      epoch,
      isRefilling: true,
    }
  }

  /** Records the end of a day if a new UTC day has begun since ranks last moved (L10). */
  roll(day: number): void {
    const { day: last, isRefilling } = this.#progress
    // The scores are not those of a day's end (M2).
    if (isRefilling || (last !== null && day <= last)) return
    if (last !== null)
      for (const run of this.store.openRuns(this.#progress.openFrom)) this.snapshot(run, last)
    this.progress = { ...this.#progress, day }
  }

  /** Records the places of all users in a run at the end of a day. */
  snapshot(run: number, day: number): void {
    this.store.snapshot(run, day, this.places, this.served)
  }

  /**
   * Applies changes, each user's in order, and returns their placements. A placement is null if the change
   * altered no score, if the placement cannot be computed, or if it is not wanted. If a change of a user is
   * missing, the user is recounted from D1.
   */
  async apply({ changedAt, changes, wanted, under, isLate }: Applying): Promise<(Placement | null)[]> {
    if (this.#definition.status === 'inactive') return changes.map(() => null)
    this.roll(utcDay(changedAt))
    // These changes count another input or use old groups, or may have happened before D1 was brought back.
    // Only the log says how they count now.
    const isOther =
      under.version < this.#definition.version && meaningOf(under) !== meaningOf(this.#definition)
    if (isOther || under.epoch < this.#progress.epoch) {
      await this.recountNow(changedAt, [...new Set(changes.map(({ userId }) => userId))])
      return changes.map(() => null)
    }
    const behind = new Map<string, number[]>()
    // If no placements are wanted, a user's scores are stored once, for any number of changes.
    const held = new Map<string, { before: readonly Row[]; after: readonly Row[] }>()
    const placements = changes.map((change, index) => {
      const waiting = behind.get(change.iid)
      const known = held.get(change.iid)
      const rows = known?.after ?? this.store.ofUser(change.userId, change.iid)
      // A late change of an unknown user may arrive after the user's erasure. Only the log shows that (U8).
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

  /** Reads the scores of users from D1, each as of one moment, in packs that fit into one query. */
  async *recount(users: readonly Countable[]): AsyncGenerator<Recounted> {
    const { day } = this.#progress
    // A local date is at most one day ahead of UTC.
    const days = day === null ? LONGEST : Math.max(1, day + 2 - this.extent.from)
    for (const pack of recountable(this.#definition, users, days)) {
      const userIds = pack.map(({ userId }) => userId)
      yield* await this.#asked(() => this.#source.recount(this.#definition, userIds, this.extent))
    }
  }

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

  /** Repeats a query to D1 until its result fits the present definition, which may change while it waits. */
  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    const question = () => JSON.stringify([meaningOf(this.#definition), this.extent])
    for (;;) {
      const before = question()
      const answer = await ask()
      if (this.#isClosed) throw new Error('the leaderboard was deleted')
      if (question() === before) return answer
    }
  }

  #applyOne(change: ScoreChange, rows: readonly Row[]): Placement | null {
    const sums = sumsOf(this, change)
    const after = applied(this, rows, change, sums)
    const run = this.#alteredRun(sums)
    const rowIn = (list: readonly Row[]) => list.find((row) => row.run === run?.start) ?? null
    const previousRank = this.rankings.rankOf(rowIn(rows))
    this.#putAll(rows, after)
    return run && this.#placement(run, rowIn(after) ?? rowIn(rows), previousRank)
  }

  /** The placement of a change that came after a gap. First stores the log's result `truth`, if given. */
  #applyTruth(change: ScoreChange, truth: Recounted | null, wanted: boolean): Placement | null {
    const run = wanted ? this.#alteredRun(sumsOf(this, change)) : null
    const row = () =>
      this.store.ofUser(change.userId, change.iid).find((one) => one.run === run?.start) ?? null
    const previousRank = this.rankings.rankOf(row())
    if (truth !== null) this.settle(truth)
    return run && this.#placement(run, row(), previousRank)
  }

  /** The run whose score a change altered. Of several, the last; null if there is none. */
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

  #putAll(before: readonly Row[], after: readonly Row[]): void {
    for (const row of after) this.#put(before.find(({ run }) => run === row.run) ?? null, row)
  }

  #put(before: Row | null, after: Row): void {
    this.#moved?.add(after.iid)
    if (before !== null && JSON.stringify(before) === JSON.stringify(after)) return
    this.events.watch(before, after, () => {
      this.store.put(after)
      this.rankings.move(before, after)
      this.#listener.moved(before, after)
    })
  }

  /** Replaces a user's scores by those from the log, unless the board has newer ones. */
  settle(truth: Recounted): void {
    const rows = this.store.ofUser(truth.userId, truth.iid)
    this.#putAll(rows, settled(this, rows, truth))
  }

  /** Does work that waits for D1. `moved` has the users whose scores have moved since the work began. */
  async whileMoving<T>(work: (moved: ReadonlySet<string>) => Promise<T>): Promise<T> {
    const moved = new Set<string>()
    this.#moved = moved
    try {
      return await work(moved)
    } finally {
      this.#moved = null
    }
  }

  /** Deletes users (U8). */
  erase(users: readonly { userId: string; iid: string }[]): void {
    const { rowsWritten } = this.store.sql
    for (const { userId, iid } of users) this.store.erase(userId, iid)
    for (const { iid } of users) this.events.erase(iid)
    if (this.store.sql.rowsWritten === rowsWritten) return
    this.#forgetRankings()
    this.events.scheduleFlush()
  }
}
