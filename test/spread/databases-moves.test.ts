import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { placementIs } from '../../src/features/databases/copies.sql'
import { placementIn } from '../../src/features/databases/databases.sql.ts'
import { MOVED } from '../../src/features/databases/moved-tables'
import { removeMovedRows } from '../../src/store/user-data/user-data.sql.ts'
import { present } from '../helpers/time'
import { DAY, forgetTime, moveTo } from '../helpers/worker/boards'
import { contextOfAccount } from '../helpers/worker/contexts'
import {
  addRareRows,
  allIn,
  countEach,
  expectTotals,
  hurry,
  iidsOf,
  LAST,
  Listed,
  listed,
  moveBy,
  NAMES,
  newUsers,
  newWorld,
  rebalance,
  rowsOf,
  settle,
  states,
  stepWith,
  usersByDatabase,
  wake,
  weigh,
  whileMoving,
} from '../helpers/worker/databases-moves'
import { deleteData } from '../helpers/worker/delete-data'
import { behind } from '../helpers/worker/faulty'
import {
  account,
  at,
  firstBucket,
  lastDatabase,
  newApp,
  type Send,
  toApp,
  until,
} from '../helpers/worker/harness'

afterEach(() => weigh({}))

describe('The databases [B3]', () => {
  test('are listed with their buckets, users, events and states: those of weight 0 are draining, until it changes', async () => {
    // Tenants of other tests may still get buckets, or move, and some of those can't.
    await deleteData()
    const before = z.array(Listed).parse((await listed()).body)
    const tenant = await newWorld()
    const [someone] = (await newUsers(tenant, 20)).keys()
    const after = z.array(Listed).parse((await listed()).body)
    expect(after.map(({ name }) => name)).toEqual(NAMES)
    const sum = (list: typeof after, field: 'buckets' | 'users' | 'events') =>
      list.reduce((total, one) => total + one[field], 0)
    expect(sum(after, 'buckets') - sum(before, 'buckets')).toBe(4096)
    expect(sum(after, 'users') - sum(before, 'users')).toBe(20)
    expect(sum(after, 'events') - sum(before, 'events')).toBe(40)
    await tenant.admin('DELETE', `/users/${someone}`)
    const erased = z.array(Listed).parse((await listed()).body)
    expect(sum(erased, 'users') - sum(before, 'users')).toBe(19)

    const { status, body } = await rebalance({ [LAST]: 0 })
    expect(status).toBe(202)
    expect(states(at(body, 'databases'))).toEqual({
      ...Object.fromEntries(NAMES.map((name) => [name, 'filling'])),
      [LAST]: 'draining',
    })
    await settle(tenant)
    await until(async () => {
      await hurry()
      return Object.values(states((await listed()).body)).every((state) => state !== 'filling')
    })
    expect(states((await listed()).body)[LAST]).toBe('draining')
    const held = z.array(Listed).parse((await listed()).body)
    expect(held.at(-1)?.users).toBe(0)
    await rebalance()
    await settle(tenant)
    await until(async () => {
      await hurry()
      return Object.values(states((await listed()).body)).every((state) => state === 'active')
    })
  })

  test('that are large have the events that the analytics have counted, without erased ones', async () => {
    const large = newApp(
      behind(async ({ run }) =>
        (await run()).map((result) => ({
          ...result,
          meta: { ...result.meta, size_after: result.meta.size_after + 1_000_000_000 },
        })),
      ),
    )
    const events = async (send: Send) =>
      z
        .array(Listed)
        .parse((await account('GET', '/databases', undefined, send)).body)
        .map((one) => one.events)
    const start = Date.parse('2027-01-04T00:00:00Z')
    await moveTo(start)
    const tenant = await newWorld()
    const ids = [...(await newUsers(tenant, 20)).keys()]
    await moveTo(start + DAY)
    const counted = await events(toApp)
    expect(await events(large)).toEqual(counted)
    for (const id of ids.slice(3, 7)) await tenant.admin('DELETE', `/users/${id}`)
    await tenant.event('words', 'not-counted', 1)
    await tenant.admin('DELETE', '/users/not-counted')
    await until(async () => {
      await wake(tenant)
      const left = await events(toApp)
      return left.reduce((sum, n) => sum + n, 0) === counted.reduce((sum, n) => sum + n, 0) - 8
    })
    expect(await events(large)).toEqual(await events(toApp))
    await moveBy(tenant, { [LAST]: 0 })
    expect(await events(large)).toEqual(await events(toApp))
    expect((await usersByDatabase(tenant))[LAST]).toBe(0)
    await forgetTime()
  })

  test.each([
    [{ weights: { DB_99: 1 } }, 'weights.DB_99: is no database'],
    [{ weights: { DB: -1 } }, 'weights.DB: must be'],
    [{ weights: { DB: null } }, 'weights.DB: '],
    [{ weights: Object.fromEntries(NAMES.map((name) => [name, 0])) }, 'weights: must not be 0 for all'],
    [{ weights: 3 }, 'weights: must be'],
  ])('refuse the weights %j', async (body, problem) => {
    const answer = await account('POST', '/databases/rebalance', body)
    expect(answer.status).toBe(422)
    expect(at(answer.body, 'error')).toContain(problem)
  })

  test('have their weights in the audit log of the account', async () => {
    await rebalance({ DB: 5 })
    const { body } = await account('GET', '/audit-log?kind=databases&limit=1')
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
    const counted = () =>
      countEach(
        "SELECT coalesce(sum(count), 0) AS n FROM tenant_counters WHERE tenant_id = ?1 AND name = 'users'",
        tenant.id,
      )
    expect(await counted()).toEqual(before)

    await moveBy(tenant, { [LAST]: 0 })
    const after = await rowsOf(iids)
    expect(after.rows).toEqual(rows)
    expect(after.places[LAST]).toBeUndefined()
    expect(await counted()).toEqual(await usersByDatabase(tenant))
    for (const [nth, id] of ids.entries()) {
      const repeated = await tenant.event('words', id, 999, { idempotencyKey: `k${nth}` })
      expect(at(repeated.body, 'total')).toBe(nth * 4 + 1)
    }
    // The shares of before. Equal weights would leave one bucket in another database, maybe with a user: 4,096 is no
    // multiple of three.
    await moveBy(
      tenant,
      Object.fromEntries(NAMES.map((name, n) => [name, firstBucket(n + 1) - firstBucket(n)])),
    )
    expect(await usersByDatabase(tenant)).toEqual(before)
    expect(await rowsOf(iids)).toEqual({ rows, places })
    expect(
      await countEach('SELECT count(*) AS n FROM users WHERE tenant_id = ?1', `moved:${tenant.id}`),
    ).toEqual(Object.fromEntries(NAMES.map((name) => [name, 0])))
  })

  test('audit entries about no user go to the first database when a tenant leaves theirs [Z1]', async () => {
    const tenant = await newWorld()
    await newUsers(tenant, 3)
    await moveBy(tenant, allIn(LAST))
    await lastDatabase()
      .d1.prepare(
        `INSERT INTO audit_log (tenant_id, id, at, key_name, action, kind, key, request_id, fields)
        SELECT ?1, ?1 || value, 1, 'a key', 'update', 'metric', 'words', 'r', '{}' FROM json_each('[1,2]')`,
      )
      .bind(tenant.id)
      .run()
    const entries = () =>
      countEach(
        `SELECT count(*) AS n FROM audit_log WHERE tenant_id = ?1 AND at = 1 AND key_id IS NULL
          AND key_name = 'a key' AND key = 'words' AND user_iid IS NULL AND fields = '{}'`,
        tenant.id,
      )
    expect(await entries()).toEqual(Object.fromEntries(NAMES.map((name) => [name, name === LAST ? 2 : 0])))
    await moveBy(tenant, { [LAST]: 0 })
    expect(await entries()).toEqual(Object.fromEntries(NAMES.map((name) => [name, name === 'DB' ? 2 : 0])))
  })

  test('a deletion of copies that is stored late leaves users alone who have arrived since', async () => {
    const tenant = await newWorld()
    await newUsers(tenant, 12)
    const { databases: all } = contextOfAccount()
    const first = all.named('DB')
    const { placement = 0 } = (await placementIn(first, tenant.id)) ?? {}
    await moveBy(tenant, allIn('DB'))
    const iids = await iidsOf(tenant)
    const before = await rowsOf(iids)
    // It was decided before the users came.
    const guard = placementIs(tenant.id, placement)
    const late = removeMovedRows(first.of(tenant.id), iids, { isFirst: true, guard })
    await expect(late).rejects.toThrow('laurel-conflict')
    expect(await rowsOf(iids)).toEqual(before)
  })

  test('events of several isolates go on, each with the right answer, and count once', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 60)
    const ids = [...totals.keys()]
    let sent = 0
    const client = (nth: number) => async (isOver: () => boolean) => {
      const through = tenant.through(newApp())
      for (let round = 0; !isOver(); round += 1) {
        const id = ids[((round * 7) % 20) * 3 + nth] ?? ''
        const key = `${nth}-${round}`
        const { status, body } = await through.event('words', id, 1, { idempotencyKey: key })
        const total = (totals.get(id) ?? 0) + 1
        totals.set(id, total)
        sent += 1
        expect([status, at(body, 'total')], id).toEqual([201, total])
        if (round % 5 === 0) {
          const again = await through.event('words', id, 1, { idempotencyKey: key })
          expect([again.status, at(again.body, 'total')], id).toEqual([202, total])
          const { body } = await through.app('GET', `/users/${id}/metrics/words`)
          expect(at(body, 'current'), id).toBe(total)
        }
      }
    }
    // The test itself does the moves: in this runner, no object runs while the test sends requests.
    await whileMoving(tenant, [0, 1, 2].map(client))
    await expectTotals(tenant, totals)
    expect(sent).toBeGreaterThan(50)
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
    await env.DB.prepare('DELETE FROM known_databases').run()
    await wake(tenant)
    expect((await usersByDatabase(tenant)).DB).toBe(40)
    await rebalance()
    // An isolate of the version before may still run, so the first move waits half a minute.
    const began = present()
    expect(await stepWith({}, tenant)).toBeGreaterThanOrEqual(began + 29_000)
    expect((await usersByDatabase(tenant)).DB).toBe(40)
    await settle(tenant)
    for (const count of Object.values(await usersByDatabase(tenant))) expect(count).toBeGreaterThan(0)
    await expectTotals(tenant, totals)
    for (const [id, total] of totals) {
      const { body } = await fresh.event('words', id, 1)
      expect(at(body, 'total')).toBe(total + 1)
    }
  })

  test('without tenants, users spread by themselves over databases that were added', async () => {
    const id = '00000000-0000-7000-8000-000000000000'
    // Other tests have asked all tenants to spread, this one too, and its object may have begun.
    await deleteData()
    // The cron trigger has seen them just now.
    await env.DB.prepare('INSERT INTO known_databases (name, since) SELECT value, ?2 FROM json_each(?1)')
      .bind(JSON.stringify(NAMES.slice(1)), present())
      .run()
    await stepWith({ MULTI_TENANCY: 'off' }, { id })
    const places = await env.DB.prepare('SELECT places FROM directory WHERE tenant_id = ?1')
      .bind(id)
      .first<string>('places')
    expect(new Set(JSON.parse(places ?? '[]').map(([, name]: [number, string]) => name))).toEqual(
      new Set(NAMES),
    )
    await env.DB.prepare('DELETE FROM directory WHERE tenant_id = ?1').bind(id).run()
  })
})
