import { describe, expect, it } from 'vitest'
import { instant } from '../../src/lib/clock'
import {
  afterFailure,
  afterSuccess,
  HEALTHY,
  heldSince,
  heldUntil,
  isGivenUp,
  isOfAnotherTime,
  retryAt,
} from '../../src/webhooks/delivery/retries.rules'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const T = instant(1_800_000_000_000)

describe('[W4] the next attempt of a message', () => {
  it('is 1 min, 5 min, 30 min, 2 h, 6 h, 12 h after the attempt before, then never', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8].map((tries) => {
      const at = retryAt(tries, T)
      return at === null ? null : (at - T) / MINUTE
    })
    expect(pauses).toEqual([1, 5, 30, 120, 360, 720, null, null])
  })

  it('waits longer if the destination asks for it, up to a day; never shorter, and not after the last attempt', () => {
    expect(retryAt(1, T, 10 * MINUTE)).toBe(T + 10 * MINUTE)
    expect(retryAt(2, T, 10_000)).toBe(T + 5 * MINUTE)
    expect(retryAt(1, T, 1e12)).toBe(T + 24 * HOUR)
    expect(retryAt(7, T, MINUTE)).toBeNull()
    expect(retryAt(1, T, 61_000.5)).toBe(T + 61_001)
  })
})

describe('a destination that fails', () => {
  it('rests for 5 minutes from the 20th failure in a row, and again after each failed probe', () => {
    let health = HEALTHY
    for (let n = 1; n < 20; n += 1) health = afterFailure(health, T)
    expect(health).toEqual({ failures: 19, probeAt: null, restedUntil: null })
    expect(afterFailure(afterSuccess(health, T), T).probeAt).toBeNull()
    health = afterFailure(health, T)
    expect(health.probeAt).toBe(T + 5 * MINUTE)
    health = afterFailure(health, instant(T + 5 * MINUTE))
    expect(health.probeAt).toBe(T + 10 * MINUTE)
    const well = afterSuccess(health, instant(T + 10 * MINUTE))
    expect(well).toEqual({ failures: 0, probeAt: null, restedUntil: T + 10 * MINUTE })
    expect(afterSuccess(well, instant(T + HOUR)).restedUntil).toBe(T + 10 * MINUTE)
  })

  it('rests for as long as the receiver asks for, at most an hour, whatever else fails or succeeds meanwhile', () => {
    const asked = afterFailure(HEALTHY, T, 10 * MINUTE)
    const until = T + 10 * MINUTE
    expect(asked).toEqual({ failures: 1, probeAt: until, restedUntil: null, askedUntil: until })
    expect(afterFailure(HEALTHY, T, 1e12).probeAt).toBe(T + HOUR)
    expect(afterFailure(asked, instant(T + MINUTE)).probeAt).toBe(T + 10 * MINUTE)
    expect(afterFailure(asked, instant(T + MINUTE), MINUTE).probeAt).toBe(T + 10 * MINUTE)
    expect(afterSuccess(asked, instant(T + MINUTE))).toEqual({ ...asked, failures: 0 })
    const end = instant(T + 10 * MINUTE)
    expect(afterFailure(asked, end)).toEqual({ failures: 2, probeAt: null, restedUntil: end })
    expect(afterSuccess(asked, end)).toEqual({ failures: 0, probeAt: null, restedUntil: end })
    expect(isGivenUp(asked, T - 100 * HOUR, T)).toBe(false)
    // So also after 20 failures in a row: what was under way when the receiver asked does not end the wait.
    for (const wait of [SECOND, MINUTE, 10 * MINUTE]) {
      const busy = afterFailure({ ...HEALTHY, failures: 19 }, T, wait)
      expect(busy.probeAt).toBe(T + Math.max(wait, 5 * MINUTE))
      expect(afterSuccess(busy, instant(T + wait - 1)).probeAt).toBe(T + wait)
      expect(afterSuccess(busy, instant(T + wait)).probeAt).toBeNull()
    }
  })

  it('gives up messages that are older than 24 hours, but only while it rests', () => {
    const resting = { failures: 20, probeAt: T, restedUntil: null }
    expect(isGivenUp(resting, T - 24 * HOUR, T)).toBe(false)
    expect(isGivenUp(resting, T - 24 * HOUR - 1, T)).toBe(true)
    expect(isGivenUp({ ...resting, probeAt: null }, T - 100 * HOUR, T)).toBe(false)
    // A wait that the receiver asks for is such a rest only after 20 failures in a row.
    let asked = HEALTHY
    for (let n = 1; n < 20; n += 1) asked = afterFailure(asked, T, HOUR)
    expect(isGivenUp(asked, T - 100 * HOUR, T)).toBe(false)
    expect(isGivenUp(afterFailure(asked, T, HOUR), T - 100 * HOUR, T)).toBe(true)
  })
})

it('[C1] a rest that ends later than the longest rest from now comes from another clock', () => {
  const of = (probeAt: number | null, restedUntil: number | null) =>
    isOfAnotherTime(
      {
        failures: 20,
        probeAt: probeAt === null ? null : instant(probeAt),
        restedUntil: restedUntil === null ? null : instant(restedUntil),
      },
      T,
    )
  expect([of(null, null), of(T + HOUR, T - HOUR), of(T - HOUR, null)]).toEqual([false, false, false])
  expect([of(T + HOUR + 1, null), of(null, T + HOUR + 1)]).toEqual([true, true])
})

it('a message blocks later ones for an hour', () => {
  expect(heldUntil(T)).toBe(T + HOUR)
  expect(heldSince(instant(T + HOUR))).toBe(T)
})
