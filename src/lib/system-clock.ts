import { type Instant, instant } from './clock'

/** The machine's time. Other code gets `now` as an argument: a test clock shows another time (C1). */
export function systemNow(): Instant {
  return instant(Date.now())
}

/** Waits in real time. The test clock does not matter. */
export function wait(ms: number): Promise<void> {
  return scheduler.wait(ms)
}

/**
 * Waits for work for at most `patience` milliseconds. If the work takes longer, it throws the error of
 * `onTimeout`; the work itself continues. It leaves no timer behind, because a timer keeps an object awake,
 * and that costs money.
 */
export async function within<T>(
  patience: number,
  work: Promise<T>,
  onTimeout: () => Error = () => new Error(`no answer within ${patience} ms`),
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(onTimeout()), patience)
  })
  try {
    return await Promise.race([work, tooLong])
  } finally {
    clearTimeout(timer)
  }
}
