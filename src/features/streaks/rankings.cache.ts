import { BoundedMap } from '../../lib/bounded'
import type { Instant } from '../../lib/clock'
import { perInstance } from '../../runtime/instance'

/** Who has the longest streaks of a tenant, at most as many as may be asked for, as of a moment and a version of its configuration. */
export type KeptRanking = {
  version: number
  computed: Instant
  ranked: readonly { userId: string; length: number }[]
}

/**
 * Rankings of large tenants by tenant id and type, at most 100 of them; each is used for a minute only, and only at the version that D1
 * says is the present one.
 */
class RankingCache extends BoundedMap<string, KeptRanking> {
  constructor() {
    super(100)
  }
}

export const rankingsOf = perInstance(() => new RankingCache())
