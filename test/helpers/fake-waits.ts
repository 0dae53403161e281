import { afterEach, beforeEach, vi } from 'vitest'

/**
 * Gives each test of a file timers that only it moves, also for `scheduler.wait`, whose calls are counted. `now` is
 * the moment at which each test begins, in milliseconds.
 */
export function fakeWaits(now = 1_000_000): { count: number } {
  const waited = { count: 0 }
  beforeEach(() => {
    waited.count = 0
    vi.useFakeTimers({ now })
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
