import type * as z from 'zod'
import type { Achievement } from '../../config/configuration.types'
import type { Instant } from '../../lib/clock'
import type { StreakResponse } from '../../wire/streak.schemas'
import type { AchievementOccasion, Occasion as Letter, RecapOccasion } from './notifications.types'

/** Why a user is told something (N2): what letters say of it is in `told`, and what else events do beside it. */
export type Occasion =
  | { told: AchievementOccasion; achievement: Achievement }
  | { told: RecapOccasion }
  | { told: Extract<Letter, { type: 'reactivation' }> }
  | { told: Extract<Letter, { type: 'streak_reminder' }>; streak: z.infer<typeof StreakResponse> }

/**
 * An occasion of a user. Its name, with the user and the type, is what there is one of; `named` is the moment for its ids, which must be
 * the same where the user has moved to another zone meanwhile.
 */
export type Due = { occasion: Occasion; at: Instant; name: string; named: Instant }
