import type { Laurel } from '../app.js'
import { checkEvent, type NewEvent, userIdOf } from '../application/events.js'
import { jsonOf } from '../core/json.js'
import { LaurelError } from '../core/laurel-error.js'
import { newId } from '../core/new-id.js'
import { Pauses } from '../core/pauses.js'
import { isRefusedForGood, type Runtime, realRuntime } from '../core/retries.js'
import { tell } from '../core/tell.js'
import { within } from '../core/within.js'
import type { EventResponse } from '../generated/types.js'
import { bounded, type EventStorage, pageStorage, type WaitingEvent } from './storage.js'

/** The options of an offline queue. */
export interface OfflineOptions {
  /**
   * Names the queue. Give each signed-in user a queue of their own, such as `laurel-ada`, if several people
   * use one browser: a key of one user cannot send events of another. Clients of other tenants or
   * installations need names of their own too: a queue sends all that is stored under its name.
   * `laurel-events` if absent.
   */
  name?: string | undefined
  /** Gets each event that was sent, and what it changed. With several tabs, one of them is told. */
  onSent?: ((answer: EventResponse, waiting: WaitingEvent) => void) | undefined
  /**
   * Gets each event that Laurel refused for good (4xx), and each stored one of which no request can be made
   * (status 0). It is no longer in the queue.
   */
  onDropped?: ((error: LaurelError, waiting: WaitingEvent) => void) | undefined
  /**
   * Gets each failure after which events stay in the queue: no answer of Laurel, 401, 403, 408, 429 or 5xx,
   * and those of the storage. Also gets what `onSent` and `onDropped` throw, which changes nothing in the queue.
   */
  onError?: ((error: unknown) => void) | undefined
  /**
   * Where events wait. IndexedDB if the browser has it, else memory. If IndexedDB is refused or does not answer
   * within 10 seconds, they wait in memory too, and `onError` is told once.
   */
  storage?: EventStorage | undefined
  /** Replaces time and chance, for tests. */
  runtime?: Partial<Runtime> | undefined
}

/** The longest pause between two attempts, in milliseconds, when the service asks for none. */
const LONGEST_PAUSE = 5 * 60_000

/** A tab that has slept for so long with the lock of the queue is not waited for, in milliseconds. */
const LOCK_PATIENCE = 60_000

/** After this many users' failures without a success in between, an attempt ends: it is no user's fault. */
const MOST_FAILURES = 3

/**
 * Sends events that must not be lost, also if the page is offline or is closed. Each is stored first, and
 * sent with its idempotency key until the service has it, so it counts once. The events of one user are sent
 * in order, and do not wait for those of other users. The service counts an event on the day on which it
 * arrives.
 */
export class OfflineQueue {
  /** As that of a client: Vue makes no proxy of it. */
  readonly [Symbol.toStringTag] = 'OfflineQueue'
  readonly #laurel: Pick<Laurel, 'event'>
  readonly #options: OfflineOptions
  readonly #name: string
  readonly #storage: EventStorage
  readonly #runtime: Runtime
  readonly #closed = new AbortController()
  #drain: Promise<void> | null = null
  #isAgainWanted = false
  /** Users whose oldest event could not be sent, and their pauses. */
  readonly #users = new Map<string, Pauses>()
  /** The pauses of all users. What the service asks for holds for each of them. */
  readonly #pauses: Pauses
  #retry: AbortController | null = null

