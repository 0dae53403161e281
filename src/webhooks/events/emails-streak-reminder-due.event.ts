import * as z from 'zod'
import { Timestamp } from '../../api/fields'
import { StreakResponse } from '../../api/shapes/streak.schemas'
import { userResponse } from '../../api/shapes/user.presenter'
import { User } from '../../api/shapes/user.schemas'
import type { Configuration } from '../../configuration/configuration.types'
import { type Instant, iso } from '../../lib/clock'
import type { UserState } from '../../rules/state.types'
import { webhookEvent } from './event.builder'
import { sampleStreak, sampleUser } from './samples.builder'

const Payload = z.object({ timestamp: Timestamp, user: User, streak: StreakResponse })
type Payload = z.infer<typeof Payload>

/** An email that reminds of the streak is due (W6, N5). */
export const emailsStreakReminderDue = webhookEvent({
  type: 'emails.streak_reminder_due',
  schema: Payload,
  sample: (when): Payload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    streak: {
      ...sampleStreak(when, 2),
      expires: when.today,
      extended: null,
      streakHistory: [],
      pauses: [],
    },
  }),
  build: (config: Configuration, user: UserState, at: Instant, streak: Payload['streak']): Payload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    streak,
  }),
})
