/** The times of the model, in milliseconds: of a round trip, and of a batch in the database. */
export type Times = { roundTrip: number; read: number; write: number }

/** The work of a database: batches, and for how long it was busy, in milliseconds of the model. */
export type Use = { reads: number; writes: number; busy: number }

/**
 * A D1 database that is as slow as a model says. A batch travels for half a round trip, waits until all
 * batches before it are done, occupies the database for its service time, and travels back. The real batch
 * runs during the service time, and must be shorter.
 */
export class SlowedDatabase {
  readonly use: Use = { reads: 0, writes: 0, busy: 0 }
  readonly #real: D1Database
  readonly #times: Times
  /** The turn of the last batch that has arrived, and when it leaves the database free. */
  #last: Promise<number> = Promise.resolve(0)

  constructor(real: D1Database, times: Times) {
    this.#real = real
    this.#times = times
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
    await until(Date.now() + way)
    const arrived = Date.now()
    const turn = this.#last.then((free) => this.#serve(statements, Math.max(free, arrived)))
    this.#last = turn.then(({ free }) => free)
    const { free, end } = await turn
    await until(free + way)
    if ('error' in end) throw end.error
    return end.results
  }

  /**
   * Runs a batch, and ends when its service time is over. The next one begins at that moment of the model,
   * even if a timer was late.
   */
  async #serve(statements: D1PreparedStatement[], from: number) {
    const end = await this.#real.batch(statements).then(
      (results) => ({ results }),
      (error: unknown) => ({ error }),
    )
    // A batch that was refused is a write: a guard has refused it.
    const isWrite = 'error' in end || end.results.some(({ meta }) => meta.rows_written > 0)
    const service = isWrite ? this.#times.write : this.#times.read
    this.use.busy += service
    if (isWrite) this.use.writes += 1
    else this.use.reads += 1
    const free = from + service
    await until(free)
    return { free, end }
  }
}

/** Waits until a moment. */
export function until(moment: number): Promise<void> {
  const left = moment - Date.now()
  return left <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, left))
}
