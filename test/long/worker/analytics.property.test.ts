import fc from 'fast-check'
import { it } from 'vitest'
import { worldRuns } from '../../helpers/runs'
import { AnalyticsWorld, beforeClocksChange, plans } from '../../helpers/worker/analytics.world'
import { databases } from '../../helpers/worker/harness'

/** With several databases, a move of the clock takes several times as long. */
const WORLDS = databases().length === 1 ? 25 : 6

it('[I1, I2] equal a recount of everything that users did, in random worlds', async () => {
  const moment = beforeClocksChange()
  await fc.assert(
    fc.asyncProperty(plans, async (steps) => {
      const world = await AnalyticsWorld.begin(moment)
      for (const step of steps) await world.play(step)
      await world.play({ do: 'wait', hours: 1 })
    }),
    // A world is long, so a failure is told at once, without a search for a smaller world.
    { ...worldRuns(WORLDS), endOnFailure: true },
  )
}, 1_200_000)
