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
