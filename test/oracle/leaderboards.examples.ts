import type { Step, World, WorldBoard, WorldEvent } from './leaderboards.play'
import type { Economy } from './ledger.oracle'

/** Worlds that are always played, because random worlds rarely contain these cases. */

const ECONOMY: Economy = {
  max: 50,
  gain: { metric: 'm0', threshold: 1, points: 3 },
  price: { metric: 'm1', threshold: 1, points: -2 },
  tick: { unit: 'days', interval: 40, points: 1, team: null },
}
const BOARD = {
  key: 'board-0',
  of: 'm0',
  end: null,
  unit: null,
  interval: 1,
  from: null,
  to: null,
  breakdown: [],
  filters: [],
  max: 2,
  opens: 'at once',
} as const
const PLAIN = { attributes: {}, tz: undefined }

const event = (user: number, value: string, passed: WorldEvent['passed'] = PLAIN): WorldEvent => ({
  user,
  metric: 'm0',
  value,
  passed,
})
const at = (...events: WorldEvent[]): Step => ({ look: 0, do: 'events', events })
const wait = (days: number): Step => ({ look: 0, do: 'wait', minutes: days * 1_440 })
const set = (max: number): Step => ({ look: 0, do: 'max', board: 0, max })
const within = (team: string, plan: string) => ({ attributes: { team, plan }, tz: undefined })

/** The worlds by name. All of them begin at noon on a day in March. */
export function exampleWorlds(year: number): Record<string, World> {
  const world = (board: Partial<WorldBoard>, ...steps: Step[]): World => ({
    begins: Date.parse(`${year}-03-01T12:00:00Z`),
    users: ['ada', 'bob', 'cy', 'di'].map((id) => ({ id, passed: PLAIN })),
    economy: ECONOMY,
    boards: [{ ...BOARD, start: `${year}-03-01`, ...board }],
    steps,
  })
  const finish: Step = { look: 0, do: 'finish', board: 0 }
  const [a, b] = [within('red', 'a'), within('red', 'b:1')]
  const teams = at(event(0, '9', a), event(1, '8', a), event(2, '7', b), event(3, '6', b))
  const daily = { breakdown: ['team', 'plan'], unit: 'day' } as const
  const billion = at(event(0, '1000000000'))
  return {
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
      { filters: [['team', 'red']], unit: 'day' },
      ...[teams, at(event(0, '1', within('blue', 'a'))), at(event(0, '1')), at(event(3, '2'))],
      ...[wait(0.6), at(event(0, '2')), at(event(0, '0', a)), at(event(1, '1', within('blue', 'a')))],
      ...[wait(0.8), at(event(0, '0', within('blue', 'a')), event(1, '0', a)), wait(1)],
    ),
    '[L13, L6] groups are of those who match all filters': world(
      {
        filters: [
          ['plan', 'a'],
          ['team', 'red'],
        ],
        breakdown: ['team', 'plan'],
      },
      ...[teams, at(event(1, '2', within('red', 'a'))), at(event(0, '5', within('blue', 'a')))],
    ),
    '[L6, L8] a user who moves before a run is final moves in it; a user who moves later does not': world(
      { breakdown: ['team'], unit: 'day' },
      ...[at(event(0, '3', a), event(1, '2', a)), wait(0.99), at(event(1, '0', within('blue', 'a')))],
      ...[wait(0.02), at(event(0, '1', within('blue', 'a'))), wait(2)],
    ),
  }
}
