import type { Boost, System } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { BoostPayload, boostPayload, sampleBoostPayload } from './boost-parts.builder'
import { webhookEvent } from './event.builder'

/** A boost began (W6). */
export const pointsBoostStarted = webhookEvent({
  type: 'points.boost_started',
  schema: BoostPayload,
  sample: (when): BoostPayload => sampleBoostPayload(when, 'active'),
  build: (system: Pick<System, 'id' | 'key' | 'name'>, boost: Boost, at: Instant): BoostPayload =>
    boostPayload(system, boost, 'active', at),
})
