import { describe, expect, it } from 'vitest'
import { planOf, SIZES } from '../simulation/plan'
import { chance } from '../simulation/random'

describe('the plan of a simulation', () => {
  it('is the same for the same seed, and different for another one', () => {
    expect(planOf(7, SIZES.small)).toEqual(planOf(7, SIZES.small))
    expect(planOf(7, SIZES.small).steps).not.toEqual(planOf(8, SIZES.small).steps)
  })

  it('draws evenly, also for seeds and numbers in sequence', () => {
    const draws = Array.from({ length: 20 }, (_, seed) =>
      Array.from({ length: 500 }, (_, nth) => chance(seed, 'd1', nth)),
    ).flat()
    for (const below of [0.01, 0.1, 0.5, 0.9]) {
      const share = draws.filter((draw) => draw < below).length / draws.length
      expect(Math.abs(share - below)).toBeLessThan(0.02)
    }
  })

  it('has steps of all lengths and every kind of fault, over a few seeds', () => {
    const steps = Array.from({ length: 20 }, (_, seed) => planOf(seed, SIZES.small).steps).flat()
    const done = new Set(steps.flatMap(({ disturbances }) => disturbances.map((one) => one.do)))
    expect([...done].sort()).toEqual(
      ['alarm', 'cron', 'evict', 'kill', 'lose keys', 'recycle', 'redeliver'].sort(),
    )
    const changes = new Set(steps.flatMap((step) => step.configuration.map((change) => change.do)))
    expect(changes.size).toBe(6)
    expect(steps.some(({ erasures }) => erasures.length > 0)).toBe(true)
    expect(steps.some(({ storm }) => storm > 1)).toBe(true)
  })
})
