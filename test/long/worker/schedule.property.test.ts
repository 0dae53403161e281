import fc from 'fast-check'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { worldRuns } from '../../helpers/runs'
import { forgetTime } from '../../helpers/worker/boards'
import { keepTold } from '../../helpers/worker/received'
import { CHOSEN, holdsIn, seen, worlds } from '../../helpers/worker/schedule.world'

beforeAll(keepTold)
afterEach(forgetTime)

it('[N2] users are notified at the times of their days, each once', async () => {
  // These worlds are the same in each run. They have every case that this test is about.
  for (const world of [CHOSEN, ...fc.sample(worlds, { numRuns: 3, seed: 9 })]) await holdsIn(world)
  expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0)
  await fc.assert(fc.asyncProperty(worlds, holdsIn), worldRuns(1))
  console.log(seen)
}, 3_600_000)
