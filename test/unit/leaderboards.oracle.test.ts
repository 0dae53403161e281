import { expect, test } from 'vitest'
import { type ChangeInput, type OracleBoard, rankingOn, type Wanted } from '../oracle/leaderboards.oracle'
import { millionths } from '../oracle/points.oracle'

const DAY = '2026-03-02'
const moment = (time: string) => Date.parse(`${DAY}T${time}Z`)
const BOARD: OracleBoard = {
  ...{ key: 'board', of: 'words', start: DAY, end: null, unit: null, interval: 1 },
  ...{ from: null, to: null, breakdown: [], filters: [] },
}

const board = (max: number, at = moment('00:00')): ChangeInput => ({
  ...{ at, kind: 'board', board: 'board', status: 'active', max },
})
const did = (user: string, time: string, value: string): ChangeInput => ({
  ...{ at: moment(time), kind: 'change', user, of: 'words', millionths: millionths(value), offset: 0 },
})
const is = (user: string, team: string): ChangeInput => ({
  ...{ at: moment('00:00'), kind: 'profile', user, attributes: { team }, tz: undefined },
})

/** Two teams, of three and of two users, and a user without a team. */
const TEAMS = [
  ...[board(2), is('a', 'red'), is('b', 'red'), is('c', 'red'), is('d', 'blue'), is('e', 'blue')],
  ...[did('a', '12:00', '9'), did('b', '12:00', '8'), did('c', '12:00', '7')],
  ...[did('d', '12:00', '6'), did('e', '12:00', '5'), did('nobody', '12:00', '99')],
]

/** Logs whose rankings were worked out by hand: the cases that no test shows on the service in this way. */
test.each<[rule: string, log: ChangeInput[], of: Partial<OracleBoard>, wanted: Wanted, ranking: string[]]>([
  [
    '[L4] the last change decides when a score was reached; a fall is a change, a zero is not',
    [
      ...[board(1_000), did('ada', '12:00', '3'), did('bob', '12:00', '2'), did('ada', '12:01', '-1')],
      ...[did('cy', '12:01', '2'), did('bob', '12:02', '0')],
    ],
    {},
    [],
    ['bob 2', 'ada 2', 'cy 2'],
  ],
  [
    '[L5] the maximum applies to each group',
    TEAMS,
    { breakdown: ['team'] },
    [['team', 'blue']],
    ['d 6', 'e 5'],
  ],
  [
    '[L5, L6] naming some of the attributes ranks all matching groups together, up to the maximum',
    TEAMS,
    { breakdown: ['team'] },
    [],
    ['a 9', 'b 8'],
  ],
  [
    '[L5, L8] a later change of the maximum does not change a final run',
    [board(1), did('a', '12:00', '2'), did('b', '12:00', '1'), board(2, Date.parse('2026-03-03T12:00Z'))],
    { end: DAY },
    [],
    ['a 2'],
  ],
])('the oracle of leaderboards: %s', (_rule, log, of, wanted, ranking) => {
  const ranked = rankingOn({ ...BOARD, ...of }, DAY, { log, now: Date.parse('2026-04-01T00:00Z') }, wanted)
  expect(ranked?.map(({ userId, value }) => `${userId} ${value}`)).toEqual(ranking)
  expect(ranked?.map(({ rank }) => rank)).toEqual(ranking.map((_, index) => index + 1))
})
