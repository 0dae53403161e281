import { BoundedMap } from '../../lib/bounded'
import type { Instant } from '../../lib/clock'
import { compareText } from '../../lib/ids'
import { KEPT_ABOVE, KEPT_FOR } from '../../platform/scans'
import type { Entry, Row } from '../board'
import { compareScores, isRanked, type Score } from '../score.rules'

/**
 * The order of a ranking, and so also who enters a full one (L4, L5): by score descending, then by the time
 * at which it was reached, then by the UTF-8 bytes of the user id. `board.sql.ts` repeats this order in the
 * index `scores_by_rank` and in `ORDER BY` of its statements: change all of them together.
 */
function compareEntries(a: Entry, b: Entry): number {
  return compareScores(b.score, a.score) || a.reached - b.reached || compareText(a.userId, b.userId)
}

/**
 * The best entries of one run and group, in order: at most `max` (L5). It is a copy of stored data, so that a
 * rank costs a binary search instead of a query. `isStale` says that the copy no longer knows the last entry.
 */
export class Ranking {
  readonly #max: number
  #entries: Entry[]
  #isStale = false

  /** `entries` are the best `max` of all, in order. */
  constructor(entries: Entry[], max: number) {
    this.#entries = entries
    this.#max = max
  }

  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Whether it must be made again before its next use. */
  get isStale(): boolean {
    return this.#isStale
  }

  get #isFull(): boolean {
    return this.#entries.length >= this.#max
  }

  /** The last score if the ranking is full, else null (L5). */
  get threshold(): Score | null {
    return this.#isFull ? (this.#entries.at(-1)?.score ?? null) : null
  }

  /** The rank of an entry with its present score, from 1; null if it is not ranked. */
  rankOf(entry: Entry | null): number | null {
    if (entry === null || !isRanked(entry.score)) return null
    const index = this.#indexOf(entry)
    return this.#entries[index]?.iid === entry.iid ? index + 1 : null
  }

  /** Replaces `before` by `after`; null if there is none. Scores of 0 and below are not ranked (L4). */
  replace(before: Entry | null, after: Entry | null): void {
    const wasFull = this.#isFull
    const rank = this.rankOf(before)
    if (rank !== null) this.#entries.splice(rank - 1, 1)
    if (after !== null && isRanked(after.score)) {
      const index = this.#indexOf(after)
      // In a full ranking, an entry that falls to the end leaves a gap. Only the store knows whether it or an
      // unranked entry is last now.
      if (rank !== null && wasFull && index === this.#entries.length) this.#isStale = true
      else if (index < this.#max) this.#entries.splice(index, 0, after)
      if (this.#entries.length > this.#max) this.#entries.pop()
    } else if (rank !== null && wasFull) this.#isStale = true
  }

  #indexOf(entry: Entry): number {
    let [low, high] = [0, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.#entries[middle]
      if (other !== undefined && compareEntries(other, entry) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** A group, as JSON of its values, and its number of ranked users. */
export type GroupSize = { group: string; users: number }

/** The groups of a run, the largest first, and the number of scores that were read to count them. */
export type Counted = { sizes: readonly GroupSize[]; read: number }

/** The most kept counts. Each has at most 10,000 groups and 4 million characters (`board.sql.ts`). */
const MOST_KEPT = 4

/**
 * The number of ranked users in each group of a run. A count reads all scores of the run. So a very large
 * count is kept in memory for a minute: repeated requests cannot keep the board from its work.
 */
export class GroupSizes {
  readonly #kept = new BoundedMap<number, { sizes: readonly GroupSize[]; at: Instant }>(MOST_KEPT)

  /** The groups of a run: a kept count, or the result of `count`. `systemNow` is the machine's time. */
  of(run: number, systemNow: Instant, count: () => Counted): readonly GroupSize[] {
    const kept = this.#kept.get(run)
    // The machine's clock may be set back.
    if (kept !== undefined && Math.abs(systemNow - kept.at) < KEPT_FOR) return kept.sizes
    const { sizes, read } = count()
    if (read > KEPT_ABOVE) this.#kept.set(run, { sizes, at: systemNow })
    else this.#kept.delete(run)
    return sizes
  }

  clear(): void {
    this.#kept.clear()
  }
}

/** The most rankings in memory, of at most 1,000 entries each. The least recently used one goes first. */
const MOST_RANKINGS = 200

/** The rankings of runs that are not final, by run and group. Those in memory are copies of the store. */
export class Rankings {
  readonly #best: (run: number, group: string, max: number) => Entry[]
  readonly #max: () => number
  readonly #held = new BoundedMap<string, Ranking>(MOST_RANKINGS)

  /** `best` reads the best entries of a group. `max` is how many users may be ranked in one now (L5). */
  constructor(best: (run: number, group: string, max: number) => Entry[], max: () => number) {
    this.#best = best
    this.#max = max
  }

  of(run: number, group: string): Ranking {
    const key = keyOf(run, group)
    const held = this.#held.get(key)
    if (held !== undefined && !held.isStale) return held
    const max = this.#max()
    const ranking = new Ranking(this.#best(run, group, max), max)
    this.#held.set(key, ranking)
    return ranking
  }

  /** The rank of a score, from 1; null if it is not ranked. */
  rankOf(row: Row | null): number | null {
    return row === null || row.group === null ? null : this.of(row.run, row.group).rankOf(row)
  }

  /** Moves a score, which is already stored, in the rankings in memory. */
  move(before: Row | null, after: Row): void {
    const held = (group: string | null) =>
      group === null ? undefined : this.#held.get(keyOf(after.run, group))
    if (before?.group === after.group) held(after.group)?.replace(before, after)
    else {
      held(before?.group ?? null)?.replace(before, null)
      held(after.group)?.replace(null, after)
    }
  }

  clear(): void {
    this.#held.clear()
  }
}

const keyOf = (run: number, group: string) => `${run} ${group}`
