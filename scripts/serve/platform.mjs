/**
 * Databases and queues for `npm run serve`, each over SQLite in an object of workerd. Their bindings are in
 * `bindings.mjs`. They run in the isolate of the Worker, since calls within an isolate are quicker.
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

/* Databases */

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

/* Queues */

/** The longest time that a message can wait, in milliseconds, as on Cloudflare. */
const LONGEST_DELAY = 12 * 3_600_000
/** After how long an alarm that has not rung is lost, in milliseconds. */
const LOST = 60_000
/** Cloudflare's own defaults. */
const DEFAULTS = { max_batch_size: 10, max_batch_timeout: 5, max_retries: 3, retry_delay: 0 }

/**
 * A queue, whose messages are stored until the consumer has taken them. A message comes once or, after a
 * failure, more often.
 */
export class MessageQueue extends DurableObject {
  #sql = this.ctx.storage.sql
  constructor(/** @type {DurableObjectState} */ state, /** @type {unknown} */ env) {
    super(state, env)
    this.#sql.exec(`CREATE TABLE IF NOT EXISTS messages (
      id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, sent INTEGER NOT NULL, due INTEGER NOT NULL,
      attempts INTEGER NOT NULL)`)
    this.#sql.exec('CREATE INDEX IF NOT EXISTS messages_due ON messages (due)')
    this.#sql.exec('CREATE TABLE IF NOT EXISTS queue (name TEXT NOT NULL)')
  }

  /** Its name, which an alarm has to know too. */
  get #name() {
    const [row] = this.#sql.exec('SELECT name FROM queue')
    return row === undefined ? '' : String(row.name)
  }

  /** Null for a queue without a consumer, such as one of dead letters: it keeps its messages. */
  get #settings() {
    const settings = this.env.CONSUMERS[this.#name]
    return settings === undefined ? null : { ...DEFAULTS, ...settings }
  }

  async send(/** @type {string} */ name, /** @type {string} */ body, /** @type {number} */ delaySeconds) {
    if (this.#name === '') this.#sql.exec('INSERT INTO queue VALUES (?)', name)
    const now = Date.now()
    const due = now + delaySeconds * 1000
    this.#sql.exec('INSERT INTO messages (body, sent, due, attempts) VALUES (?, ?, ?, 0)', body, now, due)
    const settings = this.#settings
    if (settings !== null) await this.#wake(due + settings.max_batch_timeout * 1000)
  }

  /** Has the alarm ring by that time. */
  async #wake(/** @type {number} */ by) {
    const alarm = await this.ctx.storage.getAlarm()
    if (alarm === null || alarm > by) await this.ctx.storage.setAlarm(by)
  }

  /**
   * Makes messages due now that wait for longer than they can, since the clock was ahead when they came (C3), and
   * has the alarm ring if it is as late, or was lost.
   */
  async setRight() {
    const now = Date.now()
    const { due } = this.#sql.exec('SELECT min(due) AS due FROM messages').one()
    if (due === null || this.#settings === null) return
    const late = this.#sql.exec('UPDATE messages SET due = ? WHERE due > ?', now, now + LONGEST_DELAY)
    if (late.rowsWritten > 0)
      console.warn(
        JSON.stringify({ level: 'warn', work: 'clock', error: `queue ${this.#name}: the clock was ahead` }),
      )
    const alarm = await this.ctx.storage.getAlarm()
    if (alarm === null || alarm > now + LONGEST_DELAY || alarm < now - LOST)
      await this.ctx.storage.setAlarm(now)
  }

  async alarm() {
    const settings = this.#settings
    if (settings === null) return
    const { max_batch_size: size, max_batch_timeout: wait } = settings
    const read = 'SELECT id, body, sent, attempts FROM messages WHERE due <= ? ORDER BY due, id LIMIT ?'
    for (;;) {
      const messages = [...this.#sql.exec(read, Date.now(), size)]
      if (messages.length === 0) break
      await this.#deliver(messages, settings)
    }
    const { due } = this.#sql.exec('SELECT min(due) AS due FROM messages').one()
    if (due !== null) await this.#wake(Number(due) + wait * 1000)
  }

  /**
   * Hands messages to the consumer. Those that fail come again, or go to the dead letters after the last
   * attempt.
   *
   * @type {(messages: Record<string, SqlStorageValue>[], settings: typeof DEFAULTS & { dead_letter_queue?:
   *   string }) => Promise<void>}
   */
  async #deliver(messages, settings) {
    const { max_retries: retries, retry_delay: delay, dead_letter_queue: deadLetters } = settings
    const again = await this.#take(messages)
    for (const { id, body, attempts } of messages) {
      const isTaken = !again.has(String(id))
      if (!isTaken && Number(attempts) < retries) {
        const due = Date.now() + delay * 1000
        this.#sql.exec('UPDATE messages SET due = ?, attempts = attempts + 1 WHERE id = ?', due, id)
        continue
      }
      if (!isTaken) {
        console.warn(JSON.stringify({ level: 'warn', error: `queue ${this.#name}: a message was given up` }))
        if (deadLetters !== undefined) await this.env.QUEUES.getByName(deadLetters).send(deadLetters, body, 0)
      }
      this.#sql.exec('DELETE FROM messages WHERE id = ?', id)
    }
  }

  /** @returns {Promise<Set<string>>} the ids of messages that have to come again */
  async #take(/** @type {Record<string, SqlStorageValue>[]} */ messages) {
    const sent = messages.map(({ id, body, sent: at, attempts }) => ({
      id: String(id),
      body: JSON.parse(String(body)),
      sent: Number(at),
      attempts: Number(attempts) + 1,
    }))
    try {
      return new Set(await this.env.CONSUMER.take(this.#name, sent))
    } catch (error) {
      console.warn(JSON.stringify({ level: 'warn', error: `queue ${this.#name}: ${String(error)}` }))
      return new Set(sent.map(({ id }) => id))
    }
  }
}
