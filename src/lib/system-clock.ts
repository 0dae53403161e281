import { type Instant, instant } from './clock'

/** The machine's time. Everything else takes `now` as an argument; with the test clock set it is not this (C1). */
export function systemNow(): Instant {
  return instant(Date.now())
}

/** Waits in real time, whatever the test clock says. */
export function wait(ms: number): Promise<void> {
  return scheduler.wait(ms)
}
