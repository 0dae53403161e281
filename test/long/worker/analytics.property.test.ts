import fc from 'fast-check'
import { it } from 'vitest'
import { AnalyticsWorld, beforeClocksChange, plans } from '../../helpers/worker/analytics.world'
import { databases } from '../../helpers/worker/harness'

/**
 * The number of worlds, and their seed: `VITE_ANALYTICS=50 VITE_ANALYTICS_SEED=7` plays others. With several
 * databases, a move of the clock takes several times as long.
 */
const { VITE_ANALYTICS: WORLDS = databases().length === 1 ? 25 : 6, VITE_ANALYTICS_SEED: SEED } = process.env

it('[I1, I2] equal a recount of everything that users did, in random worlds', async () => {
  const moment = beforeClocksChange()
  await fc.assert(
    fc.asyncProperty(plans, async (steps) => {
      const world = await AnalyticsWorld.begin(moment)
      for (const step of steps) await world.play(step)
      await world.play({ do: 'wait', hours: 1 })
    }),
    // A world is long, so a failure is told at once, without a search for a smaller world.
    { numRuns: Number(WORLDS), endOnFailure: true, ...(SEED !== undefined && { seed: Number(SEED) }) },
  )
}, 1_200_000)
