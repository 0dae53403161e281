/**
 * The databases of `npm run serve`, each over SQLite in an object of workerd. Their binding is in `bindings.mjs`. They
 * run in the isolate of the Worker, since calls within an isolate are quicker.
 */
import { DurableObject } from 'cloudflare:workers'
import { DIRECTORY_ROWS, databasesInUse } from './directory.mjs'
import migrations from './migrations.json'

/**
 * The Worker that looks at the databases before the server starts, and answers what each one says of itself. It has
 * no other objects, so no alarm rings, and it makes no folder of a class that is missing.
 */
export default {
  async fetch(/** @type {Request} */ _request, /** @type {any} */ env) {
    const looks = env.DATABASE_LIST.map(async (/** @type {{ binding: string; name: string }} */ one) => ({
      binding: one.binding,
      ...(await env.DATABASE_OBJECTS.getByName(one.name).look()),
    }))
    return Response.json(await Promise.all(looks))
  },
}

/** A statement that changes nothing. One that begins with WITH may change something. */
const READ = /^\s*SELECT\b/i

/** The migration after which code that knows only the migrations up to ?1 can't serve. */
const LATER = 'SELECT name FROM schema_version WHERE oldest > ?1'

/** A database. Every batch is one transaction, as in D1. */
export class Database extends DurableObject {
  #sql = this.ctx.storage.sql

  /**
   * Runs the statements of a batch, as JSON: of each one its SQL and its parameters. Returns JSON: `results`
   * in the same order and the `size` of the database in bytes, or the `error` of the statement that failed;
   * then nothing is changed.
   */
  run(/** @type {string} */ asked) {
    try {
      const statements = /** @type {[string, unknown[]][]} */ (JSON.parse(asked))
      // The object runs nothing else meanwhile, so reads see one moment without a transaction, which would
      // cost them an eighth of a request.
      const results = statements.every(([sql]) => READ.test(sql))
        ? statements.map((one) => this.#runOne(one))
        : this.ctx.storage.transactionSync(() => this.#runCounted(statements))
      return JSON.stringify({ results, size: this.#sql.databaseSize })
    } catch (error) {
      return JSON.stringify({ error: error instanceof Error ? error.message : String(error) })
    }
  }

  /**
   * What the server looks at before it decides to start: whether there are tables, the migration of a later
   * version with whose tables this one can't serve, the databases that are in use by the directory of this one,
   * and what `note` has noted. Changes nothing.
   */
  look() {
    const has = (/** @type {string} */ table) =>
      [...this.#sql.exec('SELECT 1 FROM sqlite_schema WHERE name = ?', table)].length > 0
    const [later] = has('schema_version') ? [...this.#sql.exec(LATER, migrations.length - 1)] : []
    return {
      isEmpty: !has('d1_migrations'),
      later: later?.name,
      inUse: databasesInUse(has('directory') ? [...this.#sql.exec(DIRECTORY_ROWS)] : []),
      classes: this.ctx.storage.kv.get('classes') ?? [],
    }
  }

  /** Notes the classes of objects. Each one has a folder from then on. */
  note(/** @type {string[]} */ classes) {
    this.ctx.storage.kv.put('classes', classes)
  }

  /**
   * Applies the migrations that are missing, each in a transaction of its own. The table is wrangler's.
   * Returns the error with the name of the migration that failed; empty if there was none.
   */
  migrate() {
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS d1_migrations (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
      applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`)
    const applied = new Set([...this.#sql.exec('SELECT name FROM d1_migrations')].map(({ name }) => name))
    const missing = migrations.filter(({ name }) => !applied.has(name))
    for (const { name, sql } of missing) {
      try {
        this.ctx.storage.transactionSync(() => {
          this.#sql.exec(sql)
          this.#sql.exec('INSERT INTO d1_migrations (name) VALUES (?)', name)
        })
      } catch (error) {
        return `The migration ${name} failed: ${error instanceof Error ? error.message : error}`
      }
    }
    return ''
  }

  /** Runs statements, and counts the changes of each. */
  #runCounted(/** @type {[string, unknown[]][]} */ statements) {
    let changed = this.#countChanges()
    return statements.map((one) => {
      const found = this.#runOne(one)
      const before = changed
      if (found.written > 0) changed = this.#countChanges()
      return { ...found, changes: changed - before }
    })
  }

  /** @returns {import('./bindings.mjs').Found} */
  #runOne(/** @type {[string, unknown[]]} */ [sql, parameters]) {
    const values = parameters.map((value) => (Array.isArray(value) ? new Uint8Array(value) : value))
    const cursor = this.#sql.exec(sql, ...values)
    const rows = [...cursor.raw()].map((row) =>
      row.some((value) => value instanceof ArrayBuffer) ? row.map(asNumbers) : row,
    )
    const { columnNames: columns, rowsRead: read, rowsWritten: written } = cursor
    return { columns, rows, changes: 0, read, written }
  }

  /** How many rows were inserted, updated and deleted since the database was opened. */
  #countChanges() {
    return Number(this.#sql.exec('SELECT total_changes() AS total').one().total)
  }
}

/** Bytes as D1 answers them: a list of numbers. */
const asNumbers = (/** @type {SqlStorageValue} */ value) =>
  value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value
