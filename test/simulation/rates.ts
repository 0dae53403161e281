import type { Rates } from './faults'

/** The shares of failing calls in an ordinary step. */
export const RATES: Rates = {
  d1: { before: 0.015, after: 0.015, late: 0.01 },
  lane: { before: 0.08, after: 0.08, late: 0.04 },
  board: { before: 0.04, after: 0.04, late: 0.02, double: 0.05 },
  timekeeper: { before: 0.05, after: 0.03, late: 0.02, double: 0.05 },
  delivery: { before: 0.05, after: 0.05, late: 0.02, double: 0.05 },
  kv: { before: 0.1, drop: 0.2, stale: 0.1 },
  queue: { before: 0.1, after: 0.05, drop: 0.15, double: 0.15 },
}
