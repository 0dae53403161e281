import { describe, expect, test } from 'vitest'
import { offsetAt, runsUpTo } from '../oracle/calendar.oracle'
import { type ChangeInput, type OracleBoard, rankingOn, type Wanted } from '../oracle/leaderboards.oracle'
import { type Economy, Ledger } from '../oracle/ledger.oracle'
import { history, placeOf } from '../oracle/places.oracle'
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
  filters: [],
}
const WEEKLY = { unit: 'day', interval: 7 } as const

const on = (max = 1_000, at = '2026-03-01T00:00Z'): ChangeInput => ({
  at: Date.parse(at),
  kind: 'board',
  board: 'board',
  status: 'active',
  max,
})
/** An event of a user in a zone. */
const did = (user: string, at: string, value: string, zone = 'UTC'): ChangeInput => ({
  at: Date.parse(at),
  kind: 'change',
  user,
  of: 'words',
  millionths: millionths(value),
  offset: offsetAt(zone, Date.parse(at)),
})
const is = (user: string, at: string, team: string | null, tz?: string): ChangeInput => ({
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

/** A small log, and the expected ranking of the run that holds a date, as `user value` in order. */
type Case = {
  board?: Partial<OracleBoard>
  log: ChangeInput[]
  date?: string
  wanted?: Wanted
  ranking: string
}

const CASES: Record<string, Case> = {
  '[L1] an event counts on its local date, so the last Sunday of a week ends late in the west and early in the east':
    {
      board: { ...WEEKLY },
      log: [
        on(),
        did('west', '2026-03-09T11:59:59.999Z', '3', 'Etc/GMT+12'),
        did('east', '2026-03-08T10:00Z', '2', 'Pacific/Kiritimati'),
        did('both', '2026-03-08T09:59:59.999Z', '1', 'Pacific/Kiritimati'),
      ],
      ranking: 'west 3, both 1',
    },
  '[L1, E8] an event stays on its date when its user moves': {
    board: { end: '2026-03-02' },
    log: [on(), did('ada', '2026-03-02T23:30Z', '1'), is('ada', '2026-03-03T00:00Z', null, 'Asia/Tokyo')],
    ranking: 'ada 1',
  },
  '[L1] a window holds its start, but not its end': {
    board: { from: '09:00', to: '17:00' },
    log: [
      on(),
      did('a', '2026-03-02T08:59:59.999Z', '1'),
      did('b', '2026-03-02T09:00Z', '2'),
      did('c', '2026-03-02T16:59:59.999Z', '3'),
      did('d', '2026-03-02T17:00Z', '4'),
    ],
    ranking: 'c 3, b 2',
  },
  '[L1] in a window across midnight, an event after midnight counts on its own date': {
    board: { from: '22:00', to: '06:00:30' },
    log: [
      on(),
      did('a', '2026-03-01T23:00Z', '1'),
      did('b', '2026-03-02T06:00:29.999Z', '2'),
      did('c', '2026-03-02T22:00Z', '3'),
      did('d', '2026-03-02T06:00:30Z', '4'),
    ],
    ranking: 'c 3, b 2',
  },
  '[L2] runs of months are counted from the anchor, and the day is clamped': {
    board: { start: '2026-01-31', unit: 'month' },
    log: [on(), did('ada', '2026-03-27T12:00Z', '1')],
    date: '2026-03-29',
    ranking: 'ada 1',
  },
  '[L3] sums are exact, and negative values are subtracted': {
    log: [
      on(),
      ...['0.7', '0.2', '0.1'].map((value) => did('ada', MONDAY, value)),
      ...['5', '-4'].map((value) => did('bob', LATER, value)),
    ],
    ranking: 'ada 1, bob 1',
  },
  '[L4] if scores are equal, the score that was reached first is ahead': {
    log: [on(), did('zoe', MONDAY, '2'), did('ada', LATER, '2')],
    ranking: 'zoe 2, ada 2',
  },
  '[L4] the last change decides when a score was reached; a fall is a change, a zero is not': {
    log: [
      on(),
      did('ada', MONDAY, '3'),
      did('bob', MONDAY, '2'),
      did('ada', LATER, '-1'),
      did('cy', LATER, '2'),
      did('bob', LAST, '0'),
    ],
    ranking: 'bob 2, ada 2, cy 2',
  },
  '[L4] remaining ties are ordered by user id, by code points': {
    log: [on(), did('ﬀ', MONDAY, '1'), did('𝒂', MONDAY, '1'), did('b', MONDAY, '1')],
    ranking: 'b 1, ﬀ 1, 𝒂 1',
  },
  '[L3, L4] ranks use the exact score, responses show it rounded down, and only scores above 0 are ranked': {
    log: [
      on(),
      did('ada', MONDAY, '0.4'),
      did('bob', LATER, '0.5'),
      did('cy', MONDAY, '0'),
      did('di', MONDAY, '-1'),
    ],
    ranking: 'bob 0, ada 0',
  },
  '[L5] the maximum applies to each group, and to groups that are read together': {
    board: { breakdown: ['team'] },
    log: [
      on(2),
      ...[red('a'), red('b'), red('c'), blue('d'), blue('e')],
      ...[did('a', MONDAY, '9'), did('b', MONDAY, '8'), did('c', MONDAY, '7')],
      ...[did('d', MONDAY, '6'), did('e', MONDAY, '5')],
    ],
    wanted: [['team', 'blue']],
    ranking: 'd 6, e 5',
  },
  '[L6] naming some of the attributes ranks all matching groups together': {
    board: { breakdown: ['team'] },
    log: [
      on(2),
      ...[red('a'), red('b'), red('c'), blue('d'), blue('e')],
      ...[did('a', MONDAY, '9'), did('b', MONDAY, '8'), did('c', MONDAY, '7')],
      ...[did('d', MONDAY, '6'), did('e', MONDAY, '5'), did('nobody', MONDAY, '99')],
    ],
    wanted: [],
    ranking: 'a 9, b 8',
  },
  '[L6] when the value changes, the scores move to the new group': {
    board: { breakdown: ['team'] },
    log: [on(), blue('ada'), did('ada', MONDAY, '2'), is('ada', LATER, 'red'), did('ada', LAST, '1')],
    wanted: [['team', 'red']],
    ranking: 'ada 3',
  },
  '[L13] only users who match all filters take part, with their whole score': {
    board: { filters: [['team', 'red']] },
    log: [
      ...[on(1), blue('ada'), red('bob'), red('cy'), did('ada', MONDAY, '2'), did('bob', MONDAY, '9')],
      ...[did('cy', MONDAY, '1'), is('bob', LATER, null), is('ada', LATER, 'red'), did('ada', LAST, '1')],
    ],
    ranking: 'ada 3',
  },
  '[L8] a run is final 12 hours after its end in UTC; users who move later stay in their group': {
    board: { end: '2026-03-02', breakdown: ['team'] },
    log: [
      ...[on(), red('a'), red('b'), did('a', MONDAY, '2'), did('b', MONDAY, '1')],
      is('a', '2026-03-03T11:59:59.999Z', 'blue'),
      is('b', '2026-03-03T12:00Z', 'blue'),
    ],
    wanted: [['team', 'blue']],
    ranking: 'a 2',
  },
  '[L5, L8] a later change of the maximum does not change a final run': {
    board: { end: '2026-03-02' },
    log: [on(1), did('a', MONDAY, '2'), did('b', MONDAY, '1'), on(2, '2026-03-03T12:00Z')],
    ranking: 'a 2',
  },
  '[L7, L8] a run that is finished by hand is final at once': {
    log: [
      ...[on(), did('a', MONDAY, '2')],
      { at: Date.parse(MONDAY), kind: 'board', board: 'board', status: 'finished', max: 1_000 },
      did('b', MONDAY, '3'),
    ],
    ranking: 'a 2',
  },
}

/** The ranking, in the form of a case. */
function shown({ board, log, date = MONDAY.slice(0, 10), wanted = [] }: Case): string {
  const view = { log, now: Date.parse('2026-04-01T00:00Z') }
  const ranked = rankingOn({ ...BOARD, ...board }, date, view, wanted) ?? []
  expect(ranked.map(({ rank }) => rank)).toEqual(ranked.map((_, index) => index + 1))
  return ranked.map(({ userId, value }) => `${userId} ${value}`).join(', ')
}

describe('the oracle of leaderboards, by hand', () => {
  test.each(Object.entries(CASES))('%s', (_rule, one) => {
    expect(shown(one)).toBe(one.ranking)
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
