import * as z from 'zod'
import { User } from '../../api/shapes/user.schemas'
import type { StreakEvent } from '../../rules/streaks/streak-events.types'
import { type UserPayload, webhookEvent } from './event.builder'
import { sampleUser } from './samples.builder'

const Payload = z.object({ user: User, consumed: z.int32(), freezes: z.int32() })
type Payload = z.infer<typeof Payload>

/** A freeze kept a streak: one event for each period (W6). `freezes` are those left. */
export const streakFreezeConsumed = webhookEvent({
  type: 'streak.freeze_consumed',
  schema: Payload,
  sample: (when): Payload => ({ user: sampleUser(when), consumed: 1, freezes: 0 }),
  build: (user: UserPayload, { freezes }: Extract<StreakEvent, { kind: 'freeze_consumed' }>): Payload => ({
    user,
    consumed: 1,
    freezes,
  }),
})
