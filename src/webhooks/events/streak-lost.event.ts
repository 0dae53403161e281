import * as z from 'zod'
import { User } from '../../api/shapes/user.schemas'
import type { StreakEvent } from '../../rules/streaks/streak-events.types'
import { type UserPayload, webhookEvent } from './event.builder'
import { sampleUser } from './samples.builder'

const Payload = z.object({ user: User, length: z.int32() })
type Payload = z.infer<typeof Payload>

/** A streak ended (W6). `length` is the length that was lost. */
export const streakLost = webhookEvent({
  type: 'streak.lost',
  schema: Payload,
  sample: (when): Payload => ({ user: sampleUser(when), length: 2 }),
  build: (user: UserPayload, { length }: Extract<StreakEvent, { kind: 'lost' }>): Payload => ({
    user,
    length,
  }),
})
