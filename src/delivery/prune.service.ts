import { type Instant, instant } from '../lib/clock'
import { DAY, HOUR } from '../lib/units'
import type { DeliveryQueueStore } from './queue.store'

/** For how long a settled letter stays in the log, in milliseconds, and the most of them that do. */
const KEPT = 30 * DAY
const MOST = 20_000
/** Letters that are deleted in passing, and after how many that were settled that is done again. */
const AT_ONCE = 1_000
const PASSING = 500
/** How often the settled letters are counted at most by objects that were made anew, in milliseconds: that reads all of them. */
const COUNTED = HOUR

/** Takes settled letters out of the log that are too old or too many, some at a time, and none that is still to be carried. */
export class Pruning {
  readonly #most: number
  /** How many there are, and how many had been settled by then; null where they were not counted. */
  #known: { count: number; settled: number } | null = null
  #done = 0

  constructor(most = MOST) {
    this.#most = most
  }

  /** The same where many were settled since it was done last. */
  inPassing(store: DeliveryQueueStore, now: Instant, settled: number): void {
    if (settled - this.#done >= PASSING) this.run(store, now, settled)
  }

  /** `settled` is how many letters this object has settled so far. */
  run(store: DeliveryQueueStore, now: Instant, settled: number): void {
    this.#done = settled
    const outdated = store.dropBefore(instant(now - KEPT), AT_ONCE)
    const known = this.#known ?? this.#counted(store, now, settled)
    if (known === null) return
    const count = known.count + settled - known.settled - outdated
    const excess = Math.max(0, Math.min(count - this.#most, AT_ONCE))
    this.#known = { count: excess === 0 ? count : count - store.dropOldest(excess), settled }
  }

  /** How many there are; null where an object before this one has seen that within the hour. */
  #counted(store: DeliveryQueueStore, now: Instant, settled: number) {
    const before = store.note('counted')
    if (typeof before === 'number' && now >= before && now - before < COUNTED) return null
    store.setNote('counted', now)
    return { count: store.settled(), settled }
  }
}
