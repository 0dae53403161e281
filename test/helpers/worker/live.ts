import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import * as z from 'zod'
import { LiveFinished, LiveRanking } from '../../../src/api/shapes/leaderboards'
import { newInstance } from '../../../src/configuration/configuration'
import type { Bindings } from '../../../src/platform/env'
import { createApp } from '../../../src/worker/app'
import { PATIENCE } from '../patience'
import { present } from '../time'
import { ADMIN_KEY } from './harness'

/** Streams of live leaderboards, as a client sees them. */

const Ranking = z.strictObject(LiveRanking.shape)
const Finished = z.strictObject(LiveFinished.shape)
export type Ranking = z.infer<typeof Ranking>
export type Finished = z.infer<typeof Finished>

/** An event of a stream, and when it came. */
export type LiveEvent =
  | { event: 'ranking'; id: string; data: Ranking; at: number }
  | { event: 'finished'; id: string; data: Finished; at: number }

/** A client of a stream. It reads everything at once, and checks the form of each event. */
export class Watch {
  readonly events: LiveEvent[] = []
  comments = 0
  /** How the stream ended; null while it is open. */
  ended: 'closed' | 'broken' | null = null
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  #rest = ''

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader()
    this.#read().then(
      () => {
        this.ended = 'closed'
      },
      () => {
        this.ended = 'broken'
      },
    )
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder()
    for (;;) {
      const { value, done } = await this.#reader.read()
      if (done) return
      this.#rest += decoder.decode(value, { stream: true })
      const parts = this.#rest.split('\n\n')
      this.#rest = parts.pop() ?? ''
      for (const part of parts) this.#take(part)
    }
  }

  #take(part: string): void {
    if (part === ':') {
      this.comments += 1
      return
    }
    const [, event, id = '', data = ''] = /^event: (\w+)\nid: (\S+)\ndata: (.*)$/.exec(part) ?? []
    const json: unknown = JSON.parse(data)
    const at = present()
    if (event === 'ranking') this.events.push({ event, id, data: Ranking.parse(json), at })
    else if (event === 'finished') this.events.push({ event, id, data: Finished.parse(json), at })
    else throw new Error(`not an event of a live leaderboard: ${part}`)
  }

  get rankings(): Ranking[] {
    return this.events.flatMap((one) => (one.event === 'ranking' ? [one.data] : []))
  }

  get finals(): Finished[] {
    return this.events.flatMap((one) => (one.event === 'finished' ? [one.data] : []))
  }

  get versions(): number[] {
    return this.events.map(({ data }) => data.version)
  }

  /** The last ranking as `[user, value]`. */
  get last(): unknown[] {
    return (this.rankings.at(-1)?.rankings ?? []).map(({ userId, value }) => [userId, value])
  }

  async leave(): Promise<void> {
    await this.#reader.cancel()
  }
}

/** An isolate whose streams can be opened. `instance` is its memory. */
export function isolate(overrides: Partial<Bindings> = {}, instance = newInstance()) {
  const app = createApp(() => instance)
  return {
    instance,
    fetch: (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      app.fetch(
        new Request(`http://laurel.test/v1${path}`, { method, headers }),
        { ...env, ...overrides },
        createExecutionContext(),
      ),
  }
}

export type Isolate = ReturnType<typeof isolate>

/** Opens a stream, with a key or a ticket in the query. Throws if it does not begin. */
export async function watch(
  tenantId: string,
  query = '',
  {
    from = isolate(),
    key = ADMIN_KEY,
    board = 'board',
  }: { from?: Isolate; key?: string | null; board?: string } = {},
): Promise<Watch> {
  const headers = { ...(key && { 'x-api-key': key }), ...(key === ADMIN_KEY && { 'tenant-id': tenantId }) }
  const response = await from.fetch(`/leaderboards/${board}/live${query}`, headers)
  if (response.status !== 200 || response.body === null)
    throw new Error(`no stream: ${response.status} ${await response.text()}`)
  const opened = new Watch(response.body)
  await vi.waitUntil(() => opened.events.length > 0, { timeout: PATIENCE, interval: 5 })
  return opened
}
