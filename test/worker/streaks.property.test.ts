import process from 'node:process'
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { streakWorlds } from '../oracle/streaks.worlds'
import { holdsThrough, seen, toRealTime } from './streaks.world'

/** How many worlds, and of which seed: `VITE_WORLDS=200 VITE_WORLDS_SEED=7` plays others. */
const { VITE_WORLDS: WORLDS, VITE_WORLDS_SEED: SEED, VITE_WORLDS_PATH: PATH } = process.env

afterEach(toRealTime)

it('S1–S8: a streak over HTTP is at every moment what a recount of the history gives', async () => {
  const asked = WORLDS !== undefined || PATH !== undefined
  await fc.assert(fc.asyncProperty(streakWorlds, holdsThrough), {
    numRuns: Number(WORLDS ?? 4),
    ...(SEED !== undefined && { seed: Number(SEED) }),
    ...(PATH !== undefined && { path: String(PATH) }),
    // Slow machines play fewer of them.
    ...(!asked && { interruptAfterTimeLimit: 10_000 }),
  })
  console.log(seen)
  expect(seen.alive, JSON.stringify(seen)).toBeGreaterThan(0)
}, 3_600_000)
