import { compareScores, isRanked, type Score } from '../score.rules'

/** A user's place in the making: what L4 orders by. */
export type Entry = {
  userId: string
  /** Our own id of the user. */
  iid: string
  score: Score
  /** When the last counted change that altered the score happened, in milliseconds. */
  reached: number
}

/** Orders by score descending, then by who reached it first, then by user id as its UTF-8 bytes are ordered (L4). */
export function compareEntries(a: Entry, b: Entry): number {
  return compareScores(b.score, a.score) || a.reached - b.reached || compareText(a.userId, b.userId)
}

/** Orders texts by code points, as SQLite orders them by UTF-8 bytes; JavaScript's own order is that of UTF-16. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    const [isHighX, isHighY] = [isSurrogate(x), isSurrogate(y)]
    return isHighX === isHighY ? x - y : isHighX ? 1 : -1
  }
  return a.length - b.length
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff

/**
 * The best of one run and group, in order: at most `max`, of however many there are (L5). It is a copy of what is stored, so that
 * a rank costs a binary search instead of a query; `isStale` says that the copy no longer knows who comes last.
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

  /** Those who are ranked, best first. */
  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Whether it must be made anew before it is asked again. */
  get isStale(): boolean {
    return this.#isStale
  }

  get #isFull(): boolean {
    return this.#entries.length >= this.#max
  }

  /** The last score where the ranking is full, else null (L5). */
  get threshold(): Score | null {
    return this.#isFull ? (this.#entries.at(-1)?.score ?? null) : null
  }

  /** The rank of an entry as it stands here, from 1; null where it is not ranked. */
  rankOf(entry: Entry | null): number | null {
    if (entry === null || !isRanked(entry.score)) return null
    const index = this.#indexOf(entry)
    return this.#entries[index]?.iid === entry.iid ? index + 1 : null
  }

  /** Puts `after` in the place of `before`; null where there was, or is, none. Scores of 0 and below are not ranked (L4). */
  replace(before: Entry | null, after: Entry | null): void {
    const wasFull = this.#isFull
    const rank = this.rankOf(before)
    if (rank !== null) this.#entries.splice(rank - 1, 1)
    if (after !== null && isRanked(after.score)) {
      const index = this.#indexOf(after)
      // One who left a full ranking leaves a gap: whether the fallen one or somebody outside comes last, only the store knows.
      if (rank !== null && wasFull && index === this.#entries.length) this.#isStale = true
      else if (index < this.#max) this.#entries.splice(index, 0, after)
      if (this.#entries.length > this.#max) this.#entries.pop()
    } else if (rank !== null && wasFull) this.#isStale = true
  }

  /** Where an entry stands, or would stand. */
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
