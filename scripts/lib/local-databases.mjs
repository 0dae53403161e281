/** The databases of `npm start`, while no Worker runs: applies migrations to them, and asks them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { bindingOf, demandBound, numbersTo } from './databases.mjs'
import { STATE } from './dev.mjs'
import { askInUse } from './directory.mjs'
import { APPLIED_QUESTION, missingMigrations } from './migrations.mjs'
import { marked } from './processes.mjs'
import { Complaint, inHome, inProject, makeHome, nodeExecutable } from './project.mjs'
import { LOCAL } from './wrangler.mjs'
import { localBlocks, wranglerToml } from './wrangler-toml.mjs'

/** @typedef {Record<string, unknown>} Row */

/** Open databases, by number from 1. */
export class LocalDatabases {
  #said = ''
  #isOpen = false
  #opened
  #ended
  /** The answer to the last question: the process is asked one after another. */
  #last = /** @type {Promise<unknown>} */ (Promise.resolve())

  /** Opens them. The state may be that of fewer or more databases. */
  constructor(/** @type {number} */ count) {
    this.numbers = numbersTo(count)
    makeHome()
    const config = inHome('databases.toml')
    const toml = wranglerToml()
    const date = /^compatibility_date\s*=.*$/m.exec(toml)?.[0] ?? ''
    writeFileSync(config, `name = "databases"\n${date}\n\n${localBlocks(toml, count)}`)
    const args = [inProject('scripts', 'lib', 'local-d1.mjs'), config, inProject(STATE, 'v3')]
    /** The process that has them open. */
    this.child = spawn(nodeExecutable(), args, {
      cwd: inHome(),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: marked({ ...process.env, ...LOCAL, CI: '1' }),
    })
    this.child.stdout?.on('data', (part) => (this.#said += part))
    this.child.stderr?.on('data', (part) => (this.#said += part))
    this.#ended = this.#end()
    this.#opened = Promise.race([once(this.child, 'message'), this.#ended]).then(() => {
      this.#isOpen = true
    })
    // Each question reports them.
    for (const promise of [this.#ended, this.#opened]) promise.catch(() => undefined)
  }

  /** Rejects when the process ends, with its output. */
  async #end() {
    await once(this.child, 'close')
    const said = stripVTControlCharacters(this.#said).trim()
    throw new Complaint(`${said}\n\nThe local databases could not be opened.`)
  }

  /**
   * Runs statements in one transaction.
   *
   * @param {number} number of the database
   * @param {string} sql statements, separated by semicolons
   * @returns {Promise<Row[][]>} the rows of each statement
   */
  async run(number, sql) {
    const answer = this.#last.then(() => this.#ask({ binding: bindingOf(number), sql }))
    this.#last = answer.catch(() => undefined)
    return answer
  }

  async #ask(/** @type {{ binding: string; sql: string }} */ question) {
    await this.#opened
    if (!this.child.connected) throw new Complaint('The local databases are closed.')
    const answered = once(this.child, 'message')
    this.child.send(question)
    const [{ results, error }] = await Promise.race([answered, this.#ended])
    if (error !== undefined) throw new Error(error)
    return results
  }

  /** Throws a Complaint if databases that are in use would be left out. */
  async demandBound() {
    const inUse = await askInUse(async (sql) => (await this.run(1, sql))[0] ?? [])
    demandBound(inUse, this.numbers.length)
  }

  /**
   * Applies the migrations that each database lacks, each in a transaction of its own. Throws a Complaint with
   * the migration that failed.
   */
  async migrate() {
    await Promise.all(this.numbers.map((number) => this.#migrateOne(number)))
  }

  async #migrateOne(/** @type {number} */ number) {
    const [, rows = []] = await this.run(number, APPLIED_QUESTION)
    for (const { name, sql } of missingMigrations(rows)) {
      try {
        await this.run(number, sql)
      } catch (error) {
        const { message } = Object(error)
        throw new Complaint(`The migrations failed: ${name} in ${bindingOf(number)}: ${message}`)
      }
    }
  }

  /** Closes them. */
  async close() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = once(this.child, 'exit')
    if (this.#isOpen) this.child.send('close')
    else this.child.kill('SIGTERM')
    await exited
  }
}
