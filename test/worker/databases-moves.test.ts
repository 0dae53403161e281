import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { MOVED } from '../../src/features/databases/moves/moved-tables.register'
import { stepMoves } from '../../src/features/databases/moves/moves.service'
import { bucketOf } from '../../src/lib/ids'
import { newContext } from '../../src/runtime/context'
import type { Bindings } from '../../src/runtime/env'
import { Instance } from '../../src/runtime/instance'
import { JOBS } from '../../src/worker/jobs'
import { readableTable } from '../readable'
import { DAY, forgetTime, moveTo } from './boards'
import {
  ADMIN_KEY,
  at,
  call,
  databases,
  newApp,
  newTenant,
  type Send,
  type TestTenant,
  toApp,
  until,
} from './harness'

const NAMES = databases().map(({ name }) => name)
const LAST = NAMES.at(-1) ?? ''

/** Sets the weights of databases; others count 1. */
async function weigh(weights: Record<string, number>): Promise<void> {
  await env.DB.batch([
    env.DB.prepare('DELETE FROM database_weights'),
    env.DB.prepare('INSERT INTO database_weights (name, weight) SELECT key, value FROM json_each(?1)').bind(
      JSON.stringify(weights),
    ),
  ])
}

const wake = ({ id }: TestTenant, steps = 20) => env.TIMEKEEPER.getByName(id).wake(id, steps)