  constructor(laurel: Pick<Laurel, 'event'>, options: OfflineOptions = {}) {
    this.#laurel = laurel
    this.#options = options
    this.#name = options.name ?? 'laurel-events'
    this.#storage = options.storage
      ? bounded(options.storage)
      : pageStorage(this.#name, (error) => tell(() => this.#options.onError?.(error)))
    this.#runtime = { ...realRuntime, ...options.runtime }
    this.#pauses = new Pauses(this.#runtime, LONGEST_PAUSE)
    if (typeof addEventListener === 'function')
      addEventListener('online', () => void this.#wake(), { signal: this.#closed.signal })
    void this.#wake()
  }

  /**
   * Queues an event and begins to send what waits. Resolves when the event is stored. If it cannot be stored,
   * for example because the disk is full, it is sent at once instead, and this rejects if that fails. Rejects
   * with a TypeError if no request can be made of the event: then it is not queued.
   */
  async event(metric: string, event: NewEvent): Promise<void> {
    // Before the first `await`: later changes of the object change nothing.
    const copy = copyOf(metric, { ...event, idempotencyKey: event?.idempotencyKey ?? newId() })
    const waiting = { metric, event: copy, queued: this.#runtime.now() }
    try {
      await this.#storage.add(waiting)
    } catch {
      const answer = await this.#laurel.event(metric, copy, { signal: this.#closed.signal })
      tell(() => this.#options.onSent?.(answer, { ...waiting, place: 0 }), this.#options)
      return
    }
    void this.#wake()
  }

  /** The events that wait, oldest first. */
  waiting(): Promise<WaitingEvent[]> {
    return this.#storage.list()
  }

  /**
   * Tries to send everything that waits, and ends each pause except one that the service asked for. Resolves
   * after the attempt. Never rejects.
   */
  flush(): Promise<void> {
    for (const pauses of [this.#pauses, ...this.#users.values()]) pauses.skip()
    return this.#wake()
  }

  /** Stops sending. Events that wait stay stored. */
  close(): void {
    this.#closed.abort()
    this.#retry?.abort()
  }

  #wake(): Promise<void> {
    this.#isAgainWanted = true
    this.#drain ??= this.#drained()
    return this.#drain
  }

  async #drained(): Promise<void> {
    try {
      while (this.#isAgainWanted && !this.#closed.signal.aborted) {
        this.#isAgainWanted = false
        const pause = await this.#attempt()
        if (pause !== null) this.#tryAgainAfter(pause)
      }
    } finally {
      // Nothing may run between the last check of `#isAgainWanted` and this line. Otherwise `#wake` could
      // return a drain that has ended.
      this.#drain = null
    }
  }

  /** Sends what waits, once. Answers the pause before the next attempt, or null if none is needed. */
  async #attempt(): Promise<number | null> {
    this.#retry?.abort()
    try {
      return await this.#alone(() => this.#sendAll())
    } catch (error) {
      if (this.#closed.signal.aborted) return null
      tell(() => this.#options.onError?.(error))
      return this.#pauses.begin()
    }
  }

  /** Runs in one tab at a time, if the browser has locks. Without them a second tab only repeats requests. */
  async #alone<T>(run: () => Promise<T>): Promise<T> {
    let running: Promise<T> | undefined
    const { signal } = this.#closed
    const late = () => new Error('Another tab does not give the lock back.')
    const whenAlone = (ended: AbortSignal, stopTimer: () => void): Promise<T> =>
      navigator.locks.request(`laurel:${this.#name}`, { signal: ended }, () => {
        stopTimer()
        running = run()
        return running
      })
    try {
      if (typeof navigator !== 'undefined' && navigator.locks)
        return await within(LOCK_PATIENCE, signal, late, whenAlone)
    } catch (error) {
      if (running !== undefined || signal.aborted) throw error
      // A sandboxed frame gets no locks, and a tab that the browser has put to sleep keeps its own.
    }
    return run()
  }

  /** Sends everything that waits. Answers the pause before the next attempt, or null if none is needed. */
  async #sendAll(): Promise<number | null> {
    const all = await this.#storage.list()
    const asked = this.#pauses.askedLeft()
    if (asked > 0) return all.length === 0 ? null : asked
    /** Users whose next event has to wait, so that their order is kept, and for how long. */
    const held = new Map<string, number>()
    let failures = 0
    for (const waiting of this.#inOrder(all)) {
      const user = userIdOf(waiting.event)
      const left = this.#users.get(user)?.left() ?? 0
      if (left > 0) held.set(user, left)
      if (held.has(user)) continue
      let tellOutcome: () => void
      try {
        tellOutcome = await this.#send(waiting)
      } catch (error) {
        if (this.#closed.signal.aborted) return null
        tell(() => this.#options.onError?.(error))
        failures += 1
        held.set(user, this.#hold(user, error))
        const retryAfter = error instanceof LaurelError ? error.retryAfter : null
        if (isForAll(error) || failures === MOST_FAILURES) return this.#pauses.begin(retryAfter)
        continue
      }
      this.#users.delete(user)
      this.#pauses.reset()
      failures = 0
      tell(tellOutcome, this.#options)
    }
    return held.size === 0 ? null : Math.min(...held.values())
  }

  /** Sorts events: those of users with failures come last. The events of a user keep their order. */
  #inOrder(all: readonly WaitingEvent[]): WaitingEvent[] {
    const failures = (waiting: WaitingEvent) => this.#users.get(userIdOf(waiting.event))?.failures ?? -1
    return [...all].sort((a, b) => failures(a) - failures(b))
  }

  /**
   * Sends an event, or drops it if that can never work. It is no longer stored then. Answers what tells the
   * caller.
   */
  async #send(waiting: WaitingEvent): Promise<() => void> {
    const { metric, place } = waiting
    let event: NewEvent
    try {
      event = copyOf(metric, waiting.event)
    } catch (cause) {
      const error = new LaurelError('No request can be made of this event.', { status: 0, cause })
      return this.#drop(error, waiting)
    }
    let answer: EventResponse
    try {
      answer = await this.#laurel.event(metric, event, { tries: 1, signal: this.#closed.signal })
    } catch (error) {
      if (!(error instanceof LaurelError && isRefusedForGood(error.status))) throw error
      return this.#drop(error, waiting)
    }
    await this.#storage.remove(place)
    return () => this.#options.onSent?.(answer, waiting)
  }

  async #drop(error: LaurelError, waiting: WaitingEvent): Promise<() => void> {
    await this.#storage.remove(waiting.place)
    return () => this.#options.onDropped?.(error, waiting)
  }

  /** Lets a user's events wait. Answers for how long. */
  #hold(user: string, error: unknown): number {
    const pauses = this.#users.get(user) ?? new Pauses(this.#runtime, LONGEST_PAUSE)
    this.#users.set(user, pauses)
    // A failure of all users says nothing about this one.
    return isForAll(error) ? 0 : pauses.begin()
  }

  #tryAgainAfter(pause: number): void {
    const retry = new AbortController()
    this.#retry?.abort()
    this.#retry = retry
    this.#runtime.sleep(pause, retry.signal).then(
      () => void this.#wake(),
      () => undefined,
    )
  }
}

/** An event as JSON has it. Throws if there is none of it, or if no request can be made of it. */
function copyOf(metric: string, event: NewEvent): NewEvent {
  checkEvent(metric, event)
  return JSON.parse(jsonOf(event))
}

/** True if the events of other users would fail too: by the network, by the key, or because the service is busy. */
const isForAll = (error: unknown): boolean =>
  error instanceof LaurelError && (error.retryAfter !== null || [0, 401, 408, 429].includes(error.status))
