/** A pause of some milliseconds since a moment. */
export class Pause {
  readonly #since: number
  readonly #length: number

  constructor(since = 0, length = 0) {
    this.#since = since
    this.#length = length
  }

  /** The milliseconds that are left. If the clock was set back, the pause is over. */
  left(now: number): number {
    const passed = now - this.#since
    return passed < 0 ? 0 : Math.max(0, this.#length - passed)
  }
}
