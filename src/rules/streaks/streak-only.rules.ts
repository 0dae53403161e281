import type { Configuration } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import { dayIn, offsetMinutes } from '../../lib/zone'
import { keepRevoked } from '../achievements.rules'
import { type BulkChange, rewarded, touch } from '../change.rules'
import type { UserState } from '../state'
import type { StreakChange } from './streak-change.rules'
import { extensionsOf, type StreakState } from './streak-state.rules'
import { isStale, lengthOf, scheduled, streakAsOf } from './streaks.rules'
import { termsOf } from './terms.rules'

/** The streaks that a change has ended, and its events and entries about the streak. */
type Told = Pick<StreakChange, 'ended' | 'streakEvents' | 'streakEntries'>

/**
 * A change of only a user's streak at a moment, by due work, a recount or an admin. If it extends the streak,
 * points and achievements follow, with ids from `id` (S2). Then the user must have been read completely.
 */
export function streakOnly(
  config: Configuration,
  before: UserState,
  streak: StreakState,
  { ended, streakEvents, streakEntries = [], isExtended = false }: Told & { isExtended?: boolean },
  { at, id }: { at: Instant; id: string },
): BulkChange {
  const growth = lengthOf({ ...before, streak }) - lengthOf(before)
  const streakChange = { isExtended, growth, ended, streakEvents, streakEntries }
  const changed = instant(Math.max(before.changed, at))
  const isAltered = growth !== 0 && !isExtended && streak.run !== null
  const known = isAltered ? { ...streak, altered: changed } : streak
  const next = { ...before, seq: before.seq + 1, changed, streak: known }
  const user = { ...next, revoked: keepRevoked(config, next, streakChange, true) }
  const extendedTo = extensionsOf(streakEvents)
  const local = { at: changed, utcOffset: offsetMinutes(user.profile.tz ?? 'UTC', changed) }
  const rewarding = { local, id, created: false, event: null, extendedTo, isTried: () => false }
  const isExtendedNow = extendedTo.length > 0
  const { after, awards, completed } = isExtendedNow
    ? rewarded(config, user, rewarding)
    : { after: user, awards: [], completed: [] }
  const change = { before, event: null, awards, completed, ...streakChange }
  return { ...change, after: touch(config, after, change), onlyStreak: !isExtendedNow }
}

/**
 * The change of a user whose streak is settled as of a moment, with the next deadline. None if that changes
 * nothing, or if the streak must be counted again first (S9). `open` is a streak that an admin has changed.
 */
export function judged(
  config: Configuration,
  user: UserState,
  at: Instant,
  newId: (at: Instant) => string,
  open: Told & Pick<UserState, 'streak'> = { streak: user.streak, ended: [], streakEvents: [] },
): BulkChange[] {
  const terms = termsOf(config, user.preferences)
  if (isStale(user.streak, terms)) return []
  const today = dayIn(user.profile.tz, at)
  const now = streakAsOf({ ...user, streak: open.streak }, terms, today, at)
  const streak = scheduled(user, now.streak, terms, today)
  if (streak === user.streak) return []
  const [ended, streakEvents] = [
    [...open.ended, ...now.ended],
    [...open.streakEvents, ...now.streakEvents],
  ]
  return [streakOnly(config, user, streak, { ...open, ended, streakEvents }, { at, id: newId(at) })]
}
