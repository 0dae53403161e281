import { Laurel, type LaurelOptions } from '@laurel/client/app'

/** A fake server of the application interface. Tests change its data, and see the requests. */
export class FakeServer {
  /** Answers by path: data, or a status of an error. */
  readonly answers = new Map<string, unknown>()
  /** Methods and paths of all requests, with their queries. */
  readonly requests: string[] = []
  /** The key of each request. */
  readonly keys: (string | null)[] = []
  readonly bodies: unknown[] = []
  /** The signal of each request. */
  readonly signals: (AbortSignal | null | undefined)[] = []
  /** Milliseconds by which its clock is ahead of this machine's. Without it, answers have no `Date`. */
  clockAhead: number | undefined
  /** The status of answers to new streams, if they fail. */
  streamFailure: number | undefined
  #gate: Promise<void> = Promise.resolve()
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>()

  /** A client of this server. */
  readonly client: Laurel

  constructor(options: Partial<LaurelOptions> = {}) {
    this.client = new Laurel({
      url: 'http://laurel.test',
      apiKey: 'app_key',
      tries: 1,
      fetch: (url, init) => this.#answer(new URL(url), init),
      runtime: { sleep: () => Promise.resolve() },
      ...options,
    })
  }

  /** Requests whose path ends with this text. */
  count(end: string): number {
    return this.requests.filter((request) => request.split('?')[0]?.endsWith(end)).length
  }

  /** Lets all later reads wait until the returned function is called. They answer the data of their start. */
  holdReads(): () => void {
    let open = () => {}
    this.#gate = new Promise((resolve) => {
      open = resolve
    })
    return open
  }

  get openStreams(): number {
    return this.#streams.size
  }

  /** Sends an event to all open streams. */
  send(event: string, data: unknown): void {
    const text = new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    for (const stream of this.#streams) stream.enqueue(text)
  }

  async #answer(url: URL, { method = 'GET', body, signal, headers: sent }: RequestInit): Promise<Response> {
    this.requests.push(`${method} ${url.pathname}${url.search}`)
    this.keys.push(new Headers(sent).get('x-api-key'))
    this.signals.push(signal)
    if (typeof body === 'string') this.bodies.push(JSON.parse(body))
    const failure = (status: number, error: string) =>
      Response.json({ error }, { status, headers: { 'x-request-id': 'request' } })
    if (url.pathname.endsWith('/live')) {
      if (this.streamFailure !== undefined) return failure(this.streamFailure, 'It failed.')
      return this.#stream(signal ?? undefined)
    }
    // The data is that of the moment of the request.
    const data = this.answers.get(`${method} ${url.pathname.replace('/v1/', '')}`)
    if (method === 'GET') await this.#gate
    if (typeof data === 'number') return failure(data, 'It failed.')
    if (data === undefined) return failure(404, `No answer for ${url.pathname}`)
    const date = this.clockAhead !== undefined && {
      // By the fake timers, if a test has set them.
      date: new Date(Date.now() + this.clockAhead).toUTCString(),
    }
    const headers = { 'x-request-id': 'request', ...date }
    return Response.json(data, { status: method === 'POST' ? 201 : 200, headers })
  }

  /** Ends all open streams, as the service does. */
  endStreams(): void {
    for (const stream of this.#streams) stream.close()
    this.#streams.clear()
  }

  #stream(signal: AbortSignal | undefined): Response {
    const streams = this.#streams
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        streams.add(controller)
        signal?.addEventListener('abort', () => {
          if (streams.delete(controller)) controller.error(new Error('Aborted.'))
        })
      },
    })
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  }
}
