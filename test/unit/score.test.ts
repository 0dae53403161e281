import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  exactValue,
  isRanked,
  isScore,
  plus,
  type Score,
  scoreOf,
  scoreOfMetric,
  servedValue,
} from '../../src/leaderboards/score.rules'
import { type Micros, toMicros } from '../../src/lib/decimal'

/* `npm run types` checks the types. */

describe('a score', () => {
  it('is not a number for the type check, and neither numbers nor millionths are scores', () => {
    expectTypeOf<Score>().not.toExtend<number>()
    expectTypeOf<number>().not.toExtend<Score>()
    expectTypeOf<Micros>().not.toExtend<Score>()
    expectTypeOf<Parameters<typeof plus>>().toEqualTypeOf<[Score, Score]>()
    // @ts-expect-error: the unit of the number is unknown
    expect(() => plus(scoreOf(1), 0.5)).toThrow(RangeError)
  })

  it('[L3] is whole, and may be larger than the largest safe integer', () => {
    for (const wrong of [0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => scoreOf(wrong)).toThrow(RangeError)
      expect(isScore(wrong)).toBe(false)
    }
    expect([isScore(1e16), scoreOf(1e16)]).toEqual([true, 1e16])
  })

  it('[L3, L4] is served in whole metrics, points or periods, rounded down, and ranked above 0', () => {
    const score = plus(scoreOfMetric(toMicros(2.25)), scoreOfMetric(toMicros(0.5)))
    expect([exactValue(score, 'metric'), servedValue(score, 'metric')]).toEqual([2.75, 2])
    expect([exactValue(scoreOf(7), 'points'), servedValue(scoreOf(7), 'streak')]).toEqual([7, 7])
    expect(servedValue(scoreOf(2 ** 53), 'points')).toBe(2_147_483_647)
    expect([-1, 0, 1].map(scoreOf).map(isRanked)).toEqual([false, false, true])
  })
})
