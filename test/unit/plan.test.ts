import { describe, expect, test } from 'vitest'
import { heldBy, nextRange, placesAfter, wantedBy } from '../../src/features/databases/plan'
import { BUCKETS } from '../../src/lib/ids'

const NAMES = ['DB', 'DB_2', 'DB_3']

/** The number of buckets of each database, after all moves that the plan wants. */
function afterAll(weights: Record<string, number>, places: [number, string][]) {
  let moves = 0
  let directory = { places }
  const wanted = wantedBy(NAMES, weights, heldBy(directory))
  for (;;) {
    const range = wanted === null ? null : nextRange(directory, wanted)
    if (range === null) return { held: heldBy(directory), moves }
    expect(range.last).toBeGreaterThanOrEqual(range.first)
    directory = { places: placesAfter(directory, range) }
    moves += 1
    expect(moves).toBeLessThan(10)
  }
}

describe('[B3] the plan of moves', () => {
  const even = { DB: 1366, DB_2: 1365, DB_3: 1365 }
  const all = (weight: number) => ({ DB: weight, DB_2: weight, DB_3: weight })
  const [most, three] = [
    { DB: Number.MAX_VALUE, DB_2: Number.MAX_VALUE },
    { DB: 3, DB_2: 1, DB_3: 0 },
  ]
  const [halves, quarters] = [
    { DB: 2048, DB_2: 2048 },
    { DB: 3072, DB_2: 1024 },
  ]
  test.each([
    [{}, even],
    [all(1e308), even],
    [most, halves],
    [all(5e-324), even],
    [{ DB: 5e-324, DB_2: 0, DB_3: 0 }, { DB: 4096 }],
    [three, quarters],
  ])('the weights %j end in %j', (weights, held) => {
    const mixed = ['DB', 'DB_2', 'DB', 'DB_3'].map((name, nth): [number, string] => [nth * 1000, name])
    for (const places of [mixed.slice(0, 1), mixed]) {
      const end = afterAll(weights, places)
      expect(Object.values(end.held).reduce((sum, count) => sum + count, 0)).toBe(BUCKETS)
      for (const name of NAMES)
        expect(Math.abs((end.held[name] ?? 0) - (Object(held)[name] ?? 0))).toBeLessThanOrEqual(1)
    }
  })

  test('nothing is wanted if no weight is above 0', () => {
    expect(wantedBy(NAMES, { DB: 0, DB_2: 0, DB_3: 0 }, {})).toBeNull()
  })
})
