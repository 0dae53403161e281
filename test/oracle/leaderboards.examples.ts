import type { Step, World, WorldBoard, WorldEvent } from './leaderboards.play'
import { type Economy, POINTS } from './ledger.oracle'

/** Worlds that are always played, because random worlds rarely contain these cases. */

const ECONOMY: Economy = {
  max: 50,
  gain: { metric: 'm0', threshold: 1, points: 3 },
  price: { metric: 'm1', threshold: 1, points: -2 },
  tick: { unit: 'days', interval: 40, points: 1, team: null },
}
const BOARD = {
  ...{ key: 'board-0', of: 'm0', end: null, unit: null, interval: 1, from: null, to: null },
  ...{ breakdown: [], filters: [], max: 2, opens: 'at once' },
} as const satisfies Partial<WorldBoard>
const PLAIN = { attributes: {}, tz: undefined }

const event = (user: number, value: string, passed: WorldEvent['passed'] = PLAIN): WorldEvent => ({
  ...{ user, metric: 'm0', value, passed },
})
const at = (...events: WorldEvent[]): Step => ({ look: 0, do: 'events', events })
const wait = (days: number): Step => ({ look: 0, do: 'wait', minutes: days * 1_440 })
const set = (max: number): Step => ({ look: 0, do: 'max', board: 0, max })
const zone = (tz: string) => ({ attributes: {}, tz })
const identify = (user: number, passed: WorldEvent['passed']): Step => ({
  ...{ look: 0, do: 'identify', user, passed },
})
const turn: Step = { look: 0, do: 'switch', board: 0 }
const within = (team: string, plan: string) => ({ attributes: { team, plan }, tz: undefined })
const [PLAN_A, TEAM_RED] = [['plan', 'a'] as const, ['team', 'red'] as const]

