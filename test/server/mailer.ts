/** A provider of emails with Resend's interface, which knows an email by its Idempotency-Key, and answers by a plan. */
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listening, stop } from '../listening'
import { PATIENCE } from '../patience'

export type Email = { to: string[]; subject: string; html: string; headers: Record<string, string> }

/** What is done with a request: refused before anything is sent, or sent, and answered later or never. */
export type Answer = { status?: number; delay?: number; silent?: boolean }

export class Mailer {
  readonly #server: Server
  /** What was sent, by key. */
  readonly sent = new Map<string, { body: string; email: Email }>()
  /** The keys of all requests, in their order. */
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

  /** Waits until so many requests have come. */
  async came(count: number): Promise<void> {
    for (const deadline = Date.now() + PATIENCE; this.asked.length < count; await sleep(20)) {
      if (Date.now() > deadline) throw new Error(`${this.asked.length} of ${count} emails were asked for`)
    }
  }

  /** The subjects of what was sent to an address. */
  to(address: string): string[] {
    return [...this.sent.values()].flatMap(({ email }) => (email.to.includes(address) ? email.subject : []))
  }
}
