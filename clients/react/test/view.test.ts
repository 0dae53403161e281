import type {
  GetUserPointsResponse,
  LeaderboardGroup,
  LeaderboardRanking,
  PointsLevel,
  StreakResponse,
  UserAchievementWithStatsResponse,
} from '@laurel/client/app'
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { daily } from '../gallery/data.ts'
import type {
  AchievementData,
  GroupData,
  LevelData,
  PointsData,
  RankingRow,
  StreakData,
} from '../src/index.ts'
import { levelView, monthWeeks, periodViews, rankChange, rankingView, streakState } from '../src/index.ts'
import { defaultLabels } from '../src/view/default-labels.ts'
import { nextGain, timeSpan } from '../src/view/energy.ts'
import { formatOf } from '../src/view/format.ts'
import { withPreviousRanks } from '../src/view/ranking.ts'
import { lastDateOf, runOf } from '../src/view/runs.ts'

test('components take the answers of the client as they are', () => {
  expectTypeOf<StreakResponse>().toExtend<StreakData>()
  expectTypeOf<GetUserPointsResponse>().toExtend<PointsData>()
  expectTypeOf<PointsLevel>().toExtend<LevelData>()
  expectTypeOf<UserAchievementWithStatsResponse>().toExtend<AchievementData>()
  expectTypeOf<LeaderboardRanking>().toExtend<RankingRow>()
  expectTypeOf<LeaderboardGroup>().toExtend<GroupData>()
})

describe('streaks', () => {
  test('[S5] a streak is safe if it expires after the current period, and open if it expires with it', () => {
    expect(streakState(daily('xx'))).toBe('safe')
    expect(streakState(daily('xxo'))).toBe('open')
    expect(streakState(daily('xx..'))).toBe('none')
  })

  test('[S3, S6, S12, S13] a period is active, saved by a freeze, paused, kept, off, missed, reset or still open', () => {
    const states = periodViews(daily('.xxfpkdx.xro').streakHistory ?? []).map(({ state }) => state)
    const expected = 'missed active active frozen paused kept off active missed active reset open'
    expect(states.join(' ')).toBe(expected)
  })

  test('[S3, S13] activity in a paused period counts as activity, and after a reset it begins a streak', () => {
    const day = (length: number, more: object) => ({
      ...{ periodStart: '2026-01-01', periodEnd: '2026-01-01', length, usedPause: false, ...more },
    })
    const [, second] = periodViews([day(1, {}), day(2, { usedPause: true })])
    expect(second?.state).toBe('active')
    const views = periodViews([day(2, {}), day(1, { resetAt: '2026-01-01T09:00:00.000Z' })])
    for (const { state, joins } of views) expect([state, joins.before]).toEqual(['active', false])
    expect(views).toHaveLength(2)
  })

  test('[S8, S13] a restored streak is active after a reset only if it grew', () => {
    const last = (after: object) => {
      const day = { periodStart: '2026-01-03', periodEnd: '2026-01-03', length: 2, usedPause: false }
      return periodViews([day, { ...day, resetAt: '2026-01-03T09:00:00.000Z', ...after }]).at(-1)?.state
    }
    const afters = [{ length: 3 }, {}, { usedFreeze: true }, { usedPause: true, dayOff: true }]
    expect(afters.map(last)).toEqual(['active', 'open', 'frozen', 'off'])
  })

  test('periods of one streak join, and a new streak does not join the one before', () => {
    const joins = periodViews(daily('xfx.xx').streakHistory ?? []).map(({ joins }) => joins)
    expect(joins.map(({ before }) => before)).toEqual([false, true, true, false, false, true])
    expect(joins.map(({ after }) => after)).toEqual([true, true, false, false, true, false])
  })

  test('a month has its days in columns of weekdays, from any first day of the week', () => {
    const text = (week: ReturnType<typeof monthWeeks>[number]) =>
      week.map((cell) => cell?.date.slice(-2) ?? '--').join(' ')
    const rows = (first: number) => monthWeeks('2026-11', first, []).map(text)
    expect(rows(1)[0]).toBe('-- -- -- -- -- -- 01')
    expect(rows(1).at(-1)).toBe('30 -- -- -- -- -- --')
    expect(rows(7)[0]).toBe('01 02 03 04 05 06 07')
    expect(monthWeeks('2024-02', 1, []).flat().filter(Boolean)).toHaveLength(29)
  })
})

