import { afterEach, expect, test, vi } from 'vitest'
import { Wakes } from '../../src/delivery/drain-debouncer.cache'

afterEach(() => vi.useRealTimers())

test('one call of the queue covers what is stored within 0.8 seconds, for each tenant on its own', () => {
  vi.useFakeTimers({ now: 1_000_000 })
  const wakes = new Wakes()
  expect([wakes.isCovered('a'), wakes.isCovered('a'), wakes.isCovered('b')]).toEqual([false, true, false])
  vi.setSystemTime(1_000_799)
  expect(wakes.isCovered('a')).toBe(true)
  vi.setSystemTime(1_000_800)
  expect([wakes.isCovered('a'), wakes.isCovered('a')]).toEqual([false, true])
  wakes.forget('a')
  expect(wakes.isCovered('a')).toBe(false)
})

test('a clock that went back covers nothing', () => {
  vi.useFakeTimers({ now: 1_000_000 })
  const wakes = new Wakes()
  wakes.isCovered('a')
  vi.setSystemTime(999_000)
  expect(wakes.isCovered('a')).toBe(false)
})
