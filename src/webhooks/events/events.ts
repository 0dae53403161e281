import * as z from 'zod'
import type { EventType } from '../../configuration/enumerations'
import type { Instant } from '../../lib/clock'
import { civilDateAt } from '../../lib/zone'
import { achievementCompleted } from './achievements'
import type { WebhookEvent } from './event'
import {
  leaderboardChanged,
  leaderboardFinished,
  leaderboardRankChanged,
  leaderboardStarted,
} from './leaderboards'
import {
  emailsAchievementDue,
  emailsReactivationDue,
  emailsRecapDue,
  emailsStreakReminderDue,
} from './messages'
import { pointsBoostFinished, pointsBoostStarted, pointsChanged, pointsLevelChanged } from './points'
import {
  streakExtended,
  streakFreezeConsumed,
  streakFreezeEarned,
  streakLost,
  streakStarted,
} from './streaks'

/**
 * Every type of webhook event (W2). The type check fails if a type of `EVENT_TYPES` is missing or has another
 * name.
 */
export const EVENTS = {
  'achievement.completed': achievementCompleted,
  'emails.achievement_due': emailsAchievementDue,
  'emails.reactivation_due': emailsReactivationDue,
  'emails.recap_due': emailsRecapDue,
  'emails.streak_reminder_due': emailsStreakReminderDue,
  'leaderboard.changed': leaderboardChanged,
  'leaderboard.finished': leaderboardFinished,
  'leaderboard.rank_changed': leaderboardRankChanged,
  'leaderboard.started': leaderboardStarted,
  'points.boost_finished': pointsBoostFinished,
  'points.boost_started': pointsBoostStarted,
  'points.changed': pointsChanged,
  'points.level_changed': pointsLevelChanged,
  'streak.extended': streakExtended,
  'streak.freeze_consumed': streakFreezeConsumed,
  'streak.freeze_earned': streakFreezeEarned,
  'streak.lost': streakLost,
  'streak.started': streakStarted,
} as const satisfies { [Type in EventType]: WebhookEvent<Type> }

/** The schema of the whole body that is sent, by type. */
export const WEBHOOKS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(EVENTS).map(([type, { schema }]) => [
    type,
    z.object({ type: z.literal(type), ...schema.shape }),
  ]),
)

/** The body of a type with made-up data. Its dates are around `now` (W2). */
export function sampleOf(type: EventType, now: Instant): { type: EventType } & Record<string, unknown> {
  return { type, ...EVENTS[type].sample({ now, today: civilDateAt(now, 0) }) }
}
