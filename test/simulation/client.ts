import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { newInstance } from '../../src/configuration/configuration'
import { createApp } from '../../src/worker/app'
import { conforming } from '../helpers/conformance'
import { ADMIN_KEY } from '../helpers/worker/harness'
import { chaos, faulty } from './faults'

export type Reply = { status: number; body: unknown }
export type Asked = { method: string; path: string; body?: unknown; headers?: Record<string, string> }

/** The number of attempts. After them, a missing response is an error. */
const TRIES = 400
/** After this many failed attempts, a storm ends. In it, each request fails before it can wake a move that has stopped. */
const CALM = 50

/** A client of the service. It uses several isolates with faulty bindings, and one without faults. */
export class Client {
  readonly #tenantId: string
  readonly #isolates: ((request: Request) => Promise<Response>)[]
  readonly #calm: (request: Request) => Promise<Response>
  /** The keys of some users, by user, and an admin's key. */
  readonly keys = new Map<string, string>()
  adminKey = ADMIN_KEY
  /** The number of responses of 500 and above, and those among them that must not happen. */
  failures = 0
  retries = 0
  readonly broken: string[] = []

  constructor(tenantId: string, isolates: number) {
    this.#tenantId = tenantId
    this.#isolates = Array.from({ length: isolates }, () => isolate(true))
    this.#calm = isolate(false)
  }

  /** Replaces an isolate by a new one with empty memory. */
  recycle(nth: number): void {
    this.#isolates[nth % this.#isolates.length] = isolate(true)
  }

  /** Sends a request once to one of the isolates. Null means the isolate without faults. */
  async once(nth: number | null, { method, path, body, headers }: Asked): Promise<Reply> {
    const send = (nth === null ? null : this.#isolates[nth % this.#isolates.length]) ?? this.#calm
    const request = new Request(`http://laurel.test${path}`, {
      method,
      headers: {
        ...{
          'content-type': 'application/json',
          'x-api-key': nth === null ? ADMIN_KEY : this.adminKey,
          'tenant-id': this.#tenantId,
        },
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const injected = chaos.injected
    const response = await send(request)
    const text = await response.text()
    if (response.status >= 500) {
      this.failures += 1
      // If no fault was injected, nothing may fail.
      if (nth === null || chaos.injected === injected) this.broken.push(`${method} ${path} failed: ${text}`)
    }
    return { status: response.status, body: text === '' ? null : JSON.parse(text) }
  }

  /** Repeats a request until there is a response, each time with the next isolate. */
  async insist(nth: number, asked: Asked): Promise<Reply> {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const reply = await this.once(nth + attempt, asked)
      if (reply.status < 500) return reply
      this.retries += 1
      if (attempt + 1 === CALM) chaos.scale = Math.min(chaos.scale, 1)
    }
    throw new Error(`${asked.method} ${asked.path} never got a response`)
  }

  /** Sends a request without faults, and throws if it fails. */
  async sure(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await this.once(null, { method, path, body })
    if (reply.status >= 300)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
}

/** An app with its own memory. Its background work runs next to the request. */
function isolate(meetsFaults: boolean): (request: Request) => Promise<Response> {
  const instance = newInstance()
  const app = createApp(() => instance)
  const bindings = meetsFaults ? faulty(env) : { ...env, ...chaos.variables }
  return async (request) => {
    const ctx = createExecutionContext()
    ctx.waitUntil = (work) => {
      const kept = Promise.resolve(work).catch(() => undefined)
      chaos.pending.add(kept)
      kept.finally(() => chaos.pending.delete(kept))
    }
    const response = await app.fetch(request, bindings, ctx)
    return conforming(request, response, { mayFail: true, isDatabaseReplaced: true })
  }
}
