import type { OwnPlace, RankingRow } from './data.ts'

export type RankChange = { type: 'up' | 'down'; places: number } | { type: 'new' } | null

/** How a rank has changed. Null if it has not, or if the rank before is not known. */
export function rankChange({ rank, previousRank }: Pick<RankingRow, 'rank' | 'previousRank'>): RankChange {
  if (previousRank === undefined || previousRank === rank) return null
  if (previousRank === null) return { type: 'new' }
  return { type: previousRank > rank ? 'up' : 'down', places: Math.abs(previousRank - rank) }
}

export interface RankingView {
  rows: (RankingRow & { isOwn: boolean })[]
  /** The user's own row, if it is not among `rows`. Its rank is null if the user is not ranked. */
  pinned: (OwnPlace & { isOwn: true }) | undefined
}

/** The rows of a ranking with the user's own row, which is pinned if the page does not hold it. */
export function rankingView(rankings: readonly RankingRow[], own: OwnPlace | undefined): RankingView {
  const rows = rankings.map((row) => ({ ...row, isOwn: row.userId === own?.userId }))
  const isListed = rows.some(({ isOwn }) => isOwn)
  return { rows, pinned: own === undefined || isListed ? undefined : { ...own, isOwn: true } }
}

/**
 * The same ranking with the rank that each user had before, taken from an earlier ranking of the same run.
 * A user who kept the rank keeps the earlier `previousRank` too.
 */
export function withPreviousRanks(
  rankings: readonly RankingRow[],
  before: readonly RankingRow[],
): RankingRow[] {
  const earlier = new Map(before.map((row) => [row.userId, row]))
  // A user who was not in a full list may have been ranked below it.
  const hadAll = before.length > 0 && before.length < rankings.length
  return rankings.map((row) => {
    const was = earlier.get(row.userId)
    if (was === undefined) return { ...row, previousRank: hadAll ? null : undefined }
    return { ...row, previousRank: was.rank === row.rank ? was.previousRank : was.rank }
  })
}
