/** A server that is measured: starts its processes, ends them, sends requests, and reads its log. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { Complaint, inProject } from '../../scripts/lib/project.mjs'
import { nodeExecutable } from '../../scripts/lib/tools.mjs'
import { atEnd, demandRunning, sumOf } from './bench.mjs'

/** Timeouts in milliseconds: to become ready, to end by itself, to be killed, to find a log line. */
const READY = 180_000
const GRACE = 5000
const KILL = 1000
const LOG = 5000
/** The default timeout of a response, in milliseconds. */
const PATIENCE = 30_000
const TETHER = inProject('bench', 'lib', 'tether.mjs')
const PIPES = /** @type {('ignore' | 'pipe' | 'ipc')[]} */ (['ignore', 'pipe', 'pipe', 'ipc'])
/** How much output is stored for a failure, in characters. */
const KEPT = 8000
/** Ticks of the clock in a second, for `/proc`. Linux always reports 100. */
const TICKS = 100

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {{ status: number; body: any; requestId: string }} Answer */
/** @typedef {{ roundTrips: number; rowsRead: number; rowsWritten: number }} D1Cost */

/**
 * The Worker's log: a line for a request, and one for a step of due work, such as `ticks` of time triggers.
 * The figures of leaderboards' objects are absent if none was called.
 *
 * @typedef {{ requestId: string; d1: D1Cost; objectWaves?: number; objectRows?: number; queued?: number }}
 *   LogLine
 * @typedef {{ work: string; milliseconds: number; users: number; awards: number; messages?: number; d1:
 *   D1Cost; objectRows: number }} StepLine
 */

/** A port that is free. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = Object(probe.address())
  probe.close()
  await once(probe, 'close')
  return port
}

/** Starts a script of Node, which ends with this process. */
export const spawnNode = (/** @type {string[]} */ command, /** @type {string} */ cwd, env = process.env) =>
  spawn(nodeExecutable(), ['--import', TETHER, ...command], { cwd, env, stdio: PIPES })

/** Processes in a folder that serve on a port. They can be started again on the same state. */
export class Server {
  /** The key of requests that name none. */
  key = ''
  /** Sent with each request. */
  headers = /** @type {Record<string, string>} */ ({})
  #agent = new Agent({ keepAlive: true, maxSockets: 256 })
  #children = /** @type {ChildProcess[]} */ ([])
  #said = ''
  #lines = /** @type {Map<string, LogLine>} */ (new Map())
  #steps = /** @type {StepLine[] | undefined} */ (undefined)

  /**
   * `launch` starts its processes, with the mark of `processes`.
   *
   * @param {{ name: string; folder: string; port: number; processes: import('./processes.mjs').Processes;
   *   launch: () => ChildProcess[] }} how
   */
  constructor({ name, folder, port, processes, launch }) {
    this.name = name
    this.folder = folder
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.processes = processes
    this.launch = launch
    atEnd(() => this.stop())
  }

