import type { Boost, System } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { BoostPayload, boostPayload, sampleBoostPayload } from './boost-parts.builder'
import { webhookEvent } from './event.builder'

/** A boost ended (W6). */
export const pointsBoostFinished = webhookEvent({
  type: 'points.boost_finished',
  schema: BoostPayload,
  sample: (when): BoostPayload => sampleBoostPayload(when, 'finished'),
  build: (system: Pick<System, 'id' | 'key' | 'name'>, boost: Boost, at: Instant): BoostPayload =>
    boostPayload(system, boost, 'finished', at),
})
