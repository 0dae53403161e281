/** The part of an object's storage that its tables need. */
export type TableStorage = Pick<DurableObjectStorage, 'sql' | 'transactionSync'>

/**
 * The numbered steps that make an object's tables: step n, a list of statements, brings them to version n
 * from the version before. Never change a step that was deployed. To add a column, add a step.
 *
 * The first step makes the table `notes` (name, value). It stores the version under the name `version`.
 */
export type Steps = readonly (readonly string[])[]

const READ = "SELECT value FROM notes WHERE name = 'version'"
const WRITE = `INSERT INTO notes (name, value) VALUES ('version', ?1) ON CONFLICT DO UPDATE SET value = ?1`

/** Whether an object's SQLite has Laurel's tables: all objects have `notes`. It reads no rows. */
export const hasTables = (sql: SqlStorage): boolean =>
  sql.exec("PRAGMA table_info('notes')").toArray().length > 0

/** The stored version; 0 if there are no tables. */
const noted = (sql: SqlStorage): number =>
  hasTables(sql) ? Number(sql.exec<{ value: string }>(READ).one().value) : 0

/**
 * Brings an object's tables to the latest version, all or nothing, and returns the number of rows that it
 * wrote. If the tables have the latest version, it writes no rows, and reads one. If a later version
 * of Laurel wrote the tables, it throws and changes nothing.
 */
export function migrate(storage: TableStorage, steps: Steps): number {
  const { sql } = storage
  const version = noted(sql)
  const latest = steps.length
  if (version === latest) return 0
  if (version > latest) {
    throw new Error(
      `the tables of this object have version ${version}, but this version of Laurel knows only versions up to ${latest}: deploy the later version again`,
    )
  }
  return storage.transactionSync(() => {
    const written = steps.slice(version).flatMap((step) =>
      step.map((statement) => {
        const cursor = sql.exec(statement)
        cursor.toArray()
        return cursor.rowsWritten
      }),
    )
    written.push(sql.exec(WRITE, String(latest)).rowsWritten)
    return written.reduce((sum, rows) => sum + rows, 0)
  })
}

type Value = string | number | null

/** Synchronous statements on an object's SQLite. Without an await between, they are one transaction. */
export class Sql {
  readonly #storage: TableStorage
  /** Rows written since this was made. An index entry is a row too. */
  rowsWritten = 0
  #isClosed = false

  constructor(storage: TableStorage) {
    this.#storage = storage
  }

  /** Makes the tables, or brings them to the latest version. See `migrate`. */
  migrate(steps: Steps): void {
    this.rowsWritten += migrate(this.#storage, steps)
  }

  /** After this, every statement does nothing. All data is deleted, and nothing may be stored again. */
  close(): void {
    this.#isClosed = true
  }

  rows<T extends Record<string, Value>>(statement: string, ...values: Value[]): T[] {
    if (this.#isClosed) return []
    const cursor = this.#storage.sql.exec<T>(statement, ...values)
    const rows = cursor.toArray()
    this.rowsWritten += cursor.rowsWritten
    return rows
  }

  run(statement: string, ...values: Value[]): void {
    this.rows(statement, ...values)
  }
}
