import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { askedAtOnce } from '../../src/leaderboards/leaderboards'
import { instant, iso } from '../../src/lib/clock'
import { civilDate, dateOfDay, dayOf, localDay } from '../../src/lib/zone'
import * as rules from '../../src/rules/runs.rules'
import { holds, plusDays, runNear, runsUpTo } from '../oracle/calendar.oracle'

const DAY = 86_400_000
const day = (date: string) => dayOf(civilDate(date))
const moment = (text: string) => instant(Date.parse(text))

const schedule = (
  start: string,
  runUnit: rules.Schedule['runUnit'] = null,
  runInterval: number | null = null,
  end: string | null = null,
): rules.Schedule => ({
  start: civilDate(start),
  end: end === null ? null : civilDate(end),
  runUnit,
  runInterval,
})

/** A run as two dates. `end` is null if it has no end. Null if there is no run. */
const dates = (run: rules.Run | null) =>
  run && [dateOfDay(run.start), run.end === null ? null : dateOfDay(run.end)]
const holding = (of: rules.Schedule, date: string) => dates(rules.runHolding(of, day(date)))
const nearest = (of: rules.Schedule, date: string) => dates(rules.nearestRun(of, day(date)))

/** The first runs of a schedule, in order. */
function firstRuns(of: rules.Schedule, count: number) {
  const runs: (rules.Run | null)[] = [rules.runHolding(of, day(of.start))]
  while (runs.length < count) {
    const last = runs.at(-1)
    runs.push(last?.end == null ? null : rules.runHolding(of, last.end + 1))
  }
  return runs.map(dates)
}

