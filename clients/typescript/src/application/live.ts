import type { Core } from '../core/core.js'
import { LaurelError } from '../core/laurel-error.js'
import { Pauses } from '../core/pauses.js'
import { tell } from '../core/tell.js'
import { pathOf } from '../core/urls.js'
import type { LiveFinished, LiveRanking } from '../generated/types.js'
import { serverSentEvents } from './server-sent-events.js'

/** The part of a leaderboard to watch, and the functions that are called. */
export interface LiveOptions {
  /** Gets the first state, and then each newer one. */
  onRanking: (ranking: LiveRanking) => void
  /** Gets the last state of a run that has become final. */
  onFinished?: ((run: LiveFinished) => void) | undefined
  /**
   * Gets each failure. After network failures, 429 and 5xx the client connects again by itself; after any
   * other error, `isOver` is true and the watching has ended. Also gets what the other functions throw, which
   * does not end it.
   */
  onError?: ((error: unknown, isOver: boolean) => void) | undefined
  /** The number of ranks, 1 to 100. 10 if absent. */
  limit?: number | undefined
  /** The group, on a leaderboard with a breakdown. */
  userAttributes?: string | Readonly<Record<string, string>> | undefined
  /** Stops the watching when it is aborted. */
  signal?: AbortSignal | undefined
}

/** A stream is silent for at most 25 seconds (Y1). After this time it is lost, in milliseconds. */
const SILENCE = 60_000

/** The longest pause before a new connection, if the service asks for none, in milliseconds. */
const LONGEST_PAUSE = 30_000

/** A connection that has lived so long works, so the pauses are short again. In milliseconds. */
const LONG_LIFE = 60_000

/** Watches a leaderboard until the returned function is called. */
export function watch(core: Core, key: string, options: LiveOptions): () => void {
  const controller = new AbortController()
  const stop = () => {
    controller.abort()
    options.signal?.removeEventListener('abort', stop)
  }
  options.signal?.addEventListener('abort', stop, { once: true })
  if (options.signal?.aborted) stop()
  const path = pathOf('/v1/leaderboards/{key}/live', { key })
  void watching(core, path, options, controller.signal).finally(stop)
  return stop
}

async function watching(core: Core, path: string, options: LiveOptions, signal: AbortSignal): Promise<void> {
  const { onRanking, onFinished, onError, limit, userAttributes } = options
  let version = Number.NEGATIVE_INFINITY
  const pauses = new Pauses(core.runtime, LONGEST_PAUSE)
  const take = (event: string, data: unknown) => {
    if (event === 'finished' && isRun(data)) onFinished?.(data)
    // A server that restarts may send a state again. It is never older than this one (Y4).
    if (event !== 'ranking' || !isRanking(data) || data.version <= version) return
    version = data.version
    onRanking(data)
  }
  // An error of a callback does not end the stream.
  const reports = { onError: onError && ((error: unknown) => onError(error, false)) }
  while (!signal.aborted) {
    let retryAfter: number | null = null
    try {
      const sending = {
        operation: 'GET /v1/leaderboards/{key}/live',
        method: 'GET',
        path,
        query: { limit, userAttributes },
        accept: 'text/event-stream',
        isStream: true,
        signal,
        // This loop tries again itself, as long as the leaderboard is watched.
        tries: 1,
      }
      await core.send(sending, async ({ body, headers, status }) => {
        if (!headers.get('content-type')?.startsWith('text/event-stream'))
          throw new LaurelError('The answer is not a stream of events.', { status })
        const began = core.runtime.now()
        try {
          for await (const { event, data } of serverSentEvents(body, SILENCE, signal)) {
            const parsed: unknown = JSON.parse(data)
            tell(() => take(event, parsed), reports)
          }
        } finally {
          if (core.runtime.now() - began >= LONG_LIFE) pauses.reset()
        }
      })
      // Streams end after 15 minutes at most, which is no failure.
    } catch (error) {
      if (signal.aborted) return
      const status = error instanceof LaurelError ? error.status : -1
      const isOver = status !== 0 && status !== 429 && status < 500
      tell(() => onError?.(error, isOver))
      if (isOver) return
      retryAfter = error instanceof LaurelError ? error.retryAfter : null
    }
    await core.runtime.sleep(pauses.begin(retryAfter), signal).catch(() => undefined)
  }
}

const isRun = (data: unknown): data is LiveFinished =>
  typeof data === 'object' && data !== null && 'version' in data && 'rankings' in data

const isRanking = (data: unknown): data is LiveRanking =>
  isRun(data) && typeof data.version === 'number' && Array.isArray(data.rankings)
