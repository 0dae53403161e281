import type { RankBy } from '../configuration/enumerations'
import { INT32_MAX, MICROS_PER_UNIT, type Micros } from '../lib/decimal'

declare const brand: unique symbol

/**
 * A score, or the amount that a change adds to one. Its unit depends on the board's `rankBy`: millionths of
 * the metric's total (E1), points, or periods of a streak. At run time, in messages and in SQLite it is a
 * whole number. For the type check it is not a number, so that only the functions of this file can calculate
 * with it.
 */
export type Score = { readonly [brand]: 'score' }

/** Whether a value from outside can be a score. */
export const isScore = (value: unknown): value is Score => Number.isInteger(value)

/** Turns a whole number in the board's unit into a score. Throws a RangeError if it is not whole. */
export function scoreOf(amount: number): Score {
  if (!isScore(amount)) throw new RangeError(`not a score: ${amount}`)
  return amount
}

/** A value of a metric as a score of a board that ranks by it. */
export const scoreOfMetric = (value: Micros): Score => scoreOf(value)

/** A score as a whole number, in the board's unit. */
export const amountOf = (score: Score): number => Number(score)

export const ZERO = scoreOf(0)

/** The sum of two scores of one board. */
export const plus = (a: Score, b: Score): Score => scoreOf(amountOf(a) + amountOf(b))

/** Orders scores of one board, the lowest first. */
export const compareScores = (a: Score, b: Score): number => amountOf(a) - amountOf(b)

/** Whether a score is ranked: only scores above 0 are (L4). */
export const isRanked = (score: Score): boolean => amountOf(score) > 0

/** How many units of a score make one unit of the served value. */
const UNITS = { metric: MICROS_PER_UNIT, points: 1, streak: 1 } as const satisfies Record<RankBy, number>

/** A score in whole metrics, points or periods, not rounded. */
export const exactValue = (score: Score, rankBy: RankBy): number => amountOf(score) / UNITS[rankBy]

/** A score as it is served: in whole metrics, points or periods, rounded down, within 32 bits (L3, G11). */
export const servedValue = (score: Score, rankBy: RankBy): number =>
  Math.min(Math.floor(exactValue(score, rankBy)), INT32_MAX)
