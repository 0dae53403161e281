import * as z from 'zod'
import { Timestamp } from '../../../http/fields'
import { addDays } from '../../../lib/civil'
import { iso } from '../../../lib/clock'
import { UserAchievementResponse } from '../../../wire/achievement.schemas'
import { StreakResponse } from '../../../wire/streak.schemas'
import { User } from '../../../wire/user.schemas'
import { webhookEvent } from './event.types'
import { achievement, streak, user } from './parts.builder'

const date = z.string().meta({ format: 'date' })

/** The events of what is due to be sent to users (W2). */
export const emailsEvents = {
  'emails.achievement_due': webhookEvent(
    z.object({
      timestamp: Timestamp,
      user: User,
      achievement: UserAchievementResponse,
    }),
    (when) => ({
      timestamp: iso(when.now),
      user: user(when),
      achievement: achievement(when),
    }),
  ),
  'emails.reactivation_due': webhookEvent(
    z.object({
      timestamp: Timestamp,
      user: User,
      reactivation: z.object({ messageNumber: z.int32(), daysSinceLastActive: z.int32() }),
    }),
    (when) => ({
      timestamp: iso(when.now),
      user: user(when),
      reactivation: { messageNumber: 1, daysSinceLastActive: 3 },
    }),
  ),
  'emails.recap_due': webhookEvent(
    z.object({
      timestamp: Timestamp,
      user: User,
      recap: z.object({ periodStart: date, periodEnd: date }),
    }),
    (when) => ({
      timestamp: iso(when.now),
      user: user(when),
      recap: { periodStart: addDays(when.today, -7), periodEnd: addDays(when.today, -1) },
    }),
  ),
  'emails.streak_reminder_due': webhookEvent(
    z.object({ timestamp: Timestamp, user: User, streak: StreakResponse }),
    (when) => ({
      timestamp: iso(when.now),
      user: user(when),
      streak: { ...streak(when, 2), expires: when.today, extended: null, streakHistory: [], pauses: [] },
    }),
  ),
} as const
