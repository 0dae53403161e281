import * as z from 'zod'
import type { EventType } from '../../configuration/webhook-events.types'
import type { Instant } from '../../lib/clock'
import { civilDateAt } from '../../lib/zone'
import { achievementCompleted } from '../events/achievement-completed.event'
import { emailsAchievementDue } from '../events/emails-achievement-due.event'
import { emailsReactivationDue } from '../events/emails-reactivation-due.event'
import { emailsRecapDue } from '../events/emails-recap-due.event'
import { emailsStreakReminderDue } from '../events/emails-streak-reminder-due.event'
import type { WebhookEvent } from '../events/event.builder'
import { leaderboardChanged } from '../events/leaderboard-changed.event'
import { leaderboardFinished } from '../events/leaderboard-finished.event'
import { leaderboardRankChanged } from '../events/leaderboard-rank-changed.event'
import { leaderboardStarted } from '../events/leaderboard-started.event'
import { pointsBoostFinished } from '../events/points-boost-finished.event'
import { pointsBoostStarted } from '../events/points-boost-started.event'
import { pointsChanged } from '../events/points-changed.event'
import { pointsLevelChanged } from '../events/points-level-changed.event'
import { streakExtended } from '../events/streak-extended.event'
import { streakFreezeConsumed } from '../events/streak-freeze-consumed.event'
import { streakFreezeEarned } from '../events/streak-freeze-earned.event'
import { streakLost } from '../events/streak-lost.event'
import { streakStarted } from '../events/streak-started.event'

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
