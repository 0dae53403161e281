import * as z from 'zod'
import { DateResponse, Timestamp } from '../../api/fields'
import { UserAchievementResponse, userAchievementResponse } from '../../api/shapes/achievements'
import { StreakResponse } from '../../api/shapes/streaks'
import { User, userResponse } from '../../api/shapes/users'
import type { Achievement, Configuration } from '../../configuration/configuration.types'
import { type Instant, iso } from '../../lib/clock'
import { addDays, type CivilDate } from '../../lib/zone'
import type { UserState } from '../../rules/state'
import { sampleAchievement, sampleStreak, sampleUser, webhookEvent } from './event'

const AchievementDuePayload = z.object({
  timestamp: Timestamp,
  user: User,
  achievement: UserAchievementResponse,
})
type AchievementDuePayload = z.infer<typeof AchievementDuePayload>

/** An email about a completed achievement is due (W6, N5). */
export const emailsAchievementDue = webhookEvent({
  type: 'emails.achievement_due',
  schema: AchievementDuePayload,
  sample: (when): AchievementDuePayload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    achievement: sampleAchievement(when),
  }),
  build: (
    config: Configuration,
    user: UserState,
    at: Instant,
    achievement: Achievement,
  ): AchievementDuePayload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    achievement: userAchievementResponse(config, achievement, user.achievements.get(achievement.id)),
  }),
})

const ReactivationDuePayload = z.object({
  timestamp: Timestamp,
  user: User,
  reactivation: z.object({ messageNumber: z.int32(), daysSinceLastActive: z.int32() }),
})
type ReactivationDuePayload = z.infer<typeof ReactivationDuePayload>

/** An email to a user who has been away is due (W6, N5). */
export const emailsReactivationDue = webhookEvent({
  type: 'emails.reactivation_due',
  schema: ReactivationDuePayload,
  sample: (when): ReactivationDuePayload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    reactivation: { messageNumber: 1, daysSinceLastActive: 3 },
  }),
  build: (
    config: Configuration,
    user: UserState,
    at: Instant,
    { messageNumber, daysSinceLastActive }: ReactivationDuePayload['reactivation'],
  ): ReactivationDuePayload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    reactivation: { messageNumber, daysSinceLastActive },
  }),
})

const RecapDuePayload = z.object({
  timestamp: Timestamp,
  user: User,
  recap: z.object({ periodStart: DateResponse, periodEnd: DateResponse }),
})
type RecapDuePayload = z.infer<typeof RecapDuePayload>

/**
 * The email that recaps a week or a month is due (W6, N5). The dates are local dates of the user, both
 * inclusive.
 */
export const emailsRecapDue = webhookEvent({
  type: 'emails.recap_due',
  schema: RecapDuePayload,
  sample: (when): RecapDuePayload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    recap: { periodStart: addDays(when.today, -7), periodEnd: addDays(when.today, -1) },
  }),
  build: (
    config: Configuration,
    user: UserState,
    at: Instant,
    { periodStart, periodEnd }: { periodStart: CivilDate; periodEnd: CivilDate },
  ): RecapDuePayload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    recap: { periodStart, periodEnd },
  }),
})

const ReminderDuePayload = z.object({ timestamp: Timestamp, user: User, streak: StreakResponse })
type ReminderDuePayload = z.infer<typeof ReminderDuePayload>

/** An email that reminds of the streak is due (W6, N5). */
export const emailsStreakReminderDue = webhookEvent({
  type: 'emails.streak_reminder_due',
  schema: ReminderDuePayload,
  sample: (when): ReminderDuePayload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    streak: {
      ...sampleStreak(when, 2),
      expires: when.today,
      extended: null,
      streakHistory: [],
      pauses: [],
    },
  }),
  build: (
    config: Configuration,
    user: UserState,
    at: Instant,
    streak: ReminderDuePayload['streak'],
  ): ReminderDuePayload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    streak,
  }),
})
