import * as z from 'zod'
import { Timestamp } from '../../api/fields'
import { userResponse } from '../../api/shapes/user.presenter'
import { User } from '../../api/shapes/user.schemas'
import type { Configuration } from '../../configuration/configuration.types'
import { type Instant, iso } from '../../lib/clock'
import type { UserState } from '../../rules/state.types'
import { webhookEvent } from './event.builder'
import { sampleUser } from './samples.builder'

const Payload = z.object({
  timestamp: Timestamp,
  user: User,
  reactivation: z.object({ messageNumber: z.int32(), daysSinceLastActive: z.int32() }),
})
type Payload = z.infer<typeof Payload>

/** An email to a user who has been away is due (W6, N5). */
export const emailsReactivationDue = webhookEvent({
  type: 'emails.reactivation_due',
  schema: Payload,
  sample: (when): Payload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    reactivation: { messageNumber: 1, daysSinceLastActive: 3 },
  }),
  build: (
    config: Configuration,
    user: UserState,
    at: Instant,
    { messageNumber, daysSinceLastActive }: Payload['reactivation'],
  ): Payload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    reactivation: { messageNumber, daysSinceLastActive },
  }),
})
