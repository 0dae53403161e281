import type { Configuration } from '../../config/configuration.types'
import { type Instant, instant } from '../../lib/clock'
import type { BulkChange } from '../change.rules'
import { touch } from '../change.rules'
import type { UserState } from '../state.types'
import type { StreakEntry, StreakEvent } from './streak-events.types'
import type { StreakRun, StreakState } from './streak-state.types'
import { lengthOf } from './streaks.rules'

/** A change of only a user's streak at a moment, by due work, a recount or an admin. */
export function streakOnly(
  config: Configuration,
  before: UserState,
  streak: StreakState,
  {
    ended,
    streakEvents,
    streakEntries = [],
    isExtended = false,
  }: {
    ended: readonly StreakRun[]
    streakEvents: readonly StreakEvent[]
    streakEntries?: readonly StreakEntry[]
    isExtended?: boolean
  },
  at: Instant,
): BulkChange {
  const growth = lengthOf({ ...before, streak }) - lengthOf(before)
  const streakChange = { isExtended, growth, ended, streakEvents, streakEntries }
  const change = { before, event: null, awards: [], completed: [], ...streakChange }
  const changed = instant(Math.max(before.changed, at))
  const isAltered = growth !== 0 && !isExtended && streak.run !== null
  const known = isAltered ? { ...streak, altered: changed } : streak
  const after = touch(config, { ...before, seq: before.seq + 1, changed, streak: known }, change)
  return { ...change, after, onlyStreak: true }
}
