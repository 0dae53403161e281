import * as z from 'zod'
import { BaseStreakResponse } from '../../../wire/streak.schemas'
import { User } from '../../../wire/user.schemas'
import { webhookEvent } from './event.types'
import { streak, user } from './parts.builder'

/** The events of streaks (W2). */
export const streakEvents = {
  'streak.extended': webhookEvent(z.object({ user: User, streak: BaseStreakResponse }), (when) => ({
    user: user(when),
    streak: streak(when, 2),
  })),
  'streak.freeze_consumed': webhookEvent(
    z.object({ user: User, consumed: z.int32(), freezes: z.int32() }),
    (when) => ({ user: user(when), consumed: 1, freezes: 0 }),
  ),
  'streak.freeze_earned': webhookEvent(
    z.object({ user: User, earned: z.int32(), freezes: z.int32() }),
    (when) => ({ user: user(when), earned: 1, freezes: 1 }),
  ),
  'streak.lost': webhookEvent(z.object({ user: User, length: z.int32() }), (when) => ({
    user: user(when),
    length: 2,
  })),
  'streak.started': webhookEvent(z.object({ user: User, streak: BaseStreakResponse }), (when) => ({
    user: user(when),
    streak: streak(when, 1),
  })),
} as const
