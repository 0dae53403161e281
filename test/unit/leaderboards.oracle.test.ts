import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { offsetAt, runsUpTo } from '../oracle/calendar.oracle'
import {
  type Happening,
  MUTANTS,
  type Mutant,
  type OracleBoard,
  rankingOn,
  type Wanted,
} from '../oracle/leaderboards.oracle'
import { Play } from '../oracle/leaderboards.play'
import { worldsOf } from '../oracle/leaderboards.worlds'
import { type Economy, Ledger } from '../oracle/ledger.oracle'
import { history, placeOf, readingsOf } from '../oracle/places.oracle'
import { millionths } from '../oracle/points.oracle'

const BOARD: OracleBoard = {
  key: 'board',
  of: 'words',
  start: '2026-03-02',
  end: null,
  unit: null,
  interval: 1,
  from: null,
  to: null,
  breakdown: [],
}
const WEEKLY = { unit: 'day', interval: 7 } as const

const on = (max = 1_000, at = '2026-03-01T00:00Z'): Happening => ({
  at: Date.parse(at),
  kind: 'board',
  board: 'board',
  status: 'active',
  max,
})
/** An event of a user in a zone. */
const did = (user: string, at: string, value: string, zone = 'UTC'): Happening => ({
  at: Date.parse(at),
  kind: 'change',
  user,
  of: 'words',
  millionths: millionths(value),
  offset: offsetAt(zone, Date.parse(at)),
})
const is = (user: string, at: string, team: string | null, tz?: string): Happening => ({
  at: Date.parse(at),
  kind: 'profile',
  user,
  attributes: { team },
  tz,
})

const MONDAY = '2026-03-02T12:00Z'
const LATER = '2026-03-02T12:01Z'
const LAST = '2026-03-02T12:02Z'
const red = (user: string) => is(user, '2026-03-01T00:00Z', 'red')
const blue = (user: string) => is(user, '2026-03-01T00:00Z', 'blue')

/** A small log, the ranking of the run that holds a date, as `user value` in order, and what each wrong way makes of it. */
type Case = {
  board?: Partial<OracleBoard>
  log: Happening[]
  date?: string
  wanted?: Wanted
  ranking: string
  wrong: Partial<Record<Mutant, string>>
}

