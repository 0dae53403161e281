import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import * as z from 'zod'
import type { Delivery, DeliveryReply } from '../../../src/leaderboards/board'
import type { Repair } from '../../../src/leaderboards/updates'
import { readable } from '../readable'
import { forgetDueWork } from './due-work'
import { lost } from './faulty'
import { type Answer, account, at, newApp, newTenant, rowsEverywhere, type TestTenant } from './harness'
import { stubbed } from './objects'

/** Leaderboards that lose messages, and the recount of the log that their rankings are compared with. */

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/* The clock */

const clock = (method: string, body?: unknown): Promise<Answer> => account(method, '/test-clock', body)

/** Moves the test clock to a moment, which runs all work that is due by then (C1). */
export async function moveTo(ms: number): Promise<void> {
  const { status, body } = await clock('PUT', { now: new Date(ms).toISOString() })
  expect([status, body]).toMatchObject([200, {}])
}

/** Moves the test clock without the work that is due by then: deadlines pass, and nothing is done. */
export async function moveUnseen(ms: number): Promise<void> {
  await rowsEverywhere('UPDATE test_clock SET now = ?1', ms)
}

/** Returns to real time, and deletes due work, so that the next test does not run it. */
export async function forgetTime(): Promise<void> {
  await forgetDueWork()
  expect((await clock('DELETE')).status).toBe(200)
}

export { NOON } from '../known'

export const dateAt = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/* The bindings, with faults */

export type Message = Delivery
export type Reply = DeliveryReply

/** A fault in a call of a leaderboard's object; `go` makes the call. */
export type Fault = (go: () => Promise<Reply>, message: Message) => Promise<Reply>

/** The binding of the leaderboards, with a fault in calls of `deliver`. */
export function boardsWith(fault: Fault): typeof env.LEADERBOARD {
  return stubbed(env.LEADERBOARD, (id) => {
    const stub = env.LEADERBOARD.getByName(id)
    return { deliver: (message: Message) => fault(async () => stub.deliver(message), message) }
  })
}

/** The queue with another `send`, so that nothing arrives. */
export function queueWith(send: (message: Repair) => Promise<void>): typeof env.REPAIRS {
  return new Proxy(env.REPAIRS, {
    get(_target, name) {
      if (name !== 'send') throw new Error(`Unexpected use of the queue: ${String(name)}`)
      return send
    },
  })
}

/**
 * A tenant through a Worker whose calls of leaderboards meet a fault; by default, they are lost. `calls` are
 * these calls. `repairs` are the messages to the queue, which are not delivered.
 */
export function through(tenant: TestTenant, fault: Fault = () => Promise.reject(lost())) {
  const calls: Message[] = []
  const repairs: Repair[] = []
  const LEADERBOARD = boardsWith((go, message) => {
    calls.push(message)
    return fault(go, message)
  })
  const REPAIRS = queueWith(async (message) => {
    repairs.push(message)
  })
  return { tenant: tenant.through(newApp({ LEADERBOARD, REPAIRS })), calls, repairs }
}

/** Delivers lost messages to their leaderboards. */
export async function arrive(...messages: (Message | undefined)[]): Promise<void> {
  for (const message of messages) {
    if (message === undefined) throw new Error('There is no such message.')
    await env.LEADERBOARD.getByName(message.definition.id).deliver(message)
  }
}

/** A promise, `opened`, that `open` settles. */
export function gate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  return { open, opened }
}

/* The configuration */

export type Setup = {
  tenant: TestTenant
  metric: string
  other: string
  team: string
  plan: string
  system: string
  board: string
}

/**
 * A tenant with two metrics, 10 points for each unit of the first one, two attributes, and an active
 * leaderboard, by default of the first metric.
 */
export async function withBoard(
  more: Record<string, unknown> = {},
  made: TestTenant | null = null,
): Promise<Setup> {
  const tenant = made ?? (await newTenant())
  const metric = await tenant.metric('steps')
  const other = await tenant.metric('words')
  const attribute = (key: string) => tenant.create('/attributes', { key, name: key, type: 'user' })
  const [team, plan] = [await attribute('team'), await attribute('plan')]
  const system = await tenant.create('/points', {
    key: 'xp',
    name: 'XP',
    triggers: [{ type: 'metric', points: 10, status: 'active', metricId: metric, metricThreshold: 1 }],
  })
  const by = more.rankBy === 'points' ? { pointsSystemId: system } : { rankBy: 'metric', metricId: metric }
  const item = { name: 'Board', key: 'board', status: 'active', ...by, ...more }
  const { breakdown, ...rest } = { breakdown: [], ...item }
  const ids = z.array(z.string()).parse(breakdown)
  const breakdownAttributes = ids.map((key) => (key === 'team' ? team : plan))
  const board = await tenant.create('/leaderboards', { ...rest, breakdownAttributes })
  return { tenant, metric, other, team, plan, system, board }
}

