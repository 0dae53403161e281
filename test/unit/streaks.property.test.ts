import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs, worldRuns } from '../helpers/runs'
import { STREAK_CASES } from '../oracle/streaks.cases'
import { type StreakWorld, streakWorlds } from '../oracle/streaks.worlds'
import { nothingSeen, Play } from './streaks.play'

function holds(world: StreakWorld, seen = nothingSeen()): void {
  const play = new Play(world, seen)
  for (const step of world.steps) play.play(step)
  play.finish()
}

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
      worldRuns(runs(30, 400)),
    )
  }, 3_600_000)
})