const CASES: Record<string, Case> = {
  'L1: an event counts on its local date, so the last Sunday of a week ends late in the west and early in the east':
    {
      board: { ...WEEKLY },
      log: [
        on(),
        did('west', '2026-03-09T11:59:59.999Z', '3', 'Etc/GMT+12'),
        did('east', '2026-03-08T10:00Z', '2', 'Pacific/Kiritimati'),
        did('both', '2026-03-08T09:59:59.999Z', '1', 'Pacific/Kiritimati'),
      ],
      ranking: 'west 3, both 1',
      wrong: {
        'dates are those of UTC': 'east 2, both 1',
        'a run ends a day late': 'west 3, east 2, both 1',
      },
    },
  'L1, E8: an event stays on its date when its user moves': {
    board: { end: '2026-03-02' },
    log: [on(), did('ada', '2026-03-02T23:30Z', '1'), is('ada', '2026-03-03T00:00Z', null, 'Asia/Tokyo')],
    ranking: 'ada 1',
    wrong: { 'dates move with the zone': '' },
  },
  'L1: a window holds its start, but not its end': {
    board: { from: '09:00', to: '17:00' },
    log: [
      on(),
      did('a', '2026-03-02T08:59:59.999Z', '1'),
      did('b', '2026-03-02T09:00Z', '2'),
      did('c', '2026-03-02T16:59:59.999Z', '3'),
      did('d', '2026-03-02T17:00Z', '4'),
    ],
    ranking: 'c 3, b 2',
    wrong: { 'the window holds its end': 'd 4, c 3, b 2' },
  },
  'L1: of a window across midnight, what is after midnight belongs to the date it is on': {
    board: { from: '22:00', to: '06:00:30' },
    log: [
      on(),
      did('a', '2026-03-01T23:00Z', '1'),
      did('b', '2026-03-02T06:00:29.999Z', '2'),
      did('c', '2026-03-02T22:00Z', '3'),
      did('d', '2026-03-02T06:00:30Z', '4'),
    ],
    ranking: 'c 3, b 2',
    wrong: { 'a window never crosses midnight': '' },
  },
  'L2: runs of months are counted from the anchor, with the day clamped': {
    board: { start: '2026-01-31', unit: 'month' },
    log: [on(), did('ada', '2026-03-27T12:00Z', '1')],
    date: '2026-03-29',
    ranking: 'ada 1',
    wrong: { 'months from the run before': '' },
  },
  'L3: sums are exact, and what is taken is taken': {
    log: [
      on(),
      ...['0.7', '0.2', '0.1'].map((value) => did('ada', MONDAY, value)),
      ...['5', '-4'].map((value) => did('bob', LATER, value)),
    ],
    ranking: 'ada 1, bob 1',
    wrong: { 'sums are floating': 'bob 1, ada 0', 'negative values are left out': 'bob 5, ada 1' },
  },
  'L4: of equal scores, the one that was reached first is ahead': {
    log: [on(), did('zoe', MONDAY, '2'), did('ada', LATER, '2')],
    ranking: 'zoe 2, ada 2',
    wrong: { 'ties go by user id alone': 'ada 2, zoe 2' },
  },
  'L4: it was reached with the last change, a fall as well; a zero is none': {
    log: [
      on(),
      did('ada', MONDAY, '3'),
      did('bob', MONDAY, '2'),
      did('ada', LATER, '-1'),
      did('cy', LATER, '2'),
      did('bob', LAST, '0'),
    ],
    ranking: 'bob 2, ada 2, cy 2',
    wrong: {
      'ties go by the first change': 'ada 2, bob 2, cy 2',
      'a zero is a change': 'ada 2, cy 2, bob 2',
    },
  },
  'L4: what else is equal goes by user id, by the numbers of its characters': {
    log: [on(), did('ﬀ', MONDAY, '1'), did('𝒂', MONDAY, '1'), did('b', MONDAY, '1')],
    ranking: 'b 1, ﬀ 1, 𝒂 1',
    wrong: { 'ids go by code units': 'b 1, 𝒂 1, ﬀ 1' },
  },
  'L3, L4: boards rank by the exact score, show it rounded down, and only scores above 0': {
    log: [
      on(),
      did('ada', MONDAY, '0.4'),
      did('bob', LATER, '0.5'),
      did('cy', MONDAY, '0'),
      did('di', MONDAY, '-1'),
    ],
    ranking: 'bob 0, ada 0',
    wrong: { 'places go by the rounded score': 'ada 0, bob 0', 'zero is ranked': 'bob 0, ada 0, cy 0' },
  },
  'L5: the best are ranked, as many in each group; of groups together, as many of all': {
    board: { breakdown: ['team'] },
    log: [
      on(2),
      ...[red('a'), red('b'), red('c'), blue('d'), blue('e')],
      ...[did('a', MONDAY, '9'), did('b', MONDAY, '8'), did('c', MONDAY, '7')],
      ...[did('d', MONDAY, '6'), did('e', MONDAY, '5')],
    ],
    wanted: [['team', 'blue']],
    ranking: 'd 6, e 5',
    wrong: { 'the maximum is one for all groups': '', 'groups are ignored': 'a 9, b 8' },
  },
  'L6: naming some of the attributes ranks all groups that match together': {
    board: { breakdown: ['team'] },
    log: [
      on(2),
      ...[red('a'), red('b'), red('c'), blue('d'), blue('e')],
      ...[did('a', MONDAY, '9'), did('b', MONDAY, '8'), did('c', MONDAY, '7')],
      ...[did('d', MONDAY, '6'), did('e', MONDAY, '5'), did('nobody', MONDAY, '99')],
    ],
    wanted: [],
    ranking: 'a 9, b 8',
    wrong: { 'groups that match together have a maximum each': 'a 9, b 8, d 6, e 5' },
  },
  'L6: when the value changes, the scores move along': {
    board: { breakdown: ['team'] },
    log: [on(), blue('ada'), did('ada', MONDAY, '2'), is('ada', LATER, 'red'), did('ada', LAST, '1')],
    wanted: [['team', 'red']],
    ranking: 'ada 3',
    wrong: { 'scores stay in the group where they were made': 'ada 1' },
  },
  'L8: a run is final 12 hours after its end in UTC; who moves then stays where they were': {
    board: { end: '2026-03-02', breakdown: ['team'] },
    log: [
      ...[on(), red('a'), red('b'), did('a', MONDAY, '2'), did('b', MONDAY, '1')],
      is('a', '2026-03-03T11:59:59.999Z', 'blue'),
      is('b', '2026-03-03T12:00Z', 'blue'),
    ],
    wanted: [['team', 'blue']],
    ranking: 'a 2',
    wrong: { 'final runs follow': 'a 2, b 1', 'final at the end in UTC': '' },
  },
  'L5, L8: a maximum that changes then changes nothing': {
    board: { end: '2026-03-02' },
    log: [on(1), did('a', MONDAY, '2'), did('b', MONDAY, '1'), on(2, '2026-03-03T12:00Z')],
    ranking: 'a 2',
    wrong: { 'final runs follow': 'a 2, b 1' },
  },
  'L7, L8: finished by hand, it is final at once': {
    log: [
      ...[on(), did('a', MONDAY, '2')],
      { at: Date.parse(MONDAY), kind: 'board', board: 'board', status: 'finished', max: 1_000 },
      did('b', MONDAY, '3'),
    ],
    ranking: 'a 2',
    wrong: {},
  },
}

/** The ranking, as a case writes it. */
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
      return ranking === undefined ? [] : [{ mutant, rule: rule.split(':')[0], one, ranking }]
    }),
  )

  test.each(wrong)('$rule: its case tells where $mutant', ({ mutant, one, ranking }) => {
    expect(ranking).not.toBe(one.ranking)
    expect(shown(one, mutant)).toBe(ranking)
  })

  test('L1–L8: there is a case for each wrong way', () => {
    expect(new Set(wrong.map(({ mutant }) => mutant))).toEqual(new Set(MUTANTS))
  })

  test('L2: runs are counted from the anchor; the last one ends with the leaderboard', () => {
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

  test('L5, L10: places, thresholds, and the history of days that ended otherwise than the entry before', () => {
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

  test('P1, P4, P6: the ledger gives, takes and ticks, up to the cap and down to zero', () => {
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
  test('L1–L8: some of them tell each wrong way', () => {
    const told = new Set<Mutant>()
    for (const world of fc.sample(worldsOf(2028), { numRuns: 400, seed: 1 })) {
      const left = MUTANTS.filter((mutant) => !told.has(mutant))
      if (left.length === 0) break
      const play = new Play(world)
      for (const step of world.steps) {
        if (play.step(step) === null) continue
        for (const board of world.boards) {
          for (const { date, wanted } of readingsOf(board, play.view(), 3)) {
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
