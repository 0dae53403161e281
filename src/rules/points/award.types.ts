import type { CorrectionType } from '../../configuration/enumerations.types'
import type { Instant } from '../../lib/clock'
import type { AwardRecord } from '../state.types'

/**
 * An entry of the ledger. `type` is null for an award of a trigger. A reversal has the trigger of the award
 * that it reverses, and an adjustment has none.
 */
export type StoredAward = {
  id: string
  at: Instant
  awarded: number
  total: number
  type: CorrectionType | null
  triggerId: string | null
  triggerVersion: number
  boosts: AwardRecord['boosts'] | null
}
