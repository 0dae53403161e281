import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { forgetTime, HOUR, moveTo } from '../../helpers/worker/boards'
import {
  expectTotals,
  iidsOf,
  LAST,
  moveAll,
  moveBy,
  moveWith,
  NAMES,
  newUsers,
  newWorld,
  ORDERS,
  rowsOf,
  settle,
  stepWith,
  usersByDatabase,
  wake,
  weigh,
  whileMoving,
} from '../../helpers/worker/databases-moves'
import { losing, onWrites } from '../../helpers/worker/faulty'
import {
  at,
  databases,
  newApp,
  nextPath,
  type TestTenant,
  until,
  untilHeld,
} from '../../helpers/worker/harness'
import { watch } from '../../helpers/worker/live'
import { ASLEEP } from '../../helpers/worker/objects'
import { archive, purge, tablesWith } from '../../helpers/worker/purge'

/* Clients, operators and watchers at work while buckets move (B3). */

afterEach(() => weigh({}))

/** The bindings of an isolate that reaches no Timekeeper: no object runs while the test sends requests. */
const asleep = { DB: env.DB, TIMEKEEPER: ASLEEP }

describe('While buckets move [B3]', () => {
  test('[V1, V2, I1] voids, adjustments and passes of the analytics count each change once', async () => {
    const start = Date.parse('2027-02-01T00:00:00Z')
    await moveTo(start)
    const tenant = await newWorld()
    type User = { events: { id: string; isVoided: boolean }[]; adjustments: number }
    const users = new Map(
      Array.from({ length: 45 }, (_, n): [string, User] => [`user-${n}`, { events: [], adjustments: 0 }]),
    )
    const counted = ({ events }: User) => events.filter(({ isVoided }) => !isVoided).length
    const pointsOf = (user: User) => 3 * counted(user) + 7 * user.adjustments
    const send = async (through: TestTenant, id: string, user: User) => {
      const { status, body } = await through.event('words', id, 10)
      user.events.push({ id: String(at(body, 'eventId')), isVoided: false })
      expect([status, at(body, 'total'), at(body, 'points', 'xp', 'total')], id).toEqual([
        201,
        10 * counted(user),
        pointsOf(user),
      ])
    }
    for (const [id, user] of users) await send(tenant, id, user)
    const client = (nth: number) => async (isOver: () => boolean) => {
      const through = tenant.through(newApp())
      const own = [...users].filter((_, index) => index % 3 === nth)
      for (let round = 0; round < 2 || !isOver(); round += 1) {
        const [id, user] = own[(round * 4) % own.length] ?? expect.fail('no user')
        await send(through, id, user)
        const event = user.events[round % user.events.length] ?? expect.fail('no event')
        const path = `/users/${id}/events/${event.id}/void`
        const first = await through.admin('POST', path, {})
        event.isVoided = true
        expect([first.status, at(first.body, 'metric', 'after')], id).toEqual([200, 10 * counted(user)])
        expect((await through.admin('POST', path, {})).body).toEqual(first.body)
        const asked = own.slice(round % 5, (round % 5) + 4)
        const list = asked.map(([userId]) => ({ userId, amount: 7, idempotencyKey: `${nth}-${round}` }))
        const made = await through.admin('POST', '/points/xp/adjustments', list)
        for (const [, one] of asked) one.adjustments += 1
        expect([made.status, at(made.body, 'issues')]).toEqual([201, []])
        await through.admin('POST', '/points/xp/adjustments', list)
      }
    }
    let hours = 0
    const clock = async (isOver: () => boolean) => {
      while (!isOver()) {
        hours = Math.min(hours + 1, 20)
        await moveTo(start + hours * HOUR)
      }
    }
    await whileMoving(tenant, [client(0), client(1), client(2), clock])
    expect(hours).toBeGreaterThanOrEqual(1)
    await moveTo(start + 22 * HOUR)

    const valid = [...users.values()].reduce((sum, user) => sum + counted(user), 0)
    const sent = [...users.values()].reduce((sum, { events }) => sum + events.length, 0)
    expect(sent).toBeGreaterThan(valid + 3)
    for (const [id, user] of users) {
      const { body } = await tenant.admin('GET', `/users/${id}/export`)
      expect(z.array(z.unknown()).parse(at(body, 'events')), id).toHaveLength(counted(user))
      const points = await tenant.app('GET', `/users/${id}/points/xp`)
      expect([id, at(points.body, 'total')]).toEqual([id, pointsOf(user)])
    }
    const { body } = await tenant.admin('GET', '/analytics/overview?from=2027-02-01&to=2027-02-01')
    expect(at(body, 'series', 0)).toMatchObject({
      newUsers: users.size,
      activeUsers: [...users.values()].filter((user) => counted(user) > 0).length,
      events: valid,
      points: { xp: [...users.values()].reduce((sum, user) => sum + pointsOf(user), 0) },
    })
    await forgetTime()
  })

  test('[Y1, U1] watchers of a leaderboard and pages of the console see each user once', async () => {
    const tenant = await newWorld()
    const board = { key: 'board', name: 'Board', rankBy: 'metric', metricKey: 'words', status: 'active' }
    await tenant.create('/leaderboards', board)
    const totals = await newUsers(tenant, 40)
    const all = [...totals.keys()].sort()
    const stream = await watch(tenant.id, '?limit=100')
    const player = async (isOver: () => boolean) => {
      const through = tenant.through(newApp())
      for (let round = 0; !isOver(); round += 1) {
        const id = all[(round * 7) % all.length] ?? ''
        const { status, body } = await through.event('words', id, 3)
        totals.set(id, (totals.get(id) ?? 0) + 3)
        expect([status, at(body, 'total')], id).toEqual([201, totals.get(id)])
      }
    }
    let pages = 0
    const operator = async (isOver: () => boolean) => {
      const through = tenant.through(newApp())
      for (let round = 0; !isOver(); round += 1) {
        const seen: unknown[] = []
        for (let path: string | null = '/users?limit=9'; path !== null; pages += 1) {
          const { status, headers, body } = await through.admin('GET', path)
          expect(status).toBe(200)
          seen.push(...z.array(z.object({ id: z.string() })).parse(body))
          path = nextPath(headers)
        }
        expect(seen.map((one) => at(one, 'id')).sort()).toEqual(all)
        const id = all[round % all.length] ?? ''
        for (const path of ['/analytics/overview', '/status', `/users/${id}/timeline`, `/users/${id}/export`])
          expect([path, (await through.admin('GET', path)).status]).toEqual([path, 200])
        const summary = await through.app('GET', '/points/xp/summary')
        const counts = z.array(z.object({ users: z.number() })).parse(summary.body)
        expect(counts.reduce((sum, { users }) => sum + users, 0)).toBe(all.length)
      }
    }
    await whileMoving(tenant, [player, operator])
    expect(pages).toBeGreaterThanOrEqual(5)
    const ranked = [...totals].sort(([, a], [, b]) => b - a).map(([, total]) => total)
    await untilHeld(() => {
      expect(new Map(stream.rankings.at(-1)?.rankings.map((one) => [one.userId, one.value]))).toEqual(totals)
    })
    expect(stream.rankings.at(-1)?.rankings.map(({ value }) => value)).toEqual(ranked)
    expect(stream.ended).toBeNull()
    for (const { rankings } of stream.rankings)
      expect(new Set(rankings.map(({ userId }) => userId)).size).toBe(rankings.length)
    await stream.leave()
  })

  test.each(ORDERS)(
    '[B4] a change of the configuration %s any write of a move counts from its answer on',
    async (order) => {
      const tenant = await newWorld()
      const totals = await newUsers(tenant, 9)
      const listed = await tenant.admin('GET', '/points/xp/triggers')
      const id = at(listed.body, 0, 'id')
      let isDone = false
      for (let nth = 0; !isDone; nth += 1) {
        await weigh(nth % 2 === 0 ? { [LAST]: 0 } : {})
        const points = nth + 10
        const change = async () => {
          const through = tenant.through(newApp())
          const changed = await through.admin('PATCH', '/points/xp/triggers', [{ id, points }])
          expect([changed.status, at(changed.body, 'issues')]).toEqual([200, []])
          const sent = [...totals.keys()].map(async (user) => {
            const { status, body } = await tenant.through(newApp()).event('words', user, 10)
            expect([status, at(body, 'points', 'xp', 'added')], `${user} at ${nth}`).toEqual([201, points])
          })
          await Promise.all(sent)
        }
        isDone = !(await moveWith(tenant, nth, () => [change()], order))
        await moveAll(tenant)
        if (nth > 4) expect((await usersByDatabase(tenant))[LAST] === 0).toBe(nth % 2 === 0)
      }
    },
  )

  test.each(ORDERS)(
    '[T3] a tenant that is erased %s any write of a move leaves nothing in any database',
    async (order) => {
      let isDone = false
      for (let nth = 0; !isDone; nth += 1) {
        const tenant = await newWorld()
        await newUsers(tenant, 9)
        const iids = await iidsOf(tenant)
        await weigh({ [LAST]: 0 })
        let hasBegun = false
        const erase = async () => {
          const through = newApp(asleep)
          hasBegun = true
          expect((await archive(tenant.id)).status).toBe(200)
          expect((await purge(tenant.id, through)).status).toBe(202)
        }
        isDone = !(await moveWith(tenant, nth, () => [erase()], order))
        expect(hasBegun).toBe(!isDone)
        if (isDone) break
        const names = [tenant.id, ...iids]
        await until(async () => {
          await wake(tenant, 100)
          return (await tablesWith(names)).length === 0
        })
      }
    },
  )

  test('a user with more rows than fit in one step moves whole, also if a step fails', async () => {
    const tenant = await newWorld()
    await tenant.event('words', 'big', 1)
    await tenant.event('words', 'small', 1)
    const iids = await iidsOf(tenant)
    const more = {
      events: `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
        SELECT e.user_iid, e.metric_no, e.at - key, -key - 1, randomblob(16), 0, 0
        FROM events e CROSS JOIN json_each(?2) WHERE e.user_iid =
          (SELECT unhex(iid, '-') FROM users WHERE tenant_id = ?1 AND id = 'big')`,
      keys: `INSERT INTO idempotency_keys (user_iid, metric_no, key, event_id)
        SELECT user_iid, metric_no, 'k' || seq, id FROM events WHERE seq < 0 AND user_iid =
          (SELECT unhex(iid, '-') FROM users WHERE tenant_id = ?1 AND id = 'big') AND ?2 <> ''`,
    }
    const numbers = JSON.stringify(Array.from({ length: 12_345 }, (_, n) => n))
    for (const { d1 } of databases())
      for (const sql of Object.values(more)) await d1.prepare(sql).bind(tenant.id, numbers).run()
    const before = await rowsOf(iids)
    expect(before.rows.events).toHaveLength(12_347)
    const holders = Object.keys(before.places)
    const target = NAMES.find((name) => !holders.includes(name)) ?? LAST
    let isDone = false
    for (let fail = 0; !isDone; fail += 1) {
      const others = NAMES.filter((name) => name !== (fail % 2 === 0 ? target : holders[0]))
      await weigh(Object.fromEntries(others.map((name) => [name, 0])))
      const { bindings, seen } = onWrites(losing(fail, false))
      await stepWith(bindings, tenant)
      isDone = seen.count <= fail
      await settle(tenant)
      expect((await rowsOf(iids)).rows).toEqual(before.rows)
    }
  })

  test('users whose rows are as long as rows may be move, a few at a time', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 30)
    for (const { d1 } of databases()) {
      await d1
        .prepare(
          `UPDATE users SET device_tokens = json_array(printf('%.*c', 1500000, 'x')) WHERE tenant_id = ?1`,
        )
        .bind(tenant.id)
        .run()
    }
    await moveBy(tenant, { [LAST]: 0 })
    expect((await usersByDatabase(tenant))[LAST]).toBe(0)
    await expectTotals(tenant, totals)
  })
})
