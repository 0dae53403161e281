import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1'

/** What a request cost so far: the figures of its log line. Rows are what D1 bills. */
export type Cost = { roundTrips: number; rowsRead: number; rowsWritten: number }

/** A cost of nothing, to be counted up. */
export function noCost(): Cost {
  return { roundTrips: 0, rowsRead: 0, rowsWritten: 0 }
}

/** A query that Drizzle has built and nobody has sent. */
type Built = { toSQL(): { sql: string; params: unknown[] } }

/**
 * D1 as those modules see it that serve the whole account: tenants, keys, the clock. Everything goes in batches, since a
 * batch is one round trip and one transaction; each is counted. Query texts are constants or Drizzle's: no value ever becomes a
 * part of one.
 */
export class AccountDatabase {
  readonly #d1: D1Database
  readonly #cost: Cost
  #orm: DrizzleD1Database | undefined

  /** Whether the test clock may be set; without it, what was once set counts for nothing (C1). */
  readonly testClock: boolean

  constructor(d1: D1Database, cost: Cost, testClock: boolean) {
    this.#d1 = d1
    this.#cost = cost
    this.testClock = testClock
  }

  /** Drizzle's query builder over this database. Its queries are sent by `batch`, so that their rows are counted. */
  get orm(): DrizzleD1Database {
    this.#orm ??= drizzle(this.#d1)
    return this.#orm
  }

  /** A statement with its parameters, ready for a batch. */
  statement(sql: string, ...params: unknown[]): D1PreparedStatement {
    return this.#d1.prepare(sql).bind(...params)
  }

  /** What Drizzle built, ready for a batch. */
  built(query: Built): D1PreparedStatement {
    const { sql, params } = query.toSQL()
    return this.statement(sql, ...params)
  }

  /** Runs the statements in one transaction and one round trip; on an error none of them has happened. */
  async batch(statements: readonly D1PreparedStatement[]): Promise<D1Result[]> {
    this.#cost.roundTrips += 1
    const results = await this.#d1.batch([...statements])
    for (const { meta } of results) {
      this.#cost.rowsRead += meta.rows_read
      this.#cost.rowsWritten += meta.rows_written
    }
    return results
  }

  /** The rows of one statement. */
  async rows(statement: D1PreparedStatement): Promise<unknown[]> {
    const [result] = await this.batch([statement])
    return result?.results ?? []
  }
  /** The same database on behalf of one tenant. */
  of(tenantId: string): TenantDatabase {
    return new TenantDatabase(this.#d1, this.#cost, this.testClock, tenantId)
  }
}

/**
 * D1 on behalf of one tenant. Every function that reads or writes what a tenant has takes this one, so that none can be called
 * without a tenant (T1, T3).
 */
export class TenantDatabase extends AccountDatabase {
  readonly tenantId: string

  constructor(d1: D1Database, cost: Cost, testClock: boolean, tenantId: string) {
    super(d1, cost, testClock)
    this.tenantId = tenantId
  }
}
