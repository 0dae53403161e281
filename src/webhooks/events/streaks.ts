import * as z from 'zod'
import { BaseStreakResponse, streakResponse } from '../../api/shapes/streaks'
import { User } from '../../api/shapes/users'
import type { Configuration } from '../../configuration/configuration.types'
import type { UserState } from '../../rules/state'
import type { StreakEvent } from '../../rules/streaks/streak-state.rules'
import { sampleStreak, sampleUser, type UserPayload, webhookEvent } from './event'

const StartedPayload = z.object({ user: User, streak: BaseStreakResponse })
type StartedPayload = z.infer<typeof StartedPayload>

/** A streak began: its length went from 0 to 1 (W6). */
export const streakStarted = webhookEvent({
  type: 'streak.started',
  schema: StartedPayload,
  sample: (when): StartedPayload => ({ user: sampleUser(when), streak: sampleStreak(when, 1) }),
  build: (user: UserPayload, config: Configuration, after: UserState): StartedPayload => ({
    user,
    streak: streakResponse(config, after, after.changed),
  }),
})

const ExtendedPayload = z.object({ user: User, streak: BaseStreakResponse })
type ExtendedPayload = z.infer<typeof ExtendedPayload>

/** A streak grew by one period (W6). */
export const streakExtended = webhookEvent({
  type: 'streak.extended',
  schema: ExtendedPayload,
  sample: (when): ExtendedPayload => ({ user: sampleUser(when), streak: sampleStreak(when, 2) }),
  build: (user: UserPayload, config: Configuration, after: UserState): ExtendedPayload => ({
    user,
    streak: streakResponse(config, after, after.changed),
  }),
})

const LostPayload = z.object({ user: User, length: z.int32() })
type LostPayload = z.infer<typeof LostPayload>

/** A streak ended (W6). `length` is the length that was lost. */
export const streakLost = webhookEvent({
  type: 'streak.lost',
  schema: LostPayload,
  sample: (when): LostPayload => ({ user: sampleUser(when), length: 2 }),
  build: (user: UserPayload, { length }: Extract<StreakEvent, { kind: 'lost' }>): LostPayload => ({
    user,
    length,
  }),
})

const FreezeEarnedPayload = z.object({ user: User, earned: z.int32(), freezes: z.int32() })
type FreezeEarnedPayload = z.infer<typeof FreezeEarnedPayload>

/** A user got freezes (W6). `freezes` are all that the user has now. */
export const streakFreezeEarned = webhookEvent({
  type: 'streak.freeze_earned',
  schema: FreezeEarnedPayload,
  sample: (when): FreezeEarnedPayload => ({ user: sampleUser(when), earned: 1, freezes: 1 }),
  build: (
    user: UserPayload,
    { earned, freezes }: Extract<StreakEvent, { kind: 'freeze_earned' }>,
  ): FreezeEarnedPayload => ({ user, earned, freezes }),
})

const FreezeConsumedPayload = z.object({ user: User, consumed: z.int32(), freezes: z.int32() })
type FreezeConsumedPayload = z.infer<typeof FreezeConsumedPayload>

/** A freeze kept a streak: one event for each period (W6). `freezes` are those left. */
export const streakFreezeConsumed = webhookEvent({
  type: 'streak.freeze_consumed',
  schema: FreezeConsumedPayload,
  sample: (when): FreezeConsumedPayload => ({ user: sampleUser(when), consumed: 1, freezes: 0 }),
  build: (
    user: UserPayload,
    { freezes }: Extract<StreakEvent, { kind: 'freeze_consumed' }>,
  ): FreezeConsumedPayload => ({
    user,
    consumed: 1,
    freezes,
  }),
})
