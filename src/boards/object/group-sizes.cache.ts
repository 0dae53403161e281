import { BoundedMap } from '../../lib/bounded'
import { type Instant, instant } from '../../lib/clock'
import { MINUTE } from '../../lib/units'

/** A group, as JSON of its values, and how many users are ranked in it. */
export type GroupSize = { group: string; users: number }

/** The groups of a run, the largest first, and how many scores were read to count them. */
export type Counted = { sizes: readonly GroupSize[]; read: number }

/** Scores above which a count is kept for a while, and for how long, in milliseconds of real time. */
const KEPT_ABOVE = 10_000
const KEPT_FOR = MINUTE
/** Runs whose counts are kept: each has at most 10,000 groups and 4 million characters (board.store.ts). */
const MOST_KEPT = 4

/**
 * How many users are ranked in each group of a run. To count them reads all scores of the run, so a count of very many is kept in memory for
 * a minute, and nobody can keep the board from its work by asking again and again.
 */
export class GroupSizes {
  readonly #kept = new BoundedMap<number, { sizes: readonly GroupSize[]; until: Instant }>(MOST_KEPT)

  /** The groups of a run: those kept, or what `count` finds. `systemNow` is the machine's time. */
  of(run: number, systemNow: Instant, count: () => Counted): readonly GroupSize[] {
    const kept = this.#kept.get(run)
    if (kept !== undefined && systemNow < kept.until) return kept.sizes
    const { sizes, read } = count()
    if (read > KEPT_ABOVE) this.#kept.set(run, { sizes, until: instant(systemNow + KEPT_FOR) })
    else this.#kept.delete(run)
    return sizes
  }

  /** Forgets all counts. */
  clear(): void {
    this.#kept.clear()
  }
}
