import fc from 'fast-check'
import { test } from 'vitest'
import { MUTANTS, rankingOn } from '/work/main/test/oracle/leaderboards.oracle'
import { readingsOf } from '/work/main/test/oracle/places.oracle'
import { Play } from '/work/main/test/oracle/leaderboards.play'
import { worldsOf } from '/work/main/test/oracle/leaderboards.worlds'
test('reach', () => {
  const seen = new Map<string, number>()
  let steps = 0, ranked = 0, reads = 0
  const t0 = Date.now()
  for (const world of fc.sample(worldsOf(2028), { numRuns: 100, seed: 1 })) {
    const play = new Play(world)
    const here = new Set<string>()
    for (const step of world.steps) {
      if (play.step(step) === null) continue
      steps++
      for (const board of world.boards) {
        if (['inactive', 'scheduled'].includes(play.statusOf(board))) continue
        for (const { date, wanted } of readingsOf(board, play.view(), 3)) {
          reads++
          const truth = JSON.stringify(rankingOn(board, date, play.view(), wanted))
          ranked += truth.length > 4 ? 1 : 0
          for (const mutant of MUTANTS) if (!here.has(mutant) && JSON.stringify(rankingOn(board, date, play.view(mutant), wanted)) !== truth) here.add(mutant)
        }
      }
    }
    for (const m of here) seen.set(m, (seen.get(m) ?? 0) + 1)
  }
  console.log(steps, reads, ranked, Date.now() - t0)
  for (const m of MUTANTS) console.log(String(seen.get(m) ?? 0).padStart(4), m)
}, 120000)