  /** Starts it, and waits until it responds. If it hangs, tries once more. Throws with its output. */
  async start() {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      demandRunning()
      this.#said = ''
      this.#children = this.launch()
      for (const { stdout, stderr } of this.#children)
        for (const input of [stdout, stderr])
          if (input !== null) createInterface({ input }).on('line', (line) => this.#hear(line))
      if (await this.#isReady()) return
      await this.stop()
    }
    throw new Complaint(`${this.#said.trim()}\n\n${this.name} in ${this.folder} does not start.`)
  }

  async #isReady() {
    for (const deadline = performance.now() + READY; performance.now() < deadline; await sleep(100)) {
      if (this.#children.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null))
        return false
      const health = await this.send('GET', '/health', { patience: 5000 }).catch(() => null)
      if (health?.status === 200) return true
    }
    return false
  }

  /** Ends all its processes. Their state stays. */
  async stop() {
    const ended = this.#children
      .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .map((child) => {
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        return exit
      })
    if (ended.length > 0) await Promise.race([Promise.all(ended), sleep(GRACE, undefined, { ref: false })])
    this.#children = []
    this.#agent.destroy()
    await this.processes.end(KILL)
  }

  /** A sum over files in `/proc` of all its processes. Only Linux has them: elsewhere it is not a number. */
  #sumOfProc(/** @type {string} */ file, /** @type {(text: string) => number} */ read) {
    if (process.platform !== 'linux') return Number.NaN
    return sumOf(this.processes.ids(), (id) => {
      try {
        return read(readFileSync(`/proc/${id}/${file}`, 'latin1'))
      } catch {
        return 0
      }
    })
  }

  /** The processor time of all its processes so far, in milliseconds. */
  processorTime() {
    const ticks = this.#sumOfProc('stat', (stat) => {
      const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14)
      return Number(user) + Number(system)
    })
    return (ticks / TICKS) * 1000
  }

  /** The memory of all its processes in MiB. Shared pages are counted in parts. */
  memory() {
    return this.#sumOfProc('smaps_rollup', (text) => Number(/^Pss: +(\d+) kB$/m.exec(text)?.[1])) / 1024
  }

  /**
   * Sends a request as JSON.
   *
   * @param {string} method
   * @param {string} path
   * @param {{ key?: string; body?: unknown; headers?: Record<string, string>; patience?: number }} [what]
   *   `patience` is in milliseconds
   * @returns {Promise<Answer>} for any status; rejects if the response is not complete
   */
  async send(method, path, { key = this.key, body, headers = {}, patience = PATIENCE } = {}) {
    const text = body === undefined ? '' : JSON.stringify(body)
    const sent = request(`${this.url}${path}`, {
      agent: this.#agent,
      method,
      timeout: patience,
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...this.headers,
        ...headers,
      },
    })
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer in ${patience / 1000} s`)))
    // It also rejects what waits below.
    sent.on('error', () => undefined)
    sent.end(text)
    const [response] = await once(sent, 'response')
    const said = await textOf(response)
    const requestId = response.headers['x-request-id'] ?? ''
    return { status: response.statusCode, body: said === '' ? null : JSON.parse(said), requestId }
  }

  /**
   * Sends a request as JSON; see `send`. Throws unless the response is a success.
   *
   * @type {Server['send']}
   */
  async ask(method, path, what = {}) {
    const answer = await this.send(method, path, what)
    if (Math.floor(answer.status / 100) === 2) return answer
    const said = JSON.stringify(answer.body).slice(0, 500)
    throw new Error(`${this.name}: ${method} ${path} was answered ${answer.status}: ${said}`)
  }

  /**
   * Collects the log during some work. Returns the lines of its requests, in their order, and the lines of
   * all steps of due work.
   *
   * @param {(steps: readonly StepLine[]) => Promise<Answer[]>} work its parameter gets the lines of steps as
   *   they arrive
   * @returns {Promise<{ answers: Answer[]; lines: LogLine[]; steps: StepLine[] }>}
   */
  async logged(work) {
    const lines = new Map()
    const steps = /** @type {StepLine[]} */ ([])
    this.#lines = lines
    this.#steps = steps
    try {
      const answers = await work(steps)
      for (const deadline = performance.now() + LOG; ; await sleep(20)) {
        if (answers.every(({ requestId }) => lines.has(requestId)))
          return { answers, lines: answers.map(({ requestId }) => lines.get(requestId)), steps }
        if (performance.now() > deadline) throw new Error('The log has no line for some of the requests.')
      }
    } finally {
      this.#steps = undefined
    }
  }

  #hear(/** @type {string} */ shown) {
    const line = stripVTControlCharacters(shown)
    this.#said = `${this.#said}${line}\n`.slice(-KEPT)
    const found = this.#steps === undefined ? null : parseLine(line)
    if (found === null) return
    if ('work' in found) this.#steps?.push(found)
    else this.#lines.set(found.requestId, found)
  }
}

/** The line of a request or a step; null for other lines. */
function parseLine(/** @type {string} */ line) {
  try {
    const parsed = JSON.parse(line)
    const isKnown = typeof parsed.requestId === 'string' || typeof parsed.work === 'string'
    return isKnown && parsed.d1 !== undefined ? parsed : null
  } catch {
    return null
  }
}
