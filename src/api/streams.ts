import { type Instant, MINUTE, SECOND } from '../lib/clock'
import { jsonBytes, MOST_AT_ONCE } from '../lib/packed'
import { systemNow } from '../lib/system-clock'

/** How often a stream sends a comment, so that nothing on the way takes it for dead (Y1). */
export const BEAT = 25 * SECOND
/** The longest life of a stream (Y2). */
export const LONGEST_STREAM = 15 * MINUTE
/** How long a client may leave an event unread. After that the stream is dropped (Y4). */
const READ_PATIENCE = 30 * SECOND
/** The most unread events that no later event replaces. */
const MOST_UNREAD = 100

const COMMENT = ':\n\n'

/** Real time: the moment, and a call after some milliseconds. The result cancels the call. */
export type Timers = {
  now: () => Instant
  after: (ms: number, work: () => void) => () => void
}

export const realTimers: Timers = {
  now: systemNow,
  after: (ms, work) => {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
}

/** An event of a stream as text. `data` is JSON. */
export const eventText = (event: string, id: string | number, data: string): string =>
  `event: ${event}\nid: ${id}\ndata: ${data}\n\n`

/** An event that waits to be read. A later state replaces an earlier one. */
type Waiting = { text: string; isState: boolean }

/**
 * The body of a response that sends events until it ends (`text/event-stream`). At most one unread state, a
 * few other events and a comment wait for a slow client. A client that does not read is dropped (Y4).
 * `Event` is the type of the data of its events.
 */
export class EventStream<Event = unknown> {
  /** The type of the data, for the type check alone. */
  declare readonly event: Event
  readonly body: ReadableStream<Uint8Array>
  readonly #timers: Timers
  readonly #onEnd: () => void
  readonly #encoder = new TextEncoder()
  /** They cancel the timers of the end and of the next beat. */
  readonly #cancelEnd: () => void
  #cancelBeat: () => void = () => undefined
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null
  #waiting: Waiting[] = []
  /** Whether the client reads, and nothing waits. */
  #isRead = false
  /** Since when something waits; null if nothing does. */
  #unreadSince: Instant | null = null
  #isOver = false

  /** `onBeat` is called every 25 s, `onEnd` once at the end. */
  constructor(timers: Timers, { onBeat, onEnd }: { onBeat: () => void; onEnd: () => void }) {
    this.#timers = timers
    this.#onEnd = onEnd
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => {
          this.#isRead = true
          this.#flush()
        },
        cancel: () => this.#finish(),
      },
      // Nothing is read ahead, so that `pull` says when the client reads.
      { highWaterMark: 0 },
    )
    this.#cancelEnd = timers.after(LONGEST_STREAM, () => this.end())
    const beat = () => {
      this.#cancelBeat = timers.after(BEAT, beat)
      this.#comment()
      if (!this.#isOver) onBeat()
    }
    this.#cancelBeat = timers.after(BEAT, beat)
  }

  /** Sends the present state. It replaces an earlier state that is still unread. */
  show(text: string): void {
    this.#waiting = this.#waiting.filter(({ isState }) => !isState)
    this.#add({ text, isState: true })
  }

  /** Sends an event that nothing replaces. */
  tell(text: string): void {
    if (this.#waiting.length >= MOST_UNREAD) this.#drop()
    else this.#add({ text, isState: false })
  }

  /** Ends the stream, after the events that wait. */
  end(): void {
    if (this.#isOver) return
    if (this.#waiting.length > 0) this.#controller?.enqueue(this.#take())
    this.#controller?.close()
    this.#finish()
  }

  #comment(): void {
    const since = this.#unreadSince
    if (since !== null && this.#timers.now() - since >= READ_PATIENCE) this.#drop()
    else if (since === null) this.#add({ text: COMMENT, isState: false })
  }

  #add(event: Waiting): void {
    if (this.#isOver) return
    this.#waiting.push(event)
    this.#unreadSince ??= this.#timers.now()
    this.#flush()
  }

  #flush(): void {
    if (!this.#isRead || this.#waiting.length === 0 || this.#isOver) return
    this.#isRead = false
    this.#controller?.enqueue(this.#take())
  }

  #take(): Uint8Array {
    const text = this.#waiting.map((event) => event.text).join('')
    this.#waiting = []
    this.#unreadSince = null
    return this.#encoder.encode(text)
  }

  /** Ends the stream with an error. The client has stopped reading. */
  #drop(): void {
    if (this.#isOver) return
    this.#controller?.error(new Error('the client does not read'))
    this.#finish()
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting = []
    this.#cancelEnd()
    this.#cancelBeat()
    this.#onEnd()
  }
}

type Pages<V> = V extends readonly (infer Item)[] ? AsyncIterable<readonly Item[]> : never

/** A body that is too long for memory: an object of its documented shape, with lists that come in pages. */
export class Streamed<Body> {
  constructor(readonly fields: { [Name in keyof Body]: Body[Name] | Pages<Body[Name]> }) {}
}

/** A list that is too long for memory. */
export class StreamedList<Item> {
  constructor(readonly pages: AsyncIterable<readonly Item[]>) {}
}

/** The maximum bytes of JSON of a list that is sent at once. */
const MOST_HELD = 2 * MOST_AT_ONCE

/**
 * A list for a response. A short list is read completely first, so that an error during the read becomes an
 * error response. A longer list is read page by page while it is sent.
 */
export async function listed<Item>(pages: AsyncGenerator<Item[]>): Promise<Item[] | StreamedList<Item>> {
  const head: Item[] = []
  let bytes = 0
  for (;;) {
    const { value, done } = await pages.next()
    if (done) return head
    head.push(...value)
    bytes += jsonBytes(value)
    if (bytes > MOST_HELD) return new StreamedList(after(head, pages))
  }
}

async function* after<Item>(head: Item[], pages: AsyncGenerator<Item[]>): AsyncGenerator<Item[]> {
  yield head
  yield* pages
}

/**
 * The body as JSON, made while it is read. An error on the way ends the stream with an error, so that no
 * client takes the sent part for the whole. It also calls `failed`.
 */
export function streamOf(
  body: Streamed<object> | StreamedList<unknown>,
  failed: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const texts = body instanceof StreamedList ? listOf(body.pages) : jsonOf(body.fields)
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await texts.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      } catch (error) {
        failed(error)
        controller.error(error)
      }
    },
    async cancel() {
      await texts.return(undefined)
    },
  })
}

async function* jsonOf(fields: object): AsyncGenerator<string, undefined> {
  let before = '{'
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    if (isPages(value)) yield* listOf(value)
    else yield JSON.stringify(value)
    before = ','
  }
  yield '}'
}

async function* listOf(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<string, undefined> {
  let before = '['
  for await (const page of pages) {
    if (page.length === 0) continue
    yield before + page.map((item) => JSON.stringify(item)).join(',')
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

const isPages = (value: unknown): value is AsyncIterable<readonly unknown[]> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value
