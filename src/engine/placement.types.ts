/** Where a change has put its user (L11): the run as days since 1970-01-01, ranks from 1, null while outside. */
export type Placement = {
  run: { start: number; end: number | null }
  rank: number | null
  previousRank: number | null
  /** The last score of a full ranking as served, else 0 (L5). */
  threshold: number
}

/** Where one change has put its user, by leaderboard id. */
export type Placements = ReadonlyMap<string, Placement>
