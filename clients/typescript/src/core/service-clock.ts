/** Differences up to this are none: `Date` has whole seconds, and an answer takes time. In milliseconds. */
const TOLERANCE = 3_000

/** The clock of the service, as the answers tell it. Until the first one it is this machine's clock. */
export class ServiceClock {
  readonly #machine: () => number
  #ahead = 0

  constructor(machine: () => number) {
    this.#machine = machine
  }

  /** The time of the service, in milliseconds since 1970. */
  now(): number {
    return this.#machine() + this.#ahead
  }

  /** Follows the header `Date` of an answer that has just arrived, if it has one that can be read. */
  follow(headers: Headers): void {
    const date = Date.parse(headers.get('date') ?? '')
    if (Math.abs(date - this.now()) > TOLERANCE) this.#ahead = date - this.#machine()
  }
}
