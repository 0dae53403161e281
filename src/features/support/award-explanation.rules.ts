import type { Trigger } from '../../configuration/configuration.types'
import { MICROS_PER_UNIT, multiply } from '../../lib/decimal'
import { agreedRounding } from '../../rules/points/boosts.rules'
import type { AppliedBoost } from '../../rules/state.types'

/** An award of the ledger. `counter` has the highest totals before and after, in millionths. */
export type ExplainedAward = {
  awarded: number
  total: number
  boosts: readonly Pick<AppliedBoost, 'multiplier' | 'rounding'>[]
  counter: { before: number; after: number } | null
  /** The points of a correction before cap and floor. Null for an award of a trigger, or if not known. */
  amount: number | null
}

/** The fields of the trigger as it was when it fired. */
type FiredTrigger = Pick<Trigger, 'type' | 'points'> & { metricThreshold?: number | undefined }

/** How the points of an award came about. Unknown parts are null. */
export type Arithmetic = {
  firings: number | null
  base: number | null
  afterBoosts: number | null
  limit: 'cap' | 'floor' | null
  total: { before: number; after: number }
}

/**
 * The steps from the points of the trigger to the points of the award (X1): firings (P1), boosts (P5), cap
 * and floor (P6). `trigger` is null for an entry that no trigger made.
 */
export function arithmeticOf(award: ExplainedAward, trigger: FiredTrigger | null): Arithmetic {
  const firings = trigger === null ? null : firingsOf(award, trigger)
  const base = trigger === null || firings === null ? null : trigger.points * firings
  const multipliers = award.boosts.map(({ multiplier }) => multiplier)
  // Corrections are not boosted (V1).
  const afterBoosts =
    base === null || multipliers.length === 0
      ? (base ?? award.amount)
      : multiply(base, multipliers, agreedRounding(award.boosts))
  return {
    firings,
    base,
    afterBoosts,
    limit: afterBoosts === null || afterBoosts === award.awarded ? null : afterBoosts > 0 ? 'cap' : 'floor',
    total: { before: award.total - award.awarded, after: award.total },
  }
}

/** How often the trigger fired. Null if the counter was not stored. */
function firingsOf({ counter }: ExplainedAward, trigger: FiredTrigger): number | null {
  if (trigger.type !== 'metric') return 1
  if (counter === null) return null
  const threshold = (trigger.metricThreshold ?? 1) * MICROS_PER_UNIT
  return Math.floor(counter.after / threshold) - Math.floor(counter.before / threshold)
}
