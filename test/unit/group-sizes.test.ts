import { beforeEach, describe, expect, it } from 'vitest'
import { type Counted, GroupSizes } from '../../src/leaderboards/object/ranking'
import { instant } from '../../src/lib/clock'

describe('the number of users in the groups of a run', () => {
  let sizes: GroupSizes
  let counts: number
  beforeEach(() => {
    sizes = new GroupSizes()
    counts = 0
  })
  /** Asks at a time in seconds, when a count reads `read` scores. Returns which count the result is from. */
  const ask = (seconds: number, read: number, run = 1) => {
    const count = (): Counted => {
      counts += 1
      return { sizes: [{ group: '["x"]', users: counts }], read }
    }
    return sizes.of(run, instant(seconds * 1_000), count)[0]?.users
  }

  it('is counted each time, unless that reads very many scores', () => {
    expect([ask(0, 10_000), ask(0, 10_000), ask(0, 10_001), ask(59, 10_001)]).toEqual([1, 2, 3, 3])
    expect([ask(59, 1, 2), ask(60, 10_001), ask(61, 10_001)]).toEqual([4, 5, 5])
    sizes.clear()
    // The clock of the machine is set back by a minute.
    expect([ask(61, 10_001), ask(1, 10_001)]).toEqual([6, 7])
  })

  it('is kept for only a few runs', () => {
    for (let run = 10; run < 15; run += 1) ask(100, 20_000, run)
    const before = counts
    expect([ask(100, 20_000, 14), ask(100, 20_000, 11)]).toEqual([before, before - 3])
    expect(ask(100, 20_000, 10)).toBe(before + 1)
  })
})
