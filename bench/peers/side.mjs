/** The two sides of the comparison. Both answer the same requests under the same paths. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { BOARD, eventPath, METRIC, SYSTEM } from '../lib/scene.mjs'

/**
 * The path for events: a metric with one leaderboard and one points system. Each unit earns `AWARD` points.
 */
export const EVENTS = eventPath(1)
export { AWARD, BOARD, SYSTEM } from '../lib/scene.mjs'

/** Timeout of a response, in milliseconds. */
const PATIENCE = 20_000

/** @typedef {{ status: number; body: any }} Answer */

/**
 * The processes of a side: a Server of bench/lib for Laurel, a Redis for the peer. `kill` ends all processes
 * at once.
 *
 * @typedef {{ port: number; start(): Promise<void>; stop(): Promise<void>; kill(): Promise<void>;
 *   processes(): number[] }} Runs
 */

/** One side. */
export class Side {
  #agent = new Agent({ keepAlive: true, maxSockets: 256 })
  /** Sent with each request. */
  #headers = /** @type {Record<string, string>} */ ({})

  /**
   * @param {{ name: string; runs: Runs; key: string; setClock: 'by-call' | 'by-header' }} how `setClock`: a
   *   call of the admin interface sets Laurel's test clock; a header of each request sets the peer's time
   */
  constructor({ name, runs, key, setClock }) {
    this.name = name
    this.runs = runs
    this.key = key
    this.port = runs.port
    this.setClock = setClock
  }

  /**
   * Sends a request.
   *
   * @param {string} method
   * @param {string} path
   * @param {{ body?: unknown; headers?: Record<string, string> }} [what]
   * @returns {Promise<Answer>} for any status; rejects if the response is not complete
   */
  send(method, path, { body, headers = {} } = {}) {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const sent = request({
        agent: this.#agent,
        host: '127.0.0.1',
        port: this.port,
        method,
        path,
        timeout: PATIENCE,
        headers: {
          'x-api-key': this.key,
          ...(text !== undefined && {
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(text)),
          }),
          ...this.#headers,
          ...headers,
        },
      })
      sent.on('timeout', () => sent.destroy(new Error(`no answer in ${PATIENCE / 1000} s`)))
      sent.on('error', reject)
      sent.on('response', (response) => {
        let said = ''
        response.setEncoding('utf8').on('data', (part) => (said += part))
        response.on('error', reject)
        response.on('end', () => {
          try {
            resolve({ status: response.statusCode ?? 0, body: said === '' ? null : JSON.parse(said) })
          } catch (error) {
            reject(error)
          }
        })
      })
      sent.end(text)
    })
  }

  /**
   * Sends an event of a user.
   *
   * @param {string} id the user's
   * @param {unknown} value
   * @param {{ key?: string; tz?: string }} [more] an idempotency key, and the user's zone
   */
  event(id, value, { key, tz } = {}) {
    const body = { user: { id, ...(tz !== undefined && { tz }) }, value }
    return this.send('POST', EVENTS, { body, headers: key === undefined ? {} : { 'idempotency-key': key } })
  }

  /** The state of a user with events, as read by the API. */
  async standing(/** @type {string} */ id) {
    const read = async (/** @type {string} */ what) => {
      const { status, body } = await this.send('GET', `/v1/users/${id}/${what}`)
      if (status !== 200) throw new Error(`${this.name}: GET ${what} was answered ${status}`)
      return body
    }
    const [metric, points, streak, place] = await Promise.all([
      read(`metrics/${METRIC}`),
      read(`points/${SYSTEM}`),
      read('streak'),
      read(`leaderboards/${BOARD}`),
    ])
    return {
      total: Number(metric.current),
      points: Number(points.total),
      streak: Number(streak.length),
      rank: /** @type {number | null} */ (place.rank),
      score: /** @type {number | null} */ (place.value),
    }
  }

  /**
   * Sets the time, in milliseconds since 1970, for all later requests. It does not run, and only moves
   * forward.
   */
  async at(/** @type {number} */ now) {
    const text = new Date(now).toISOString()
    if (this.setClock === 'by-header') {
      this.#headers = { 'x-test-now': text }
      return
    }
    const { status, body } = await this.send('PUT', '/admin/v1/test-clock', { body: { now: text } })
    if (status !== 200) throw new Error(`the test clock was answered ${status}: ${JSON.stringify(body)}`)
  }

  /**
   * The memory of all its processes in MiB, with shared pages counted in parts; null if the system does not
   * report it.
   */
  memory() {
    if (process.platform !== 'linux') return null
    const kilobytes = this.runs.processes().map((id) => {
      const text = readFileSync(`/proc/${id}/smaps_rollup`, 'utf8')
      return Number(/^Pss: +(\d+) kB$/m.exec(text)?.[1])
    })
    return kilobytes.reduce((sum, one) => sum + one, 0) / 1024
  }

  /**
   * Looks up all its processes, and returns a function that kills them at once. A look at that time would let
   * the side finish its requests first. The function also checks that no process is left.
   */
  armed() {
    const ids = this.runs.processes()
    return async () => {
      for (const id of ids) {
        try {
          process.kill(id, 'SIGKILL')
        } catch {
          // It has already ended.
        }
      }
      await this.runs.kill()
      const left = this.runs.processes()
      if (left.length > 0) throw new Error(`${this.name}: ${left.length} processes outlived a SIGKILL`)
      this.#agent.destroy()
    }
  }

  /** Closes the connections. */
  close() {
    this.#agent.destroy()
  }
}
