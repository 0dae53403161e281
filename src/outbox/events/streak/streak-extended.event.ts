import * as z from 'zod'
import type { Configuration } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import { streakResponse } from '../../../wire/presenters/streak.presenter'
import { BaseStreakResponse } from '../../../wire/streak.schemas'
import { User } from '../../../wire/user.schemas'
import { type UserPayload, webhookEvent } from '../event.builder'
import { sampleStreak, sampleUser } from '../samples.builder'

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
