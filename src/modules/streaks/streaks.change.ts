import type { LocalTime, UserState } from '../../engine/state'
import type { Micros } from '../../shared/decimal'
import type { Configuration } from '../configuration/configuration'
import { NO_NOTICES, type StreakNotice } from './notices'
import {
  abandoned,
  anchored,
  dayIn,
  extended,
  isStale,
  scheduled,
  settled,
  termsOf,
  travelled,
} from './streaks.rules'
import { NO_STREAK, type StreakRun } from './streaks.state'

/** What a change did to a user's streak. */
export type StreakChange = {
  /** Whether the event of this change extended it (S2). */
  isExtended: boolean
  /** By how much its length is another one. */
  growth: number
  /** Streaks that were lost on the way. */
  ended: readonly StreakRun[]
  /** What is to be told of it, in order (W6). */
  notices: readonly StreakNotice[]
}

/** A change that leaves the streak alone. */
const STREAK_AS_IT_WAS: StreakChange = { isExtended: false, growth: 0, ended: [], notices: NO_NOTICES }

/**
 * The streak's share of a change (E5): what was due by then is judged, a change of zone is taken in (S4), and the event, if it is one,
 * may extend it. A new user gets the initial freezes (U6).
 */
export function changeStreak(
  config: Configuration,
  before: UserState | null,
  user: UserState,
  { at, utcOffset }: LocalTime,
  event: { metricId: string; value: Micros } | null,
): { user: UserState; change: StreakChange } {
  const terms = termsOf(config, user.preferences)
  const hasLeft = before !== null && isOptedOut(user) && !isOptedOut(before)
  const today = Math.floor((at + utcOffset * 60_000) / 86_400_000)
  const known =
    before === null
      ? {
          ...NO_STREAK,
          frequency: terms.frequency,
          epoch: terms.epoch,
          born: today,
          freezes: terms.freezes?.initial ?? 0,
        }
      : user.streak
  if (isStale(known, terms)) return { user, change: STREAK_AS_IT_WAS }
  const ended: StreakRun[] = []
  const notices: StreakNotice[] = []
  let streak = known
  const settle = (tz: string | null, day: number) => {
    const now = settled({ ...user, streak, profile: { tz } }, terms, day)
    if (now.ended !== null) ended.push(now.ended)
    notices.push(...now.notices)
    streak = now.streak
  }
  const hasMoved = before !== null && before.profile.tz !== user.profile.tz
  if (hasMoved) {
    const from = dayIn(before.profile.tz, at)
    settle(before.profile.tz, from)
    streak = anchored({ ...user, streak, profile: before.profile }, terms)
    streak = travelled(streak, terms, [at, from, today])
  }
  settle(user.profile.tz, today)
  if (hasLeft) {
    if (streak.run !== null) ended.push(streak.run)
    streak = abandoned(streak)
  }
  const { streak: grown, isExtended } =
    event === null ? { streak, isExtended: false } : extended(streak, terms, { at, day: today, ...event })
  if (isExtended) notices.push({ kind: grown.run?.length === 1 ? 'started' : 'extended' })
  const isAsItWas = grown === known && !hasMoved && before?.preferences === user.preferences
  const after = isAsItWas ? grown : scheduled(user, grown, terms, today)
  const growth = (after.run?.length ?? 0) - (before?.streak.run?.length ?? 0)
  return {
    user: after === user.streak ? user : { ...user, streak: after },
    change: { isExtended, growth, ended, notices },
  }
}

const isOptedOut = ({ preferences }: Pick<UserState, 'preferences'>) => preferences.streak.enabled === false
