import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { casesOf, isAsked, runs, worldRuns } from '../helpers/runs'
import { holdsThrough, nothingSeen, toRealTime } from '../helpers/worker/streaks.world'
import { STREAK_CASES } from '../oracle/streaks.cases'
import { streakWorlds } from '../oracle/streaks.worlds'

afterEach(toRealTime)

/**
 * Fixed lives that together cover every case. `npm test` plays the first ones, and `npm run test:long` all. The unit
 * tests play all fixed lives on the core.
 */
const PLAYED = [
  '[S2, S3] settings, voided events and deleted metrics meet the goal',
  '[S3, S7] a freeze is earned before it is consumed',
  '[S10] events count while streaks are off',
  '[S11] two dates at once',
  '[S9, S11] a change of the frequency on a journey, with freezes',
  '[S12] a weekend off, one with activity, and a list that changes',
  '[S8, S13] resets and restores',
  '[S1] periods that end while streaks are off are not missed',
  '[S3, S5] weeks begin on Monday, months on the first',
  '[S2, S3, U7] a goal that is met without an event keeps the freeze',
  '[S2, S11] a goal is met on a date to which its user comes back',
  '[S7, S11] a pause that is deleted on the way keeps the open date',
  '[S10] a user’s switch keeps the sums of the period',
  '[S10] a user earns a period once, however often the streak is switched off and on',
  '[S10] a tenant’s switch keeps the sums of the period',
  '[S11] to Tokyo at 18:00 and back, without any activity',
  '[S11] to Tokyo at 18:00 and back, and Tokyo’s date counts',
  '[S11] a hop each evening',
  '[S11] a hop each evening takes no freeze before the next midnight',
  '[S11] pauses of an open date count',
  '[S8, S11] restored on a date to which its user comes back',
  '[S9, S11] a change of the frequency on a journey',
  '[S12, U7] the list of a user',
  '[S9, S13] a recount knows resets',
  '[S11, S13] a reset on a journey',
]
const FEW = 4
/** The random lives that are played beside the fixed ones. */
const LIVES = worldRuns(runs(0, 2))
/** The most steps of random lives. Each step is a dozen requests. */
const STEPS = 12

describe('[S1, S2, S3, S4, S5, S6, S7, S8, S9, S10, S11, S12, S13, P2, L3] a streak over HTTP always equals a recount of its history', () => {
  const seen = nothingSeen()
  const played = new Set<string>()

  const lives = casesOf(FEW, PLAYED)
  it.each(lives)('%s', async (name) => {
    const world = STREAK_CASES[name]
    if (world === undefined) throw new Error(`there is no life of this name: ${name}`)
    await holdsThrough(world, seen)
    played.add(name)
  })

  if (lives.length === PLAYED.length)
    it('the lives above cover every case', ({ skip }) => {
      if (played.size < PLAYED.length) skip('not all of them were played')
      expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0)
    })

  if (LIVES.numRuns > 0)
    it('in any life', async () => {
      await fc.assert(
        fc.asyncProperty(streakWorlds, (world) =>
          holdsThrough(isAsked ? world : { ...world, steps: world.steps.slice(0, STEPS) }),
        ),
        LIVES,
      )
    }, 3_600_000)
})
