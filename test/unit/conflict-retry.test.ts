import { expect, test } from 'vitest'
import { IN_ISOLATE, IN_LANE, isOver, pauseAfter } from '../../src/store/commit/commit'

test('[E3] the lane gives up by the number of conflicts, or by time', () => {
  expect(isOver(IN_LANE, { conflicts: 29, ms: 9_999 })).toBe(false)
  expect(isOver(IN_LANE, { conflicts: 30, ms: 0 })).toBe(true)
  expect(isOver(IN_LANE, { conflicts: 1, ms: 10_000 })).toBe(true)
})

test('[E3] an isolate gives up by the number of conflicts alone', () => {
  expect(isOver(IN_ISOLATE, { conflicts: 2, ms: 1e9 })).toBe(false)
  expect(isOver(IN_ISOLATE, { conflicts: 3, ms: 0 })).toBe(true)
})

test('[E3] the lane’s pauses grow up to 0.2 s, each a random part of its bound; an isolate does not pause', () => {
  const bounds = [1, 2, 3, 4, 5, 6, 30].map((nth) => pauseAfter(IN_LANE, nth, 1))
  expect(bounds).toEqual([10, 20, 40, 80, 160, 200, 200])
  expect([pauseAfter(IN_LANE, 30, 0), pauseAfter(IN_LANE, 30, 0.25)]).toEqual([0, 50])
  expect([1, 2].map((nth) => pauseAfter(IN_ISOLATE, nth, 1))).toEqual([0, 0])
})
