import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import {
  ADMIN_KEY,
  at,
  call,
  databases,
  newApp,
  newTenant,
  type TestTenant,
  toApp,
  until,
} from '../../helpers/worker/harness'

/* [B3] More databases while 32 clients send events, correct points and read. */

const CLIENTS = 32
const USERS = Array.from({ length: 64 }, (_, n) => `u${n}`)

/** How many buckets of a tenant each database holds, by the directory. */
async function bucketsOf(tenant: TestTenant): Promise<Map<string, number>> {
  const places = await env.DB.prepare('SELECT places FROM directory WHERE tenant_id = ?1')
    .bind(tenant.id)
    .first<string>('places')
  const runs: [number, string][] = JSON.parse(places ?? '[[0, "DB"]]')
  const buckets = new Map<string, number>()
  for (const [index, [from, name]] of runs.entries()) {
    const to = runs[index + 1]?.[0] ?? 4_096
    buckets.set(name, (buckets.get(name) ?? 0) + to - from)
  }
  return buckets
}

async function rebalance(weights: Record<string, number>): Promise<void> {
  const { status } = await call(toApp, 'POST', '/admin/v1/databases/rebalance', {
    headers: { 'x-api-key': ADMIN_KEY },
    body: { weights },
  })
  expect(status).toBe(202)
}

/** Waits until the users of the tenant are in these databases only, with about as many in each. */
async function spreadOver(tenant: TestTenant, names: readonly string[]): Promise<void> {
  await until(async () => {
    const buckets = await bucketsOf(tenant)
    return (
      buckets.size === names.length &&
      names.every((name) => Math.abs((buckets.get(name) ?? 0) - 4_096 / names.length) <= 1)
    )
  })
}

/** The ids of users of a tenant in a database. */
async function usersIn(tenant: TestTenant, d1: D1Database): Promise<string[]> {
  const { results } = await d1
    .prepare('SELECT id FROM users WHERE tenant_id = ?1')
    .bind(tenant.id)
    .all<{ id: string }>()
  return results.map(({ id }) => id)
}

test('[B3] from one database to two, to three and back: every answer, total and place is right', async () => {
  const tenant = await newTenant()
  await env.DB.prepare('DELETE FROM directory WHERE tenant_id = ?1').bind(tenant.id).run()
  await rebalance({ DB_2: 0, DB_3: 0 })
  const metricId = await tenant.metric('words')
  await tenant.create('/points', { key: 'xp', name: 'XP' })
  const trigger = { type: 'metric', metricKey: 'words', metricThreshold: 10, points: 5, status: 'active' }
  expect((await tenant.admin('POST', '/points/xp/triggers', [trigger])).status).toBe(201)
  await tenant.create('/leaderboards', {
    ...{ key: 'most', name: 'Most', rankBy: 'metric', metricId, status: 'active', maxParticipants: 1_000 },
  })

  /** The totals that each user must have, by the answers that the clients got. */
  const totals = new Map<string, number>()
  const added = new Map<string, number>()
  const wrong: unknown[] = []
  let isOver = false
  let sent = 0
  let longest = 0

  /** Sends events of its own users, one after another, so that each answer is known beforehand. */
  async function client(nth: number): Promise<void> {
    const own = USERS.filter((_, index) => index % CLIENTS === nth)
    const app = tenant.through(newApp())
    for (let n = 0; !isOver; n += 1) {
      const user = own[n % own.length] ?? ''
      const value = 1 + ((n * 7 + nth) % 9)
      const total = (totals.get(user) ?? 0) + value
      const key = `${user}-${n}`
      const began = performance.now()
      const first = await app.event('words', user, value, { idempotencyKey: key })
      longest = Math.max(longest, performance.now() - began)
      if (first.status !== 201 || at(first.body, 'total') !== total)
        wrong.push([user, n, first.status, first.body, total])
      totals.set(user, total)
      sent += 1
      if (n % 5 === 0) {
        // A repeat counts once, also if the user was moved in between.
        const again = await app.event('words', user, value, { idempotencyKey: key })
        if (at(again.body, 'eventId') !== at(first.body, 'eventId'))
          wrong.push([user, n, 'repeat', again.body])
      }
      if (n % 7 === 0) {
        const { status } = await app.admin('POST', '/points/xp/adjustments', [
          { userId: user, amount: 3, reason: 'test' },
        ])
        if (status !== 201) wrong.push([user, n, 'adjustment', status])
        else added.set(user, (added.get(user) ?? 0) + 3)
      }
      if (n % 3 === 0) {
        const { body } = await app.app('GET', `/users/${user}/metrics/words`)
        if (at(body, 'current') !== total) wrong.push([user, n, 'read', body, total])
      }
    }
  }

  const clients = Array.from({ length: CLIENTS }, (_, nth) => client(nth))
  await until(() => sent > 200)
  for (const names of [['DB', 'DB_2'], ['DB', 'DB_2', 'DB_3'], ['DB_2', 'DB_3'], ['DB']]) {
    const weights = Object.fromEntries(databases().map(({ name }) => [name, names.includes(name) ? 1 : 0]))
    await rebalance(weights)
    await spreadOver(tenant, names)
    const before = sent
    await until(() => sent > before + 100)
  }
  isOver = true
  await Promise.all(clients)
  expect(wrong).toEqual([])

  for (const user of USERS) {
    const total = totals.get(user) ?? 0
    const { body } = await tenant.app('GET', `/users/${user}/metrics/words`)
    expect(at(body, 'current')).toBe(total)
    const points = await tenant.app('GET', `/users/${user}/points/xp`)
    expect(at(points.body, 'total')).toBe(5 * Math.floor(total / 10) + (added.get(user) ?? 0))
  }
  // The leaderboard has each user once, with the right value.
  const board = await tenant.app('GET', '/leaderboards/most?limit=100')
  const rankings = at(board.body, 'rankings')
  const values = Array.isArray(rankings) ? rankings.map((one) => [at(one, 'userId'), at(one, 'value')]) : []
  expect(new Map(values.map(([user, value]) => [String(user), value]))).toEqual(totals)
  expect(values.length).toBe(totals.size)
  // All users are in the first database again, and no other one has a row of them.
  for (const { name, d1 } of databases()) {
    expect((await usersIn(tenant, d1)).length).toBe(name === 'DB' ? totals.size : 0)
  }
  // The slowest event, in ms, for the log of a failed run.
  expect(longest).toBeLessThan(60_000)
}, 240_000)
