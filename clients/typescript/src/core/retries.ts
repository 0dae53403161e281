import { startTimer } from './timers.js'

/** The most tries of one call, the first one included. */
export const MOST_TRIES = 10

/** The longest time that a call waits because of `Retry-After`, in seconds. After a longer one, it fails. */
const LONGEST_RETRY_AFTER = 60

/** The time and chance that a client uses. Tests replace them. */
export interface Runtime {
  /** Milliseconds since 1970. */
  now(): number
  /** Waits for some milliseconds. Rejects with the signal's reason when the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** A number from 0 (included) to 1 (excluded). */
  random(): number
}

/** True if the service asks for another try, with any method: it has stored nothing. */
export const isRefusedForNow = (status: number): boolean => status === 429 || status === 408

/** True if a request can never work as it is. After a 401 or 403, another key may help. */
export const isRefusedForGood = (status: number): boolean =>
  status >= 400 && status < 500 && ![401, 403].includes(status) && !isRefusedForNow(status)

/** True if another try may help, if the request may be sent twice. */
export const isFailureForNow = (status: number): boolean => status === 0 || status >= 500

/**
 * The seconds that `Retry-After` names, as a number or a date. Null if it is missing or has another form. A
 * date is one of the clock that wrote it, which the header `Date` shows.
 *
 * @param now the time if the answer has no `Date`
 */
export function retryAfterOf(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after') ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text))
  const date = Date.parse(headers.get('date') ?? '')
  const seconds = Math.ceil((Date.parse(text) - (Number.isNaN(date) ? now : date)) / 1000)
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}

/** True if a call may wait so long. */
export const mayWait = (retryAfter: number | null): boolean => (retryAfter ?? 0) <= LONGEST_RETRY_AFTER

/**
 * The reason for which a signal was aborted. Older browsers and React Native know none, and have no
 * `throwIfAborted`.
 */
export const reasonOf = (signal: AbortSignal): unknown =>
  signal.reason ?? Object.assign(new Error('The call was aborted.'), { name: 'AbortError' })

/** Throws the reason of a signal that was aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal)
}

/** Real time and chance. */
export const realRuntime: Runtime = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      const end = () => {
        stop()
        if (signal !== undefined) reject(reasonOf(signal))
      }
      const stop = startTimer(() => {
        signal?.removeEventListener('abort', end)
        resolve()
      }, milliseconds)
      if (signal?.aborted) end()
      else signal?.addEventListener('abort', end, { once: true })
    }),
}
