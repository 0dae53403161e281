import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadConfiguration } from '../../src/configuration/configuration'
import { definitionOf } from '../../src/leaderboards/board'
import { instant } from '../../src/lib/clock'
import { bytes, number, numbered } from '../helpers/readable'
import { untilHeld } from '../helpers/until'
import { DAY, forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { contextOf, worksOf } from '../helpers/worker/contexts'
import { hand, message } from '../helpers/worker/delivery-queues'
import { faultyAll } from '../helpers/worker/faulty'
import { cron, handOver } from '../helpers/worker/handlers'
import {
  at,
  call,
  everything,
  lastDatabase,
  newApp,
  newTenant,
  rowsEverywhere,
  toApp,
} from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { UNREACHED } from '../helpers/worker/objects'
import {
  accepted,
  archive,
  beforeFirst,
  created,
  type Furnished,
  furnished,
  isGone,
  namesOf,
  objectsWith,
  purge,
  tables,
  tablesWith,
  tenants,
  work,
} from '../helpers/worker/purge'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

/** Gives a tenant more keys. Their prefixes say nothing about it, since they are remembered for a month. */
const moreKeys = ({ tenant }: Furnished, count: number) => {
  const insert = `INSERT INTO api_keys (id, prefix, kind, tenant_id, user_id, hash, created)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
    SELECT ?1 || i, hex(randomblob(9)), 'application', ?1, 'user-' || i, 'h', 0 FROM n WHERE i <= ?2`
  return env.DB.prepare(insert).bind(tenant.id, count).run()
}

describe('[U8, T3] the erasure of a tenant', () => {
  it('leaves nothing anywhere, and other tenants as they were', async () => {
    const [one, other] = [await furnished(), await furnished()]
    const names = await namesOf(one)
    expect(await archive(one.tenant.id)).toMatchObject({ status: 200 })
    // These rows stay while a tenant is archived.
    const insert = (d1: D1Database, ...rows: string[]) =>
      d1.batch(rows.map((row) => d1.prepare(`INSERT OR IGNORE INTO ${row}`).bind(one.tenant.id)))
    await insert(
      env.DB,
      "outbox VALUES (?1, 1, 0, 'x', NULL, '[]')",
      `inbox (tenant_id, batch_id, count, "offset", events) VALUES (?1, 'b', 1, 0, '[]')`,
      "directory VALUES (?1, 1, '[[0, \"DB\"]]', '{}', NULL)",
    )
    // A pass of the analytics has counted a user.
    await insert(
      lastDatabase().d1,
      "arriving_users VALUES (?1, 'x', 1)",
      "analytics_figures VALUES (?1, 'events', 0, 1, 0, 1)",
      "analytics_passes VALUES (?1, 0, NULL, '')",
      "counted_users SELECT unhex(iid, '-'), '[]', 0, 0, '[]', '{}' FROM users WHERE tenant_id = ?1 LIMIT 1",
    )
    expect((await tablesWith(names)).toSorted()).toEqual(tables().toSorted())
    expect((await objectsWith(one)).length).toBeGreaterThan(10)
    const kept = await namesOf(other)
    const others = async () => {
      const all = Object.entries(await everything())
      // Rows in these tables are processed meanwhile.
      const still = all.filter(([table]) => !['outbox', 'points_notifications', 'due_work'].includes(table))
      const isKept = (row: string) => kept.some((name) => row.includes(name))
      return still.map(([table, rows]) => [table, rows.filter(isKept)])
    }
    const before = await others()
    const { status, body } = await purge(one.tenant.id)
    expect([status, body]).toMatchObject([202, { id: one.tenant.id, status: 'archived', purging: true }])
    expect((await tenants('GET', `/${one.tenant.id}`)).status).toBe(404)
    expect([await tablesWith(names), await objectsWith(one)]).toEqual([[], []])
    expect(await others()).toEqual(before)
    expect((await purge(one.tenant.id)).status).toBe(404)
    expect((await one.tenant.as(one.key, 'GET', '/achievements')).status).toBe(401)
  })

  it('is refused unless the tenant is archived, and the query says so', async () => {
    const tenant = await newTenant()
    // With several databases, the first read of a tenant makes its copies.
    await tenant.admin('GET', '/users')
    const key = await tenant.key('ada')
    const before = await tenant.stored()
    for (const [id, query, status, why] of [
      [tenant.id, '?purge=true', 422, /is active. Archive it first/],
      [tenant.id, '', 422, /purge: must be true/],
      [tenant.id, '?purge=false', 422, /purge: must be true/],
      [tenant.id, '?purge=true&purge=true', 422, /purge: must be true/],
      [crypto.randomUUID(), '?purge=true', 404, /does not exist/],
      ['acme', '?purge=true', 404, /does not exist/],
    ] as const) {
      const answer = await tenants('DELETE', `/${id}${query}`)
      expect([answer.status, at(answer.body, 'error')]).toEqual([status, expect.stringMatching(why)])
    }
    const single = newApp({ MULTI_TENANCY: 'off' })
    expect((await purge(tenant.id, single)).status).toBe(422)
    const sent = { headers: { 'x-api-key': key } }
    const refused = await call(toApp, 'DELETE', `/admin/v1/tenants/${tenant.id}?purge=true`, sent)
    expect(refused.status).toBe(403)
    expect(await tenant.stored()).toEqual(before)
  })

  it('[Z1] leaves the entries of the audit log as they are if it is refused', async () => {
    const item = { customerId: crypto.randomUUID(), name: 'Active' }
    const id = created((await tenants('POST', '', { body: [item] })).body)
    const entries = () => rowsEverywhere('SELECT * FROM audit_log WHERE resource_id = ?1', id)
    const before = await entries()
    expect(before).toMatchObject([{ fields: expect.stringContaining('Active') }])
    expect((await purge(id)).status).toBe(422)
    expect(await entries()).toEqual(before)
  })

  it('shows that it is in progress and allows no access; another request, and two at once, continue the same one', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    await accepted(one)
    const path = `/${one.tenant.id}`
    expect((await tenants('GET', path)).body).toMatchObject({ status: 'archived', purging: true })
    const { body } = await tenants('DELETE', `?ids=${one.tenant.id}`)
    expect(body).toMatchObject({ deleted: [], issues: [{}] })
    // Unlike users of an archived tenant, its users cannot be read or erased.
    const user = `/users/${one.users[0]}`
    expect((await one.tenant.admin('DELETE', user)).status).toBe(404)
    expect((await one.tenant.admin('GET', `${user}/export`)).status).toBe(404)
    expect((await one.tenant.event('steps', 'ada', 1)).status).toBe(404)
    const apps = [newApp({ TIMEKEEPER: UNREACHED }), newApp({ TIMEKEEPER: UNREACHED })]
    const both = await Promise.all(apps.map((send) => purge(one.tenant.id, send)))
    expect(both.map(({ status }) => status)).toEqual([202, 202])
    await Promise.all([work(one.tenant.id, 100), work(one.tenant.id, 100), purge(one.tenant.id)])
    await isGone(one, names)
  })

  it('is continued by the cron trigger if the Timekeeper is unreachable at first', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    // In real time.
    await rowsEverywhere('DELETE FROM test_clock')
    await accepted(one)
    vi.restoreAllMocks()
    await cron()
    await untilHeld(async () => expect((await tenants('GET', `/${one.tenant.id}`)).status).toBe(404))
    expect([await tablesWith(names), await objectsWith(one)]).toEqual([[], []])
  })

  it('is done in bounded steps, for any amount of data', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    const many = `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      SELECT (SELECT ${bytes('iid')} FROM users WHERE tenant_id = ?1 LIMIT 1), ${number('metrics', '?2')}, i,
        0, ${numbered('i')}, 1, 0 FROM n`
    await lastDatabase().d1.prepare(many).bind(one.tenant.id, one.metric).run()
    await manyUsers(one.tenant, 450)
    await moreKeys(one, 250)
    await accepted(one)
    const changes: number[] = []
    const { bindings } = faultyAll(async ({ run }) => {
      const results = await run()
      changes.push(Math.max(...results.map(({ meta }) => meta.changes)))
      return results
    })
    await work(one.tenant.id, 100, bindings)
    expect(Math.max(...changes)).toBeLessThanOrEqual(5_000)
    expect(changes.filter((count) => count > 1_000)).toHaveLength(3)
    await isGone(one, names)
  })
})

