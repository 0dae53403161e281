/**
 * The user's place on a leaderboard after a change (L11). Days of the run are days since 1970-01-01. Ranks
 * begin at 1, and null is outside of the ranking.
 */
export type Placement = {
  run: { start: number; end: number | null }
  rank: number | null
  previousRank: number | null
  /** The last score of a full ranking as served, or 0 (L5). */
  threshold: number
}

/** The user's places after one change, by leaderboard id. */
export type Placements = ReadonlyMap<string, Placement>