/** Counts rows in each database. */
async function countEach(sql: string, ...params: unknown[]): Promise<Record<string, number>> {
  const counts = databases().map(async ({ name, d1 }) => {
    const row = await d1
      .prepare(sql)
      .bind(...params)
      .first<{ n: number }>()
    return [name, row?.n ?? 0] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

/** The users that each database has. */
const usersByDatabase = ({ id }: TestTenant) =>
  countEach('SELECT count(*) AS n FROM users WHERE tenant_id = ?1', id)

/** The internal ids of all users of a tenant. */
async function iidsOf({ id }: TestTenant): Promise<string[]> {
  const all = await Promise.all(
    databases().map(({ d1 }) =>
      d1.prepare('SELECT iid FROM users WHERE tenant_id = ?1').bind(id).all<{ iid: string }>(),
    ),
  )
  return all.flatMap(({ results }) => results.map(({ iid }) => iid))
}

/** The rows of users in all tables whose rows move, and in which databases they are. */
async function rowsOf(
  iids: readonly string[],
): Promise<{ rows: Record<string, string[]>; places: Record<string, number> }> {
  const rows: Record<string, string[]> = {}
  const places: Record<string, number> = {}
  for (const { name, d1 } of databases()) {
    for (const table of MOVED) {
      const key = table === 'users' ? 'iid' : 'user_iid'
      const { results } = await d1
        .prepare(
          `SELECT * FROM ${readableTable(table)} WHERE ${key} IN (SELECT value FROM json_each(?1)
            UNION ALL SELECT unhex(value, '-') FROM json_each(?1))`,
        )
        .bind(JSON.stringify(iids))
        .all()
      for (const { no: _, ...row } of results) {
        rows[table] = [...(rows[table] ?? []), JSON.stringify(row)]
        places[name] = (places[name] ?? 0) + 1
      }
    }
  }
  for (const list of Object.values(rows)) list.sort()
  return { rows, places }
}

/** Lets rows of users who have left be deleted at once, and not after half a minute. */
const hurry = () =>
  env.DB.prepare(
    `UPDATE due_work SET progress = json_set(progress, '$.seen', 0, '$.left', (
      SELECT json_group_array(json_set(value, '$.at', 0)) FROM json_each(progress, '$.left')))
    WHERE kind = 'moves' AND progress IS NOT NULL`,
  ).run()

/** Wakes the Timekeeper until all buckets are where they should be, and nothing is left behind. */
async function settle(tenant: TestTenant): Promise<void> {
  await wake(tenant)
  await until(async () => {
    await hurry()
    await wake(tenant)
    const isAsked = await env.DB.prepare(
      "SELECT 1 AS n FROM due_work WHERE tenant_id = ?1 AND kind = 'moves'",
    )
      .bind(tenant.id)
      .first('n')
    return isAsked === null
  })
}

const rebalance = (weights?: Record<string, number>, send: Send = toApp) =>
  call(send, 'POST', '/admin/v1/databases/rebalance', {
    headers: { 'x-api-key': ADMIN_KEY },
    body: weights === undefined ? {} : { weights },
  })
const listed = () => call(toApp, 'GET', '/admin/v1/databases', { headers: { 'x-api-key': ADMIN_KEY } })

/** A tenant with a configuration that leaves rows in all tables. */
async function newWorld(): Promise<TestTenant> {
  const tenant = await newTenant()
  await tenant.metric('words')
  await tenant.create('/points', {
    key: 'xp',
    name: 'XP',
    triggers: [{ type: 'metric', metricKey: 'words', metricThreshold: 10, points: 3, status: 'active' }],
  })
  await tenant.create('/achievements', {
    key: 'hundred',
    name: 'Hundred',
    trigger: 'metric',
    metricKey: 'words',
    metricValue: 100,
    status: 'active',
  })
  return tenant
}

/**
 * Bindings whose databases call `fault` for each write batch, with its number; the batch itself is `run`.
 */
function bindingsWith(
  fault: (write: number, run: () => Promise<D1Result[]>) => Promise<D1Result[]>,
): Bindings {
  let writes = 0
  const wrapped = databases().map(({ name, d1 }) => {
    const texts = new WeakMap<D1PreparedStatement, string>()
    const prepare = (sql: string) => {
      const statement = d1.prepare(sql)
      return new Proxy(statement, {
        get: (target, property) => {
          if (property !== 'bind') return Reflect.get(target, property, target)
          return (...values: unknown[]) => {
            const bound = target.bind(...values)
            texts.set(bound, sql)
            return bound
          }
        },
      })
    }
    const batch = (statements: D1PreparedStatement[]) => {
      const run = () => d1.batch(statements)
      if (!statements.some((one) => /^\s*(INSERT|UPDATE|DELETE)/.test(texts.get(one) ?? ''))) return run()
      writes += 1
      return fault(writes - 1, run)
    }
    const database = new Proxy(d1, {
      get: (target, property) =>
        property === 'batch'
          ? batch
          : property === 'prepare'
            ? prepare
            : Reflect.get(target, property, target),
    })
    return [name, database]
  })
  return { ...env, ...Object.fromEntries(wrapped) }
}

const KINDS = JOBS.list.flatMap(({ kind, isOfUsers }) => (isOfUsers === true ? [kind] : []))

/** Does moves as the Timekeeper does, with these bindings, in an isolate without memory. */
const stepWith = (bindings: Bindings, { id }: TestTenant) =>
  stepMoves(
    newContext(new Instance(), bindings, () => undefined),
    id,
    KINDS,
    true,
  )

/** Does all moves in the test itself: in this runner, no object runs while the test sends requests. */
async function moveAll(tenant: TestTenant): Promise<void> {
  do await hurry()
  while ((await stepWith(env, tenant)) !== null)
}

/** Gives each user rows in the tables that few users have, so that no message is sent and nothing is due. */
async function addRareRows({ id }: TestTenant): Promise<void> {
  const sql = [
    `INSERT INTO streak_runs (user_iid, first, last, started, history, length)
      SELECT iid, 1, 2, 1, 'x', 2 FROM users WHERE tenant_id = ?1`,
    `INSERT INTO streak_pauses (id, tenant_id, user_id, user_iid, start, end)
      SELECT 'pause ' || iid, ?1, id, iid, 30000, 30001 FROM users WHERE tenant_id = ?1`,
    `INSERT INTO counted_users (user_iid, days, days_from, streak, completions, levels)
      SELECT unhex(iid, '-'), '[]', 0, 0, '[]', '{}' FROM users WHERE tenant_id = ?1`,
    `INSERT INTO pending_notifications (tenant_id, due_at, id, user_id, user_iid, achievement_id)
      SELECT ?1, 4000000000000, 'pending ' || iid, id, iid, '' FROM users WHERE tenant_id = ?1`,
    `INSERT INTO points_notifications (user_iid, system_id, tenant_id, user_id, seq, at, total, until)
      SELECT iid, 'system', ?1, id, 1, 1, 1, 1 FROM users WHERE tenant_id = ?1`,
    `INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
      SELECT ?1, 1, seq, 'outbox ' || iid, iid, '[]' FROM users WHERE tenant_id = ?1`,
    `INSERT INTO points_boosts (id, tenant_id, created, updated, system_id, user_id, user_iid, key,
        name, start,
        end, multiplier, rounding, user_attributes)
      SELECT 'boost ' || iid, ?1, 1, 1, 'system', id, iid, iid, 'Boost', '2020-01-01', '2020-01-02',
        1.5, 'up', '[]'
      FROM users WHERE tenant_id = ?1`,
  ]
  for (const { d1 } of databases()) await d1.batch(sql.map((text) => d1.prepare(text).bind(id)))
}

/** A number of users with events, and the total of each one. */
async function newUsers(tenant: TestTenant, count: number): Promise<Map<string, number>> {
  const totals = new Map<string, number>()
  for (let nth = 0; nth < count; nth += 1) {
    await tenant.event('words', `user-${nth}`, 5, { idempotencyKey: 'first' })
    await tenant.event('words', `user-${nth}`, nth)
    totals.set(`user-${nth}`, 5 + nth)
  }
  return totals
}

/** Expects each user to exist once, with the total, and with events that sum up to it. */
async function expectTotals(tenant: TestTenant, totals: ReadonlyMap<string, number>): Promise<void> {
  const found = new Map<string, number>()
  for (const { d1 } of databases()) {
    const { results } = await d1
      .prepare(
        `SELECT u.id, u.metrics ->> '$[0][1]' AS total, u.bucket,
          (SELECT sum(value) FROM events e WHERE e.user_iid = unhex(u.iid, '-')) AS sum
        FROM users u WHERE tenant_id = ?1`,
      )
      .bind(tenant.id)
      .all<{ id: string; total: number; sum: number; bucket: number }>()
    for (const { id, total, sum, bucket } of results) {
      expect(found.has(id), `${id} is there twice`).toBe(false)
      expect(sum, id).toBe(total)
      expect(bucket).toBe(bucketOf(tenant.id, id))
      found.set(id, total / 1_000_000)
    }
  }
  expect(found).toEqual(new Map(totals))
}

afterEach(() => weigh({}))

/** The internal ids of some users. */
async function iidsOfUsers({ id }: TestTenant, ids: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    databases().map(({ d1 }) =>
      d1
        .prepare('SELECT iid FROM users WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))')
        .bind(id, JSON.stringify(ids))
        .all<{ iid: string }>(),
    ),
  )
  return found.flatMap(({ results }) => results.map(({ iid }) => iid))
}

const Listed = z.object({
  name: z.string(),
  buckets: z.number(),
  users: z.number(),
  events: z.number(),
  state: z.string(),
})
const states = (body: unknown) =>
  Object.fromEntries(
    z
      .array(Listed)
      .parse(body)
      .map(({ name, state }) => [name, state]),
  )

describe('The databases [B3]', () => {
  test('are listed with their buckets, users, events and states', async () => {
    const before = z.array(Listed).parse((await listed()).body)
    const tenant = await newWorld()
    await newUsers(tenant, 20)
    const after = z.array(Listed).parse((await listed()).body)
    expect(after.map(({ name }) => name)).toEqual(NAMES)
    const sum = (list: typeof after, field: 'buckets' | 'users' | 'events') =>
      list.reduce((total, one) => total + one[field], 0)
    expect(sum(after, 'buckets') - sum(before, 'buckets')).toBe(4096)
    expect(sum(after, 'users') - sum(before, 'users')).toBe(20)
    expect(sum(after, 'events') - sum(before, 'events')).toBe(40)
    const [first] = await iidsOf(tenant)
    expect(first).toBeDefined()
    await tenant.admin('DELETE', '/users/user-3')
    const erased = z.array(Listed).parse((await listed()).body)
    expect(sum(erased, 'users') - sum(before, 'users')).toBe(19)
  })

  test('of weight 0 are draining, until the weight changes', async () => {
    const tenant = await newWorld()
    await newUsers(tenant, 20)
    const { status, body } = await rebalance({ [LAST]: 0 })
    expect(status).toBe(202)
    expect(states(body)).toEqual({
      ...Object.fromEntries(NAMES.map((name) => [name, 'filling'])),
      [LAST]: 'draining',
    })
    await settle(tenant)
    await until(async () =>
      Object.values(states((await listed()).body)).every((state) => state !== 'filling'),
    )
    expect(states((await listed()).body)[LAST]).toBe('draining')
    const held = z.array(Listed).parse((await listed()).body)
    expect(held.at(-1)?.users).toBe(0)
    await rebalance()
    await settle(tenant)
    await until(async () => {
      await hurry()
      const { body } = await rebalance()
      return Object.values(states(body)).every((state) => state === 'active')
    })
  })

  test.each([
    [{ weights: { DB_99: 1 } }, 'weights.DB_99: is no database'],
    [{ weights: { DB: -1 } }, 'weights.DB: must be'],
    [{ weights: { DB: null } }, 'weights.DB: '],
    [{ weights: Object.fromEntries(NAMES.map((name) => [name, 0])) }, 'weights: must not be 0 for all'],
    [{ weights: 3 }, 'weights: must be'],
  ])('refuse the weights %j', async (body, problem) => {
    const answer = await call(toApp, 'POST', '/admin/v1/databases/rebalance', {
      headers: { 'x-api-key': ADMIN_KEY },
      raw: JSON.stringify(body),
    })
    expect(answer.status).toBe(422)
    expect(at(answer.body, 'error')).toContain(problem)
  })

  test('have their weights in the audit log of the account', async () => {
    await rebalance({ DB: 5 })
    const { body } = await call(toApp, 'GET', '/admin/v1/audit-log?kind=databases&limit=1', {
      headers: { 'x-api-key': ADMIN_KEY },
    })
    expect(at(body, 0, 'fields', 'weights', 'after', 'DB')).toBe(5)
    await rebalance()
  })
})

describe('Buckets move between databases [B3]', () => {
  test('a database of weight 0 is emptied and filled again, with every row of its users', async () => {
    const tenant = await newWorld()
    const ids = Array.from({ length: 40 }, (_, nth) => `user-${nth}`)
    for (const [nth, id] of ids.entries()) {
      await tenant.event('words', { id, name: `Ada ${nth}`, tz: 'Europe/Berlin' }, nth * 4, {
        idempotencyKey: `k${nth}`,
      })
      await tenant.event('words', id, 1)
    }
    const some = ids.slice(0, 12)
    for (const id of some) {
      await tenant.app('PATCH', `/users/${id}`, { name: 'Grace' })
      await tenant.admin('POST', '/points/xp/adjustments', [{ userId: id, amount: 7, idempotencyKey: id }])
      const { body } = await tenant.event('words', id, 20, { idempotencyKey: 'void' })
      await tenant.admin('POST', `/users/${id}/events/${String(at(body, 'eventId'))}/void`, {})
    }
    await addRareRows(tenant)
    const iids = await iidsOf(tenant)
    const before = await usersByDatabase(tenant)
    const { rows, places } = await rowsOf(iids)
    expect(iids).toHaveLength(40)
    expect(places[LAST]).toBeGreaterThan(20)
    expect(Object.keys(rows).sort()).toEqual([...MOVED].sort())
    const counters = () =>
      Promise.all(
        ['users'].map((name) =>
          countEach(
            'SELECT coalesce(sum(count), 0) AS n FROM tenant_counters WHERE tenant_id = ?1 AND name = ?2',
            tenant.id,
            name,
          ),
        ),
      )
    expect(await counters()).toEqual([before])

    await weigh({ [LAST]: 0 })
    await moveAll(tenant)
    const after = await rowsOf(iids)
    expect(after.rows).toEqual(rows)
    expect(after.places[LAST]).toBeUndefined()
    expect(await counters()).toEqual([await usersByDatabase(tenant)])
    for (const [nth, id] of ids.entries()) {
      const repeated = await tenant.event('words', id, 999, { idempotencyKey: `k${nth}` })
      expect(at(repeated.body, 'total')).toBe(nth * 4 + 1)
    }
    await weigh({})
    await moveAll(tenant)
    expect(await usersByDatabase(tenant)).toEqual(before)
    expect(await rowsOf(iids)).toEqual({ rows, places })
    expect(
      await countEach('SELECT count(*) AS n FROM users WHERE tenant_id = ?1', `moved:${tenant.id}`),
    ).toEqual(Object.fromEntries(NAMES.map((name) => [name, 0])))
  })

  test('events of several isolates go on, each with the right answer, and count once', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 60)
    let isOver = false
    let slowest = 0
    let sent = 0
    const client = async (nth: number) => {
      const through = tenant.through(newApp())
      for (let round = 0; !isOver; round += 1) {
        const id = `user-${((round * 7) % 20) * 3 + nth}`
        const began = Date.now()
        const key = `${nth}-${round}`
        const { status, body } = await through.event('words', id, 1, { idempotencyKey: key })
        slowest = Math.max(slowest, Date.now() - began)
        const total = (totals.get(id) ?? 0) + 1
        totals.set(id, total)
        sent += 1
        expect([status, at(body, 'total')], id).toEqual([201, total])
        if (round % 5 === 0) {
          const again = await through.event('words', id, 1, { idempotencyKey: key })
          expect([again.status, at(again.body, 'total')], id).toEqual([202, total])
        }
      }
    }
    const clients = Promise.all([0, 1, 2].map(client))
    const moves = async () => {
      try {
        for (const weights of [{ [LAST]: 0 }, { DB: 0 }, {}]) {
          await weigh(weights)
          // The test itself does the moves: in this runner, no object runs while the test sends requests.
          await moveAll(tenant)
        }
      } finally {
        isOver = true
      }
    }
    await Promise.all([clients, moves()])
    await expectTotals(tenant, totals)
    console.log(`${sent} events, the slowest took ${slowest} ms`)
    expect(sent).toBeGreaterThan(50)
  })

  test.each(['before', 'after'] as const)(
    'a move that is interrupted %s any write goes on by itself',
    async (when) => {
      const tenant = await newWorld()
      const totals = await newUsers(tenant, 12)
      let isDone = false
      for (let fail = 0; !isDone; fail += 1) {
        await weigh(fail % 2 === 0 ? { [LAST]: 0 } : {})
        let failed = false
        const bindings = bindingsWith(async (write, run) => {
          if (write < fail) return run()
          failed = true
          if (when === 'after' && write === fail) await run()
          throw new Error('D1_ERROR: Network connection lost.')
        })
        await stepWith(bindings, tenant)
        isDone = !failed
        // The next event may find its user between two databases. It wakes the Timekeeper, and waits.
        const sent = [...totals.keys()].map(async (id) => {
          const { status, body } = await tenant.through(newApp()).event('words', id, 1)
          const total = (totals.get(id) ?? 0) + 1
          totals.set(id, total)
          expect([status, at(body, 'total')], `${id} after ${fail}`).toEqual([201, total])
        })
        await Promise.all([settle(tenant), ...sent])
        await expectTotals(tenant, totals)
      }
    },
  )

  test('an erasure and an event at any moment of a move reach the user wherever the rows are', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 12)
    const erased: string[] = []
    // No object runs while the test sends requests, and an erasure would wait for it. It is woken later.
    const asleep = { wake: async () => undefined }
    const TIMEKEEPER = new Proxy(env.TIMEKEEPER, {
      get: (target, name) => (name === 'getByName' ? () => asleep : Reflect.get(target, name, target)),
    })
    let isDone = false
    for (let nth = 0; !isDone; nth += 1) {
      await weigh(nth % 2 === 0 ? { [LAST]: 0 } : {})
      const victim = `victim-${nth}`
      // On the way each time: the bucket is in the last database now, or will be.
      const ids = Array.from({ length: 3 }, (_, n) => `${victim}-${n}`)
      for (const id of ids) await tenant.event('words', id, 30, { idempotencyKey: 'k' })
      erased.push(...(await iidsOfUsers(tenant, ids)))
      const meanwhile: Promise<unknown>[] = []
      const bindings = bindingsWith(async (write, run) => {
        if (write === nth) {
          for (const id of ids)
            meanwhile.push(tenant.through(newApp({ DB: env.DB, TIMEKEEPER })).admin('DELETE', `/users/${id}`))
          for (const id of totals.keys()) {
            const counted = tenant
              .through(newApp())
              .event('words', id, 1)
              .then(({ status }) => expect(status).toBe(201))
            meanwhile.push(counted)
            totals.set(id, (totals.get(id) ?? 0) + 1)
          }
          // Some have time to be stored before the write, and the others come after it.
          await Promise.race([meanwhile[0], new Promise((resolve) => setTimeout(resolve, 30))])
        }
        return run()
      })
      await stepWith(bindings, tenant)
      isDone = meanwhile.length === 0
      if (isDone) for (const id of ids) await tenant.admin('DELETE', `/users/${id}`)
      await Promise.all(meanwhile)
      await moveAll(tenant)
      await expectTotals(tenant, totals)
    }
    await until(async () => {
      await wake(tenant, 100)
      return Object.keys((await rowsOf(erased)).rows).every((table) => table === 'audit_log')
    })
    expect(erased.length).toBeGreaterThan(20)
  })

  test('each user gets each tick exactly once, also if the user moves while the clock does', async () => {
    const start = Date.parse('2026-12-07T00:00:00Z')
    await moveTo(start)
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.create('/points', {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'time', timeUnit: 'hours', timeInterval: 6, points: 1, status: 'active' }],
    })
    const totals = await newUsers(tenant, 30)
    const weights = [{ [LAST]: 0 }, { DB: 0 }, {}, { DB: 3 }, { DB_2: 0 }, {}]
    for (const [day, some] of weights.entries()) {
      await weigh(some)
      const moving = day % 2 === 0 ? settle(tenant) : stepWith(env, tenant).then(() => settle(tenant))
      await Promise.all([moving, moveTo(start + (day + 1) * DAY)])
    }
    await expectTotals(tenant, totals)
    const ticks = new Set<unknown>()
    for (const id of totals.keys()) {
      const { body } = await tenant.app('GET', `/users/${id}/points/xp`)
      ticks.add(at(body, 'total'))
    }
    expect([...ticks]).toEqual([weights.length * 4])
    await forgetTime()
  })

  test('users of a time with one database get their buckets, and spread when they are asked to', async () => {
    const tenant = await newWorld()
    await env.DB.prepare('DELETE FROM directory WHERE tenant_id = ?1').bind(tenant.id).run()
    const fresh = tenant.through(newApp())
    const totals = new Map<string, number>()
    for (let nth = 0; nth < 40; nth += 1) {
      await fresh.event('words', `user-${nth}`, nth + 1)
      totals.set(`user-${nth}`, nth + 1)
    }
    await env.DB.prepare('UPDATE users SET bucket = NULL WHERE tenant_id = ?1').bind(tenant.id).run()
    await wake(tenant)
    expect((await usersByDatabase(tenant)).DB).toBe(40)
    await rebalance()
    await wake(tenant)
    // An isolate of the version before may still run, so the first move waits.
    expect((await usersByDatabase(tenant)).DB).toBe(40)
    await settle(tenant)
    for (const count of Object.values(await usersByDatabase(tenant))) expect(count).toBeGreaterThan(3)
    await expectTotals(tenant, totals)
    for (const [id, total] of totals) {
      const { body } = await fresh.event('words', id, 1)
      expect(at(body, 'total')).toBe(total + 1)
    }
  })

  test('without tenants, users spread by themselves over databases that were added', async () => {
    const bindings = { ...env, MULTI_TENANCY: 'off' }
    const id = '00000000-0000-7000-8000-000000000000'
    await stepMoves(
      newContext(new Instance(), bindings, () => undefined),
      id,
      KINDS,
      true,
    )
    const places = await env.DB.prepare('SELECT places FROM directory WHERE tenant_id = ?1')
      .bind(id)
      .first<string>('places')
    expect(new Set(JSON.parse(places ?? '[]').map(([, name]: [number, string]) => name))).toEqual(
      new Set(NAMES),
    )
    await env.DB.prepare('DELETE FROM directory WHERE tenant_id = ?1').bind(id).run()
  })
})
