import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { type Call, intercepted, losing, lost, only } from '../helpers/worker/faulty'
import { cron } from '../helpers/worker/handlers'
import {
  account,
  at,
  list,
  newApp,
  newTenant,
  newTenantInLast,
  pick,
  rowsEverywhere,
} from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'

/** A D1 that holds its first batch with a statement for which `isHeld` is true, until `release` is called. */
function holding(isHeld: (sql: string) => boolean) {
  const held = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let once = true
  const DB = intercepted(env.DB, async ({ texts, run }) => {
    if (once && texts.some(isHeld)) {
      once = false
      reached.resolve()
      await held.promise
    }
    return run()
  })
  return { DB, reached: reached.promise, release: held.resolve }
}

describe('a trigger with filters', () => {
  it('[P1] counts from 0 after a change of the events that it counts, but not of the order of its filters', async () => {
    const tenant = await newTenant()
    const [words, pages] = [await tenant.metric('words'), await tenant.metric('pages')]
    for (const key of ['kind', 'page']) await tenant.create('/attributes', { key, name: key, type: 'event' })
    const filters = ['kind', 'page'].map((attributeKey) => ({ attributeKey, attributeValue: 'x' }))
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const trigger = await tenant.create(`/points/${system}/triggers`, {
      ...{ type: 'metric', points: 1, status: 'active', metricId: words, metricThreshold: 10 },
      eventAttributes: filters,
    })
    const send = (metric: string, value: number) =>
      tenant.event(metric, 'ada', value, { attributes: { kind: 'x', page: 'x' } })
    await send('words', 9)
    const eventAttributes = filters.toReversed()
    await tenant.admin('PATCH', `/points/${system}/triggers`, [{ id: trigger, eventAttributes }])
    expect((await send('words', 1)).body).toMatchObject({ points: { xp: { added: 1 } } })
    await tenant.admin('PATCH', `/points/${system}/triggers`, [{ id: trigger, metricId: pages }])
    expect((await send('pages', 1)).body).toMatchObject({ points: {} })
    expect((await send('pages', 9)).body).toMatchObject({ points: { xp: { added: 1 } } })
  })
})

describe("users' own boosts", () => {
  it('[G3, P5] keeps both of two parallel changes, and does not update a deleted one', async () => {
    const patch = holding((sql) => sql.startsWith('update "points_boosts"'))
    const tenant = await newTenant()
    const slow = tenant.through(newApp({ DB: patch.DB }))
    await tenant.app('POST', '/users', { id: 'ada' })
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const path = `/points/${system}/boosts`
    const boost = await tenant.create(path, { userId: 'ada', name: 'n', start: '2026-01-01', multiplier: 2 })
    const first = slow.admin('PATCH', path, [{ id: boost, multiplier: 3 }])
    await patch.reached
    await tenant.admin('PATCH', path, [{ id: boost, name: 'renamed' }])
    patch.release()
    await first
    expect((await tenant.admin('GET', `${path}/${boost}`)).body).toMatchObject({
      name: 'renamed',
      multiplier: 3,
    })

    const late = holding((sql) => sql.startsWith('update "points_boosts"'))
    const second = tenant.through(newApp({ DB: late.DB })).admin('PATCH', path, [{ id: boost, name: 'late' }])
    await late.reached
    await tenant.admin('DELETE', `${path}?ids=${boost}`)
    late.release()
    expect((await second).body).toMatchObject({ updated: [], issues: [{ id: boost, boostId: boost }] })
  })
})

describe('summaries of many users', () => {
  it('[P11] caches a summary of more than 10,000 users for a minute, also if the filters match no user', async () => {
    const tenant = await newTenantInLast()
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    const system = await tenant.create('/points', {
      key: 'xp',
      name: 'XP',
      levels: [{ key: 'one', name: 'One', points: 1 }],
    })
    await manyUsers(tenant, 10_001, { points: `json_object('${system}', n)` })
    for (const path of ['summary', 'level-summary', 'summary?userAttributes=plan:pro']) {
      const before = await tenant.app('GET', `/points/xp/${path}`)
      await rowsEverywhere("UPDATE users SET points = '{}' WHERE tenant_id = ?1", tenant.id)
      expect((await tenant.app('GET', `/points/xp/${path}`)).body).toEqual(before.body)
    }
    const rows = await rowsEverywhere(
      'SELECT kind, filter FROM points_summaries WHERE tenant_id = ?1',
      tenant.id,
    )
    expect(rows).toHaveLength(3)
  })
})

