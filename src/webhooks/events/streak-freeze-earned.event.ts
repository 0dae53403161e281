import * as z from 'zod'
import { User } from '../../api/shapes/user.schemas'
import type { StreakEvent } from '../../rules/streaks/streak-events.types'
import { type UserPayload, webhookEvent } from './event.builder'
import { sampleUser } from './samples.builder'

const Payload = z.object({ user: User, earned: z.int32(), freezes: z.int32() })
type Payload = z.infer<typeof Payload>

/** A user got freezes (W6). `freezes` are all that the user has now. */
export const streakFreezeEarned = webhookEvent({
  type: 'streak.freeze_earned',
  schema: Payload,
  sample: (when): Payload => ({ user: sampleUser(when), earned: 1, freezes: 1 }),
  build: (
    user: UserPayload,
    { earned, freezes }: Extract<StreakEvent, { kind: 'freeze_earned' }>,
  ): Payload => ({ user, earned, freezes }),
})
