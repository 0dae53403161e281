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
  test.each([
    [{}, { DB: 1366, DB_2: 1365, DB_3: 1365 }],
    [
      { DB: 1e308, DB_2: 1e308, DB_3: 1e308 },
      { DB: 1366, DB_2: 1365, DB_3: 1365 },
    ],
    [
      { DB: Number.MAX_VALUE, DB_2: Number.MAX_VALUE },
      { DB: 2048, DB_2: 2048 },
    ],
    [
      { DB: 5e-324, DB_2: 5e-324, DB_3: 5e-324 },
      { DB: 1366, DB_2: 1365, DB_3: 1365 },
    ],
    [{ DB: 5e-324, DB_2: 0, DB_3: 0 }, { DB: 4096 }],
    [
      { DB: 3, DB_2: 1, DB_3: 0 },
      { DB: 3072, DB_2: 1024 },
    ],
  ])('the weights %j end in %j', (weights, held) => {
    for (const places of [
      [[0, 'DB']],
      [
        [0, 'DB'],
        [1000, 'DB_2'],
        [2000, 'DB'],
        [3000, 'DB_3'],
      ],
    ] as [number, string][][]) {
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
