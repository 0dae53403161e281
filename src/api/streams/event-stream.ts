import type { Instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import { MINUTE, SECOND } from '../../lib/units'

/** How often a stream sends a comment, so that nothing on the way takes it for dead (Y1). */
export const BEAT = 25 * SECOND
/** The longest life of a stream (Y2). */
export const LONGEST_STREAM = 15 * MINUTE
/** How long a client may leave an event unread. After that the stream is dropped (Y4). */
export const READ_PATIENCE = 30 * SECOND
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