describe('levels and energy', () => {
  const levels = [
    { key: 'b', name: 'B', points: 100 },
    { key: 'a', name: 'A', points: 10 },
  ]

  test('[P9] a level is the highest one that the total reaches', () => {
    const first = { level: null, next: { key: 'a' }, from: 0, to: 10, ratio: 0.9 }
    expect(levelView(9, levels)).toMatchObject(first)
    expect(levelView(10, levels)).toMatchObject({ level: { key: 'a' }, from: 10, to: 100, ratio: 0 })
    expect(levelView(55, levels)).toMatchObject({ ratio: 0.5, remaining: 45 })
    expect(levelView(100, levels)).toMatchObject({ level: { key: 'b' }, next: null, remaining: 0, ratio: 1 })
    expect(levelView(5, [])).toMatchObject({ level: null, next: null, ratio: 0 })
  })

  test('[P4] the next gain follows from the newest tick, also if ticks at the cap left no award', () => {
    const trigger = { type: 'time', points: 2, timeUnit: 'hour' as const, timeInterval: 3 }
    const awards = [{ date: '2026-01-01T06:00:00.000Z', trigger }]
    const at = (now: string) => nextGain([trigger], awards, Date.parse(now))
    expect(at('2026-01-01T06:30:00Z')).toEqual({ at: '2026-01-01T09:00:00.000Z', points: 2 })
    expect(at('2026-01-01T12:00:00Z')).toEqual({ at: '2026-01-01T15:00:00.000Z', points: 2 })
    expect(nextGain([trigger], [], 0)).toBeNull()
    expect(nextGain([{ ...trigger, points: -1 }], awards, 0)).toBeNull()
    // Users of another plan have the ticks of another trigger.
    const [free, pro] = [trigger, { ...trigger, id: 'pro', points: 5 }]
    expect(nextGain([free, pro], [{ date: '2026-01-01T06:00:00.000Z', trigger: pro }], 0)?.points).toBe(5)
  })
})