describe('[L2] runs', () => {
  test('[L2] equal those of the oracle, one after another without gaps, and cut short by the end', () => {
    const date = (from: string, to: string) =>
      fc.integer({ min: day(from), max: day(to) }).map((one) => String(dateOfDay(one)))
    const schedules = fc.record({
      start: fc.oneof(date('1890-01-01', '2040-12-31'), fc.constantFrom('2024-02-29', '2023-08-31')),
      lasts: fc.option(fc.integer({ min: 0, max: 2_000 })),
      unit: fc.constantFrom('day' as const, 'month' as const, 'year' as const, null),
      interval: fc.integer({ min: 1, max: 14 }),
    })
    fc.assert(
      fc.property(
        schedules,
        fc.integer({ min: -400, max: 2_500 }),
        ({ start, lasts, unit, interval }, after) => {
          const end = lasts === null ? null : plusDays(start, lasts)
          const of = schedule(start, unit, unit === null ? null : interval, end)
          const oracle = { start, end, unit, interval }
          const at = plusDays(start, after)
          const run = runsUpTo(oracle, at).at(-1)
          expect(holding(of, at)).toEqual(run !== undefined && holds(run, at) ? [run.start, run.end] : null)
          const near = runNear(oracle, at)
          expect(nearest(of, at)).toEqual([near.start, near.end])
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test('[L2] a schedule that ends before it starts has no run', () => {
    expect(() => nearest(schedule('2026-03-02', null, null, '2026-03-01'), '2026-03-02')).toThrow()
  })

  test('[L2] the calendar ends with the year 9999', () => {
    const of = schedule('9999-12-30', 'day', 1)
    expect(firstRuns(of, 3)).toEqual([['9999-12-30', '9999-12-30'], ['9999-12-31', '9999-12-31'], null])
    expect(holding(schedule('9999-02-28', 'year', 1_000), '9999-12-31')).toEqual(['9999-02-28', '9999-12-31'])
    expect(holding(schedule('0001-01-01', 'month', 1), '9999-12-31')).toEqual(['9999-12-01', '9999-12-31'])
  })

  test('[L2] an interval may be longer than the calendar', () => {
    for (const unit of ['day', 'month', 'year'] as const) {
      const of = schedule('2026-03-10', unit, 2_147_483_647)
      expect(holding(of, '2026-03-10')).toEqual(['2026-03-10', '9999-12-31'])
      expect(holding(of, '9999-12-31')).toEqual(['2026-03-10', '9999-12-31'])
    }
  })
})

describe('[L7, L8] the moments at which runs begin and are final', () => {
  const run = { start: day('2026-03-10'), end: day('2026-03-12') }

  test('[L8] a run begins at its first midnight in UTC+14, and is final 12 hours after its end in UTC', () => {
    expect(iso(rules.beginsAt(run))).toBe('2026-03-09T10:00:00.000Z')
    expect(rules.finalAt(run)).toBe(moment('2026-03-13T12:00:00Z'))
    expect(rules.finalAt({ start: run.start, end: null })).toBeNull()
    expect(iso(rules.beginsAt({ start: day('0001-01-01') }))).toBe('0000-12-31T10:00:00.000Z')
  })

  test('[L8] the moment up to which runs are final', () => {
    const until = (of: rules.Schedule, at: string) => {
      const last = rules.finalUntil(of, moment(at))
      return last === null ? null : dateOfDay(last)
    }
    const weekly = schedule('2026-03-02', 'day', 7)
    expect(until(weekly, '2026-03-01T00:00:00Z')).toBeNull()
    expect(until(weekly, '2026-03-09T11:59:59.999Z')).toBeNull()
    expect(until(weekly, '2026-03-09T12:00:00Z')).toBe('2026-03-08')
    expect(until(weekly, '2026-03-16T11:59:59.999Z')).toBe('2026-03-08')
    expect(until(weekly, '2026-03-16T12:00:00Z')).toBe('2026-03-15')
    const ending = schedule('2026-03-02', 'day', 7, '2026-03-18')
    expect(until(ending, '2026-03-19T11:59:59.999Z')).toBe('2026-03-15')
    expect(until(ending, '2026-03-19T12:00:00Z')).toBe('2026-03-18')
    expect(until(ending, '2030-01-01T00:00:00Z')).toBe('2026-03-18')
    expect(until(schedule('2026-03-02'), '2030-01-01T00:00:00Z')).toBeNull()
  })

  test('[L7] a status stays as it was set until time changes it', () => {
    const of = schedule('2026-03-10', null, null, '2026-03-12')
    const statusAt = (status: Parameters<typeof rules.statusOf>[0]['status'], at: string, more = {}) =>
      rules.statusOf({ ...of, status, ...more }, moment(at))
    expect(statusAt('scheduled', '2026-03-09T09:59:59.999Z')).toBe('scheduled')
    expect(statusAt('scheduled', '2026-03-09T10:00:00Z')).toBe('active')
    for (const status of ['scheduled', 'active'] as const) {
      expect(statusAt(status, '2026-03-13T11:59:59.999Z')).toBe('active')
      expect(statusAt(status, '2026-03-13T12:00:00Z')).toBe('finished')
      expect(statusAt(status, '2030-01-01T00:00:00Z', { end: null })).toBe('active')
      expect(statusAt(status, '2026-03-13T12:00:00Z', { runUnit: 'day', runInterval: 7 })).toBe('finished')
    }
    for (const at of ['2026-03-01T00:00:00Z', '2026-03-11T00:00:00Z', '2030-01-01T00:00:00Z']) {
      expect(statusAt('inactive', at)).toBe('inactive')
      expect(statusAt('finished', at)).toBe('finished')
    }
  })
})

describe('[L1] the daily window', () => {
  const at = (time: string) => Date.parse(`2026-03-10T${time}Z`)
  const inside = (
    startTime: string | null,
    endTime: string | null,
    times: readonly string[],
    utcOffset = 0,
  ) => times.map((time) => rules.isInside(rules.windowOf({ startTime, endTime }), at(time), utcOffset))

  test('[L1] holds its start, but not its end', () => {
    expect(rules.windowOf({ startTime: '09:00', endTime: '17:30:15' })).toEqual({ from: 32_400, to: 63_015 })
    const times = ['08:59:59.999', '09:00:00', '12:00:00', '17:30:14.999', '17:30:15', '23:59:59.999']
    expect(inside('09:00', '17:30:15', times)).toEqual([false, true, true, true, false, false])
  })

  test('[L1] one end alone reaches to midnight; no ends are the whole day', () => {
    const times = ['00:00:00', '08:59:59.999', '09:00:00', '23:59:59.999']
    expect(inside('09:00', null, times)).toEqual([false, false, true, true])
    expect(inside(null, '09:00', times)).toEqual([true, true, false, false])
    expect(inside('00:00', null, times)).toEqual([true, true, true, true])
    expect(inside(null, null, times)).toEqual([true, true, true, true])
    expect(rules.windowOf({ startTime: null, endTime: null })).toBeNull()
  })

  test('[L1] a start after its end crosses midnight', () => {
    const times = ['00:00:00', '01:59:59.999', '02:00:00', '21:59:59.999', '22:00:00', '23:59:59.999']
    expect(inside('22:00', '02:00', times)).toEqual([true, true, false, false, true, true])
    expect(inside('22:00', '00:00', times)).toEqual([false, false, false, false, true, true])
  })

  test('[L1] uses the local time, on both sides of UTC and before 1970', () => {
    // 10:30 UTC is 00:30 of the next day in UTC+14, 23:30 of the day before in UTC-11,
    // and 16:15 in Kathmandu.
    expect(inside('00:00', '01:00', ['10:30:00'], 14 * 60)).toEqual([true])
    expect(inside('23:00', '00:00', ['10:30:00'], -11 * 60)).toEqual([true])
    expect(inside('16:15', '16:16', ['10:30:00'], 345)).toEqual([true])
    expect(inside('09:00', '17:00', ['10:30:00'], 14 * 60)).toEqual([false])
    const morning = rules.windowOf({ startTime: '09:00', endTime: '12:00' })
    expect(rules.isInside(morning, -14 * 3_600_000, 0)).toBe(true)
    expect(rules.isInside(morning, -DAY, 0)).toBe(false)
  })

  test('[L1] the part after midnight belongs to its own date', () => {
    expect(dateOfDay(localDay(at('23:59:59.999'), 0))).toBe('2026-03-10')
    expect(dateOfDay(localDay(at('23:59:59.999'), 1))).toBe('2026-03-11')
    expect(dateOfDay(localDay(at('10:30:00'), -11 * 60))).toBe('2026-03-09')
    expect(localDay(-1, 0)).toBe(-1)
  })
})

describe('the leaderboards in a response about all of them', () => {
  const now = moment('2026-03-10T12:00:00Z')
  const board = (name: string, status: 'active' | 'finished' | 'inactive' | 'scheduled') => ({
    ...schedule('2026-03-01'),
    name,
    status,
  })
  const names = (
    boards: Parameters<typeof askedAtOnce<ReturnType<typeof board>>>[0],
    includeFinished: boolean,
  ) => askedAtOnce(boards, now, { includeFinished }).map(({ name }) => name)
  const finished = Array.from({ length: 150 }, (_, n) => board(`f${n}`, 'finished'))
  const active = Array.from({ length: 3 }, (_, n) => board(`a${n}`, 'active'))

  test('[L7, L9] are the ones that users see, in order of creation', () => {
    const hidden = [board('i', 'inactive'), { ...board('s', 'scheduled'), start: civilDate('2026-04-01') }]
    const some = [...finished.slice(0, 2), ...active, ...hidden, ...finished.slice(2, 4)]
    expect(names(some, false)).toEqual(['a0', 'a1', 'a2'])
    expect(names(some, true)).toEqual(['f0', 'f1', 'a0', 'a1', 'a2', 'f2', 'f3'])
    expect(names([{ ...board('over', 'active'), end: civilDate('2026-03-05') }], false)).toEqual([])
  })

  test('are at most 100: all active ones, and the newest finished ones', () => {
    const many = names([...active, ...finished], true)
    expect(many).toEqual(['a0', 'a1', 'a2', ...Array.from({ length: 97 }, (_, n) => `f${n + 53}`)])
    const full = Array.from({ length: 100 }, (_, n) => board(`a${n}`, 'active'))
    expect(names([...finished, ...full], true)).toEqual(full.map(({ name }) => name))
  })
})
