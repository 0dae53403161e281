import { afterEach, expect, test, vi } from 'vitest'
import { DrainDebouncer } from '../../src/delivery/drain-debouncer.cache'

afterEach(() => vi.useRealTimers())

test('one call of the queue covers what is stored within 0.8 seconds, for each tenant on its own', () => {
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
})

test('a clock that went back covers nothing', () => {
  vi.useFakeTimers({ now: 1_000_000 })
  const debouncer = new DrainDebouncer()
  debouncer.isCovered('a')
  vi.setSystemTime(999_000)
  expect(debouncer.isCovered('a')).toBe(false)
})
