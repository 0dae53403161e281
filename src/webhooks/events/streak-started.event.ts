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

/** A streak began: its length went from 0 to 1 (W6). */
export const streakStarted = webhookEvent({
  type: 'streak.started',
  schema: Payload,
  sample: (when): Payload => ({ user: sampleUser(when), streak: sampleStreak(when, 1) }),
  build: (user: UserPayload, config: Configuration, after: UserState): Payload => ({
    user,
    streak: streakResponse(config, after, after.changed),
  }),
})
