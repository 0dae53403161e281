import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromMicros, micros, multiply, type Rounding, toMicros } from '../../src/lib/decimal'
import { count, NEW_COUNTER } from '../../src/rules/state'
import { millionths } from '../oracle/points.oracle'

/** The served total after a value was added `times` times. */
function totalOf(value: number, times: number): number {
  let counter = NEW_COUNTER
  for (let n = 0; n < times; n += 1) counter = count(counter, toMicros(value))
  return fromMicros(counter.total)
}

describe('[E1] values in millionths', () => {
  test.each([
    [0.1, 100_000],
    [5e-7, 1],
    [-5e-7, -1],
    // The doubles below are smaller than their decimal texts. The text counts.
    [1.0000025, 1_000_003],
    [8.4999995, 8_500_000],
    [999_999_999.9999995, 1e15],
    [-5e-324, 0],
  ])('%d is %d', (value, expected) => {
    expect(toMicros(value) + 0).toBe(expected)
  })

  test('a value that rounds to nothing is 0, not -0, so the two look the same everywhere', () => {
    expect(Object.is(toMicros(-1e-7), 0)).toBe(true)
    expect(Object.is(count(NEW_COUNTER, toMicros(-0)).total, 0)).toBe(true)
  })

  test('agrees with exact fractions for every value up to seven decimals, and for any double', () => {
    const sevenDecimals = fc.integer({ min: -2_000_000_000, max: 2_000_000_000 }).map((n) => n / 1e7)
    const any = fc.double({ min: -1e9, max: 1e9, noNaN: true })
    fc.assert(
      fc.property(fc.oneof(sevenDecimals, any), (value) => {
        expect(BigInt(toMicros(value))).toBe(millionths(String(value)))
      }),
      { numRuns: 2_000 },
    )
  })

  test('a served value reads back as the same millionths', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e15, max: 1e15 }), (n) => {
        expect(toMicros(fromMicros(micros(n))) + 0).toBe(n + 0)
      }),
    )
  })

  test('0.1 ten times is 1, and 1,000,000 times 999.95 is 999,950,000', () => {
    expect(totalOf(0.1, 10)).toBe(1)
    expect(totalOf(999.95, 1_000_000)).toBe(999_950_000)
    expect(totalOf(-999.95, 1_000)).toBe(-999_950)
  })

  test('a value that a double cannot hold exactly is not a count of millionths', () => {
    for (const wrong of [0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => micros(wrong)).toThrow(RangeError)
    }
  })
})

describe('[P5] multiply', () => {
  test.each<[number, number[], Rounding, number]>([
    [5, [1.5], 'down', 7],
    [5, [1.5], 'up', 8],
    [5, [1.5], 'nearest', 8],
    // In doubles, 100 × 1.1 is 110.00000000000001, and 3 × 1.1 × 1.1 … is inexact as well.
    [100, [1.1], 'up', 110],
    [1_000, [1.1, 1.1, 1.1], 'up', 1_331],
    [7, [1e-7], 'up', 1],
    [10_000_000, [1e-7], 'down', 1],
    [7, [], 'up', 7],
  ])('%d × %j, rounded %s, is %d', (points, multipliers, rounding, expected) => {
    expect(multiply(points, multipliers, rounding)).toBe(expected)
  })

  test('is exact for all multipliers of up to three decimals', () => {
    const factors = fc.array(fc.integer({ min: 1, max: 99_999 }), { minLength: 1, maxLength: 4 })
    const points = fc.integer({ min: 1, max: 1_000_000 })
    fc.assert(
      fc.property(points, factors, (points, thousandths) => {
        const upper = thousandths.reduce((product, factor) => product * BigInt(factor), BigInt(points))
        const lower = 1_000n ** BigInt(thousandths.length)
        const multipliers = thousandths.map((factor) => factor / 1_000)
        const most = BigInt(Number.MAX_SAFE_INTEGER)
        const upTo = (value: bigint) => Number(value > most ? most : value)
        expect(multiply(points, multipliers, 'down')).toBe(upTo(upper / lower))
        expect(multiply(points, multipliers, 'up')).toBe(upTo((upper + lower - 1n) / lower))
        expect(multiply(points, multipliers, 'nearest')).toBe(upTo((2n * upper + lower) / (2n * lower)))
      }),
    )
  })

  test('stays a safe whole number if boosts make it enormous', () => {
    expect(multiply(1_000_000, Array(10).fill(99.99), 'down')).toBe(Number.MAX_SAFE_INTEGER)
  })
})
