import { describe, expect, it } from 'vitest'
import {
  activityOf,
  type Count,
  type Days,
  daysOfYear,
  longestIn,
  merged,
  mostValues,
  percentChange,
  percentile,
  periodsIn,
} from '../../src/features/analytics/wrapped/wrapped.rules'
import { civilDate, civilDateOfDay, dayOf, yearOf } from '../../src/lib/zone'

const day = (date: string) => dayOf(civilDate(date))
const shown = ({ first, last }: Days) => `${civilDateOfDay(first)} ${civilDateOfDay(last)}`
const on = (date: string, count = 1, change = 0) => ({ subject: 'm', day: day(date), count, change })

describe('[R1] the periods of a year', () => {
  it('[R1] knows the days of a year, from 1 to 9999', () => {
    for (const year of ['0001', '2036', '9999'])
      expect(shown(daysOfYear(Number(year)))).toBe(`${year}-01-01 ${year}-12-31`)
    expect([yearOf(day('0001-01-01')), yearOf(day('2036-12-31'))]).toEqual([1, 2036])
  })

  it.each([1, 1969, 1970, 2023, 2024, 2026, 2036, 9999])(
    '[R1] weeks and months cover %i, day by day',
    (year) => {
      const days = daysOfYear(year)
      for (const frequency of ['weekly', 'monthly'] as const) {
        const periods = periodsIn(days, frequency)
        expect(periods[0]?.first).toBe(days.first)
        expect(periods.at(-1)?.last).toBe(days.last)
        for (const [nth, { first }] of periods.entries())
          if (nth > 0) expect(first).toBe((periods[nth - 1]?.last ?? 0) + 1)
        expect(frequency === 'monthly' ? [12] : [53, 54]).toContain(periods.length)
      }
    },
  )

  it('[R1] the most active day, week and month have the most events, and the earliest wins', () => {
    const events = [
      ...[on('2036-05-20', 3), on('2036-04-10', 3), on('2036-04-08', 1), on('2036-05-28', 1)],
      on('2036-05-19'),
    ]
    const { periods, ...active } = activityOf(daysOfYear(2036), events)
    expect(active).toEqual({ daysActive: 5, weeksActive: 3, monthsActive: 2 })
    expect(Object.values(periods).slice(0, 3).map(shown)).toEqual([
      '2036-04-10 2036-04-10',
      '2036-04-07 2036-04-13',
      '2036-05-01 2036-05-31',
    ])
  })

  it('[R1] if a week crosses the border of the year, only the days inside count', () => {
    const events = [
      ...[on('2035-12-31', 5), on('2036-01-03', 2), on('2036-06-02', 3), on('2036-12-30', 4)],
      on('2037-01-02', 9),
    ]
    const { periods, weeksActive } = activityOf(daysOfYear(2036), events)
    expect([weeksActive, shown(periods.week)]).toEqual([3, '2036-12-29 2036-12-31'])
  })
})

describe('[R1] changes', () => {
  it.each([
    [0, 0, 0],
    [5, 0, 0],
    [5, 5, 100],
    [-5, -5, 100],
    [15, 5, 50],
    [5, -5, -50],
    [0, -5, -100],
    [-5, -10, -200],
    [5, 15, -150],
    [4, 1, 33.3],
    [8, 1, 14.3],
    [1600, -1, -0.1],
    [9.007e15, 9.007e15, 100],
    [100_050, 50, 0.1],
    [99_950, -50, -0.1],
    [100_049, 49, 0],
    [403, 323, 403.8],
    [-403, -323, 403.8],
    [-243, -323, -403.8],
  ])('[R1] a total of %d after a change by %d has changed by %d per cent', (total, change, percent) => {
    expect(percentChange({ total, change })).toBe(percent)
  })

  it('[R2] per cents are whole, rounded down', () => {
    expect([percentile(0, 1), percentile(2, 3), percentile(199, 200), percentile(1, 2)]).toEqual([
      0, 66, 99, 50,
    ])
  })
})

describe('[R1] the longest streak of a year', () => {
  const run = (first: string, history: string, started = first) => ({
    ...{ started: day(started), first: day(first), last: day(first), history },
  })
  type Frequency = 'daily' | 'weekly' | 'monthly'
  /** The length, the first and the last day of the period that reached it, and the first day of the streak. */
  const longest = (year: number, frequency: Frequency, ...runs: ReturnType<typeof run>[]) => {
    const found = longestIn(daysOfYear(year), runs, frequency)
    const days = found && [found.start, found.end, found.started].map((one) => civilDateOfDay(one))
    return days && `${found.length} ${days.join(' ')}`
  }

  it('[R1] it is the longest length of any period of the year, at the first period that reached it', () => {
    const runs = [run('2036-05-01', '3e2f'), run('2036-02-01', '3e'), run('2036-07-01', '2e')]
    expect(longest(2036, 'daily', ...runs)).toBe('3 2036-02-03 2036-02-03 2036-02-01')
    expect(longest(2035, 'daily', ...runs)).toBeNull()
    expect(longest(2036, 'daily')).toBeNull()
  })

  it('[R1] it may begin before the year, and continue after it', () => {
    const long = run('2035-12-30', '400e')
    expect(longest(2035, 'daily', long)).toBe('2 2035-12-31 2035-12-31 2035-12-30')
    expect(longest(2036, 'daily', long)).toBe('368 2036-12-31 2036-12-31 2035-12-30')
  })

  it('[R1] freezes, pauses and skipped periods keep a length, and a restored streak counts from the period before', () => {
    const kept = run('2035-12-31', '1e1f1p1s')
    expect(longest(2036, 'daily', kept)).toBe('1 2036-01-01 2036-01-01 2035-12-31')
    const restored = run('2036-03-02', '1s7r1e', '2036-02-24')
    expect(longest(2036, 'daily', restored)).toBe('8 2036-03-03 2036-03-03 2036-02-24')
  })

  it('[R1, S8] a streak that was restored replaces the past one with the same first day', () => {
    const [past, restoredRun] = [run('2035-12-31', '1e1s'), run('2035-12-31', '1e')]
    expect(longest(2036, 'daily', past)).toBe('1 2036-01-01 2036-01-01 2035-12-31')
    expect(longest(2036, 'daily', past, restoredRun)).toBeNull()
  })

  it('[R1] a week belongs to both years in which it has days', () => {
    const weeks = run('2036-12-22', '2e')
    expect(longest(2036, 'weekly', weeks)).toBe('2 2036-12-29 2037-01-04 2036-12-22')
    expect(longest(2037, 'weekly', weeks)).toBe('2 2036-12-29 2037-01-04 2036-12-22')
    const months = run('2036-11-01', '3e')
    expect(longest(2036, 'monthly', months)).toBe('2 2036-12-01 2036-12-31 2036-11-01')
  })
})

describe('[R2] the distribution of changes', () => {
  it('[R2] a change of many users stays one group', () => {
    const counts = Array.from({ length: 20 }, (_, change): Count => [change, change === 7 ? 1_000 : 1])
    const all = merged([counts], 10)
    expect(all.length).toBeLessThanOrEqual(10)
    expect(all.find(([, users]) => users >= 1_000)?.[0]).toBeLessThanOrEqual(7)
  })

  it('[R2] the bound applies to one distribution, or to all together', () => {
    expect([1, 66, 200, 400, 2_000, 100_000].map(mostValues)).toEqual([5_000, 5_000, 5_000, 2_500, 500, 500])
  })
})
