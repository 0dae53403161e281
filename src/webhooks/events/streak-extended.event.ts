import * as z from 'zod'
import { streakResponse } from '../../api/shapes/streak.presenter'
import { BaseStreakResponse } from '../../api/shapes/streak.schemas'
import { User } from '../../api/shapes/user.schemas'
import type { Configuration } from '../../configuration/configuration.types'
import type { UserState } from '../../rules/state.types'
import { type UserPayload, webhookEvent } from './event.builder'
import { sampleStreak, sampleUser } from './samples.builder'

const Payload = z.object({ user: User, streak: BaseStreakResponse })
type Payload = z.infer<typeof Payload>

/** A streak grew by one period (W6). */
export const streakExtended = webhookEvent({
  type: 'streak.extended',
  schema: Payload,
  sample: (when): Payload => ({ user: sampleUser(when), streak: sampleStreak(when, 2) }),
  build: (user: UserPayload, config: Configuration, after: UserState): Payload => ({
    user,
    streak: streakResponse(config, after, after.changed),
  }),
})
