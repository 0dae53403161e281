import type { Laurel } from '../app.js'
import type { NewEvent } from '../application/events.js'
import { LaurelError } from '../core/laurel-error.js'
import { newId } from '../core/new-id.js'
import { pauseAfter, type Runtime, realRuntime } from '../core/retries.js'
import type { EventResponse } from '../generated/types.js'
import { browserStorage, type EventStorage, memoryStorage, type WaitingEvent } from './storage.js'

/** The options of an offline queue. */
export interface OfflineOptions {
  /**
   * Names the queue. Give each signed-in user a queue of their own, such as `laurel-ada`, if several people
   * use one browser: a key of one user cannot send events of another. `laurel-events` if absent.
   */
  name?: string | undefined
  /** Gets each event that was sent, and what it changed. With several tabs, one of them is told. */
  onSent?: ((answer: EventResponse, waiting: WaitingEvent) => void) | undefined
  /** Gets each event that the service refused for good (4xx). It is no longer in the queue. */
  onDropped?: ((error: LaurelError, waiting: WaitingEvent) => void) | undefined
  /** Gets each failure after which events stay in the queue: no network, 401, 403, 429 or 5xx. */
  onError?: ((error: unknown) => void) | undefined
  /** Where events wait. IndexedDB if the browser has it, else memory. */
  storage?: EventStorage | undefined
  /** Replaces time and chance, for tests. */
  runtime?: Partial<Runtime> | undefined
}

/** The longest pause between two attempts, in milliseconds, when the service asks for none. */
const LONGEST_PAUSE = 5 * 60_000

/**
 * Sends events that must not be lost, also if the page is offline or is closed. Each is stored first, and
 * sent with its idempotency key until the service has it, so it counts once. The events of one user are sent
 * in order. The service counts an event on the day on which it arrives.
 */
export class OfflineQueue {
  readonly #laurel: Pick<Laurel, 'event'>
  readonly #options: OfflineOptions
  readonly #name: string
  readonly #storage: EventStorage
  readonly #runtime: Runtime
  readonly #closed = new AbortController()
  #drain: Promise<void> | null = null
  #isAgainWanted = false
  #failures = 0
  #retry: AbortController | null = null

  constructor(laurel: Pick<Laurel, 'event'>, options: OfflineOptions = {}) {
    this.#laurel = laurel
    this.#options = options
    this.#name = options.name ?? 'laurel-events'
    this.#storage =
      options.storage ?? (typeof indexedDB === 'undefined' ? memoryStorage() : browserStorage(this.#name))
    this.#runtime = { ...realRuntime, ...options.runtime }
    if (typeof addEventListener === 'function')
      addEventListener('online', () => void this.flush(), { signal: this.#closed.signal })
    void this.flush()
  }

  /**
   * Queues an event and begins to send what waits. Resolves when the event is stored. If it cannot be stored,
   * for example because the disk is full, it is sent at once instead, and this rejects if that fails.
   */
  async event(metric: string, event: NewEvent): Promise<void> {
    const withKey = { ...event, idempotencyKey: event.idempotencyKey ?? newId() }
    const waiting = { metric, event: withKey, queued: this.#runtime.now() }
    try {
      await this.#storage.add(waiting)
    } catch {
      const answer = await this.#laurel.event(metric, withKey, { signal: this.#closed.signal })
      this.#options.onSent?.(answer, { ...waiting, place: 0 })
      return
    }
    void this.flush()
  }

  /** The events that wait, oldest first. */
  waiting(): Promise<WaitingEvent[]> {
    return this.#storage.list()
  }

  /** Tries to send everything that waits now. Resolves after the attempt. Never rejects. */
  flush(): Promise<void> {
    this.#retry?.abort()
    this.#isAgainWanted = true
    this.#drain ??= this.#drained().finally(() => {
      this.#drain = null
    })
    return this.#drain
  }

  /** Stops sending. Events that wait stay stored. */
  close(): void {
    this.#closed.abort()
    this.#retry?.abort()
  }

  async #drained(): Promise<void> {
    while (this.#isAgainWanted && !this.#closed.signal.aborted) {
      this.#isAgainWanted = false
      let pause: number | null
      try {
        pause = await this.#alone(() => this.#sendAll())
      } catch (error) {
        if (this.#closed.signal.aborted) return
        this.#options.onError?.(error)
        pause = this.#nextPause(null)
      }
      if (pause !== null) this.#tryAgainAfter(pause)
    }
  }

  /** Runs in one tab at a time, if the browser has locks. Without them a second tab only repeats requests. */
  async #alone<T>(run: () => Promise<T>): Promise<T> {
    if (typeof navigator === 'undefined' || !navigator.locks) return run()
    return navigator.locks.request(`laurel:${this.#name}`, { signal: this.#closed.signal }, run)
  }

  /** Sends everything that waits. Answers the pause before the next attempt, or null if none is needed. */
  async #sendAll(): Promise<number | null> {
    /** Users whose next event has to wait, so that their order is kept. */
    const held = new Set<string>()
    for (const waiting of await this.#storage.list()) {
      const { metric, event, place } = waiting
      if (held.has(event.user.id)) continue
      let answer: EventResponse
      try {
        answer = await this.#laurel.event(metric, event, { tries: 1, signal: this.#closed.signal })
        await this.#storage.remove(place)
        this.#failures = 0
      } catch (error) {
        if (this.#closed.signal.aborted) return null
        const status = error instanceof LaurelError ? error.status : 0
        if (error instanceof LaurelError && isRefusedForGood(status)) {
          await this.#storage.remove(place)
          this.#options.onDropped?.(error, waiting)
          continue
        }
        this.#options.onError?.(error)
        held.add(event.user.id)
        // The key is not of this user. Other users' events may still be sent.
        if (status === 403) continue
        return this.#nextPause(error instanceof LaurelError ? error.retryAfter : null)
      }
      this.#options.onSent?.(answer, waiting)
    }
    return held.size === 0 ? null : this.#nextPause(null)
  }

  #nextPause(retryAfter: number | null): number {
    this.#failures += 1
    const backoff = pauseAfter(1, null, this.#runtime.random) ?? 0
    const grown = Math.min(LONGEST_PAUSE, backoff * 2 ** Math.min(20, this.#failures - 1))
    return Math.max(grown, (retryAfter ?? 0) * 1000)
  }

  #tryAgainAfter(pause: number): void {
    const retry = new AbortController()
    this.#retry?.abort()
    this.#retry = retry
    this.#runtime.sleep(pause, retry.signal).then(
      () => void this.flush(),
      () => undefined,
    )
  }
}

/** Whether sending an event again cannot help. After a 401 or 403 another key may help. */
const isRefusedForGood = (status: number): boolean =>
  status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status)
