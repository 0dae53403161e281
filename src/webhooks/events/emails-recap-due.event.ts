import * as z from 'zod'
import { DateResponse, Timestamp } from '../../api/fields'
import { userResponse } from '../../api/shapes/user.presenter'
import { User } from '../../api/shapes/user.schemas'
import type { Configuration } from '../../configuration/configuration.types'
import { addDays, type CivilDate } from '../../lib/civil'
import { type Instant, iso } from '../../lib/clock'
import type { UserState } from '../../rules/state.types'
import { webhookEvent } from './event.builder'
import { sampleUser } from './samples.builder'

const Payload = z.object({
  timestamp: Timestamp,
  user: User,
  recap: z.object({ periodStart: DateResponse, periodEnd: DateResponse }),
})
type Payload = z.infer<typeof Payload>

/**
 * The email that recaps a week or a month is due (W6, N5). The dates are local dates of the user, both
 * inclusive.
 */
export const emailsRecapDue = webhookEvent({
  type: 'emails.recap_due',
  schema: Payload,
  sample: (when): Payload => ({
    timestamp: iso(when.now),
    user: sampleUser(when),
    recap: { periodStart: addDays(when.today, -7), periodEnd: addDays(when.today, -1) },
  }),
  build: (
    config: Configuration,
    user: UserState,
    at: Instant,
    { periodStart, periodEnd }: { periodStart: CivilDate; periodEnd: CivilDate },
  ): Payload => ({
    timestamp: iso(at),
    user: userResponse(config, user),
    recap: { periodStart, periodEnd },
  }),
})
