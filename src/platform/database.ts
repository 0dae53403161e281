import { getTableColumns } from 'drizzle-orm'
import { type DrizzleD1Database, drizzle } from 'drizzle-orm/d1'
import type { SQLiteInsertValue, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type * as z from 'zod'
import { bucketOf } from '../lib/ids'

/**
 * SQL that is known when the program is compiled: the literal type of a constant. A text that is built while
 * the program runs is a `string`, or contains one, and becomes `never`. A function that puts a part of a
 * query into another query takes `sql: T & FixedSql<T>`, so that no value can get into the text.
 */
export type FixedSql<T extends string> = Record<never, never> extends Record<T, unknown> ? never : T

/**
 * A statement with its parameters. It is plain data and belongs to no database: the database is chosen when
 * the batch is sent, so that a batch about a user reaches the database that holds the user then (B2).
 */
export type Statement = {
  readonly sql: string
  readonly params: readonly unknown[]
  /**
   * The name of the statement, if a change of the configuration must do it in every database of the tenant,
   * because it begins work on users (B4). See `EVERYWHERE` in databases/everywhere.ts.
   */
  readonly everywhere?: string
  /** Whether the first database leaves it out, because it makes the change in another way. */
  readonly isForCopies?: true
  /**
   * Whether this guard reads the due work on users. If a change of the configuration has such a guard, the
   * guard must hold in each database with users of the tenant (B4).
   */
  readonly isForUsers?: true
  /** Whether it checks the placement itself, so that its batch needs no guard for that. */
  readonly isPlaced?: true
}

/** A statement for any database. */
export const statement = (sql: string, ...params: readonly unknown[]): Statement => ({ sql, params })

/** SQL: the database's time, in real milliseconds. It alone counts if a database decides on deadlines. */
export const DATABASE_NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"

/**
 * Parameters of a statement that are known when it is sent: how often the buckets of the database have
 * changed, and the number that counts as such if the database has no row of the tenant. Both are null if
 * there is only one database.
 */
export const PLACEMENT = Symbol('placement')
export const PLACEMENT_WITHOUT_TENANT = Symbol('placement without tenant')

/** The words by which guards say that they did not hold. SQLite puts them into a sentence of its own. */
// Safe to trust: all other paths in queries are constants or our own ids, and no error quotes a bound text.
export const CONFLICT_WORD = 'laurel-conflict'
export const MISPLACED_WORD = 'laurel-misplaced'

/**
 * The outcome of a batch that failed, as far as it is known.
 *
 * - `conflict`, `misplaced`: a guard did not hold. Nothing was stored.
 * - `refused`: the database refuses a statement or its data. Nothing was stored, and a retry fails too.
 * - `not stored`: nothing was stored, but a retry may succeed: the database is overloaded, full or not found.
 * - `unknown`: no answer, or one that says nothing about the batch. It may be stored, even later.
 */
export type Outcome = 'conflict' | 'misplaced' | 'refused' | 'not stored' | 'unknown'

/** SQLite's codes for a store that is locked, full, read-only or can't be opened: nothing was stored. */
const CLOSED = 'BUSY|FULL|READONLY|CANTOPEN|NOMEM|PROTOCOL'
/** SQLite's codes for a broken disk or file. */
const BROKEN = 'IOERR|CORRUPT|NOTADB'

/** How an object is said to be out of order: by the SQLite of its storage, or by the platform. */
export const OBJECT_OUT_OF_ORDER = new RegExp(
  `^internal error|^Durable Object.* reset|SQLITE_(${CLOSED}|${BROKEN})`,
  'i',
)

/** How D1 says that a batch has not begun, did not fit, or can't be stored now. */
const NOT_STORED = new RegExp(`overloaded|cannot resolve|maximum DB size|SQLITE_(${CLOSED})`, 'i')
/** Another code of SQLite, or words of D1's own errors about a statement or a value. */
const REFUSED = new RegExp(
  `SQLITE_(?!${BROKEN})|\\b(D1_TYPE_ERROR|statement|parameter|SQL variables|string or blob)`,
  'i',
)

function outcomeOf(message: string): Outcome {
  // Then it quotes what came instead of D1's answer.
  if (message.startsWith('Failed to parse body')) return 'unknown'
  if (message.includes(CONFLICT_WORD)) return 'conflict'
  if (message.includes(MISPLACED_WORD)) return 'misplaced'
  if (NOT_STORED.test(message)) return 'not stored'
  return REFUSED.test(message) ? 'refused' : 'unknown'
}

/**
 * The only form of D1's errors. D1 begins a message with `D1_ERROR: ` if it answers, and mostly not if the
 * connection fails. The text names the outcome, because an object's caller gets only the text.
 */
export class DatabaseError extends Error {
  readonly outcome: Outcome

  constructor(cause: unknown) {
    const message = (cause instanceof Error ? cause.message : String(cause)).replace(/^D1_ERROR: /, '')
    const outcome = outcomeOf(message)
    super(`D1_ERROR (${outcome}): ${message}`, { cause })
    this.outcome = outcome
  }
}

const MOST_PARAMETERS = 100

/** The cost of a request so far, for its log line. D1 bills rows. */
export type Cost = { roundTrips: number; rowsRead: number; rowsWritten: number }

/** A cost of zero. */
export function noCost(): Cost {
  return { roundTrips: 0, rowsRead: 0, rowsWritten: 0 }
}

type Built = { toSQL(): Statement }

type Named = Readonly<Record<string, Statement | readonly Statement[]>>

const isList = (group: Named[string]): group is readonly Statement[] => Array.isArray(group)

type ResultsOf<S extends Named> = {
  [Name in keyof S]: S[Name] extends Statement ? D1Result : D1Result[]
}

/** One D1 database. Each batch is counted. */
export class Connection {
  readonly #cost: Cost

  /** `name` is that of its binding: `DB`, `DB_2` and so on. */
  constructor(
    readonly name: string,
    readonly d1: D1Database,
    cost: Cost,
  ) {
    this.#cost = cost
  }

  /**
   * Sends the statements in one transaction and one round trip. If one fails, none of them takes effect.
   * `placement` are the values of their parameters `PLACEMENT` and `PLACEMENT_WITHOUT_TENANT`. Throws a
   * DatabaseError.
   */
  async send(
    statements: readonly Statement[],
    placement: { wanted: number | null; without: number | null } = { wanted: null, without: null },
  ): Promise<D1Result[]> {
    this.#cost.roundTrips += 1
    const value = (param: unknown) =>
      param === PLACEMENT ? placement.wanted : param === PLACEMENT_WITHOUT_TENANT ? placement.without : param
    let results: D1Result[]
    try {
      results = await this.d1.batch(
        statements.map(({ sql, params }) => this.d1.prepare(sql).bind(...params.map(value))),
      )
    } catch (error) {
      throw new DatabaseError(error)
    }
    for (const { meta } of results) {
      this.#cost.rowsRead += meta.rows_read
      this.#cost.rowsWritten += meta.rows_written
    }
    return results
  }
}

type Route = {
  send: (statements: readonly Statement[]) => Promise<D1Result[]>
  /** Whether there are several databases, so that each user's row notes the user's bucket. */
  hasOthers: boolean
  /** The name of the database, if all batches go to the same one. */
  name?: string
  /** Whether it is always a database other than the first one. */
  isOther?: boolean
}

/**
 * D1 for the modules that serve the whole account: tenants, keys, the clock. All statements go in batches,
 * because a batch is one round trip and one transaction. Query texts are constants or come from Drizzle: no
 * value ever becomes part of a text.
 */
export class AccountDatabase {
  readonly #connection: Connection
  readonly #route: Route | undefined
  #orm: DrizzleD1Database | undefined

  /** `testClock`: whether the test clock may be set. If not, a time that was set earlier is ignored (C1). */
  constructor(
    connection: Connection,
    readonly testClock: boolean,
    route?: Route,
  ) {
    this.#connection = connection
    this.#route = route
  }

  /** Whether there are other databases, which may have other users of the tenant (B1). */
  get hasOthers(): boolean {
    return this.#route?.hasOthers ?? false
  }

  /** The name of its binding; null if each batch goes to the database that holds a user then. */
  get name(): string | null {
    return this.#route === undefined ? this.#connection.name : (this.#route.name ?? null)
  }

  /** Whether it is known to be another database than the first one. */
  get isOther(): boolean {
    return this.#route?.isOther ?? false
  }

  /** Drizzle's query builder. Its queries are sent by `batch`, so that their rows are counted. */
  get orm(): DrizzleD1Database {
    this.#orm ??= drizzle(this.#connection.d1)
    return this.#orm
  }

  statement(sql: string, ...params: unknown[]): Statement {
    return statement(sql, ...params)
  }

  built(query: Built): Statement {
    return query.toSQL()
  }

  /** Inserts of new rows, ready for a batch: as few statements as D1's limit on parameters allows. */
  inserts<T extends SQLiteTable>(table: T, rows: readonly SQLiteInsertValue<T>[]): Statement[] {
    const given = new Set(rows.flatMap((row) => Object.keys(row)))
    // If a column is left out, Drizzle binds its default, if it has one.
    const bound = Object.entries(getTableColumns(table)).filter(
      ([name, column]) => given.has(name) || column.default !== undefined,
    )
    const size = Math.floor(MOST_PARAMETERS / bound.length)
    const inserts: Statement[] = []
    for (let from = 0; from < rows.length; from += size) {
      inserts.push(this.built(this.orm.insert(table).values(rows.slice(from, from + size))))
    }
    return inserts
  }

  /** Runs the statements in one transaction and one round trip. If one fails, none of them takes effect. */
  batch(statements: readonly Statement[]): Promise<D1Result[]> {
    return this.#route?.send(statements) ?? this.#connection.send(statements)
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

  async run(statement: Statement): Promise<D1Result> {
    return (await this.batchOf({ statement })).statement
  }

  async rows(statement: Statement): Promise<unknown[]> {
    return (await this.run(statement)).results
  }

  /** The rows of a query, which `row` parses. */
  async list<R>(row: z.ZodType<R>, sql: string, ...params: unknown[]): Promise<R[]> {
    return (await this.rows(statement(sql, ...params))).map((one) => row.parse(one))
  }

  /** The row of a query that always finds one. */
  async one<R>(row: z.ZodType<R>, sql: string, ...params: unknown[]): Promise<R> {
    return row.parse((await this.rows(statement(sql, ...params)))[0])
  }

  /** The first row of a query; undefined if it finds none. */
  async find<R>(row: z.ZodType<R>, sql: string, ...params: unknown[]): Promise<R | undefined> {
    const [first] = await this.rows(statement(sql, ...params))
    return first === undefined ? undefined : row.parse(first)
  }

  of(tenantId: string): TenantDatabase {
    return new TenantDatabase(this.#connection, this.testClock, tenantId)
  }
}

/**
 * D1 for one tenant. Every function that reads or writes a tenant's data takes this type, so that none can be
 * called without a tenant (T1, T3). It is the first database, or one that holds users: see `Databases`.
 */
export class TenantDatabase extends AccountDatabase {
  constructor(
    connection: Connection,
    testClock: boolean,
    readonly tenantId: string,
    route?: Route,
  ) {
    super(connection, testClock, route)
  }

  /** The bucket that the row of a user notes; null if there is only one database (B2). */
  bucketOf(userId: string): number | null {
    return this.hasOthers ? bucketOf(this.tenantId, userId) : null
  }
}
