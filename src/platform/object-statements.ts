import { migrate, type Steps, type TableStorage } from './object-migrations'

type Value = string | number | null

/**
 * Statements on an object's own SQLite. All methods are synchronous. Calls without an await between them are
 * one transaction.
 */
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

  /** The rows of a statement, which says their shape. */
  rows<T extends Record<string, Value>>(statement: string, ...values: Value[]): T[] {
    if (this.#isClosed) return []
    const cursor = this.#storage.sql.exec<T>(statement, ...values)
    const rows = cursor.toArray()
    this.rowsWritten += cursor.rowsWritten
    return rows
  }

  /** Runs a statement without a result. */
  run(statement: string, ...values: Value[]): void {
    this.rows(statement, ...values)
  }
}