describe('a change of the configuration', () => {
  it("[G3] succeeds if it was stored and D1's response was lost", async () => {
    let losses = 0
    const DB = intercepted(env.DB, async ({ run }) => {
      const results = await run()
      if (losses > 0 || !results.some(({ meta }) => meta.rows_written > 0)) return results
      losses += 1
      throw lost()
    })
    const tenant = await newTenant()
    const id = await tenant.through(newApp({ DB })).metric('words')
    expect(losses).toBe(1)
    expect((await tenant.admin('GET', '/metrics')).body).toMatchObject([{ id, key: 'words' }])
  })

  it("[G3, P5] of a user's own boost succeeds too, and fails if it was not stored", async () => {
    const tenant = await newTenant()
    await tenant.create('/points', { key: 'xp', name: 'XP' })
    await tenant.app('PUT', '/users/ada', {})
    const stores = ({ texts }: Call) => texts.some((text) => /^insert into "points_boosts"/.test(text))
    const boost = { name: 'Double', userId: 'ada', start: '2026-01-01', multiplier: 2 }
    for (const isStored of [false, true]) {
      const { bindings } = only(stores, losing(0, isStored))
      const { status } = await tenant.through(newApp(bindings)).admin('POST', '/points/xp/boosts', [boost])
      expect([isStored, status]).toEqual([isStored, isStored ? 201 : 503])
    }
    expect(list((await tenant.admin('GET', '/points/xp/boosts')).body)).toHaveLength(1)
  })
})

describe('the demo', () => {
  const off = newApp({ MULTI_TENANCY: 'off' })
  const listed = async (path: string) => list((await account('GET', path, undefined, off)).body)
  const demo = async (overrides: Parameters<typeof cron>[0]) => {
    const before = await listed('/metrics')
    await cron(overrides)
    return (await listed('/metrics')).length - before.length
  }

  it('is loaded once, not with MULTI_TENANCY=on or DEMO=off, and its keys begin with demo-', async () => {
    expect(await demo({ DEMO: 'on', MULTI_TENANCY: 'on' })).toBe(0)
    expect(await demo({ DEMO: 'off', MULTI_TENANCY: 'off' })).toBe(0)
    expect(await demo({ DEMO: 'on', MULTI_TENANCY: 'off' })).toBe(3)
    expect(await demo({ DEMO: 'on', MULTI_TENANCY: 'off' })).toBe(0)
    const systems = await listed('/points')
    const boards = (await listed('/leaderboards')).filter((board) => at(board, 'status') === 'active')
    const keys = pick([...(await listed('/metrics')), ...systems, ...boards], 'key')
    expect(keys).toHaveLength(11)
    for (const key of keys) expect(key).toMatch(/^demo-/)
    const triggers = await Promise.all(systems.map((one) => listed(`/points/${at(one, 'id')}/triggers`)))
    const types = pick(triggers.flat(), 'type')
    expect([...new Set(types)].toSorted()).toEqual([
      'achievement',
      'metric',
      'streak',
      'time',
      'user_creation',
    ])
  })
})

describe('tables', () => {
  it('have no rowid if the user is in their key, because a rowid costs a second row per write', async () => {
    const tables = await env.DB.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%WITHOUT ROWID%' ORDER BY name",
    ).all()
    expect(tables.results.map(({ name }) => name)).toEqual([
      ...['adjustment_keys', 'analytics_figures', 'analytics_passes', 'arriving_users', 'audit_log'],
      ...['awards', 'change_distributions', 'counted_users', 'database_weights', 'day_sums'],
      ...['deleted_keys', 'devices', 'directory', 'due_work', 'event_batches', 'events', 'held_databases'],
      ...['idempotency_keys', 'known_databases', 'outbox', 'parked_events', 'pending_notifications'],
      ...['points_notifications', 'points_summaries', 'streak_runs', 'tenant_counters'],
      ...['trigger_versions', 'user_changes', 'users', 'voided_events'],
    ])
  })
})
