/** How often the runtime must have nothing to do before the clock goes on. */
const TURNS = 3

const setScheduler = (value: Pick<Scheduler, 'wait'>) =>
  Object.defineProperty(globalThis, 'scheduler', { value, configurable: true, writable: true })

/** A promise that waits for a moment, and its place among those of the same moment. */
type Waiting = { moment: number; resolve: () => void }

/**
 * The clock of the model, in milliseconds. It stops while the app works, and while a real database
 * works. When nothing is left to do, it moves to the next moment for which a promise waits. So no processor
 * is too slow for the model.
 */
export class ModelClock {
  #now = 0
  /** In the order of their moments. */
  readonly #waiting: Waiting[] = []
  /** Real work in progress, and everything that has happened so far. */
  #working = 0
  #happened = 0

  /** The present moment of the model. */
  now(): number {
    return this.#now
  }

  /** Waits until a moment of the model. */
  until(moment: number): Promise<void> {
    this.#happened += 1
    if (moment <= this.#now) return Promise.resolve()
    return new Promise((resolve) => {
      const at = this.#waiting.findLastIndex((one) => one.moment <= moment)
      this.#waiting.splice(at + 1, 0, { moment: Math.ceil(moment), resolve })
    })
  }

  /** Does real work, such as a batch of the real database. It takes no time in the model. */
  async real<T>(work: () => Promise<T>): Promise<T> {
    this.#working += 1
    try {
      return await work()
    } finally {
      this.#working -= 1
      this.#happened += 1
    }
  }

  /** Runs work. Until it ends, `Date.now` and `scheduler.wait` are the model's in all of this process. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const realNow = Date.now
    const realScheduler = scheduler
    this.#now = realNow()
    const turn = () => new Promise((resolve) => setTimeout(resolve, 0))
    const wait = (ms: number) => this.until(this.#now + ms)
    Date.now = () => this.#now
    setScheduler({ wait })
    let isDone = false
    const done = work().finally(() => {
      isDone = true
    })
    // It is reported below.
    done.catch(() => undefined)
    try {
      while (!isDone) {
        for (let quiet = 0; quiet < TURNS; ) {
          const before = this.#happened
          await turn()
          quiet = this.#working > 0 || this.#happened !== before ? 0 : quiet + 1
        }
        this.#advance()
      }
      return await done
    } finally {
      Date.now = realNow
      setScheduler(realScheduler)
    }
  }

  /** Moves to the next moment, and resolves all promises that wait for it. */
  #advance(): void {
    const [next] = this.#waiting
    if (next === undefined) return
    this.#now = next.moment
    const later = this.#waiting.findIndex(({ moment }) => moment > this.#now)
    const woken = this.#waiting.splice(0, later < 0 ? this.#waiting.length : later)
    for (const { resolve } of woken) resolve()
  }
}