describe('rankings', () => {
  const row = (userId: string, rank: number) => ({ userId, userName: null, rank, value: 1 })

  test('the own row is marked, or pinned if the page does not hold it', () => {
    const listed = rankingView([row('a', 1), row('b', 2)], { userId: 'b', rank: 2, value: 1 })
    expect(listed.rows.map(({ isOwn }) => isOwn)).toEqual([false, true])
    expect(listed.pinned).toBeUndefined()
    expect(rankingView([row('a', 1)], { userId: 'b', rank: 9, value: 1 }).pinned).toMatchObject({ rank: 9 })
    expect(rankingView([row('a', 1)], undefined).pinned).toBeUndefined()
  })

  test('a rank change is up, down, new or none', () => {
    expect(rankChange({ rank: 2, previousRank: 5 })).toEqual({ type: 'up', places: 3 })
    expect(rankChange({ rank: 5, previousRank: 2 })).toEqual({ type: 'down', places: 3 })
    expect(rankChange({ rank: 5, previousRank: null })).toEqual({ type: 'new' })
    expect(rankChange({ rank: 5, previousRank: 5 })).toBeNull()
    expect(rankChange({ rank: 5 })).toBeNull()
  })

  test('a live ranking knows the ranks before', () => {
    const first = withPreviousRanks([row('a', 1), row('b', 2)], [])
    expect(first.map(({ previousRank }) => previousRank)).toEqual([undefined, undefined])
    const second = withPreviousRanks([row('b', 1), row('a', 2), row('c', 3)], first)
    expect(second.map(({ previousRank }) => previousRank)).toEqual([2, 1, null])
    const third = withPreviousRanks([row('b', 1), row('a', 2), row('c', 3)], second)
    expect(third.map(({ previousRank }) => previousRank)).toEqual([2, 1, null])
    // Of three places, the last one gets a user who was below them.
    const fourth = withPreviousRanks([row('b', 1), row('a', 2), row('d', 3)], third)
    expect(fourth.map(({ previousRank }) => previousRank)).toEqual([2, 1, undefined])
  })

  test('[L2] a run is the one that holds the date, with days clamped to the month', () => {
    const weekly = { start: '2026-01-05', end: null, runUnit: 'day' as const, runInterval: 7 }
    expect(runOf(weekly, '2026-11-29')).toEqual({ start: '2026-11-23', end: '2026-11-29' })
    expect(runOf(weekly, '2026-01-01')).toEqual({ start: '2026-01-05', end: '2026-01-11' })
    const monthly = { start: '2026-01-31', end: '2026-04-10', runUnit: 'month' as const, runInterval: 1 }
    expect(runOf(monthly, '2026-03-01')).toEqual({ start: '2026-02-28', end: '2026-03-30' })
    expect(runOf(monthly, '2026-12-01')).toEqual({ start: '2026-03-31', end: '2026-04-10' })
    expect(runOf({ ...weekly, runUnit: null }, '2026-11-29')).toEqual({ start: '2026-01-05', end: null })
  })

  test.each([
    ['year', 8_000],
    ['month', 2_147_483_647],
    ['day', 2_147_483_647],
  ] as const)('[L2] a run of %s × %i lasts beyond the calendar', (runUnit, runInterval) => {
    const schedule = { start: '2026-01-05', end: null, runUnit, runInterval }
    expect(runOf(schedule, '2026-11-29')).toEqual({ start: '2026-01-05', end: null })
    const ending = { ...schedule, end: '2027-01-01' }
    expect(runOf(ending, '2028-11-29')).toEqual({ start: '2026-01-05', end: '2027-01-01' })
  })

  test('[L2] the runs of a board that began in the first century', () => {
    const yearly = { start: '0001-01-31', end: null, runUnit: 'year' as const, runInterval: 1 }
    expect(runOf(yearly, '2026-11-29')).toEqual({ start: '2026-01-31', end: '2027-01-30' })
  })

  test.each([
    ['2027-03-30', '2027-03-31', '2027-03-30T11:00:00.000Z', '2027-04-01T11:00:00.000Z'],
    ['2027-03-08', '2027-03-14', '2027-03-08T05:00:00.000Z', '2027-03-15T04:00:00.000Z'],
    ['2027-11-01', '2027-11-07', '2027-11-01T04:00:00.000Z', '2027-11-08T05:00:00.000Z'],
    ['2027-04-24', '2027-04-24', '2027-04-23T22:00:00.000Z', '2027-04-24T21:00:00.000Z'],
    ['2027-04-24', null, '2027-04-23T22:00:00.000Z', null],
  ])('[L14] the run from %s lasts until %s, also if clocks change', (key, last, startsAt, endsAt) => {
    expect(lastDateOf({ key, startsAt, endsAt })).toBe(last)
  })
})

test('texts and numbers follow the locale', () => {
  const german = formatOf('de', 'Europe/Berlin')
  expect(german.number(1234.5)).toBe('1.234,5')
  expect(german.date('2026-11-23')).toBe('23. Nov.')
  expect(german.instant('2026-11-23T23:30:00Z')).toBe('24.11.2026')
  expect(formatOf('en', 'UTC').shortNumber(999_999_999)).toBe('999.9M')
  expect(timeSpan(3909, formatOf('en', 'UTC'))).toBe('1:05:09')
  expect(timeSpan(9, formatOf('en', 'UTC'))).toBe('0:09')
  expect(defaultLabels.freezes({ count: 1, max: undefined }, formatOf('en', 'UTC'))).toBe('1 freeze')
})

