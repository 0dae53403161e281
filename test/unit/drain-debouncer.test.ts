import { afterEach, expect, test, vi } from 'vitest'
import { DrainDebouncer } from '../../src/webhooks/delivery/drain'

afterEach(() => vi.useRealTimers())

test('one queue message covers all entries that are stored within 0.8 seconds, separately for each tenant', () => {
  vi.useFakeTimers({ now: 1_000_000 })
  const debouncer = new DrainDebouncer()
  expect([debouncer.isCovered('a'), debouncer.isCovered('a'), debouncer.isCovered('b')]).toEqual([
    false,
    true,
    false,
  ])
  vi.setSystemTime(1_000_799)
  expect(debouncer.isCovered('a')).toBe(true)
  vi.setSystemTime(1_000_800)
  expect([debouncer.isCovered('a'), debouncer.isCovered('a')]).toEqual([false, true])
  debouncer.forget('a')
  expect(debouncer.isCovered('a')).toBe(false)
  // After the clock goes back, nothing is covered.
  vi.setSystemTime(999_000)
  expect(debouncer.isCovered('a')).toBe(false)
})
