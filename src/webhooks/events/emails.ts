import * as z from 'zod'
import { DateResponse, Timestamp } from '../../api/fields'
import { UserAchievementResponse } from '../../api/shapes/achievements'
import { StreakResponse } from '../../api/shapes/streaks'
import { User } from '../../api/shapes/users'
import { iso } from '../../lib/clock'
import { addDays } from '../../lib/zone'
import { eventsWith, sampleAchievement, sampleStreak, sampleUser } from './event'

/** An email to a user is due (W6, N5). */
const dueEvent = eventsWith({ timestamp: Timestamp, user: User }, (when) => ({
  timestamp: iso(when.now),
  user: sampleUser(when),
}))

export const EMAIL_EVENTS = {
  /** About a completed achievement. */
  'emails.achievement_due': dueEvent({ achievement: UserAchievementResponse }, (when) => ({
    achievement: sampleAchievement(when),
  })),
  /** To a user who has been away. */
  'emails.reactivation_due': dueEvent(
    { reactivation: z.object({ messageNumber: z.int32(), daysSinceLastActive: z.int32() }) },
    () => ({ reactivation: { messageNumber: 1, daysSinceLastActive: 3 } }),
  ),
  /** A recap of a week or a month. The dates are local dates of the user, both inclusive. */
  'emails.recap_due': dueEvent(
    { recap: z.object({ periodStart: DateResponse, periodEnd: DateResponse }) },
    ({ today }) => ({ recap: { periodStart: addDays(today, -7), periodEnd: addDays(today, -1) } }),
  ),
  /** A reminder of the streak. */
  'emails.streak_reminder_due': dueEvent({ streak: StreakResponse }, (when) => ({
    streak: {
      ...sampleStreak(when, 2),
      expires: when.today,
      extended: null,
      streakHistory: [],
      pauses: [],
    },
  })),
}
