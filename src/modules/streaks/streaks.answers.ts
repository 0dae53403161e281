import type { z } from 'zod'
import type { UserState } from '../../engine/state'
import { civilDateOfDay } from '../../shared/civil'
import type { Instant } from '../../shared/clock'
import { LAST_DAY, periodEnd, periodStart } from '../../shared/periods'
import type { Configuration } from '../configuration/configuration'
import { dayIn, endangered, isStale, settled, termsOf } from './streaks.rules'
import type { BaseStreakResponse } from './streaks.schemas'

/** A user's streak as it is by the rules at a moment, not as stored (S3). */
export function streakAnswer(
  config: Configuration,
  user: Pick<UserState, 'created' | 'streak' | 'preferences' | 'profile'>,
  at: Instant,
): z.infer<typeof BaseStreakResponse> {
  const terms = termsOf(config, user.preferences)
  const today = dayIn(user.profile.tz, at)
  const { streak } = settled(user, terms, today)
  const { frequency, freezes } = terms
  const isOver = !terms.isOn || streak.run === null || isStale(streak, terms)
  const inHand = freezes !== null && {
    freezes: streak.freezes,
    maxFreezes: freezes.max,
    ...(freezes.autoEarnInterval !== null && {
      freezeAutoEarnInterval: freezes.autoEarnInterval,
      freezeAutoEarnAmount: freezes.autoEarnAmount,
    }),
  }
  if (isOver || streak.run === null) {
    const nothing = { started: null, periodStart: null, periodEnd: null, expires: null }
    return { length: 0, frequency, ...nothing, ...inHand }
  }
  const start = periodStart(today, frequency)
  return {
    length: streak.run.length,
    frequency,
    started: dateOf(streak.run.started),
    periodStart: dateOf(start),
    periodEnd: dateOf(periodEnd(start, frequency)),
    expires: dateOf(periodEnd(endangered(streak, terms, today), frequency)),
    ...inHand,
  }
}

/** A day as a date; the last one that can be written, beyond that. */
export const dateOf = (day: number) => civilDateOfDay(Math.min(day, LAST_DAY))