it.each([0, 150])(
  '[U8] leaves no record in KV if another run goes on meanwhile, with %i more keys',
  async (more) => {
    const one = await furnished()
    const names = await namesOf(one)
    await moreKeys(one, more)
    await accepted(one)
    const meanwhile = beforeFirst(() => work(one.tenant.id, 1), /^SELECT prefix AS name FROM api_keys/)
    await work(one.tenant.id, 100, meanwhile)
    await isGone(one, names)
  },
)

describe('a tenant that is erased in the middle of its work', () => {
  it('delivers nothing more, neither waiting messages nor retries', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    const destination = { kind: 'webhook', tenantId: one.tenant.id, webhookId: one.webhook } as const
    await one.hook.plan({ status: 500, always: true })
    await hand(destination, NOON, message(NOON, 'x'))
    await moveTo(NOON + 1)
    const before = (await one.hook.seen(1)).length
    expect(before).toBeGreaterThan(0)
    await hand(destination, NOON + 1, message(NOON + 1, 'y'))
    await archive(one.tenant.id)
    expect((await purge(one.tenant.id)).status).toBe(202)
    const after = (await one.hook.seen()).length
    await moveTo(NOON + 3 * DAY)
    expect((await one.hook.seen()).length).toBe(after)
    await isGone(one, names)
  })

  it('with events in the inbox, walks, the erasure of a user and a run of retries in progress', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    const silent = one.tenant.through(newApp({ TIMEKEEPER: UNREACHED }))
    await silent.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    const userId = one.users[1] ?? ''
    await one.tenant.key(userId)
    expect((await silent.admin('DELETE', `/users/${userId}`)).status).toBe(200)
    const kinds = (await everything()).due_work?.map((row) => at(JSON.parse(row), 'kind'))
    expect(kinds).toEqual(expect.arrayContaining(['erasure', 'recount']))
    // Each of them has begun.
    await work(one.tenant.id, 3)
    await accepted(one)
    expect((await worksOf(contextOf(one.tenant.id))).map(({ kind }) => kind)).toEqual(['purge'])
    await isGone(one, names)
  })

  it('late calls and messages leave nothing', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    const { db, instance } = contextOf(one.tenant.id)
    const config = await loadConfiguration({ db, instance })
    const [board] = config.leaderboards
    if (board === undefined) throw new Error('no board')
    const definition = definitionOf(config, board)
    // From now on the isolate remembers in which databases the users are.
    const drainRequest = { tenantId: one.tenant.id }
    expect((await handOver('laurel-repairs', [drainRequest])).acks).toEqual(['m0'])
    await archive(one.tenant.id)
    expect((await purge(one.tenant.id)).status).toBe(202)
    const object = env.LEADERBOARD.getByName(board.id)
    const change = { userId: one.users[0] ?? '', iid: 'x', seq: 1, group: '[]', input: null }
    const now = instant(NOON)
    const late = [
      () => object.deliver({ definition, at: now, changes: [change], wanted: false }),
      () => object.recount({ definition, now, userIds: one.users }),
      () => object.runDue({ definition, now, until: now, grace: 0 }),
      () => object.page({ definition, now, run: 0, group: [], offset: 0, limit: 1, userId: null }),
      () => object.held({ userId: 'x', iid: 'x', after: null }),
      () => object.erase({ userId: 'x', iid: 'x', now }),
      () => object.handed({ rows: [] }),
      ...one.deliveryQueues.flatMap((name) => {
        const deliveryQueue = env.DELIVERY_QUEUE.getByName(name)
        const destination = { kind: 'webhook', tenantId: one.tenant.id, webhookId: one.webhook } as const
        return [
          () => deliveryQueue.accept({ destination, messages: [message(NOON)], now, epoch: 0 }),
          () => deliveryQueue.runDue({ now, wait: true }),
          () => deliveryQueue.refresh(),
          () => deliveryQueue.list({ limit: 1, skip: 0, before: null }),
          () => deliveryQueue.held({ iid: 'x', after: null }),
          () => deliveryQueue.erase({ iid: 'x', userId: 'x' }),
          () => deliveryQueue.redeliver({ id: crypto.randomUUID(), now }),
        ]
      }),
      () => env.TIMEKEEPER.getByName(one.tenant.id).wake(one.tenant.id, 10),
    ]
    for (const call of late) await Promise.resolve(call()).catch(() => undefined)
    const repair = { tenantId: one.tenant.id, leaderboardId: board.id, userIds: one.users }
    expect((await handOver('laurel-repairs', [drainRequest, repair])).acks.toSorted()).toEqual(['m0', 'm1'])
    expect([await tablesWith(names), await objectsWith(one)]).toEqual([[], []])
  })

  it('KV: the record of a key that was read before the erasure and stored after it is deleted again', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    const prefix = one.key.split('.')[0] ?? ''
    await env.KEYS.delete(`key:${prefix}`)
    const KEYS = new Proxy(env.KEYS, {
      get(target, name) {
        if (name !== 'put') return Reflect.get(target, name).bind(target)
        return async (key: string, value: string) => {
          await accepted(one)
          await work(one.tenant.id, 100)
          await target.put(key, value)
        }
      },
    })
    await one.tenant.through(newApp({ KEYS })).as(one.key, 'GET', '/achievements')
    await isGone(one, names)
  })
})
