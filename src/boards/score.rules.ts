import type { RankBy } from '../config/enumerations.types'
import { INT32_MAX, MICROS_PER_UNIT, type Micros } from '../lib/decimal'

declare const brand: unique symbol

/**
 * A score, or what a change adds to one. Its unit depends on the board's `rankBy`: millionths of the metric's total (E1), points, or periods
 * of a streak. It is a whole number when the code runs, in messages and in SQLite. For the type check it is no number: only the functions of
 * this file can calculate with it.
 */
export type Score = { readonly [brand]: 'score' }

/** Whether a value that comes from outside can be a score. */
export const isScore = (value: unknown): value is Score => Number.isInteger(value)

/** A whole number as a score, in the board's unit; throws a RangeError if it is not whole. */
export function scoreOf(amount: number): Score {
  if (!isScore(amount)) throw new RangeError(`not a score: ${amount}`)
  return amount
}

/** A value of a metric as a score of a board that ranks by it. */
export const scoreOfMetric = (value: Micros): Score => scoreOf(value)

/** The whole number that a score is, in the board's unit. */
export const amountOf = (score: Score): number => Number(score)

export const ZERO = scoreOf(0)

/** The sum of two scores of one board. */
export const plus = (a: Score, b: Score): Score => scoreOf(amountOf(a) + amountOf(b))

/** Orders scores of one board, the lowest first. */
export const compareScores = (a: Score, b: Score): number => amountOf(a) - amountOf(b)

/** Whether a score is ranked: only those above 0 are (L4). */
export const isRanked = (score: Score): boolean => amountOf(score) > 0

/** How much of a score makes one of what is served. */
const UNITS = { metric: MICROS_PER_UNIT, points: 1, streak: 1 } as const satisfies Record<RankBy, number>

/** A score in whole metrics, points or periods, not rounded. */
export const exactValue = (score: Score, rankBy: RankBy): number => amountOf(score) / UNITS[rankBy]

/** A score as it is served: in whole metrics, points or periods, rounded down, within 32 bits (L3, G11). */
export const servedValue = (score: Score, rankBy: RankBy): number =>
  Math.min(Math.floor(exactValue(score, rankBy)), INT32_MAX)
