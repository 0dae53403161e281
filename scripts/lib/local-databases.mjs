/** The databases of `npm start`, while no Worker runs: applies migrations to them, and asks them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { bindingOf, demandBound, numbersTo } from './databases.mjs'
import { DIRECTORY_EXISTS, DIRECTORY_ROWS, databasesInUse } from './directory.mjs'
import { APPLIED_QUESTION, readMigrations } from './migrations.mjs'
import { marked } from './processes.mjs'
import { Complaint, inProject, nodeExecutable } from './project.mjs'
import { LOCAL, STATE } from './wrangler.mjs'
import { localBlocks, wranglerToml } from './wrangler-toml.mjs'

/** @typedef {Record<string, unknown>} Row */

/** Open databases, by number from 1. */
export class LocalDatabases {
  #count
  #child
  #said = ''
  #asked = 0
  #isOpen = false
  /** @type {Promise<void>} */
  #opened
  /** @type {Map<number, { resolve: (results: Row[][]) => void; reject: (error: Error) => void }>} */
  #waiting = new Map()

  /** Opens them. The state may be that of fewer or more databases. */
  constructor(/** @type {number} */ count) {
    this.#count = count
    const config = inProject('.wrangler', 'databases.toml')
    const toml = wranglerToml()
    const date = /^compatibility_date\s*=.*$/m.exec(toml)?.[0] ?? ''
    mkdirSync(inProject('.wrangler'), { recursive: true })
    writeFileSync(config, `name = "databases"\n${date}\n\n${localBlocks(toml, count)}`)
    this.#child = spawn(
      nodeExecutable(),
      [inProject('scripts', 'lib', 'local-d1.mjs'), config, inProject(STATE, 'v3')],
      {
        cwd: inProject('.wrangler'),
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        env: marked({ ...process.env, ...LOCAL, CI: '1' }),
      },
    )
    this.#child.stdout?.on('data', (part) => (this.#said += part))
    this.#child.stderr?.on('data', (part) => (this.#said += part))
    this.#child.on('message', (message) => this.#hear(message))
    this.#opened = Promise.race([once(this.#child, 'message'), this.#ended()]).then(() => {
      this.#isOpen = true
    })
    // Each question reports it.
    this.#opened.catch(() => undefined)
  }

  /** The process that has them open. */
  get child() {
    return this.#child
  }

  /** The numbers of the databases. */
  get numbers() {
    return numbersTo(this.#count)
  }

  /** Rejects when the process ends, with its output. */
  async #ended() {
    await once(this.#child, 'close')
    const error = new Complaint(
      `${stripVTControlCharacters(this.#said).trim()}\n\nThe local databases could not be opened.`,
    )
    for (const { reject } of this.#waiting.values()) reject(error)
    throw error
  }

  #hear(/** @type {any} */ message) {
    if (message === 'open') return
    const { id, results, error } = message
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(results)
    else waiting?.reject(new Error(error))
  }

  /**
   * Runs statements in one transaction.
   *
   * @param {number} number of the database
   * @param {string} sql statements, separated by semicolons
   * @returns {Promise<Row[][]>} the rows of each statement
   */
  async run(number, sql) {
    await this.#opened
    if (!this.#child.connected) throw new Complaint('The local databases are closed.')
    const id = ++this.#asked
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    this.#child.send({ id, binding: bindingOf(number), sql })
    return /** @type {Promise<Row[][]>} */ (answer)
  }

  /** The databases that are in use. */
  async inUse() {
    const [exists] = await this.run(1, DIRECTORY_EXISTS)
    if (exists?.length === 0) return { used: [], left: [] }
    const [rows = []] = await this.run(1, DIRECTORY_ROWS)
    return databasesInUse(rows)
  }

  /** Throws a Complaint if databases that are in use would be left out. */
  async demandBound() {
    demandBound(await this.inUse(), this.#count)
  }

  /** Applies what each database lacks, each migration in a transaction. Throws a Complaint with one that failed. */
  async migrate() {
    const migrations = readMigrations()
    await Promise.all(this.numbers.map((number) => this.#migrateOne(number, migrations)))
  }

  async #migrateOne(
    /** @type {number} */ number,
    /** @type {readonly { name: string; sql: string }[]} */ migrations,
  ) {
    const [, rows = []] = await this.run(number, APPLIED_QUESTION)
    const applied = new Set(rows.map(({ name }) => name))
    for (const { name, sql } of migrations) {
      if (applied.has(name)) continue
      try {
        await this.run(
          number,
          `${sql.trim().replace(/;?$/, ';')}\nINSERT INTO d1_migrations (name) VALUES ('${name.replaceAll("'", "''")}')`,
        )
      } catch (error) {
        const { message } = Object(error)
        throw new Complaint(`The migrations failed: ${name} in ${bindingOf(number)}: ${message}`)
      }
    }
  }

  /** Closes them. */
  async close() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    if (this.#isOpen) this.#child.send('close')
    else this.#child.kill('SIGTERM')
    await exited
  }
}