test('a locale and a zone that the browser does not know count as "en" and "UTC"', () => {
  // Browsers have these as their own, also in `navigator.language` and `resolvedOptions()`.
  for (const [locale, zone] of [
    ['en-US@posix', 'UTC'],
    ['C', 'UTC'],
    ['en', 'Etc/Unknown'],
  ] as const) {
    const { number, instant } = formatOf(locale, zone)
    expect([number(1234.5), instant('2026-11-23T23:30:00Z')]).toEqual(['1,234.5', 'Nov 23, 2026'])
  }
})

test('texts have the same spaces for every version of the locale data', () => {
  const english = formatOf('en', 'UTC')
  expect(english.dateRange('2026-11-02', '2026-11-08')).toBe('Nov 2 – 8')
  expect(formatOf('fr', 'UTC').number(1_234_567)).toBe('1\u00a0234\u00a0567')
  for (const locale of ['en', 'de', 'fr', 'es', 'ja', 'pt', 'sv', 'bg', 'uk', 'kk']) {
    const { date, dateRange, month, instant, number, shortNumber, signed, percent } = formatOf(locale, 'UTC')
    const dates = [date('2026-11-02', 'long'), dateRange('2026-11-02', '2026-12-08'), month('2026-11-02')]
    const numbers = [number(-1234567.8), shortNumber(12_345_678), signed(12_345), percent(12.5)]
    const texts = [...dates, instant('2026-11-02T10:00:00Z'), ...numbers]
    expect(texts.join(' ')).not.toMatch(/[\u2009\u202f]/)
  }
})

test('dates have the months of the calendar on the page, in locales with another calendar too', () => {
  expect(formatOf('fa', 'UTC').month('2026-11-02')).toContain('نوامبر')
  const saudi = formatOf('ar-SA-u-ca-islamic-umalqura', 'UTC')
  expect(saudi.date('2026-11-02')).toContain('نوفمبر')
  expect(saudi.instant('2026-11-02T10:00:00Z')).toContain('٢٠٢٦')
  expect(formatOf('th', 'UTC').month('2026-11-02')).toContain('2569')
})

test('Arabic without a country has the same digits with older locale data', () => {
  const { NumberFormat, DateTimeFormat } = Intl
  const older = (locale: string) => (locale === 'ar' ? 'ar-u-nu-arab' : locale)
  class OlderNumbers extends NumberFormat {
    constructor(locale: string, options?: Intl.NumberFormatOptions) {
      super(older(locale), options)
    }
  }
  class OlderDates extends DateTimeFormat {
    constructor(locale: string, options?: Intl.DateTimeFormatOptions) {
      super(older(locale), options)
    }
  }
  vi.stubGlobal('Intl', { NumberFormat: OlderNumbers, DateTimeFormat: OlderDates })
  onTestFinished(() => void vi.unstubAllGlobals())
  const format = formatOf('ar', 'UTC')
  const { number, date, instant, locale } = format
  const texts = [number(12), date('2026-11-02'), instant('2026-11-02T10:00:00Z'), timeSpan(65, format)]
  expect(texts.join(' ')).not.toMatch(/[٠-٩]/)
  expect(locale).toBe('ar')
})

test('numbers, dates and plurals have a text without newer parts of Intl', () => {
  const { prototype } = Intl.DateTimeFormat
  const { formatRange } = prototype
  Reflect.deleteProperty(prototype, 'formatRange')
  vi.stubGlobal('Intl', { NumberFormat: Intl.NumberFormat, DateTimeFormat: Intl.DateTimeFormat })
  onTestFinished(() => {
    vi.unstubAllGlobals()
    Object.assign(prototype, { formatRange })
  })
  const format = formatOf('en', 'UTC')
  expect(format.dateRange('2026-11-02', '2026-11-08')).toBe('Nov 2 – Nov 8')
  expect(format.dateRange('2026-11-02', '2026-11-02')).toBe('Nov 2')
  expect(format.plural(1, { one: 'freeze', other: 'freezes' })).toBe('freeze')
  expect(format.plural(2, { one: 'freeze', other: 'freezes' })).toBe('freezes')
  expect(format.list(['a', 'b'])).toBe('a, b')
})
