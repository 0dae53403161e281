import { BoundedMap } from '../../lib/bounded'
import { type Instant, instant } from '../../lib/clock'
import { KEPT_ABOVE, KEPT_FOR } from '../../platform/shared-scans'

/** A group, as JSON of its values, and its number of ranked users. */
export type GroupSize = { group: string; users: number }

/** The groups of a run, the largest first, and the number of scores that were read to count them. */
export type Counted = { sizes: readonly GroupSize[]; read: number }

/** The most kept counts. Each has at most 10,000 groups and 4 million characters (board.store.ts). */
const MOST_KEPT = 4

/**
 * The number of ranked users in each group of a run. A count reads all scores of the run. So a very large
 * count is kept in memory for a minute: repeated requests cannot keep the board from its work.
 */
export class GroupSizes {
  readonly #kept = new BoundedMap<number, { sizes: readonly GroupSize[]; until: Instant }>(MOST_KEPT)

  /** The groups of a run: a kept count, or the result of `count`. `systemNow` is the machine's time. */
  of(run: number, systemNow: Instant, count: () => Counted): readonly GroupSize[] {
    const kept = this.#kept.get(run)
    if (kept !== undefined && systemNow < kept.until) return kept.sizes
    const { sizes, read } = count()
    if (read > KEPT_ABOVE) this.#kept.set(run, { sizes, until: instant(systemNow + KEPT_FOR) })
    else this.#kept.delete(run)
    return sizes
  }

  /** Deletes all counts. */
  clear(): void {
    this.#kept.clear()
  }
}
