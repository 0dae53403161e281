import type { Metric } from '../configuration/model'
import { MICROS_PER_UNIT, type Micros, micros } from '../lib/decimal'
import { errors } from '../lib/errors'
import { MOST_METRIC_TOTAL } from '../lib/limits'
import type { Counter, UserState } from './state'

const ZERO = micros(0)
/** The limit of a metric's total in millionths, above and below zero (E1). */
export const MOST_TOTAL = micros(MOST_METRIC_TOTAL * MICROS_PER_UNIT)

/** The counter before the first event. */
export const NEW_COUNTER: Counter = { total: ZERO, highest: ZERO }

/**
 * The counter plus a value. It stays within E1's bounds.
 * A metric's total never gets there, because `addToMetric` throws before. A trigger's own counter can get
 * there although the metric's total does not, and then it stays at the bound.
 */
export function count(counter: Counter, value: Micros): Counter {
  const total = micros(Math.max(-MOST_TOTAL, Math.min(counter.total + value, MOST_TOTAL)))
  return { total, highest: micros(Math.max(total, counter.highest)) }
}

/**
 * The user's counter of a metric before and after an event. `value` is in millionths. Throws 422 if the total
 * would leave E1's bounds.
 */
export function addToMetric(
  user: UserState,
  metric: Metric,
  value: Micros,
): { before: Counter; after: Counter } {
  const before = user.metrics.get(metric.id) ?? NEW_COUNTER
  if (Math.abs(before.total + value) > MOST_TOTAL) {
    throw errors.unprocessable(
      `value: the user's total in this metric would leave ±${MOST_METRIC_TOTAL}. Send a smaller value.`,
    )
  }
  return { before, after: count(before, value) }
}

/**
 * The counter of a metric after these values, in order. Null if its total would leave E1's bounds, now or at
 * an earlier moment.
 */
export function totalOfLog(values: readonly Micros[]): Counter | null {
  let counter = NEW_COUNTER
  for (const value of values) {
    if (Math.abs(counter.total + value) > MOST_TOTAL) return null
    counter = count(counter, value)
  }
  return counter
}
