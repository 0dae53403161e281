/** A Worker under wrangler dev: starts it, stops it, sends requests, and reads its log. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { Complaint } from '../../scripts/lib/project.mjs'

/** Timeouts in milliseconds: to become ready, to end by itself, to be killed, to find a log line. */
const READY = 180_000
const GRACE = 3000
const KILL = 1000
const LOG = 5000
/** The default timeout of a response, in milliseconds. */
const PATIENCE = 30_000

/** How much output is stored for a failure, in characters. */
const KEPT = 8000

/** All servers of this run, so that all can be stopped. */
const servers = /** @type {Set<Server>} */ (new Set())

let isOver = false

/** The last output of each running server. */
export const lastWords = () => [...servers].map((server) => server.lastWords).filter((said) => said !== '')

/** Stops all servers for good. Nothing starts after that. */
export function stopAll() {
  isOver = true
  return Promise.all([...servers].map((server) => server.stop()))
}

/**
 * The cost of an operation in D1. @typedef {{ roundTrips: number; rowsRead: number; rowsWritten: number }}
 * D1Cost
 */

/**
 * A line of the Worker's log for a request. The figures of leaderboards' objects are absent if none was
 * called.
 *
 * @typedef {{ requestId: string; status: number; d1: D1Cost; conflicts?: number; objectWaves?: number;
 *   objectCalls?: number; objectRows?: number }} LogLine
 */

/**
 * A line of the Worker's log for a step of due work: `ticks` of time triggers, deadlines of `streaks`, and
 * others.
 *
 * @typedef {{ work: string; milliseconds: number; users: number; awards: number; messages?: number; d1:
 *   D1Cost; objectRows: number }} StepLine
 */

/** A response to a request. @typedef {{ status: number; body: any; requestId: string }} Answer */

/**
 * The parts of a request. `patience` is in milliseconds.
 *
 * @typedef {{ key?: string; body?: unknown; headers?: Record<string, string>; patience?: number }} Asked
 */

/**
 * Sends a request as JSON. Throws unless the response is a success.
 *
 * @param {string} url of the server
 * @param {string} method
 * @param {string} path
 * @param {Asked} [options]
 * @returns {Promise<Answer>}
 */
export async function ask(url, method, path, { key, body, headers = {}, patience = PATIENCE } = {}) {
  const answer = await fetch(`${url}${path}`, {
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

/** A Worker in its folder. It can be stopped and started again on the same state. */
export class Server {
  #child = /** @type {import('node:child_process').ChildProcess | undefined} */ (undefined)
  #said = ''
  /** The unfinished last line, while lines are collected. */
  #partial = ''
  #lines = /** @type {Map<string, LogLine> | undefined} */ (undefined)
  #steps = /** @type {StepLine[]} */ ([])

  /**
   * @param {{ folder: string; port: number; variables: Record<string, string>; scripts: any; databases?:
   *   number }} how `scripts` are the modules that run wrangler in that folder, `databases` is how many it
   *   has
   */
  constructor({ folder, port, variables, scripts, databases = 1 }) {
    this.folder = folder
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.scripts = scripts
    this.databases = databases
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

  /**
   * Starts the Worker and waits until it responds. If it hangs, tries once more. Throws a Complaint with its
   * output.
   */
  async start() {
    if (isOver) throw new Complaint('The bench is ending, so nothing is started.')
    if (await this.#tryToStart()) return
    await this.stop()
    if (!isOver && (await this.#tryToStart())) return
    throw new Complaint(`${this.#said.trim()}\n\nThe Worker in ${this.folder} does not start.`)
  }

  /** @returns {Promise<boolean>} whether it responds */
  async #tryToStart() {
    const child = this.scripts.wrangler.startDev({
      port: this.port,
      variables: this.variablesFile,
      ...(this.databases > 1 && { databases: this.databases }),
    })
    this.#child = child
    this.#said = ''
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ part) => this.#hear(part))
    child.stderr.setEncoding('utf8').on('data', (/** @type {string} */ part) => this.#hear(part))
    const deadline = performance.now() + READY
    for (;;) {
      await sleep(100)
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) return false
      if (await this.#isReady()) return true
    }
  }

  /** Is true if the Worker sends a whole response within five seconds. */
  async #isReady() {
    try {
      const answer = await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(5000) })
      await answer.arrayBuffer()
      return answer.status === 200
    } catch {
      return false
    }
  }

  /** The last output since the start, for a failure. */
  get lastWords() {
    return this.#said.trim()
  }

  /** Ends the Worker and all its processes. Its state stays. */
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

  /** Kills the Worker and all its processes at once. Its state stays. */
  async kill() {
    this.#child = undefined
    await this.scripts.processes.endMarked(KILL)
  }

  /** The ids of its processes: wrangler's, and the processes that wrangler started. @returns {number[]} */
  processes() {
    return this.scripts.processes.markedProcesses()
  }

  /** Sends a request as JSON; see `ask`. */
  ask(
    /** @type {string} */ method,
    /** @type {string} */ path,
    /** @type {Asked | undefined} */ options = undefined,
  ) {
    return ask(this.url, method, path, options)
  }

  /**
   * Collects the log during some work. Returns the lines of its requests, in their order, and the lines of
   * all steps of due work. At other times the log is read and ignored.
   *
   * @param {(steps: readonly StepLine[]) => Promise<Answer[]>} work its parameter gets the lines of steps as
   *   they arrive
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

/** @returns {LogLine | StepLine | null} null if the line is not of a request or a step */
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
