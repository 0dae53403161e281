import { type Instant, instant } from './clock'

/**
 * The machine's time. All other code gets `now` as an argument: if the test clock is set, `now` is another
 * time (C1).
 */
export function systemNow(): Instant {
  return instant(Date.now())
}

/** Waits in real time. The test clock does not matter. */
export function wait(ms: number): Promise<void> {
  return scheduler.wait(ms)
}
