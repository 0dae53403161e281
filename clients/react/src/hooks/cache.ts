import { startTimer } from '@laurel/client/app'

/** Data is read again on focus if it is older than this, in milliseconds. */
const FRESH = 10_000

/** Data that no component shows is kept for this long, in milliseconds. */
const KEPT = 5 * 60_000

/** Data, or the error of the last read. `readAt` is in milliseconds since 1970, and 0 without data. */
export interface State<Data> {
  data: Data | undefined
  error: Error | null
  readAt: number
}

const NOTHING = { data: undefined, error: null, readAt: 0 }

/** Makes an error of a thrown value that is none. */
export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown))

/** Data under one key, and the components that show it. They share its reads. */
export class Entry<Data> {
  state: State<Data> = NOTHING
  /** The state in the HTML of a server. A part of the page may hydrate when newer data is there. */
  rendered: State<Data> = NOTHING
  readonly #read: (signal: AbortSignal) => PromiseLike<Data>
  readonly #watchers = new Set<() => void>()
  #isInvalid = false
  #reading: AbortController | undefined
  #stopTimer = () => {}

  constructor(read: (signal: AbortSignal) => PromiseLike<Data>) {
    this.#read = read
  }

  get isReading(): boolean {
    return this.#reading !== undefined
  }

  /** Takes data that was not read here. A read that is on its way may bring older data. */
  set(data: Data): void {
    this.#show({ data, error: null, readAt: Date.now() })
  }

  /** Takes data that a server has read, unless there is some. Components may call it while they render. */
  begin(data: Data, readAt: number): void {
    const given = { data, error: null, readAt }
    if (this.rendered.data === undefined) this.rendered = given
    if (this.state.data === undefined) this.state = given
  }

  /**
   * Reads the data if it is missing or old, and calls a function after each change, until the returned function is
   * called. The last one to leave ends the read a moment later, so that a component that mounts again keeps it.
   */
  readonly watch = (changed: () => void): (() => void) => {
    this.#stopTimer()
    this.#watchers.add(changed)
    this.refresh()
    return () => {
      this.#watchers.delete(changed)
      if (this.#watchers.size > 0) return
      this.#stopTimer = startTimer(() => {
        this.#reading?.abort()
        this.#reading = undefined
        const forget = () => {
          this.state = NOTHING
        }
        if (this.state.data === undefined) forget()
        else this.#stopTimer = startTimer(forget, KEPT)
      }, 0)
    }
  }

  /** Reads the data if it is missing or old, and a component shows it. */
  refresh(): void {
    const { data, readAt } = this.state
    // A time that is yet to come is one of another clock, or the clock was set back.
    const isOld = this.#isInvalid || data === undefined || Math.abs(Date.now() - readAt) >= FRESH
    if (isOld && !this.isReading && this.#watchers.size > 0) void this.read()
  }

  /** Marks the data as old. If a component shows it, it is read again at once. */
  invalidate(): void {
    this.#isInvalid = true
    if (this.#watchers.size > 0) void this.read()
  }

  /** Reads the data. An earlier read that is on its way ends. */
  async read(): Promise<void> {
    this.#reading?.abort()
    const reading = new AbortController()
    this.#reading = reading
    if (this.state.data === undefined && this.state.error !== null) this.#show(NOTHING)
    let next: State<Data>
    try {
      next = { data: await this.#read(reading.signal), error: null, readAt: Date.now() }
    } catch (error) {
      next = { ...this.state, error: errorOf(error) }
    }
    if (this.#reading !== reading) return
    this.#reading = undefined
    this.#show(next)
  }

  #show(state: State<Data>): void {
    this.state = state
    if (state.error === null) this.#isInvalid = false
    for (const changed of this.#watchers) changed()
  }
}

/** Data of one client, by keys. The type of the data belongs to the key. */
export class Cache {
  readonly #entries = new Map<string, Entry<unknown>>()

  /** @param name tells the data of one client from that of another */
  constructor(readonly name: number) {}

  /** The entry of a key. `read` reads its data, with the first function that was given for the key. */
  entry<Data>(key: string, read: (signal: AbortSignal) => PromiseLike<Data>): Entry<Data>
  entry(key: string, read: (signal: AbortSignal) => PromiseLike<unknown>): Entry<unknown> {
    const entry = this.#entries.get(key) ?? new Entry(read)
    this.#entries.set(key, entry)
    return entry
  }

  /** The entries whose keys begin with some parts (`keyOf`). All without them. */
  find<Data>(parts?: string): Entry<Data>[]
  find(parts = ''): Entry<unknown>[] {
    return [...this.#entries].flatMap(([key, entry]) => (key.startsWith(parts) ? [entry] : []))
  }

  /** Marks entries as old, and reads those again that a component shows. */
  invalidate(parts: string): void {
    for (const entry of this.find(parts)) entry.invalidate()
  }
}
