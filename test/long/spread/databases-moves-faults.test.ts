import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Bindings } from '../../../src/platform/env'
import { Timekeeper } from '../../../src/worker/index'
import { DAY, forgetTime, moveTo } from '../../helpers/worker/boards'
import {
  countEach,
  expectTotals,
  hurry,
  LAST,
  moveAll,
  moveWith,
  NAMES,
  newUsers,
  newWorld,
  ORDERS,
  rowsOf,
  settle,
  stepWith,
  wake,
  weigh,
} from '../../helpers/worker/databases-moves'
import { dueWork, makeDueAt } from '../../helpers/worker/due-work'
import { behind, lost, onWrites } from '../../helpers/worker/faulty'
import { at, newApp, newTenant, until, userIn } from '../../helpers/worker/harness'
import { event, muted, send } from '../../helpers/worker/inbox'
import { ASLEEP, fails, stubbed } from '../../helpers/worker/objects'
import { iidOf } from '../../helpers/worker/stored-users'

afterEach(() => weigh({}))

describe('Buckets move between databases, under faults [B3]', () => {
  test.each(['before', 'after'] as const)(
    'a move that is interrupted %s any write goes on by itself',
    async (when) => {
      const tenant = await newWorld()
      const totals = await newUsers(tenant, 12)
      let isDone = false
      for (let fail = 0; !isDone; fail += 1) {
        await weigh(fail % 2 === 0 ? { [LAST]: 0 } : {})
        let failed = false
        const { bindings } = onWrites(async ({ run }, write) => {
          if (write < fail) return run()
          failed = true
          if (when === 'after' && write === fail) await run()
          throw lost()
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

  test.each(ORDERS)(
    'an erasure and an event %s any write of a move reach the user wherever the rows are',
    async (order) => {
      const tenant = await newWorld()
      const totals = await newUsers(tenant, 12)
      const erased: string[] = []
      // No object runs while the test sends requests, and an erasure would wait for it. It is woken later.
      const asleep = { DB: env.DB, TIMEKEEPER: ASLEEP }
      let isDone = false
      for (let nth = 0; !isDone; nth += 1) {
        await weigh(nth % 2 === 0 ? { [LAST]: 0 } : {})
        const victim = `victim-${nth}`
        // On the way each time: the bucket is in the last database now, or will be.
        const ids = Array.from({ length: 3 }, (_, n) => `${victim}-${n}`)
        for (const id of ids) await tenant.event('words', id, 30, { idempotencyKey: 'k' })
        for (const id of ids) erased.push(await iidOf(tenant, id))
        const acts = () => [
          ...ids.map((id) => tenant.through(newApp(asleep)).admin('DELETE', `/users/${id}`)),
          ...[...totals.keys()].map(async (id) => {
            totals.set(id, (totals.get(id) ?? 0) + 1)
            expect((await tenant.through(newApp()).event('words', id, 1)).status).toBe(201)
          }),
        ]
        isDone = !(await moveWith(tenant, nth, acts, order))
        if (isDone) for (const id of ids) await tenant.admin('DELETE', `/users/${id}`)
        await moveAll(tenant)
        await expectTotals(tenant, totals)
      }
      await until(async () => {
        await wake(tenant, 100)
        return Object.keys((await rowsOf(erased)).rows).every((table) => table === 'audit_log')
      })
      expect(erased.length).toBeGreaterThan(20)
    },
  )

  test('work on users waits while a database is away in the middle of a move, and other work goes on', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 12)
    const board = { key: 'b', name: 'B', status: 'active', rankBy: 'metric', metricKey: 'words' }
    await tenant.create('/leaderboards', board)
    const [first = '', target = ''] = NAMES
    await weigh({ [first]: 1, [target]: 2, [LAST]: 0 })
    const placement = async () =>
      (await countEach('SELECT placement AS n FROM tenants WHERE id = ?1', tenant.id))[LAST] ?? 0
    const before = await placement()
    let isAway = false
    const asked = new Set<string>()
    const faulty = {
      ...env,
      ...behind(async ({ database, isWrite, texts, run }) => {
        if (isAway && texts.some((text) => text.includes('due_work'))) asked.add(database)
        if (isAway && database === target) throw lost()
        const results = await run()
        // From now on, some users are between two databases.
        if (database === LAST && isWrite) isAway ||= (await placement()) > before
        return results
      }),
    }
    while (!isAway) {
      await hurry()
      await stepWith(faulty, tenant)
    }
    const streaks = { tenant, kind: 'streaks' }
    for (const due of [streaks, { tenant, kind: 'leaderboard' }]) await makeDueAt(due, 0)
    const waiting = async () => (await dueWork(streaks)).filter(({ dueAt }) => dueAt === 0)
    expect((await waiting()).length).toBeGreaterThan(0)
    const user = userIn(tenant, first)
    await send(muted(tenant), [event(user, 7)])
    totals.set(user, (totals.get(user) ?? 0) + 7)
    const upkeep = vi.fn(fails)
    const LEADERBOARD = stubbed(env.LEADERBOARD, () => ({ runDue: upkeep }))
    const woken = (bindings: Bindings) =>
      runInDurableObject(env.TIMEKEEPER.getByName(tenant.id), (_, state) =>
        new Timekeeper(state, bindings).wake(tenant.id, 20),
      )
    const due = (await waiting()).length
    asked.clear()
    await woken({ ...faulty, LEADERBOARD })
    expect(upkeep).not.toHaveBeenCalled()
    // No other database is asked for work.
    expect([...asked]).toEqual([first])
    expect((await waiting()).length).toBe(due)
    expect((await tenant.app('GET', `/users/${user}/metrics/words`)).body).toMatchObject({
      current: totals.get(user),
    })
    const held = tenant.through(newApp(faulty))
    const { status, headers } = await held.event('words', userIn(tenant, LAST), 1)
    expect([status, headers.get('Retry-After')]).toEqual([503, '5'])
    await settle(tenant)
    await wake(tenant, 20)
    expect(await waiting()).toEqual([])
    await expectTotals(tenant, totals)
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
      const moving = day % 2 === 0 ? settle(tenant) : stepWith({}, tenant).then(() => settle(tenant))
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
})
