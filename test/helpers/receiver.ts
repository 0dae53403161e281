/** A receiver of webhooks: an HTTP server that keeps all requests, and responds by a plan. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { listening, stop } from './listening'
import { PATIENCE } from './patience'

/**
 * The reaction to a request: a response, at once or when the test releases it, with status 200 by default; or
 * a cut connection.
 */
export type Step = {
  status?: number
  headers?: Record<string, string>
  body?: string
  /** No response until the test releases it. */
  hold?: boolean
  /** Nothing follows after the head of the response. */
  stall?: boolean
  drop?: boolean
  /** For this request and all later ones. */
  always?: boolean
}

/** A received request. */
export type Seen = { headers: Record<string, string>; body: string; at: number; method: string }

export class Receiver {
  readonly #server: Server
  readonly #seen = new Map<string, Seen[]>()
  readonly #plans = new Map<string, Step[]>()
  readonly #deciders = new Map<string, (seen: Seen) => Step>()
  readonly #held = new Map<string, (() => void)[]>()
  #waiting: (() => void)[] = []
  /** For each name: the open requests now, and the largest number of requests that were open at once. */
  readonly #open = new Map<string, { now: number; most: number }>()

  constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  /** Starts on a free port of this machine, and returns its address. */
  start(): Promise<string> {
    return listening(this.#server)
  }

  stop(): void {
    stop(this.#server)
  }

  /** Sets the reactions to the next requests to a name, one step for each. */
  plan(name: string, steps: readonly Step[]): void {
    this.#plans.set(name, [...steps])
  }

  /** Sets a function that decides the reaction to each request to a name, instead of a plan. */
  decide(name: string, decider: (seen: Seen) => Step): void {
    this.#deciders.set(name, decider)
  }

  /** Releases all held requests to a name. */
  release(name: string): void {
    for (const go of this.#held.get(name)?.splice(0) ?? []) go()
  }

  /** The requests to a name so far. Waits until there are at least `count`. */
  async seen(name: string, count = 0): Promise<Seen[]> {
    const deadline = performance.now() + PATIENCE
    for (;;) {
      const seen = this.#seen.get(name) ?? []
      if (seen.length >= count) return seen
      if (performance.now() > deadline)
        throw new Error(`${seen.length} of ${count} requests to ${name} arrived`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 500)
        this.#waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  /** The largest number of requests to a name that were open at once. */
  mostOpen(name: string): number {
    return this.#open.get(name)?.most ?? 0
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://receiver')
    const [, kind = '', name = ''] = url.pathname.split('/')
    let body = ''
    request.setEncoding('utf8')
    for await (const part of request) body += part
    if (kind !== 'hooks') return this.#control(kind, name, url, body, response)

    const open = this.#open.get(name) ?? { now: 0, most: 0 }
    this.#open.set(name, open)
    open.now += 1
    open.most = Math.max(open.most, open.now)
    response.once('close', () => {
      open.now -= 1
    })
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([key, value]) => [key, String(value)]),
    )
    const all = this.#seen.get(name) ?? []
    this.#seen.set(name, all)
    const seen = { headers, body, at: Date.now(), method: request.method ?? '' }
    all.push(seen)
    const plan = this.#plans.get(name) ?? []
    const step = this.#deciders.get(name)?.(seen) ?? (plan[0]?.always ? plan[0] : (plan.shift() ?? {}))
    for (const wake of this.#waiting.splice(0)) wake()
    if (step.hold) {
      const held = this.#held.get(name) ?? []
      this.#held.set(name, held)
      await new Promise<void>((resolve) => held.push(resolve))
    }
    if (step.drop) {
      request.socket.destroy()
      return
    }
    response.writeHead(step.status ?? 200, step.headers)
    if (step.stall) response.write(step.body ?? '')
    else response.end(step.body ?? '')
  }

  /** For tests in another process: `POST /plan/{name}`, `POST /release/{name}`, `GET /seen/{name}?count=`. */
  async #control(
    kind: string,
    name: string,
    url: URL,
    body: string,
    response: ServerResponse,
  ): Promise<void> {
    let told: unknown = null
    if (kind === 'plan') this.plan(name, JSON.parse(body))
    if (kind === 'release') this.release(name)
    if (kind === 'seen') {
      const seen = await this.seen(name, Number(url.searchParams.get('count')))
      told = { seen, mostOpen: this.mostOpen(name) }
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(told))
  }
}
