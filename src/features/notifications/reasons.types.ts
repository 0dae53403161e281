import type * as z from 'zod'
import type { Achievement } from '../../config/configuration.types'
import type { Instant } from '../../lib/clock'
import type { StreakResponse } from '../../wire/streak.schemas'
import type {
  AchievementReason,
  NotificationReason as QueuedMessage,
  RecapReason,
} from './notifications.types'

/** Why a user is told something (N2): what letters say of it is in `told`, and what else events do beside it. */
export type NotificationReason =
  | { about: AchievementReason; achievement: Achievement }
  | { about: RecapReason }
  | { about: Extract<QueuedMessage, { type: 'reactivation' }> }
  | { about: Extract<QueuedMessage, { type: 'streak_reminder' }>; streak: z.infer<typeof StreakResponse> }

/**
 * An occasion of a user. Its name, with the user and the type, is what there is one of; `named` is the moment for its ids, which must be
 * the same where the user has moved to another zone meanwhile.
 */
export type Due = { reason: NotificationReason; at: Instant; name: string; named: Instant }
