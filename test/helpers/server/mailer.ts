/**
 * A provider of emails with Resend's interface. It recognises an email by its Idempotency-Key, and responds
 * by a plan.
 */
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listening, stop } from '../listening'
import { PATIENCE } from '../patience'

export type Email = { to: string[]; subject: string; html: string; headers: Record<string, string> }

/**
 * The reaction to a request: a refusal before the email is sent; or the email is sent, and the response
 * arrives late or never.
 */
export type Answer = { status?: number; delay?: number; silent?: boolean }

export class Mailer {
  readonly #server: Server
  /** The sent emails, by key. */
  readonly sent = new Map<string, { body: string; email: Email }>()
  /** The keys of all requests, in order. */
  readonly asked: string[] = []
  plan: Answer[] = []

  constructor() {
    this.#server = createServer(async (request, response) => {
      let body = ''
      request.setEncoding('utf8')
      for await (const part of request) body += part
      const key = String(request.headers['idempotency-key'])
      this.asked.push(key)
      const { status = 200, delay = 0, silent = false } = this.plan.shift() ?? {}
      const known = this.sent.get(key)
      if (status === 200 && known === undefined) this.sent.set(key, { body, email: JSON.parse(body) })
      if (silent) return
      await sleep(delay)
      const isOther = known !== undefined && known.body !== body
      response.writeHead(isOther ? 409 : status, { 'content-type': 'application/json' })
      const told = isOther ? { name: 'invalid_idempotent_request', message: 'another body' } : { id: key }
      response.end(JSON.stringify(told))
    })
  }

  start(): Promise<string> {
    return listening(this.#server)
  }

  stop(): void {
    stop(this.#server)
  }

  /** Waits for a number of requests. */
  async came(count: number): Promise<void> {
    for (const deadline = performance.now() + PATIENCE; this.asked.length < count; await sleep(20)) {
      if (performance.now() > deadline)
        throw new Error(`${this.asked.length} of ${count} requests for emails arrived`)
    }
  }

  /** The subjects of the emails to an address. */
  to(address: string): string[] {
    return [...this.sent.values()].flatMap(({ email }) => (email.to.includes(address) ? email.subject : []))
  }
}
