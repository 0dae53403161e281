import { getTableColumns } from 'drizzle-orm'
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1'
import type { SQLiteInsertValue, SQLiteTable } from 'drizzle-orm/sqlite-core'

/** The maximum number of parameters of one D1 statement. */
const MOST_PARAMETERS = 100

/** The cost of a request so far, for its log line. D1 bills rows. */
export type Cost = { roundTrips: number; rowsRead: number; rowsWritten: number }

/** A cost of zero. */
export function noCost(): Cost {
  return { roundTrips: 0, rowsRead: 0, rowsWritten: 0 }
}

/** A query that Drizzle has built and that was not sent yet. */
type Built = { toSQL(): { sql: string; params: unknown[] } }

/** Statements by name: one, or a list of any length. */
type Named = Readonly<Record<string, D1PreparedStatement | readonly D1PreparedStatement[]>>

const isList = (group: Named[string]): group is readonly D1PreparedStatement[] => Array.isArray(group)

/** The result of each named statement; of a list of statements, the list of their results. */
export type ResultsOf<S extends Named> = {
  [Name in keyof S]: S[Name] extends D1PreparedStatement ? D1Result : D1Result[]
}

/**
 * D1 for the modules that serve the whole account: tenants, keys, the clock. All statements go in batches,
 * because a batch is one round trip and one transaction. Each batch is counted. Query texts are constants or
 * come from Drizzle: no value ever becomes part of a text.
 */
export class AccountDatabase {
  readonly #d1: D1Database
  readonly #cost: Cost
  #orm: DrizzleD1Database | undefined

  /** Whether the test clock may be set. If not, a time that was set earlier is ignored (C1). */
  readonly testClock: boolean

  constructor(d1: D1Database, cost: Cost, testClock: boolean) {
    this.#d1 = d1
    this.#cost = cost
    this.testClock = testClock
  }

  /**
   * Drizzle's query builder over this database. Its queries are sent by `batch`, so that their rows are
   * counted.
   */
  get orm(): DrizzleD1Database {
    this.#orm ??= drizzle(this.#d1)
    return this.#orm
  }

  /** A statement with its parameters, ready for a batch. */
  statement(sql: string, ...params: unknown[]): D1PreparedStatement {
    return this.#d1.prepare(sql).bind(...params)
  }

  /** A query that Drizzle built, ready for a batch. */
  built(query: Built): D1PreparedStatement {
    const { sql, params } = query.toSQL()
    return this.statement(sql, ...params)
  }

  /** Inserts of new rows, ready for a batch: as few statements as D1's limit on parameters allows. */
  inserts<T extends SQLiteTable>(table: T, rows: readonly SQLiteInsertValue<T>[]): D1PreparedStatement[] {
    const given = new Set(rows.flatMap((row) => Object.keys(row)))
    // If a column is left out, Drizzle binds its default, if it has one.
    const bound = Object.entries(getTableColumns(table)).filter(
      ([name, column]) => given.has(name) || column.default !== undefined,
    )
    const size = Math.floor(MOST_PARAMETERS / bound.length)
    const inserts: D1PreparedStatement[] = []
    for (let from = 0; from < rows.length; from += size) {
      inserts.push(this.built(this.orm.insert(table).values(rows.slice(from, from + size))))
    }
    return inserts
  }

  /** Runs the statements in one transaction and one round trip. If one fails, none of them takes effect. */
  async batch(statements: readonly D1PreparedStatement[]): Promise<D1Result[]> {
    this.#cost.roundTrips += 1
    const results = await this.#d1.batch([...statements])
    for (const { meta } of results) {
      this.#cost.rowsRead += meta.rows_read
      this.#cost.rowsWritten += meta.rows_written
    }
    return results
  }

  /**
   * The same for statements with names, in the order of the names. The results have the same names. A name
   * may have a list of statements, which may be empty.
   */
  batchOf<const S extends Named>(statements: S): Promise<ResultsOf<S>>
  async batchOf(named: Named): Promise<Record<string, D1Result | D1Result[]>> {
    const groups = Object.entries(named)
    const results = await this.batch(groups.flatMap(([, group]) => group))
    const answer: Record<string, D1Result | D1Result[]> = {}
    let from = 0
    for (const [name, group] of groups) {
      const size = isList(group) ? group.length : 1
      const own = results.slice(from, from + size)
      from += size
      const [first] = own
      if (isList(group)) answer[name] = own
      else if (first !== undefined) answer[name] = first
    }
    return answer
  }

  /** Runs one statement. */
  async run(statement: D1PreparedStatement): Promise<D1Result> {
    return (await this.batchOf({ statement })).statement
  }

  /** The rows of one statement. */
  async rows(statement: D1PreparedStatement): Promise<unknown[]> {
    return (await this.run(statement)).results
  }

  /** The same database for one tenant. */
  of(tenantId: string): TenantDatabase {
    return new TenantDatabase(this.#d1, this.#cost, this.testClock, tenantId)
  }
}

/**
 * D1 for one tenant. Every function that reads or writes a tenant's data takes this type, so that none can be
 * called without a tenant (T1, T3).
 */
export class TenantDatabase extends AccountDatabase {
  readonly tenantId: string

  constructor(d1: D1Database, cost: Cost, testClock: boolean, tenantId: string) {
    super(d1, cost, testClock)
    this.tenantId = tenantId
  }
}
