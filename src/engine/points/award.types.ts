import type { Instant } from '../../lib/clock'
import type { AwardRecord } from '../state.types'

/** An award as the ledger stores it. */
export type StoredAward = {
  id: string
  at: Instant
  awarded: number
  total: number
  triggerId: string
  triggerVersion: number
  boosts: AwardRecord['boosts'] | null
}
