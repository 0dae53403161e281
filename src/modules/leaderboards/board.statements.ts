type Value = string | number | null

/** Statements on an object's own SQLite. Everything is synchronous: what happens without an await in between is one transaction. */
export class Sql {
  readonly #sql: SqlStorage
  /** Rows written since this was made; an index entry is a row too. */
  rowsWritten = 0

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  /** The rows of a statement: what shape they have, the statement says. */
  rows<T extends Record<string, Value>>(statement: string, ...values: Value[]): T[] {
    const cursor = this.#sql.exec<T>(statement, ...values)
    const rows = cursor.toArray()
    this.rowsWritten += cursor.rowsWritten
    return rows
  }

  /** Runs a statement that answers nothing. */
  run(statement: string, ...values: Value[]): void {
    this.rows(statement, ...values)
  }
}
