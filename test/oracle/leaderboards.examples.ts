import type { Step, World, WorldBoard, WorldEvent } from './leaderboards.play'
import type { Economy } from './ledger.oracle'

/** Worlds that are always played, since chance would seldom make them. */

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

/** The worlds by what they tell; all of them begin at a noon in March. */
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
    '[L7, L8] what came before the finish counts, in the same millisecond too, and nothing that came after':
      world({}, ...[at(event(0, '3')), finish, at(event(1, '5')), wait(1), at(event(1, '5')), wait(2)]),
    '[L5, L6, L8] a maximum that is raised later changes no final run, nor groups of it that are read together':
      world(daily, ...[teams, wait(2), set(1_000), wait(1)]),
    '[L5, L6, L8] a maximum that is lowered later changes no final run, nor groups of it that are read together':
      world({ ...daily, max: 3 }, ...[teams, wait(2), set(1), wait(1)]),
    '[L5] who is outside comes in when one of the best falls behind, falls to nothing, or leaves the group':
      world(
        { breakdown: ['team'] },
        ...[at(event(0, '9', a), event(1, '8', a), event(2, '7', b), event(3, '6', b))],
        ...[at(event(0, '-3.5')), at(event(1, '-8')), at(event(2, '1', within('blue', 'a')))],
        ...[at(event(1, '5.5')), at(event(2, '-1', within('red', 'a')))],
      ),
    '[L10, G11] a day on which only what is beyond 32 bits changed is none of the history': world(
      {},
      ...[billion, wait(1), billion, wait(1), billion, wait(1), billion, wait(1), at(event(1, '1'))],
    ),
    '[L10] the day on which the last one of a run leaves it is in the history, and stays in it when the run is final':
      world(
        { unit: 'day', interval: 2 },
        ...[at(event(0, '3')), wait(0.6), at(event(0, '-3')), wait(0.6), at(event(1, '0')), wait(1.5)],
      ),
    '[L6] who moves between two days, which are both open, moves in both': world(
      { breakdown: ['team'], unit: 'day' },
      ...[at(event(0, '3', a), event(1, '2', a)), wait(0.6), at(event(0, '1'), event(1, '1'))],
      ...[at(event(0, '1', within('blue', 'a')))],
    ),
    '[L6, L8] who moves before a run is final moves in it, who moves afterwards does not': world(
      { breakdown: ['team'], unit: 'day' },
      ...[at(event(0, '3', a), event(1, '2', a)), wait(0.99), at(event(1, '0', within('blue', 'a')))],
      ...[wait(0.02), at(event(0, '1', within('blue', 'a'))), wait(2)],
    ),
  }
}
