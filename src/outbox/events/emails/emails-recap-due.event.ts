import * as z from 'zod'
import type { Configuration } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import { DateResponse, Timestamp } from '../../../http/fields'
import { addDays, type CivilDate } from '../../../lib/civil'
import { type Instant, iso } from '../../../lib/clock'
import { userResponse } from '../../../wire/presenters/user.presenter'
import { User } from '../../../wire/user.schemas'
import { webhookEvent } from '../event.builder'
import { sampleUser } from '../samples.builder'

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
