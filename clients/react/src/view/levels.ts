import type { LevelData } from './data.ts'

export interface LevelView {
  /** The user's level. Null below the first one (P9). */
  level: LevelData | null
  /** The next level. Null at the top. */
  next: LevelData | null
  /** Points of the present level, or 0. The bar begins here. */
  from: number
  /** Points of the next level, or of the present one at the top. The bar ends here. */
  to: number
  /** Points that are missing for the next level. */
  remaining: number
  /** How far the user is between the two levels: 0 to 1. */
  ratio: number
}

/** The level of a total, and the way to the next one (P9). The levels may be in any order. */
export function levelView(total: number, levels: readonly LevelData[]): LevelView {
  const ordered = [...levels].sort((a, b) => a.points - b.points)
  const level = ordered.filter(({ points }) => points <= total).at(-1) ?? null
  const next = ordered.find(({ points }) => points > total) ?? null
  const from = level?.points ?? 0
  if (next === null) return { level, next, from: 0, to: from, remaining: 0, ratio: level === null ? 0 : 1 }
  const ratio = (total - from) / (next.points - from)
  return { level, next, from, to: next.points, remaining: next.points - total, ratio }
}
