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
import { type SummaryRange, summarise } from '../../src/store/day-sums/day-sums.rules'

const range = (aggregation: SummaryRange['aggregation'], startDate: string, endDate: string) => ({
  aggregation,
  startDate: civilDate(startDate),
  endDate: civilDate(endDate),
})

const on = (date: string, change: number) => ({ day: dayOf(civilDate(date)), change })

describe('[P12] event summaries', () => {
  test('[P12] start = end is one bucket', () => {
    const summary = summarise([on('2026-03-05', 7)], range('daily', '2026-03-05', '2026-03-05'), 20)
    expect(summary).toEqual([{ date: '2026-03-05', total: 20, change: 7 }])
  })

  test('[P12] empty buckets are included, with the running total', () => {
    const days = [on('2026-03-04', 3), on('2026-03-02', -1)]
    expect(summarise(days, range('daily', '2026-03-01', '2026-03-05'), 10)).toEqual([
      { date: '2026-03-01', total: 8, change: 0 },
      { date: '2026-03-02', total: 7, change: -1 },
      { date: '2026-03-03', total: 7, change: 0 },
      { date: '2026-03-04', total: 10, change: 3 },
      { date: '2026-03-05', total: 10, change: 0 },
    ])
  })

  test('[P12] whole weeks that overlap the range, dated by their Monday', () => {
    const days = [on('2026-01-04', 100), on('2026-01-05', 1), on('2026-01-11', 2), on('2026-01-18', 4)]
    expect(summarise(days, range('weekly', '2026-01-07', '2026-01-12'), 107)).toEqual([
      { date: '2026-01-05', total: 103, change: 3 },
      { date: '2026-01-12', total: 107, change: 4 },
    ])
  })

  test('[P12] whole months, also in leap years; later changes are subtracted from the total', () => {
    const days = [on('2024-02-29', 5), on('2024-03-31', 6), on('2024-04-01', 50)]
    expect(summarise(days, range('monthly', '2024-02-29', '2024-03-01'), 61)).toEqual([
      { date: '2024-02-01', total: 5, change: 5 },
      { date: '2024-03-01', total: 11, change: 6 },
    ])
  })

  test('[P12] a range in the future has the current total', () => {
    expect(summarise([on('2026-03-05', 7)], range('daily', '2027-01-01', '2027-01-01'), 7)).toEqual([
      { date: '2027-01-01', total: 7, change: 0 },
    ])
  })

  test('[P12] the first and the last possible dates', () => {
    for (const aggregation of ['daily', 'weekly', 'monthly'] as const) {
      const last = range(aggregation, '9999-12-31', '9999-12-31')
      expect(summarise([], last, 1)).toEqual([
        { date: periodStartDate(last.endDate, aggregation), total: 1, change: 0 },
      ])
      expect(summarise([], range(aggregation, '0001-01-01', '0001-01-01'), 1)).toHaveLength(1)
    }
  })

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
