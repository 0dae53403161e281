import type { Timers } from '../../src/api/streams'
import { type Instant, instant } from '../../src/lib/clock'

/** Timers whose time the test moves. */
export class FakeTimers implements Timers {
  #now: number
  readonly #calls = new Set<{ at: number; work: () => void }>()

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  readonly now = (): Instant => instant(this.#now)

  readonly after = (ms: number, work: () => void): (() => void) => {
    const call = { at: this.#now + ms, work }
    this.#calls.add(call)
    return () => void this.#calls.delete(call)
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#calls.size
  }

  /** Sets the clock back. The calls come when they would have come. */
  setBack(ms: number): void {
    this.#now -= ms
    for (const call of this.#calls) call.at -= ms
  }

  /** Moves the time forward, and makes the calls that are due by then, in order. */
  pass(ms: number): void {
    const until = this.#now + ms
    for (;;) {
      const [next] = [...this.#calls].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#calls.delete(next)
      this.#now = next.at
      next.work()
    }
    this.#now = until
  }
}
