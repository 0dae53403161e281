import { BoundedMap } from '../../lib/bounded'
import type { Instant } from '../../lib/clock'
import { perInstance } from '../../platform/instance'

/**
 * The users with the longest streaks of a tenant, as many as a request may ask for, at a moment and a version
 * of the configuration.
 */
export type KeptRanking = {
  version: number
  computed: Instant
  ranked: readonly { userId: string; length: number }[]
}

/** At most 100, by tenant id and type. Each is used for a minute, only while D1 has its version. */
class RankingCache extends BoundedMap<string, KeptRanking> {
  constructor() {
    super(100)
  }
}

export const rankingsOf = perInstance(() => new RankingCache())
