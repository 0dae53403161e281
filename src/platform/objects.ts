import { DurableObject } from 'cloudflare:workers'
import { systemNow } from '../lib/system-clock'
import type { Bindings } from './env'

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

const NOTE = 'SELECT value FROM notes WHERE name = ?1'
const SET_NOTE = 'INSERT INTO notes (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2'
const DROP_NOTE = 'DELETE FROM notes WHERE name = ?1'

/** Synchronous statements on an object's SQLite. Without an await between, they are one transaction. */
export class Sql {
  readonly #storage: TableStorage
  /** Rows written since this was made. An index entry is a row too. */
  rowsWritten = 0
  #isClosed = false

  constructor(storage: TableStorage) {
    this.#storage = storage
  }

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

  /** The rows of a statement, each read only when it is asked for. */
  each<T extends Record<string, Value>>(statement: string, ...values: Value[]): Iterable<T> {
    return this.#isClosed ? [] : this.#storage.sql.exec<T>(statement, ...values)
  }

  /** Runs a statement without a result. Returns the number of rows that it wrote. */
  run(statement: string, ...values: Value[]): number {
    const before = this.rowsWritten
    this.rows(statement, ...values)
    return this.rowsWritten - before
  }

  /** A note, parsed as JSON; null if there is none. */
  note(name: string): unknown {
    const [row] = this.rows<{ value: string }>(NOTE, name)
    return row === undefined ? null : JSON.parse(row.value)
  }

  setNote(name: string, value: unknown): void {
    this.run(SET_NOTE, name, JSON.stringify(value))
  }

  dropNote(name: string): void {
    this.run(DROP_NOTE, name)
  }
}

/**
 * An object with data of one resource in tables of its own. The tables are made when they are first needed.
 * The note `deleted` says when the resource was deleted, so that late messages leave nothing behind.
 */
export abstract class StoringObject<Store extends { readonly sql: Sql }> extends DurableObject<Bindings> {
  #opened: Store | null = null
  #isPurged = false

  protected abstract openStore(): Store

  /** Ends everything in memory that is about the stored data. */
  protected abstract stop(): void

  protected get store(): Store {
    this.#opened ??= this.openStore()
    return this.#opened
  }

  /** Whether its tenant was erased while this object was in use. */
  protected get isPurged(): boolean {
    return this.#isPurged
  }

  /** Whether it stores anything. Asking creates no tables. */
  protected get isUsed(): boolean {
    return !this.#isPurged && (this.#opened !== null || hasTables(this.ctx.storage.sql))
  }

  protected get isDeleted(): boolean {
    return this.isUsed && this.store.sql.note('deleted') !== null
  }

  /** Takes back a deletion if D1 was brought back since then to a moment before it (M2). Returns if it did. */
  protected revive(epoch: number): boolean {
    const deleted = this.isUsed ? this.store.sql.note('deleted') : null
    if (deleted === null || epoch <= Number(deleted)) return false
    this.store.sql.dropNote('deleted')
    return true
  }

  async forget(): Promise<void> {
    if (this.#isPurged) return
    this.stop()
    await this.#deleteAll()
    this.#opened = null
    this.store.sql.setNote('deleted', systemNow())
  }

  /**
   * Deletes everything for good, since the tenant is erased. Work in progress stores nothing more. Later
   * calls find that the tenant does not exist.
   */
  async purge(): Promise<void> {
    this.#isPurged = true
    this.stop()
    this.#opened?.sql.close()
    await this.#deleteAll()
  }

  async #deleteAll(): Promise<void> {
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
  }
}
