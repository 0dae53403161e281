import type { ModelClock } from './clock'

/** The times of the model, in milliseconds: of a round trip, and of a batch in the database. */
export type Times = { roundTrip: number; read: number; write: number }

/** The work of a database: batches that wrote, and for how long it was busy, in milliseconds of the model. */
export type Use = { writes: number; busy: number }

/**
 * A D1 database that is as slow as a model says. A batch travels for half a round trip, waits until all
 * batches before it are done, occupies the database for its service time, and travels back. The real batch
 * takes no time in the model.
 */
export class SlowedDatabase {
  readonly use: Use = { writes: 0, busy: 0 }
  readonly #real: D1Database
  readonly #times: Times
  readonly #clock: ModelClock
  /** The turn of the last batch that has arrived, and when it leaves the database free. */
  #last: Promise<number> = Promise.resolve(0)

  constructor(real: D1Database, times: Times, clock: ModelClock) {
    this.#real = real
    this.#times = times
    this.#clock = clock
  }

  /** The binding. */
  get binding(): D1Database {
    const batch = (statements: D1PreparedStatement[]) => this.#batch(statements)
    return new Proxy(this.#real, {
      get(target, name) {
        if (name === 'batch') return batch
        if (name === 'prepare') return (sql: string) => target.prepare(sql)
        throw new Error(`D1 was asked for ${String(name)}`)
      },
    })
  }

  async #batch(statements: D1PreparedStatement[]): Promise<D1Result[]> {
    const way = this.#times.roundTrip / 2
    await this.#clock.until(this.#clock.now() + way)
    const arrived = this.#clock.now()
    const turn = this.#last.then((free) => this.#serve(statements, Math.max(free, arrived)))
    this.#last = turn.then(({ free }) => free)
    const { free, end } = await turn
    await this.#clock.until(free + way)
    if ('error' in end) throw end.error
    return end.results
  }

  /** Runs a batch, and ends when its service time is over. */
  async #serve(statements: D1PreparedStatement[], from: number) {
    const end = await this.#clock.real(() =>
      this.#real.batch(statements).then(
        (results) => ({ results }),
        (error: unknown) => ({ error }),
      ),
    )
    // A batch that was refused is a write: a guard has refused it.
    const isWrite = 'error' in end || end.results.some(({ meta }) => meta.rows_written > 0)
    const service = isWrite ? this.#times.write : this.#times.read
    this.use.busy += service
    if (isWrite) this.use.writes += 1
    const free = from + service
    await this.#clock.until(free)
    return { free, end }
  }
}
