import fc from 'fast-check'
import { it } from 'vitest'
import { worldRuns } from '../../helpers/runs'
import { holdsIn, plans } from '../../helpers/worker/corrections.world'

it('[V1, V2, V3, V4, P1, P5, P6, P8, L12, P12, X1] random worlds equal a count of the log without the voided events', async () => {
  await fc.assert(
    fc.asyncProperty(plans, (plan) => holdsIn(plan)),
    { endOnFailure: true, ...worldRuns(8) },
  )
}, 3_600_000)
