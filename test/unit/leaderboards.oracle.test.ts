import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsUpTo } from '../oracle/calendar.oracle'
import { BOARD, CASES, type Case, did, is, MONDAY, on } from '../oracle/leaderboards.cases'
import { MUTANTS, type Mutant, rankingOn } from '../oracle/leaderboards.oracle'
import { Play } from '../oracle/leaderboards.play'
import { worldsOf } from '../oracle/leaderboards.worlds'
import { type Economy, Ledger } from '../oracle/ledger.oracle'
import { history, placeOf, readingsOf } from '../oracle/places.oracle'

/** The ranking, in the form of a case. */
function shown({ board, log, date = MONDAY.slice(0, 10), wanted = [] }: Case, mutant?: Mutant): string {
  const view = { log, now: Date.parse('2026-04-01T00:00Z'), mutant }
  const ranked = rankingOn({ ...BOARD, ...board }, date, view, wanted) ?? []
  expect(ranked.map(({ rank }) => rank)).toEqual(ranked.map((_, index) => index + 1))
  return ranked.map(({ userId, value }) => `${userId} ${value}`).join(', ')
}

describe('the oracle of leaderboards, by hand', () => {
  test.each(Object.entries(CASES))('%s', (_rule, one) => {
    expect(shown(one)).toBe(one.ranking)
  })

  const wrong = Object.entries(CASES).flatMap(([rule, one]) =>
    MUTANTS.flatMap((mutant) => {
      const ranking = one.wrong[mutant]
      return ranking === undefined ? [] : [{ mutant, rule, one, ranking }]
    }),
  )

  test.each(wrong)('$rule: its case detects $mutant', ({ mutant, one, ranking }) => {
    expect(ranking).not.toBe(one.ranking)
    expect(shown(one, mutant)).toBe(ranking)
  })

  test('[L1, L2, L3, L4, L5, L6, L7, L8] there is a case for each wrong way', () => {
    expect(new Set(wrong.map(({ mutant }) => mutant))).toEqual(new Set(MUTANTS))
  })

  test('[L2] runs are counted from the anchor; the last one ends with the leaderboard', () => {
    const starts = (start: string, unit: 'day' | 'month' | 'year', interval: number, to: string) =>
      runsUpTo({ start, end: null, unit, interval }, to).map((run) => run.start)
    expect(starts('2026-01-31', 'month', 1, '2026-05-01')).toEqual([
      '2026-01-31',
      '2026-02-28',
      '2026-03-31',
      '2026-04-30',
    ])
    expect(starts('2024-02-29', 'year', 1, '2028-12-31')).toEqual([
      '2024-02-29',
      '2025-02-28',
      '2026-02-28',
      '2027-02-28',
      '2028-02-29',
    ])
    expect(
      runsUpTo({ start: '2026-03-02', end: '2026-03-10', unit: 'day', interval: 7 }, '2027-01-01'),
    ).toEqual([
      { start: '2026-03-02', end: '2026-03-08' },
      { start: '2026-03-09', end: '2026-03-10' },
    ])
  })

  test('[L5, L10] places, thresholds, and a history of the days that ended with a change', () => {
    const log = [
      ...[on(2), is('ada', '2026-03-01T00:00Z', null), is('bob', '2026-03-01T00:00Z', null)],
      ...[did('ada', '2026-03-02T09:00Z', '1'), did('ada', '2026-03-02T10:00Z', '1.5')],
      did('bob', '2026-03-04T10:00Z', '7'),
      ...[did('cy', '2026-03-05T00:00Z', '3'), did('cy', '2026-03-06T00:00Z', '-1')],
    ]
    const run = { start: '2026-03-02', end: null }
    const view = { log, now: Date.parse('2026-03-07T23:00Z') }
    expect(placeOf(BOARD, run, view, 'ada')).toEqual({ group: [], rank: 2, value: 2, threshold: 2 })
    expect(placeOf(BOARD, run, view, 'cy')).toEqual({ group: [], rank: null, value: null, threshold: 2 })
    const days = history(BOARD, run, view, 'ada', 10)
    expect(
      days.map(({ date, previousRank, rank, previousValue, value }) => [
        date,
        previousRank,
        rank,
        previousValue,
        value,
      ]),
    ).toEqual([
      ['2026-03-02', null, 1, null, 2],
      ['2026-03-04', 1, 2, 2, 2],
      ['2026-03-05', 2, null, 2, null],
      ['2026-03-06', null, 2, null, 2],
    ])
    expect(history(BOARD, run, view, 'ada', 1)).toEqual(days.slice(3))
  })

  test('[P1, P4, P6] the ledger gives, takes and ticks, up to the cap and down to zero', () => {
    const economy: Economy = {
      max: 6,
      gain: { metric: 'words', threshold: 2, points: 3 },
      price: { metric: 'pages', threshold: 1, points: -5 },
      tick: { unit: 'hours', interval: 5, points: 2, team: 'red' },
    }
    const begins = Date.parse('2026-03-01T00:00Z')
    const hours = (count: number) => begins + count * 3_600_000
    const ledger = new Ledger(begins, economy)
    const passed = { attributes: { team: 'red' }, tz: 'Asia/Kathmandu' }
    ledger.event('ada', passed, 'words', '1.999999')
    ledger.moveTo(hours(1))
    ledger.event('ada', passed, 'words', '0.000001')
    ledger.identify('bob', { attributes: {}, tz: undefined })
    ledger.moveTo(hours(16))
    ledger.event('ada', passed, 'pages', '3')
    ledger.moveTo(hours(20))
    const awards = ledger.log.flatMap((one) =>
      one.kind === 'change' && one.of === 'xp'
        ? [[one.user, (one.at - begins) / 3_600_000, one.millionths]]
        : [],
    )
    expect(awards).toEqual([
      ['ada', 1, 3_000_000n],
      ['ada', 5, 2_000_000n],
      ['ada', 10, 1_000_000n],
      ['ada', 16, -6_000_000n],
      ['ada', 20, 2_000_000n],
    ])
    expect(ledger.log.find((one) => one.kind === 'change')).toMatchObject({ offset: 345 })
  })
})

describe('the worlds of the property', () => {
  test('[L1, L2, L3, L4, L5, L6, L7, L8] some of them detect each wrong way', () => {
    const told = new Set<Mutant>()
    for (const world of fc.sample(worldsOf(2028), { numRuns: 600, seed: 1 })) {
      const play = new Play(world)
      for (const step of world.steps) {
        const left = MUTANTS.filter((mutant) => !told.has(mutant))
        if (left.length === 0) return
        // Only after a move of the clock, because this is slow enough.
        if (play.step(step)?.do !== 'clock') continue
        for (const board of world.boards) {
          for (const { date, wanted } of readingsOf(board, play.view(), 2)) {
            const rankingBy = (mutant?: Mutant) =>
              JSON.stringify(rankingOn(board, date, play.view(mutant), wanted))
            const truth = rankingBy()
            for (const mutant of left) if (rankingBy(mutant) !== truth) told.add(mutant)
          }
        }
      }
    }
    expect(MUTANTS.filter((mutant) => !told.has(mutant))).toEqual([])
  })
})
