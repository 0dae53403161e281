/** A server that is measured: starts it, ends it, sends requests, and reads its log. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { Complaint } from '../../scripts/lib/project.mjs'
import { until } from '../../scripts/lib/until.mjs'
import { atEnd, sumOf } from './bench.mjs'

/** Timeouts in milliseconds: to become ready, to end by itself, to find a log line. */
const READY = 60_000
const GRACE = 6000
const LOG = 5000
/** The default timeout of a response, in milliseconds. */
const PATIENCE = 30_000
/** How much output is stored for a failure, in characters. */
const KEPT = 8000
/** Ticks of the clock in a second, for `/proc`. Linux always reports 100. */
const TICKS = 100

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

/** A file of a process in `/proc`; empty if the process has ended. */
function readProcess(/** @type {number} */ id, /** @type {string} */ file) {
  try {
    return readFileSync(`/proc/${id}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

/** A process, and those that it has started. */
const familyOf = (/** @type {number} */ id) => [
  id,
  ...readProcess(id, `task/${id}/children`).split(' ').filter(Boolean).map(Number).flatMap(familyOf),
]

/** A script of Node that serves on a port, in a folder. It can be started again on the same state. */
export class Server {
  /** The key of requests that name none. */
  key = ''
  /** Sent with each request. */
  headers = /** @type {Record<string, string>} */ ({})
  #pool
  #child = /** @type {import('node:child_process').ChildProcess | undefined} */ (undefined)
  #said = ''
  /** The log so far: the lines of requests by their ids, and those of all steps of due work. */
  #lines = /** @type {Map<string, LogLine>} */ (new Map())
  steps = /** @type {StepLine[]} */ ([])

  /**
   * @param {{ name: string; folder: string; port: number; script: string[]; env: NodeJS.ProcessEnv }} how `script` is
   *   its path and its arguments. It may start other processes, which it ends
   */
  constructor({ name, folder, port, script, env }) {
    this.name = name
    this.folder = folder
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.#pool = new Pool(this.url)
    this.script = script
    this.env = env
    atEnd(() => this.stop())
  }

  /** Starts it, and waits until it responds. Throws with its output if it does not. */
  async start() {
    this.#said = ''
    const { folder: cwd, env } = this
    this.#child = spawn(process.execPath, this.script, { cwd, env, stdio: 'pipe' })
    for (const input of [this.#child.stdout, this.#child.stderr])
      if (input !== null) createInterface({ input }).on('line', (line) => this.#hear(line))
    const isReady = async () => {
      const health = await this.send('GET', '/health', { patience: 5000 }).catch(() => null)
      return health?.status === 200 || !this.#runs()
    }
    if ((await until(isReady, { patience: READY, pause: 100 })) && this.#runs()) return
    await this.stop()
    throw new Complaint(`${this.#said.trim()}\n\n${this.name} in ${this.folder} does not start.`)
  }

  #runs() {
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  /** Ends it. Its state stays. */
  async stop() {
    if (this.#child && this.#runs()) {
      const ended = once(this.#child, 'exit')
      this.#child.kill()
      await Promise.race([ended, sleep(GRACE, undefined, { ref: false })])
      if (this.#runs()) this.#child.kill('SIGKILL')
    }
    this.#child = undefined
    await this.#pool.destroy()
    this.#pool = new Pool(this.url)
  }

  /** A sum over files in `/proc` of all its processes. Only Linux has them: elsewhere it is not a number. */
  #sumOfProcesses(/** @type {string} */ file, /** @type {(text: string) => number} */ read) {
    if (process.platform !== 'linux') return Number.NaN
    return sumOf(familyOf(this.#child?.pid ?? 0), (id) => read(readProcess(id, file)) || 0)
  }

  /** The processor time of all its processes so far, in milliseconds. */
  processorTime() {
    const ticks = this.#sumOfProcesses('stat', (stat) => {
      const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14)
      return Number(user) + Number(system)
    })
    return (ticks / TICKS) * 1000
  }

  /** The memory of all its processes in MiB. Shared pages are counted in parts. */
  memory() {
    const pss = this.#sumOfProcesses('smaps_rollup', (text) => Number(/^Pss: +(\d+) kB$/m.exec(text)?.[1]))
    return pss / 1024
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
    const response = await this.#pool.request({
      ...{ method, path, headersTimeout: patience, bodyTimeout: patience },
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...this.headers, ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const said = await response.body.text()
    const requestId = String(response.headers['x-request-id'] ?? '')
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

  /** The lines of the log about requests, in their order. Once they are there, so are those of all steps before. */
  async linesOf(/** @type {readonly Answer[]} */ answers) {
    const lines = () => answers.flatMap(({ requestId }) => this.#lines.get(requestId) ?? [])
    if (await until(() => lines().length === answers.length, { patience: LOG, pause: 20 })) return lines()
    throw new Error('The log has no line for some of the requests.')
  }

  #hear(/** @type {string} */ text) {
    this.#said = `${this.#said}${text}\n`.slice(-KEPT)
    if (!text.startsWith('{"')) return
    const line = JSON.parse(text)
    if (line.d1 === undefined) return
    if (typeof line.work === 'string') this.steps.push(line)
    else this.#lines.set(line.requestId, line)
  }
}