/** The worlds by name. All of them begin at noon on a day in March. */
export function exampleWorlds(year: number): Record<string, World> {
  const world = (board: Partial<WorldBoard>, ...steps: Step[]): World => ({
    begins: Date.parse(`${year}-03-01T12:00:00Z`),
    // Their order by code points is another one than by UTF-16.
    users: ['z', 'ﬀ', '\u{1D482}', 'a'].map((id) => ({ id, passed: PLAIN })),
    economy: ECONOMY,
    boards: [{ ...BOARD, start: `${year}-03-01`, ...board }],
    // The first user, and other pages each time.
    steps: steps.map((step, nth) => ({ ...step, look: 4 * nth })),
  })
  const finish: Step = { look: 0, do: 'finish', board: 0 }
  const [a, b] = [within('red', 'a'), within('red', 'b:1')]
  const teams = at(event(0, '9', a), event(1, '8', a), event(2, '7', b), event(3, '6', b))
  const daily = { breakdown: ['team', 'plan'], unit: 'day' } as const
  const billion = at(event(0, '1000000000'))
  return {
    '[L1] scores count inside the daily window of the user, which may cross midnight': world(
      { from: '22:00', to: '02:00:30' },
      ...[at(event(0, '5')), at(event(1, '5', zone('Pacific/Auckland'))), wait(14 / 24), at(event(0, '7'))],
      ...[wait(1 / 1_440), at(event(0, '100'))],
    ),
    '[L1, E8] a score belongs to the run with the local date of the event, also after a change of the zone':
      world(
        { unit: 'day' },
        ...[at(event(0, '5', zone('Pacific/Kiritimati'))), identify(0, zone('UTC'))],
        at(event(0, '3')),
      ),
    '[L2, L7] a leaderboard opens and finishes by itself, and then its last run is served': world(
      { start: `${year}-03-03`, end: `${year}-03-12`, unit: 'day', interval: 7 },
      ...[wait(0.9), wait(1 / 60), at(event(0, '5', zone('Pacific/Kiritimati'))), wait(7)],
      ...[at(event(1, '3')), wait(2), at(event(0, '2')), wait(2.5), at(event(0, '5'))],
    ),
    '[L3, L7] an inactive leaderboard is hidden, and all events since its start count when it is active':
      world(
        { opens: 'later', unit: 'day', interval: 2 },
        ...[at(event(0, '5'), event(1, '3')), turn, at(event(1, '3')), turn],
        ...[at(event(0, '3'), event(2, '9')), at(event(0, '2')), turn, wait(3), at(event(0, '1'))],
      ),
    '[L3, P6] points are the sums of applied awards, also of time triggers': world(
      { of: POINTS },
      ...[at(event(0, '1'), event(1, '16')), wait(41), at(event(0, '2'), event(1, '1')), wait(41)],
    ),
    '[L3, G11] users rank by their exact value, which is served rounded down': world(
      { max: 4 },
      ...[at(event(0, '1.000001'), event(1, '1.000002'), event(2, '0.5'))],
      ...Array.from({ length: 3 }, () => at(event(3, '1000000000'))),
    ),
    '[L4] score, then the earlier time, then user id; only scores above 0': world(
      { max: 1_000 },
      ...[at(event(0, '5'), event(1, '5'), event(2, '5')), wait(0.1), at(event(0, '1')), at(event(0, '-1'))],
      ...[at(event(3, '0')), at(event(3, '-1')), at(event(3, '6'))],
    ),
    '[L5] a newcomer to a full group must exceed the last score; a user who drops out can come back': world(
      {},
      ...[at(event(0, '5')), at(event(1, '3')), at(event(2, '3')), at(event(2, '1')), at(event(0, '-4.5'))],
      ...[at(event(0, '4'))],
    ),
    '[L5] a changed maximum acts at once on runs that are not final': world(
      { max: 1 },
      ...[at(event(0, '5'), event(1, '3')), set(2), set(1), at(event(1, '1'))],
    ),
    '[L8] runs overlap between UTC+14 and 12 hours after their end in UTC, by the users’ dates': world(
      { unit: 'day', interval: 2 },
      ...[at(event(0, '1')), wait(22 / 24), at(event(1, '2', zone('Pacific/Kiritimati')))],
      wait(1_559 / 1_440),
      ...[at(event(2, '3', zone('Etc/GMT+12'))), wait(1 / 1_440), at(event(2, '4'))],
    ),
    '[L7, L8] changes before the finish count, even in the same millisecond, and changes after it do not':
      world({}, ...[at(event(0, '3')), finish, at(event(1, '5')), wait(1), at(event(1, '5')), wait(2)]),
    '[L5, L6, L8] raising the maximum later changes no final run, and no groups of it that are read together':
      world(daily, ...[teams, wait(2), set(1_000), wait(1)]),
    '[L5, L6, L8] lowering the maximum later changes no final run, and no groups of it that are read together':
      world({ ...daily, max: 3 }, ...[teams, wait(2), set(1), wait(1)]),
    '[L5] an unranked user is ranked when a ranked one falls behind, falls to 0, or leaves the group': world(
      { breakdown: ['team'] },
      ...[at(event(0, '9', a), event(1, '8', a), event(2, '7', b), event(3, '6', b))],
      ...[at(event(0, '-3.5')), at(event(1, '-8')), at(event(2, '1', within('blue', 'a')))],
      ...[at(event(1, '5.5')), at(event(2, '-1', within('red', 'a')))],
    ),
    '[L10, G11] a day is not in the history if only parts beyond 32 bits changed': world(
      {},
      ...[billion, wait(1), billion, wait(1), billion, wait(1), billion, wait(1), at(event(1, '1'))],
    ),
    '[L10] the day on which the last user leaves a run is in the history, also after the run is final': world(
      { unit: 'day', interval: 2 },
      ...[at(event(0, '3')), wait(0.6), at(event(0, '-3')), wait(0.6), at(event(1, '0')), wait(1.5)],
    ),
    '[L6] a user who moves between two open days moves in both': world(
      { breakdown: ['team'], unit: 'day' },
      ...[at(event(0, '3', a), event(1, '2', a)), wait(0.6), at(event(0, '1'), event(1, '1'))],
      ...[at(event(0, '1', within('blue', 'a')))],
    ),
    '[L13, L5, L8] users who match take part with their whole score, until the run is final': world(
      { filters: [TEAM_RED], unit: 'day' },
      ...[teams, at(event(0, '1', within('blue', 'a'))), at(event(0, '1')), at(event(3, '2'))],
      ...[wait(0.6), at(event(0, '2')), at(event(0, '0', a)), at(event(1, '1', within('blue', 'a')))],
      ...[wait(0.8), at(event(0, '0', within('blue', 'a')), event(1, '0', a)), wait(1)],
    ),
    '[L13, L6] groups are of those who match all filters': world(
      { filters: [PLAN_A, TEAM_RED], breakdown: ['team', 'plan'] },
      ...[teams, at(event(1, '2', within('red', 'a'))), at(event(0, '5', within('blue', 'a')))],
    ),
    '[L6, L8] a user who moves before a run is final moves in it; a user who moves later does not': world(
      { breakdown: ['team'], unit: 'day' },
      ...[at(event(0, '3', a), event(1, '2', a)), wait(0.99), at(event(1, '0', within('blue', 'a')))],
      ...[wait(0.02), at(event(0, '1', within('blue', 'a'))), wait(2)],
    ),
  }
}
