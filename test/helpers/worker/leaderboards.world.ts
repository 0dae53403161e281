import { expect } from 'vitest'
import * as z from 'zod'
import type { Ranked, Wanted } from '../../oracle/leaderboards.oracle'
import type { Action, Play, WorldBoard } from '../../oracle/leaderboards.play'
import { type Economy, type Passed, POINTS } from '../../oracle/ledger.oracle'
import { type Answer, newTenant, type TestTenant } from './harness'

/** Plays random worlds to the service: makes the configuration of the oracle, and performs its steps. */

export type Ids = { metrics: Map<string, string>; system: string; boards: Map<string, string> }

/** A new tenant at a world's beginning, with the world's configuration. */
export async function configure(play: Play): Promise<{ tenant: TestTenant; ids: Ids }> {
  const { begins, economy, boards } = play.world
  const tenant = await newTenant()
  await tenant.clock('DELETE')
  await tenant.moveClock(begins)
  const metrics = new Map<string, string>()
  for (const key of ['m0', 'm1']) metrics.set(key, await tenant.metric(key))
  const attributes = new Map<string, string>()
  for (const key of ['team', 'plan']) {
    attributes.set(key, await tenant.create('/attributes', { key, name: key, type: 'user' }))
  }
  const system = await tenant.create('/points', {
    key: POINTS,
    name: POINTS,
    maxPoints: economy.max,
    triggers: triggersOf(economy, metrics, attributes),
  })
  const ids: Ids = { metrics, system, boards: new Map() }
  for (const board of boards) {
    const item = boardItem(board, play, ids, attributes)
    ids.boards.set(board.key, await tenant.create('/leaderboards', item))
  }
  return { tenant, ids }
}

function triggersOf(
  { gain, price, tick }: Economy,
  metrics: ReadonlyMap<string, string>,
  attributes: ReadonlyMap<string, string>,
): unknown[] {
  const ofMetric = ({ metric, threshold, points }: Economy['gain']) => ({
    type: 'metric',
    points,
    status: 'active',
    metricId: metrics.get(metric),
    metricThreshold: threshold,
  })
  const team = { attributeId: attributes.get('team'), attributeValue: tick.team }
  return [
    ofMetric(gain),
    ofMetric(price),
    {
      type: 'time',
      points: tick.points,
      status: 'active',
      timeUnit: tick.unit,
      timeInterval: tick.interval,
      ...(tick.team !== null && { userAttributes: [team] }),
    },
  ]
}

function boardItem(
  board: WorldBoard,
  play: Play,
  { metrics, system }: Ids,
  attributes: ReadonlyMap<string, string>,
): unknown {
  const { key, of, start, end, from, to, max, unit, interval, breakdown, filters } = board
  return {
    key,
    name: `Board ${key}`,
    status: play.firstStatus(board),
    ...(of === POINTS
      ? { rankBy: 'points', pointsSystemId: system }
      : { rankBy: 'metric', metricId: metrics.get(of) }),
    // L2: the default start is today, and the default maximum is 1,000.
    ...(start !== new Date(play.world.begins).toISOString().slice(0, 10) && { start }),
    ...(end !== null && { end }),
    ...(from !== null && { startTime: from }),
    ...(to !== null && { endTime: to }),
    ...(unit !== null && { runUnit: unit, runInterval: interval }),
    maxParticipants: max === 1_000 ? null : max,
    breakdownAttributes: breakdown.map((name) => attributes.get(name)),
    userAttributes: filters.map(([name, attributeValue]) => ({
      attributeId: attributes.get(name),
      attributeValue,
    })),
  }
}

/** Performs a step, through two apps that act as two isolates. Returns the responses to events, in order. */
export async function perform(
  apps: readonly [TestTenant, TestTenant],
  { boards }: Ids,
  action: Action,
): Promise<Answer[]> {
  const [tenant, other] = apps
  if (action.do === 'clock') {
    await tenant.moveClock(action.to)
    return []
  }
  if (action.do === 'identify') {
    const path = `/users/${encodeURIComponent(action.user)}`
    const { status } = await tenant.app('PUT', path, bodyOf(action.passed))
    expect([200, 201]).toContain(status)
    return []
  }
  if (action.do === 'board') {
    const { key, do: _, ...change } = action
    const { status, body } = await tenant.admin('PATCH', '/leaderboards', [
      { id: boards.get(key), ...change },
    ])
    expect([status, body]).toMatchObject([200, { updated: [change], issues: [] }])
    return []
  }
  const responses = await Promise.all(
    action.events.map(({ metric, user, passed, value }, index) =>
      (index % 2 === 0 ? other : tenant).event(metric, { id: user, ...bodyOf(passed) }, Number(value)),
    ),
  )
  expect(responses.map(({ status }) => status)).toEqual(action.events.map(({ done }) => (done ? 201 : 422)))
  return responses
}

const bodyOf = ({ attributes, tz }: Passed) => ({
  ...(Object.keys(attributes).length > 0 && { attributes }),
  ...(tz !== undefined && { tz }),
})

/** Deletes a world's configuration, so that the clock of the next world has no due work of it. */
export async function clear(tenant: TestTenant, { system, boards }: Ids): Promise<void> {
  await tenant.admin('DELETE', `/points?ids=${system}`)
  const all = [...boards.values()].map((id) => `ids=${id}`).join('&')
  if (all !== '') await tenant.admin('DELETE', `/leaderboards?${all}`)
}

const Rankings = z.object({
  status: z.string(),
  rankings: z.array(z.object({ userId: z.string(), rank: z.number(), value: z.number() })),
})

/** A page, empty if it is refused. `board` is the leaderboard's status. */
export type Page = { status: number; board: string | null; rankings: Ranked[] }

/** Reads one page of a leaderboard (L9). */
export async function read(
  tenant: TestTenant,
  board: WorldBoard,
  query: { run?: string; wanted: Wanted; offset?: number; limit?: number; userId?: string },
): Promise<Page> {
  const { wanted, ...others } = query
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(others)) search.set(name, String(value))
  if (wanted.length > 0) search.set('userAttributes', wanted.map((pair) => pair.join(':')).join(','))
  const { status, body } = await tenant.app('GET', `/leaderboards/${board.key}?${search}`)
  if (status !== 200) return { status, board: null, rankings: [] }
  const parsed = Rankings.parse(body)
  return { status, board: parsed.status, rankings: parsed.rankings }
}
