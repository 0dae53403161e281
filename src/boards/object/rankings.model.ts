import { BoundedMap } from '../../lib/bounded'
import type { Row } from '../board.types'
import type { BoardStore } from './board.store'
import { Ranking } from './ranking.rules'

/** Rankings that are held in memory, of at most 1,000 entries each; the one used longest ago goes first. */
const MOST_RANKINGS = 200

/** The rankings of the runs that aren't final, by run and group: those in use in memory, the others made from the store when asked. */
export class Rankings {
  readonly #store: BoardStore
  readonly #max: () => number
  readonly #held = new BoundedMap<string, Ranking>(MOST_RANKINGS)

  /** `max` says how many are ranked in a group at present (L5). */
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

  /** The rank of a score, from 1; null where it is not ranked. */
  rankOf(row: Row | null): number | null {
    return row === null || row.group === null ? null : this.of(row.run, row.group).rankOf(row)
  }

  /** Moves a score that is stored already, in the rankings that are held. */
  move(before: Row | null, after: Row): void {
    const held = (group: string | null) =>
      group === null ? undefined : this.#held.get(keyOf(after.run, group))
    if (before?.group === after.group) held(after.group)?.replace(before, after)
    else {
      held(before?.group ?? null)?.replace(before, null)
      held(after.group)?.replace(null, after)
    }
  }

  /** Lets all go that is held. */
  clear(): void {
    this.#held.clear()
  }
}

const keyOf = (run: number, group: string) => `${run} ${group}`
