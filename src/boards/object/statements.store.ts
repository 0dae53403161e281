import { migrate, type Steps, type TableStorage } from '../../db/object-migrations'

type Value = string | number | null

/** Statements on an object's own SQLite. Everything is synchronous: what happens without an await in between is one transaction. */
export class Sql {
  readonly #storage: TableStorage
  /** Rows written since this was made; an index entry is a row too. */
  rowsWritten = 0
  #isClosed = false

  constructor(storage: TableStorage) {
    this.#storage = storage
  }

  /** Makes the tables, or brings them to the latest version; see `migrate`. */
  migrate(steps: Steps): void {
    this.rowsWritten += migrate(this.#storage, steps)
  }

  /** Has all further statements do nothing: there is nothing any more, and nothing may come to be. */
  close(): void {
    this.#isClosed = true
  }

  /** The rows of a statement: what shape they have, the statement says. */
  rows<T extends Record<string, Value>>(statement: string, ...values: Value[]): T[] {
    if (this.#isClosed) return []
    const cursor = this.#storage.sql.exec<T>(statement, ...values)
    const rows = cursor.toArray()
    this.rowsWritten += cursor.rowsWritten
    return rows
  }

  /** Runs a statement that answers nothing. */
  run(statement: string, ...values: Value[]): void {
    this.rows(statement, ...values)
  }
}
