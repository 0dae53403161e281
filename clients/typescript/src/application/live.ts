import type { Core } from '../core/core.js'
import { LaurelError } from '../core/laurel-error.js'
import { Pauses } from '../core/pauses.js'
import { isRefusedForGood } from '../core/retries.js'
import { tell } from '../core/tell.js'
import { copyOfQuery, pathOf } from '../core/urls.js'
import type { LiveFinished, LiveRanking } from '../generated/types.js'
import { serverSentEvents } from './server-sent-events.js'

/** The part of a leaderboard to watch, and the functions that are called. */
export interface LiveOptions {
  /** Gets the first state, and then each newer one. */
  onRanking: (ranking: LiveRanking) => void
  /** Gets the last state of a run that has become final. */
  onFinished?: ((run: LiveFinished) => void) | undefined
  /**
   * Gets each failure. If Laurel refuses for good (4xx), `isOver` is true and the watching has ended. After
   * all others the client connects again by itself: network failures, answers of other servers, 408, 429,
   * 5xx, and after 401 and 403 if `apiKey` is a function, since another user may sign in. Also gets what the
   * other functions throw, which does not end it.
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
  const path = pathOf('/v1/leaderboards/{key}/live', { key })
  const { signal } = options
  const controller = new AbortController()
  let stopListening = () => {}
  const stop = () => {
    controller.abort()
    stopListening()
  }
  if (signal?.aborted) stop()
  else if (signal) stopListening = core.signals.listen(signal, stop)
  void watching(core, path, options, controller.signal).finally(stop)
  return stop
}

async function watching(core: Core, path: string, options: LiveOptions, signal: AbortSignal): Promise<void> {
  const { onRanking, onFinished, onError, limit, userAttributes } = options
  // Each connection asks for the same, whatever the caller does with the object meanwhile.
  const query = copyOfQuery({ limit, userAttributes })
  let version = Number.NEGATIVE_INFINITY
  const pauses = new Pauses(core.runtime, LONGEST_PAUSE)
  // An error of a callback does not end the stream.
  const reports = { onError: onError && ((error: unknown) => onError(error, false)) }
  const take = (event: string, text: string) => {
    // A later version of Laurel may send other events, in any form.
    if (signal.aborted || !['ranking', 'finished'].includes(event)) return
    const data: unknown = JSON.parse(text)
    if (event === 'finished' && isState<LiveFinished>(data)) tell(() => onFinished?.(data), reports)
    // A server that restarts may send a state again. It is never older than this one (Y4).
    if (event !== 'ranking' || !isState<LiveRanking>(data) || data.version <= version) return
    version = data.version
    tell(() => onRanking(data), reports)
  }
  while (!signal.aborted) {
    let retryAfter: number | null = null
    try {
      const sending = {
        operation: 'GET /v1/leaderboards/{key}/live',
        method: 'GET',
        path,
        query,
        accept: 'text/event-stream',
        isStream: true,
        signal,
        // This loop tries again itself, as long as the leaderboard is watched.
        tries: 1,
      }
      await core.send(sending, async ({ body, headers }) => {
        // Another server has answered, such as the page of a Wi-Fi network.
        if (!headers.get('content-type')?.startsWith('text/event-stream'))
          throw new LaurelError('The answer is not a stream of events.', { status: 0 })
        const began = core.runtime.now()
        try {
          for await (const { event, data } of serverSentEvents(body, SILENCE, signal)) take(event, data)
        } finally {
          if (core.runtime.now() - began >= LONG_LIFE) pauses.reset()
        }
      })
      // Streams end after 15 minutes at most, which is no failure.
    } catch (error) {
      if (signal.aborted) return
      const isOver = !(error instanceof LaurelError) || isFinal(error.status, core.hasKeyFunction)
      tell(() => onError?.(error, isOver))
      if (isOver) return
      retryAfter = error instanceof LaurelError ? error.retryAfter : null
    }
    await core.runtime.sleep(pauses.begin(retryAfter), signal).catch(() => undefined)
  }
}

/** True if no later connection can work. Another user may sign in, if a function gives the key. */
const isFinal = (status: number, hasKeyFunction: boolean): boolean =>
  isRefusedForGood(status) || (!hasKeyFunction && [401, 403].includes(status))

/** True if the data of an event has the form of a state. */
function isState<State extends LiveRanking | LiveFinished>(data: unknown): data is State {
  const { version, rankings }: { version?: unknown; rankings?: unknown } = Object(data)
  return typeof version === 'number' && Array.isArray(rankings)
}
