import type { Instant } from '../../lib/clock'
import { type Micros, micros } from '../../lib/decimal'
import { HOUR } from '../../lib/units'
import type { TenantDatabase } from '../../platform/database'
import { count, NEW_COUNTER } from '../../rules/metrics.rules'
import type { Counter, UserState } from '../../rules/state.types'
import { type LogRow, type OwnCounter, readLog, voidedSince } from './voids.repository'

/**
 * A user's log of one metric, as of one change of the user, while a void is tried. After a conflict, `read`
 * only reads what has changed since.
 */
export class MetricLog {
  readonly #metricId: string
  /** By the user's `seq` of the event. */
  #rows = new Map<number, LogRow>()
  #counters = ''
  #seq = 0
  /** No event that was stored later is before this moment, unless the clock was set back. */
  #from = 0

  constructor(metricId: string) {
    this.#metricId = metricId
  }

  /**
   * Reads the log as of the user's last change. False if another correction came in between; then try again.
   * `clock` is the test clock. Under it, the log is always read whole, because it may have gone back.
   */
  async read(
    db: TenantDatabase,
    user: UserState,
    counters: readonly OwnCounter[],
    clock: Instant | null,
  ): Promise<boolean> {
    const asked = JSON.stringify(counters)
    if (clock !== null || asked !== this.#counters) this.#forget()
    this.#counters = asked
    const { iid, seq } = user
    if (this.#rows.size > 0) {
      for (const gone of await voidedSince(db, { iid, seq: this.#seq }, this.#metricId))
        this.#rows.delete(gone)
    }
    const since = { from: this.#from, known: this.#seq }
    for await (const rows of readLog(db, user, this.#metricId, counters, since)) {
      for (const row of rows) this.#rows.set(row.seq, row)
    }
    this.#seq = seq
    this.#from = Math.max(0, user.changed - HOUR)
    const isWhole = this.#total() === (user.metrics.get(this.#metricId) ?? NEW_COUNTER).total
    if (!isWhole) this.#forget()
    return isWhole
  }

  #forget(): void {
    this.#rows = new Map()
    this.#seq = 0
    this.#from = 0
  }

  #total(): number {
    let total = 0
    for (const { value } of this.#rows.values()) total += value
    return total
  }

  /** The values of the metric in order, without the event of this `seq`. In millionths. */
  valuesWithout(seq: number): Micros[] {
    return this.#inOrder()
      .filter((row) => row.seq !== seq)
      .map(({ value }) => micros(value))
  }

  /** The n-th of the own counters, without the event of this `seq`. */
  counterWithout(seq: number, nth: number): Counter {
    let counter = NEW_COUNTER
    for (const row of this.#inOrder()) {
      if (row.seq !== seq && row.counters.includes(nth)) counter = count(counter, micros(row.value))
    }
    return counter
  }

  /** In the order in which the events were stored. It differs from that of time if a clock went back. */
  #inOrder(): LogRow[] {
    return [...this.#rows.values()].sort((a, b) => a.seq - b.seq)
  }
}
