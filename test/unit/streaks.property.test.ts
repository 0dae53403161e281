import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs, worldRuns } from '../helpers/runs'
import { STREAK_CASES, TWIN_CASES } from '../oracle/streaks.cases'
import { type StreakWorld, streakWorlds, type TwinWorld, twinWorlds } from '../oracle/streaks.worlds'
import { noHops, nothingSeen, Play } from './streaks.play'

function holds(world: StreakWorld, seen = nothingSeen()): void {
  const play = new Play(world, seen)
  for (const step of world.steps) play.play(step)
  play.finish()
}

/**
 * One twin makes hops without activity. Both have the same shown streak at all times, and the same streak
 * after a recount.
 */
function areTwins({ world, hops }: TwinWorld, made = noHops()): void {
  const seen = nothingSeen()
  const [stayer, hopper] = [new Play(world, seen), new Play(world, seen, made)]
  for (const [n, step] of world.steps.entries()) {
    stayer.play(step)
    hopper.play(step, hops[n % hops.length])
    hopper.isTwinOf(stayer)
  }
  for (const one of [stayer, hopper]) one.finish()
}

const RUNS = worldRuns(runs(10, 400))

describe('[S1, S2, S3, S4, S5, S6, S7, S8, S9, S10, S11, S12, S13, U6, U7, P2] the core against a recount of the whole history', () => {
  const seen = nothingSeen()

  test.each(Object.entries(STREAK_CASES))('%s', (_, one) => holds(one, seen))

  test('the cases above cover everything', () => {
    for (const one of Object.values(STREAK_CASES)) holds(one, seen)
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(0)
  })

  test("a streak always equals the oracle's, with deadlines that run in time or not", () => {
    fc.assert(
      fc.property(streakWorlds, (one) => holds(one)),
      RUNS,
    )
  }, 3_600_000)
})

describe('[S4, S11] a hop without activity changes nothing', () => {
  test('in the fixed lives, which have hops of all kinds', () => {
    const made = noHops()
    for (const one of TWIN_CASES) areTwins(one, made)
    const counts = Object.values(made).flatMap(({ west, east }) => [west, east])
    expect(Math.min(...counts), JSON.stringify(made)).toBeGreaterThan(0)
  })

  test('in many lives', () => {
    fc.assert(
      fc.property(twinWorlds, (one) => areTwins(one)),
      { ...RUNS, numRuns: Math.ceil(RUNS.numRuns / 2), endOnFailure: true },
    )
  }, 3_600_000)
})
