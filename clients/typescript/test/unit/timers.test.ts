import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startTimer } from '../../src/app.js'
import { Pauses } from '../../src/core/pauses.js'
import { realRuntime } from '../../src/core/retries.js'

const DAY = 86_400_000

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it.each([1, 1000, 24 * DAY, 25 * DAY, 100 * DAY])('a timer of %d ms ends after that time', (time) => {
  const run = vi.fn()
  startTimer(run, time)
  vi.advanceTimersByTime(time - 1)
  expect(run).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(run).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

it('an infinite timer never ends', () => {
  const run = vi.fn()
  startTimer(run, Number.POSITIVE_INFINITY)
  vi.advanceTimersByTime(1000 * DAY)
  expect(run).not.toHaveBeenCalled()
})

it('a timer of no number ends at once', () => {
  const run = vi.fn()
  startTimer(run, Number.NaN)
  vi.advanceTimersByTime(1)
  expect(run).toHaveBeenCalledOnce()
})

it('a timer can be stopped, also in a later part of its time', () => {
  const run = vi.fn()
  const stop = startTimer(run, 60 * DAY)
  vi.advanceTimersByTime(59 * DAY)
  stop()
  expect(vi.getTimerCount()).toBe(0)
  vi.advanceTimersByTime(10 * DAY)
  expect(run).not.toHaveBeenCalled()
})

it('a pause of many days is as long as it says, and its signal ends it', async () => {
  const ended = vi.fn()
  void realRuntime.sleep(40 * DAY).then(ended)
  await vi.advanceTimersByTimeAsync(40 * DAY - 1)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(ended).toHaveBeenCalledOnce()
  const controller = new AbortController()
  const failed = vi.fn()
  void realRuntime.sleep(40 * DAY, controller.signal).catch(failed)
  await vi.advanceTimersByTimeAsync(30 * DAY)
  controller.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(failed).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

it.each([
  [2 ** 31, 3_600_000],
  [Number.POSITIVE_INFINITY, 3_600_000],
  [3600, 3_600_000],
  [7, 7500],
  [0, 500],
  [-7, 500],
  [Number.NaN, 500],
])('after Retry-After: %d, the pause is %d ms, however often it is asked for', (retryAfter, length) => {
  const pauses = new Pauses({ now: () => 0, random: () => 1 })
  expect(pauses.begin(retryAfter)).toBe(length)
  expect([pauses.left(), pauses.left()]).toEqual([length, length])
})

it('a pause ends with its signal, also in a browser whose signals have no reason', async () => {
  const controller = new AbortController()
  const { signal } = controller
  Object.defineProperties(signal, { reason: { value: undefined }, throwIfAborted: { value: undefined } })
  const ended = realRuntime.sleep(1000, signal)
  controller.abort()
  await expect(ended).rejects.toMatchObject({ name: 'AbortError' })
  expect(vi.getTimerCount()).toBe(0)
})
