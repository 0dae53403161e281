import { afterEach, beforeEach, vi } from 'vitest'

/** Gives each test of a file timers that it moves, also for `scheduler.wait`, whose calls are counted. */
export function fakeWaits(): { count: number } {
  const waited = { count: 0 }
  beforeEach(() => {
    waited.count = 0
    vi.useFakeTimers({ now: 1_000_000 })
    vi.stubGlobal('scheduler', {
      wait: (ms: number) => {
        waited.count += 1
        return new Promise((resolve) => setTimeout(resolve, ms))
      },
    })
  })
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })
  return waited
}
