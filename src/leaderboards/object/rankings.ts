import { BoundedMap } from '../../lib/bounded'
import type { Row } from '../board'
import type { BoardStore } from './board.sql.ts'
import { Ranking } from './ranking'

/** The most rankings in memory, of at most 1,000 entries each. The least recently used one goes first. */
const MOST_RANKINGS = 200

/**
 * The rankings of the runs that are not final, by run and group. Used ones are in memory. The others are read
 * from the store when needed.
 */
export class Rankings {
  readonly #store: BoardStore
  readonly #max: () => number
  readonly #held = new BoundedMap<string, Ranking>(MOST_RANKINGS)

  /** `max` returns how many users may be ranked in a group at present (L5). */
  constructor(store: BoardStore, max: () => number) {
    this.#store = store
    this.#max = max
  }

  /** The ranking of a group in a run. */
  of(run: number, group: string): Ranking {
    const key = keyOf(run, group)
    const held = this.#held.get(key)
    if (held !== undefined && !held.isStale) return held
    const max = this.#max()
    const ranking = new Ranking(this.#store.best(run, group, max), max)
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

  /** Drops all rankings from memory. */
  clear(): void {
    this.#held.clear()
  }
}

const keyOf = (run: number, group: string) => `${run} ${group}`
