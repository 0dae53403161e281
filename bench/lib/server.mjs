/**
 * A Worker under wrangler dev: starting, stopping, asking, and reading its log.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { Complaint } from '../../scripts/lib/project.mjs'

/** In milliseconds: to become ready, to end by itself, to be killed, until a log line is there. */
const READY = 30_000
const GRACE = 3000
const KILL = 1000
const LOG = 5000
/** How long an answer may take unless said, in milliseconds. */
const PATIENCE = 30_000

/** How much of the output is kept for when it never gets ready, in characters. */
const KEPT = 8000

/** All servers of this run, for the end. */
const servers = /** @type {Set<Server>} */ (new Set())

let isOver = false

/** The end of what each server that runs has said. */
export const lastWords = () => [...servers].map((server) => server.lastWords).filter((said) => said !== '')

/** Stops whatever runs, for good: nothing starts after that. */
export function stopAll() {
  isOver = true
  return Promise.all([...servers].map((server) => server.stop()))
}

/** What something cost in D1. @typedef {{ roundTrips: number; rowsRead: number; rowsWritten: number }} D1Cost */

/**
 * One line of ours for one request; what it has of leaderboards' objects is absent where none was called.
 *
 * @typedef {{ requestId: string; status: number; d1: D1Cost; conflicts?: number; objectWaves?: number;
 *   objectCalls?: number; objectRows?: number }} LogLine
 */

/**
 * One line of ours for a step of what falls due: `ticks` of time triggers, deadlines of `streaks`, and others.
 *
 * @typedef {{ work: string; milliseconds: number; users: number; awards: number; letters?: number; d1: D1Cost; objectRows: number }} StepLine
 */

/** An answer to one request. @typedef {{ status: number; body: any; requestId: string }} Answer */

/** One Worker in its folder, which is started and stopped over the same state. */
export class Server {
  #child = /** @type {import('node:child_process').ChildProcess | undefined} */ (undefined)
  #said = ''
  /** The rest of a line, while lines are kept. */
  #partial = ''
  #lines = /** @type {Map<string, LogLine> | undefined} */ (undefined)
  #steps = /** @type {StepLine[]} */ ([])

  /**
   * @param {{ folder: string; port: number; variables: Record<string, string>; scripts: any }} how `scripts` are the
   *   modules that run wrangler in that folder
   */
  constructor({ folder, port, variables, scripts }) {
    this.folder = folder
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.scripts = scripts
    this.variablesFile = join(folder, 'variables.env')
    writeFileSync(this.variablesFile, scripts.variables.formatVariables(variables), { mode: 0o600 })
    servers.add(this)
  }

  /** Applies the migrations of the database, by its name in wrangler.toml. */
  async migrate(/** @type {string} */ database) {
    const { child, done } = this.scripts.wrangler.applyLocalMigrations(database)
    this.#child = child
    await done
    this.#child = undefined
  }

  /** Starts it and waits until it answers; where it hangs, once more. Throws a Complaint with its output. */
  async start() {
    if (isOver) throw new Complaint('Nothing starts any more.')
    if (await this.#tryToStart()) return
    await this.stop()
    if (!isOver && (await this.#tryToStart())) return
    throw new Complaint(`${this.#said.trim()}\n\nThe Worker in ${this.folder} does not start.`)
  }

  /** @returns {Promise<boolean>} whether it answers */
  async #tryToStart() {
    const child = this.scripts.wrangler.startDev({ port: this.port, variables: this.variablesFile })
    this.#child = child
    this.#said = ''
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ part) => this.#hear(part))
    child.stderr.setEncoding('utf8').on('data', (/** @type {string} */ part) => this.#hear(part))
    const deadline = performance.now() + READY
    for (;;) {
      await sleep(100)
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) return false
      const answer = await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(5000) }).catch(
        () => null,
      )
      await answer?.arrayBuffer()
      if (answer?.status === 200) return true
    }
  }

  /** The end of what it has said since its start, for when something fails. */
  get lastWords() {
    return this.#said.trim()
  }

  /** Ends it and all that it started. Its state stays. */
  async stop() {
    const child = this.#child
    this.#child = undefined
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await Promise.race([ended, sleep(GRACE, undefined, { ref: false })])
    }
    await this.scripts.processes.endMarked(KILL)
  }

  /** Kills it and all that it started at once, without a word. Its state stays. */
  async kill() {
    this.#child = undefined
    await this.scripts.processes.endMarked(KILL)
  }

  /** The ids of its processes: wrangler's, and those that wrangler started. @returns {number[]} */
  processes() {
    return this.scripts.processes.markedProcesses()
  }

  /**
   * Asks as JSON, and fails unless the answer is a success.
   *
   * @param {string} method
   * @param {string} path
   * @param {{ key?: string; body?: unknown; headers?: Record<string, string>; patience?: number }} [options] `patience` in
   *   milliseconds
   * @returns {Promise<Answer>}
   */
  async ask(method, path, { key, body, headers = {}, patience = PATIENCE } = {}) {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(key !== undefined && { 'x-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patience),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text.slice(0, 500)}`)
    return {
      status: answer.status,
      body: text === '' ? null : JSON.parse(text),
      requestId: answer.headers.get('x-request-id') ?? '',
    }
  }

  /**
   * Keeps the log while something is done, and answers with the lines of these requests, in their order, and those of all
   * steps of what falls due. Otherwise the log is read and thrown away.
   *
   * @param {(steps: readonly StepLine[]) => Promise<Answer[]>} work is given the lines of steps as they come
   * @returns {Promise<{ answers: Answer[]; lines: LogLine[]; steps: StepLine[] }>}
   */
  async logged(work) {
    const found = /** @type {Map<string, LogLine>} */ (new Map())
    const steps = /** @type {StepLine[]} */ ([])
    this.#lines = found
    this.#steps = steps
    this.#partial = ''
    try {
      const answers = await work(steps)
      const deadline = performance.now() + LOG
      while (answers.some(({ requestId }) => !found.has(requestId))) {
        if (performance.now() > deadline) throw new Error('The log has no line for some of the requests.')
        await sleep(20)
      }
      return { answers, lines: answers.flatMap(({ requestId }) => found.get(requestId) ?? []), steps }
    } finally {
      this.#lines = undefined
    }
  }

  #hear(/** @type {string} */ part) {
    this.#said = (this.#said + stripVTControlCharacters(part)).slice(-KEPT)
    if (this.#lines === undefined) return
    const lines = (this.#partial + part).split('\n')
    this.#partial = lines.pop() ?? ''
    for (const line of lines) {
      const found = parseLine(stripVTControlCharacters(line))
      if (found === null) continue
      if ('work' in found) this.#steps.push(found)
      else this.#lines.set(found.requestId, found)
    }
  }
}

/** @returns {LogLine | StepLine | null} null for a line that is neither a request's nor a step's */
function parseLine(/** @type {string} */ line) {
  if (!line.startsWith('{')) return null
  try {
    const parsed = JSON.parse(line)
    const isKnown = typeof parsed.requestId === 'string' || typeof parsed.work === 'string'
    return isKnown && parsed.d1 !== undefined ? parsed : null
  } catch {
    return null
  }
}
