/** The queues of `npm run serve`, each over SQLite in an object of workerd. Their binding is in `bindings.mjs`. */
import { DurableObject } from 'cloudflare:workers'
import laurel from './laurel.js'

/** The longest time that a message can wait, in milliseconds, as on Cloudflare. */
const LONGEST_DELAY = 12 * 3_600_000
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
   * Makes messages due now that wait for longer than they can, since the clock was ahead when they came (C3). Has the
   * alarm ring if any message is due: the alarm may be as late, or lost.
   */
  async setRight() {
    const now = Date.now()
    const late = this.#sql.exec('UPDATE messages SET due = ? WHERE due > ?', now, now + LONGEST_DELAY)
    if (late.rowsWritten > 0)
      console.warn(
        JSON.stringify({ level: 'warn', work: 'clock', error: `queue ${this.#name}: the clock was ahead` }),
      )
    const [due] = this.#sql.exec('SELECT 1 FROM messages WHERE due <= ? LIMIT 1', now)
    if (due !== undefined) await this.ctx.storage.setAlarm(now)
  }

  async alarm() {
    const settings = this.#settings
    if (settings === null) return
    const { max_batch_size: size, max_batch_timeout: wait } = settings
    const read = 'SELECT id, body, attempts FROM messages WHERE due <= ? ORDER BY due, id LIMIT ?'
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
    const again = new Set()
    const given = messages.map(({ id, body }) => ({
      id: String(id),
      body: JSON.parse(String(body)),
      ack: () => again.delete(id),
      retry: () => again.add(id),
    }))
    try {
      await laurel.queue({ queue: this.#name, messages: given }, this.env, this.ctx)
    } catch (error) {
      console.warn(JSON.stringify({ level: 'warn', error: `queue ${this.#name}: ${String(error)}` }))
      for (const { id } of messages) again.add(id)
    }
    for (const { id, body, attempts } of messages) {
      const isTaken = !again.has(id)
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
}
