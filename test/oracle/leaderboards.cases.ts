import { offsetAt } from './calendar.oracle'
import type { ChangeInput, Mutant, OracleBoard, Wanted } from './leaderboards.oracle'
import { millionths } from './points.oracle'

/** Small logs with rankings that were worked out by hand. */

export const BOARD: OracleBoard = {
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

export const on = (max = 1_000, at = '2026-03-01T00:00Z'): ChangeInput => ({
  at: Date.parse(at),
  kind: 'board',
  board: 'board',
  status: 'active',
  max,
})
/** An event of a user in a zone. */
export const did = (user: string, at: string, value: string, zone = 'UTC'): ChangeInput => ({
  at: Date.parse(at),
  kind: 'change',
  user,
  of: 'words',
  millionths: millionths(value),
  offset: offsetAt(zone, Date.parse(at)),
})
export const is = (user: string, at: string, team: string | null, tz?: string): ChangeInput => ({
  at: Date.parse(at),
  kind: 'profile',
  user,
  attributes: { team },
  tz,
})

export const MONDAY = '2026-03-02T12:00Z'
const LATER = '2026-03-02T12:01Z'
const LAST = '2026-03-02T12:02Z'
const red = (user: string) => is(user, '2026-03-01T00:00Z', 'red')
const blue = (user: string) => is(user, '2026-03-01T00:00Z', 'blue')

/**
 * A small log, the expected ranking of the run that holds a date, as `user value` in order, and the rankings
 * of each wrong way to count.
 */
export type Case = {
  board?: Partial<OracleBoard>
  log: ChangeInput[]
  date?: string
  wanted?: Wanted
  ranking: string
  wrong: Partial<Record<Mutant, string>>
}

export const CASES: Record<string, Case> = {
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
      wrong: {
        'dates are UTC dates': 'east 2, both 1',
        'a run ends a day late': 'west 3, east 2, both 1',
      },
    },
  '[L1, E8] an event stays on its date when its user moves': {
    board: { end: '2026-03-02' },
    log: [on(), did('ada', '2026-03-02T23:30Z', '1'), is('ada', '2026-03-03T00:00Z', null, 'Asia/Tokyo')],
    ranking: 'ada 1',
    wrong: { 'dates move with the zone': '' },
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
    wrong: { 'the window includes its end': 'd 4, c 3, b 2' },
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
    wrong: { 'a window never crosses midnight': '' },
  },
  '[L2] runs of months are counted from the anchor, and the day is clamped': {
    board: { start: '2026-01-31', unit: 'month' },
    log: [on(), did('ada', '2026-03-27T12:00Z', '1')],
    date: '2026-03-29',
    ranking: 'ada 1',
    wrong: { 'months from the run before': '' },
  },
  '[L3] sums are exact, and negative values are subtracted': {
    log: [
      on(),
      ...['0.7', '0.2', '0.1'].map((value) => did('ada', MONDAY, value)),
      ...['5', '-4'].map((value) => did('bob', LATER, value)),
    ],
    ranking: 'ada 1, bob 1',
    wrong: { 'sums are floating': 'bob 1, ada 0', 'negative values are left out': 'bob 5, ada 1' },
  },
  '[L4] if scores are equal, the score that was reached first is ahead': {
    log: [on(), did('zoe', MONDAY, '2'), did('ada', LATER, '2')],
    ranking: 'zoe 2, ada 2',
    wrong: { 'ties go by user id alone': 'ada 2, zoe 2' },
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
    wrong: {
      'ties go by the first change': 'ada 2, bob 2, cy 2',
      'a zero is a change': 'ada 2, cy 2, bob 2',
    },
  },
  '[L4] remaining ties are ordered by user id, by code points': {
    log: [on(), did('ﬀ', MONDAY, '1'), did('𝒂', MONDAY, '1'), did('b', MONDAY, '1')],
    ranking: 'b 1, ﬀ 1, 𝒂 1',
    wrong: { 'ids go by code units': 'b 1, 𝒂 1, ﬀ 1' },
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
    wrong: { 'places go by the rounded score': 'ada 0, bob 0', 'zero is ranked': 'bob 0, ada 0, cy 0' },
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
    wrong: { 'the maximum is one for all groups': '', 'groups are ignored': 'a 9, b 8' },
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
    wrong: { 'groups that match together have a maximum each': 'a 9, b 8, d 6, e 5' },
  },
  '[L6] when the value changes, the scores move to the new group': {
    board: { breakdown: ['team'] },
    log: [on(), blue('ada'), did('ada', MONDAY, '2'), is('ada', LATER, 'red'), did('ada', LAST, '1')],
    wanted: [['team', 'red']],
    ranking: 'ada 3',
    wrong: { 'scores stay in the group where they were made': 'ada 1' },
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
    wrong: { 'final runs change': 'a 2, b 1', 'final at the end in UTC': '' },
  },
  '[L5, L8] a later change of the maximum does not change a final run': {
    board: { end: '2026-03-02' },
    log: [on(1), did('a', MONDAY, '2'), did('b', MONDAY, '1'), on(2, '2026-03-03T12:00Z')],
    ranking: 'a 2',
    wrong: { 'final runs change': 'a 2, b 1' },
  },
  '[L7, L8] a run that is finished by hand is final at once': {
    log: [
      ...[on(), did('a', MONDAY, '2')],
      { at: Date.parse(MONDAY), kind: 'board', board: 'board', status: 'finished', max: 1_000 },
      did('b', MONDAY, '3'),
    ],
    ranking: 'a 2',
    wrong: {},
  },
}
