import type { Metric } from '../config/configuration.types'
import { type Micros, micros } from '../lib/decimal'
import { errors } from '../lib/errors'
import type { Counter, UserState } from './state.types'

const ZERO = micros(0)
/** A metric's total stays within this, on both sides (E1). */
const MOST = 9_007_199_254_000_000

/** A counter that has never counted. */
export const NEW_COUNTER: Counter = { total: ZERO, highest: ZERO }

/**
 * A counter after a value was added to it. It stays within E1's bounds: a metric's total is refused before it leaves them, and a
 * trigger's own counter, which can get there although the metric's total doesn't, stands still.
 */
export function count(counter: Counter, value: Micros): Counter {
  const total = micros(Math.max(-MOST, Math.min(counter.total + value, MOST)))
  return { total, highest: micros(Math.max(total, counter.highest)) }
}

/** The user's counter of a metric before and after an event of so many millionths. Throws 422 past E1's bounds. */
export function addToMetric(
  user: UserState,
  metric: Metric,
  value: Micros,
): { before: Counter; after: Counter } {
  const before = user.metrics.get(metric.id) ?? NEW_COUNTER
  if (Math.abs(before.total + value) > MOST) {
    throw errors.unprocessable(
      `value: the user's total in this metric would leave ±${MOST / 1e6}. Send a smaller value.`,
    )
  }
  return { before, after: count(before, value) }
}