/** Changes the leaderboard. Expects no issues. */
export async function patch({ tenant, board }: Setup, ...changes: Record<string, unknown>[]): Promise<void> {
  for (const change of changes) {
    const { status, body } = await tenant.admin('PATCH', '/leaderboards', [{ id: board, ...change }])
    expect([status, body]).toMatchObject([200, { issues: [] }])
  }
}

/**
 * Records events one after another, and expects each to be a 201. Returns the field about the leaderboard of
 * each response.
 */
export async function events(
  tenant: TestTenant,
  ...asked: [user: string, value: number, attributes?: Record<string, string> | undefined][]
): Promise<unknown[]> {
  const told: unknown[] = []
  for (const [id, value, attributes] of asked) {
    const user = { id, ...(attributes && { attributes }) }
    const { status, body } = await tenant.event('steps', user, value)
    expect([status, body]).toMatchObject([201, {}])
    told.push(at(body, 'leaderboards', 'board'))
  }
  return told
}

/* The served ranking, and the recount of the log */

const Ranked = z.array(
  z.object({ userId: z.string(), rank: z.number(), value: z.number() }).transform((one) => one),
)
export type Ranked = z.infer<typeof Ranked>

/** The ranking that the API returns. */
export async function ranking(
  { tenant }: Pick<Setup, 'tenant'>,
  query: Record<string, string> = {},
): Promise<Ranked> {
  const search = new URLSearchParams({ limit: '1000', ...query })
  const { status, body } = await tenant.app('GET', `/leaderboards/board?${search}`)
  expect([status, body]).toMatchObject([200, {}])
  return Ranked.parse(at(body, 'rankings'))
}

export const statusOfBoard = async ({ tenant }: Pick<Setup, 'tenant'>) =>
  (await tenant.app('GET', '/leaderboards/board?limit=1')).status

/**
 * The part of the log that counts: a metric or points system, local dates, a group, the attributes of users
 * who take part, and the number of participants.
 */
export type Counted = {
  metric?: string
  system?: string
  from?: string
  to?: string
  group?: Record<string, string>
  filter?: Record<string, string>
  max?: number
}

const Logged = z.object({
  id: z.string(),
  attributes: z.string().transform((text) => z.record(z.string(), z.string()).parse(JSON.parse(text))),
  at: z.number(),
  seq: z.number(),
  date: z.string(),
  amount: z.number(),
})

/** Counts the log again, independently of `src`, by the text of L3, L4 and L5. */
export async function recount(tenant: TestTenant, counted: Counted): Promise<Ranked> {
  const { metric, system, from = '0000-01-01', to = '9999-12-31', max = 1_000 } = counted
  const wanted = Object.entries({ ...counted.group, ...counted.filter })
  const [log, value, input] =
    metric === undefined ? [readable.awards, 'awarded', 'system_id'] : [readable.events, 'value', 'metric_id']
  const results = await rowsEverywhere(
    `SELECT u.id, u.attributes, l.at, l.seq, sum(l.${value}) AS amount,
       date((l.at + l.utc_offset * 60000) / 1000, 'unixepoch') AS date
     FROM users u JOIN ${log} l ON l.user_iid = u.iid
     WHERE u.tenant_id = ?1 AND l.${input} = ?2 GROUP BY u.id, l.at, l.seq`,
    tenant.id,
    metric ?? system,
  )
  const scores = new Map<string, { score: number; reached: number }>()
  for (const row of z.array(Logged).parse(results)) {
    if (row.date < from || row.date > to || row.amount === 0) continue
    if (wanted.some(([id, value]) => row.attributes[id] !== value)) continue
    const { score, reached } = scores.get(row.id) ?? { score: 0, reached: 0 }
    scores.set(row.id, { score: score + row.amount, reached: Math.max(reached, row.at) })
  }
  return [...scores]
    .filter(([, { score }]) => score > 0)
    .sort(([a, one], [b, two]) => two.score - one.score || one.reached - two.reached || (a < b ? -1 : 1))
    .slice(0, max)
    .map(([userId, { score }], index) => ({
      userId,
      rank: index + 1,
      value: Math.floor(score / (metric === undefined ? 1 : 1e6)),
    }))
}

export const shown = (list: Omit<Ranked[number], 'rank'>[]) => list.map((one) => `${one.userId} ${one.value}`)

/** Expects the served ranking to equal a recount of the log (L12). Returns the users and values on it. */
export async function agrees(
  { tenant, metric, team, plan }: Setup,
  { query = {}, ...counted }: Counted & { query?: Record<string, string> } = {},
): Promise<string[]> {
  const { group = {} } = counted
  const names = Object.entries(group).map(
    ([id, value]) => `${{ [team]: 'team', [plan]: 'plan' }[id]}:${value}`,
  )
  const userAttributes = names.length === 0 ? {} : { userAttributes: names.join(',') }
  const limit = counted.max === undefined ? {} : { limit: String(counted.max) }
  const input = counted.system === undefined ? { metric } : {}
  const served = await ranking({ tenant }, { ...userAttributes, ...limit, ...query })
  expect(served).toEqual(await recount(tenant, { ...input, ...counted }))
  return shown(served)
}
