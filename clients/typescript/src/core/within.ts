import { reasonOf, throwIfAborted } from './retries.js'
import { Signals } from './signals.js'
import { startTimer } from './timers.js'

/**
 * Runs something that ends with a signal, and after some milliseconds, whatever it waits for: functions of the
 * app, such as `apiKey` or another `fetch`, may never answer, and know nothing of the signal. If it fails, the
 * rest of it ends too, such as an answer that nobody reads: it would keep its connection.
 *
 * @param run gets a signal of its own, and a function that stops the timer
 * @param late makes the error if it takes too long
 * @param signals is shared by calls that may have the same signal
 */
export async function within<T>(
  timeout: number,
  signal: AbortSignal | undefined,
  late: () => Error,
  run: (signal: AbortSignal, stopTimer: () => void) => Promise<T>,
  signals = new Signals(),
): Promise<T> {
  throwIfAborted(signal)
  const controller = new AbortController()
  let stopTimer = () => {}
  let stopListening = () => {}
  const ended = new Promise<never>((_, reject) => {
    const end = (reason: unknown) => {
      reject(reason)
      controller.abort()
    }
    stopTimer = startTimer(() => end(late()), timeout)
    if (signal) stopListening = signals.listen(signal, () => end(reasonOf(signal)))
  })
  try {
    return await Promise.race([run(controller.signal, stopTimer), ended])
  } catch (error) {
    controller.abort()
    throwIfAborted(signal)
    throw error
  } finally {
    stopTimer()
    stopListening()
  }
}
