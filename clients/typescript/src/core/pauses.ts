import type { Runtime } from './retries.js'

/** The longest first pause after a failure, and by default the longest of all, in milliseconds. */
const FIRST = 500
const LONGEST = 15_000

/** No pause is longer, whatever a server asks for: an hour, in milliseconds. */
const BOUND = 60 * 60_000

/**
 * The pauses between the tries of one call, one queue or one stream. All pauses of the package are made here.
 * Each is longer than the one before, until `reset`. New work ends no pause that the server asked for: ask
 * `askedLeft` first.
 */
export class Pauses {
  readonly #runtime: Pick<Runtime, 'now' | 'random'>
  readonly #longest: number
  #failures = 0
  #since = 0
  #length = 0
  #isAsked = false

  /**
   * @param longest the longest pause that no server asks for, in milliseconds
   */
  constructor(runtime: Pick<Runtime, 'now' | 'random'>, longest = LONGEST) {
    this.#runtime = runtime
    this.#longest = longest
  }

  /** The failures since the last `reset`. */
  get failures(): number {
    return this.#failures
  }

  /**
   * Begins the pause after a failure: exponential backoff with full jitter, after the seconds that the server
   * asks for, or has asked for before.
   *
   * @returns its length in milliseconds
   */
  begin(retryAfter: number | null = null): number {
    const backoff = this.#runtime.random() * Math.min(this.#longest, FIRST * 2 ** this.#failures)
    const asked = Math.max(this.askedLeft(), bounded((retryAfter ?? 0) * 1000))
    this.#failures += 1
    this.#isAsked = asked > 0
    this.#since = this.#runtime.now()
    this.#length = bounded(asked + backoff)
    return this.#length
  }

  /** The milliseconds that are left. If the clock was set back, the pause is over. */
  left(): number {
    const passed = this.#runtime.now() - this.#since
    return passed < 0 ? 0 : bounded(this.#length - passed)
  }

  /** The same, but only of a pause that the server asked for. */
  askedLeft(): number {
    return this.#isAsked ? this.left() : 0
  }

  /** Ends the pause, unless the server asked for it. The next one is longer all the same. */
  skip(): void {
    if (!this.#isAsked) this.#length = 0
  }

  /** Ends the pause after a success. The next one is short again. */
  reset(): void {
    this.#failures = 0
    this.#length = 0
  }
}

/** The time of a pause, from 0 to the bound, also if it is no number. */
const bounded = (milliseconds: number): number => (milliseconds > 0 ? Math.min(milliseconds, BOUND) : 0)
