import { type Instant, instant } from '../../lib/clock'
import { MOST_LOGGED } from '../../lib/limits'
import { DAY, HOUR } from '../../lib/units'
import type { DeliveryQueueStore } from './queue.store'

/** The most messages that one statement deletes, and after how many newly settled ones a run prunes. */
const AT_ONCE = 1_000
const PASSING = 500
/** How often new objects may count the settled messages, in milliseconds. A count reads all of them. */
const COUNTED = HOUR

/**
 * Deletes settled messages from the log that are too old or too many, in parts. Never deletes a pending
 * message.
 */
export class Pruning {
  readonly #kept: number
  readonly #most: number
  /** The settled messages, and how many this object had settled by then. Null if they were not counted. */
  #known: { count: number; settled: number } | null = null
  #done = 0

  /** `days`: how long a settled message stays in the log. */
  constructor(days: number, most = MOST_LOGGED) {
    this.#kept = days * DAY
    this.#most = most
  }

  /** Prunes only if many messages were settled since the last time. */
  inPassing(store: DeliveryQueueStore, now: Instant, settled: number): void {
    if (settled - this.#done >= PASSING) this.run(store, now, settled)
  }

  /**
   * Deletes a part of the messages that are too old or too many. `settled` is how many messages this object
   * has settled so far.
   */
  run(store: DeliveryQueueStore, now: Instant, settled: number): void {
    this.#done = settled
    const outdated = store.dropBefore(instant(now - this.#kept), AT_ONCE)
    const known = this.#known ?? this.#counted(store, now, settled)
    if (known === null) return
    const count = known.count + settled - known.settled - outdated
    const excess = Math.max(0, Math.min(count - this.#most, AT_ONCE))
    this.#known = { count: excess === 0 ? count : count - store.dropOldest(excess), settled }
  }

  /** Counts the settled messages. Null if an earlier object has counted them within the hour. */
  #counted(store: DeliveryQueueStore, now: Instant, settled: number) {
    const before = store.note('counted')
    if (typeof before === 'number' && now >= before && now - before < COUNTED) return null
    store.setNote('counted', now)
    return { count: store.settled(), settled }
  }
}
