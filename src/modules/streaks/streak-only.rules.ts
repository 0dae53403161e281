import { touch } from '../../engine/happen'
import type { UserState } from '../../engine/state'
import { type Instant, instant } from '../../shared/clock'
import type { Configuration } from '../configuration/configuration'
import type { BulkChange } from '../users/changes.repository'
import type { StreakNotice } from './notices'
import { lengthOf } from './streaks.rules'
import type { StreakRun, StreakState } from './streaks.state'

/** A change of nothing but a user's streak, at a moment: by what falls due, by a recount, or by an admin. */
export function streakOnly(
  config: Configuration,
  before: UserState,
  streak: StreakState,
  {
    ended,
    notices,
    isExtended = false,
  }: { ended: readonly StreakRun[]; notices: readonly StreakNotice[]; isExtended?: boolean },
  at: Instant,
): BulkChange {
  const growth = lengthOf({ ...before, streak }) - lengthOf(before)
  const change = { before, event: null, awards: [], completed: [], isExtended, growth, ended, notices }
  const changed = instant(Math.max(before.changed, at))
  const isAltered = growth !== 0 && !isExtended && streak.run !== null
  const known = isAltered ? { ...streak, altered: changed } : streak
  const after = touch(config, { ...before, seq: before.seq + 1, changed, streak: known }, change)
  return { ...change, after, onlyStreak: true }
}
