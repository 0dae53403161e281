import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addDays,
  type CivilDate,
  civilDate,
  civilDateOfDay,
  dayOf,
  periodStartDate,
} from '../../src/lib/zone'
import { summarise } from '../../src/store/day-sums/day-sums.rules'

describe('[P12] event summaries', () => {
  test('[P12] equals the result of a walk through all days', () => {
    const first = dayOf(civilDate('2023-12-20'))
    const walked = fc.record({
      changes: fc.array(
        fc.record({
          day: fc.integer({ min: first - 60, max: first + 600 }),
          change: fc.integer({ min: -1e9, max: 1e9 }),
        }),
      ),
      aggregation: fc.constantFrom('daily' as const, 'weekly' as const, 'monthly' as const),
      start: fc.integer({ min: 0, max: 150 }),
      length: fc.integer({ min: 0, max: 400 }),
    })
    fc.assert(
      fc.property(walked, ({ changes, aggregation, start, length }) => {
        const startDate = civilDateOfDay(first + start)
        const endDate = addDays(startDate, length)
        const bucketOf = (day: number) => periodStartDate(civilDateOfDay(day), aggregation)
        const sum = (counts: (bucket: CivilDate) => boolean) =>
          changes.reduce((total, { day, change }) => (counts(bucketOf(day)) ? total + change : total), 0)
        const dates = new Set<CivilDate>()
        for (let day = dayOf(startDate); day <= dayOf(endDate); day += 1) dates.add(bucketOf(day))
        const expected = [...dates].map((date) => ({
          date,
          total: sum((bucket) => bucket <= date),
          change: sum((bucket) => bucket === date),
        }))
        const days = new Map<number, number>()
        for (const { day, change } of changes) days.set(day, (days.get(day) ?? 0) + change)
        const given = [...days].map(([day, change]) => ({ day, change }))
        expect(
          summarise(
            given,
            { aggregation, startDate, endDate },
            sum(() => true),
          ),
        ).toEqual(expected)
      }),
    )
  })
})
