import type * as z from 'zod'
import type { StreakResponse } from '../../api/shapes/streak.schemas'
import type { Achievement } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import type { AchievementReason, RecapReason, NotificationReason as Stated } from './notifications.types'

/** Why a user is notified (N2). `about` is for messages; webhook events need the other fields too. */
export type NotificationReason =
  | { about: AchievementReason; achievement: Achievement }
  | { about: RecapReason }
  | { about: Extract<Stated, { type: 'reactivation' }> }
  | { about: Extract<Stated, { type: 'streak_reminder' }>; streak: z.infer<typeof StreakResponse> }

/**
 * A reason to notify a user at a moment. There is one notification for each user, type and `name`. `named` is
 * the moment in the ids of its messages; it stays the same if the user moves to another zone in between.
 */
export type Due = { reason: NotificationReason; at: Instant; name: string; named: Instant }
