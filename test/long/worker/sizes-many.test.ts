import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { presentConfiguration } from '../../../src/configuration/configuration'
import { inboxStep } from '../../../src/features/events/batches/process'
import { scheduleJob } from '../../../src/features/notifications/schedule'
import { boostsJob } from '../../../src/features/points/boost-events'
import { flushPoints } from '../../../src/features/points/points-changed'
import type { Fact } from '../../../src/leaderboards/notify/board-events.sql.ts'
import { sendBoardEvents } from '../../../src/leaderboards/notify/send'
import { instant } from '../../../src/lib/clock'
import { newId } from '../../../src/lib/new-id'
import { drain } from '../../../src/webhooks/delivery/drain'
import { DAY, dateAt, forgetTime, HOUR, moveTo, moveUnseen, NOON } from '../../helpers/worker/boards'
import { contextWith, ofUsers, whenBy, worksOf, workUntil } from '../../helpers/worker/contexts'
import { forgetDueWork } from '../../helpers/worker/due-work'
import { faultyLast } from '../../helpers/worker/faulty'
import { at, lastDatabase, newApp, newTenantInLast, rowsEverywhere } from '../../helpers/worker/harness'
import {
  breakdown,
  copies,
  count,
  fill,
  GROWING,
  largeTenant,
  largeValues,
  MOST,
  measured,
  queuesThatListen,
  strict,
  withGroups,
  withLargeUser,
} from '../../helpers/worker/large'
import { messagesOf, subscribe } from '../../helpers/worker/messages'
import { stubbed, UNREACHED } from '../../helpers/worker/objects'
import { iidOf } from '../../helpers/worker/stored-users'

/*
 * The platform's limits are in bytes; the interfaces' limits are in characters and numbers. The largest input
 * that the interfaces accept must fit in the platform's limits. These tests are about many users;
 * sizes.test.ts is about one.
 */

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

describe('messages about users of the largest size', () => {
  it('[N2] scheduled notifications are made for a few users at a time', async () => {
    const { tenant } = await withLargeUser()
    await tenant.event('m', 'ada', 1)
    const ids = await copies(tenant, 'ada', 9)
    await subscribe(tenant, 'emails.streak_reminder_due')
    // A reminder of their streaks is due for all users tomorrow evening.
    const { bindings, most } = measured()
    const context = ofUsers(contextWith(tenant.id, bindings))
    const told: number[] = []
    await moveUnseen(NOON + DAY + 8 * HOUR)
    for (let steps = 0; steps < 30; steps += 1) {
      const [work] = (await worksOf(context)).filter(({ kind }) => kind === 'schedule')
      if (work === undefined || work.dueAt > NOON + DAY + 8 * HOUR) break
      await scheduleJob.run(context, work, whenBy(instant(NOON + DAY + 8 * HOUR)))
      told.push(await count(tenant, 'outbox'))
    }
    expect(told.at(-1)).toBe(ids.length + 1)
    expect(new Set(told).size).toBeGreaterThan(2)
    expect(Math.max(most.read, most.written)).toBeLessThan(MOST)
    await rowsEverywhere('DELETE FROM outbox')
  })

  it('[W5, W6] changes of points and levels by ticks, of many users', async () => {
    const { tenant } = await withLargeUser()
    await copies(tenant, 'ada', 9)
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    await tenant.create(`/points/${system}/levels`, { key: 'l', name: 'L', points: 1 })
    await tenant.create(`/points/${system}/triggers`, {
      type: 'time',
      points: 5,
      status: 'active',
      timeUnit: 'hours',
      timeInterval: 1,
    })
    const webhook = await subscribe(tenant, 'points.changed', 'points.level_changed')
    const { bindings, most } = measured()
    await moveUnseen(NOON + HOUR)
    await workUntil(tenant, NOON + HOUR, { bindings, from: instant(NOON) })
    const told = await messagesOf(webhook)
    const typesOf = (event: string) => told.filter((one) => one.event === event).length
    expect([typesOf('points.changed'), typesOf('points.level_changed')]).toEqual([10, 10])
    expect(Math.max(most.read, most.written)).toBeLessThan(MOST)
  })

  it('[W6] boosts with the longest filters are sent a few at a time', async () => {
    const tenant = await largeTenant()
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    await subscribe(tenant, 'points.boost_started')
    const found = (await tenant.admin('GET', '/attributes?limit=20')).body
    const userAttributes = z
      .array(z.object({ id: z.string() }))
      .parse(found)
      .map(({ id }) => ({ attributeId: id, attributeValue: GROWING.control.repeat(1_000) }))
    const start = dateAt(NOON + 2 * DAY)
    const boost = { name: 'B', start, multiplier: 2, rounding: 'down', userAttributes }
    for (let n = 0; n < 40; n += 8) {
      const { status } = await tenant.admin('POST', `/points/${system}/boosts`, Array(8).fill(boost))
      expect(status).toBe(201)
    }
    const { bindings, most } = measured()
    const context = contextWith(tenant.id, bindings)
    const told: number[] = []
    await moveUnseen(NOON + 3 * DAY)
    for (let steps = 0; steps < 30; steps += 1) {
      const [work] = (await worksOf(context)).filter(({ kind }) => kind === 'boosts')
      if (work === undefined || work.dueAt > NOON + 3 * DAY) break
      await boostsJob.run(context, work, whenBy(instant(NOON + 3 * DAY)))
      told.push(await count(tenant, 'outbox'))
    }
    expect([told.at(-1), new Set(told).size > 1, most.written < MOST]).toEqual([40, true, true])
    await rowsEverywhere('DELETE FROM outbox')
  })

  it('[E3] parallel events of the user, each with webhook events, all count and are sent', async () => {
    const { tenant, metric } = await withLargeUser()
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const levels = Array.from({ length: 12 }, (_, n) => ({ key: `l${n}`, name: 'L', points: n + 1 }))
    await tenant.admin('POST', `/points/${system}/levels`, levels)
    const trigger = { type: 'metric', metricId: metric, metricThreshold: 1, points: 1, status: 'active' }
    await tenant.create(`/points/${system}/triggers`, trigger)
    const webhook = await subscribe(tenant, 'points.level_changed')
    const { bindings, most } = measured()
    const through = tenant.through(newApp(bindings))
    const responses = await Promise.all(Array.from({ length: 12 }, () => through.event('m', 'ada', 1)))
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 201))
    expect(responses.map(({ body }) => at(body, 'total')).toSorted((a, b) => Number(a) - Number(b))).toEqual(
      levels.map(({ points }) => points),
    )
    expect(most.written).toBeLessThan(MOST)
    await drain(ofUsers(contextWith(tenant.id, bindings)), flushPoints)
    expect((await messagesOf(webhook)).map(({ body }) => at(body, 'newLevel', 'points'))).toEqual(
      levels.map(({ points }) => points),
    )
    await forgetDueWork()
  })
})

describe('work on many users of the largest size', () => {
  it('[P4, S3, A4] continues a few users at a time, to the last one', async () => {
    const { tenant, metric } = await withLargeUser()
    await tenant.event('m', 'ada', 3)
    await copies(tenant, 'ada', 24)
    await tenant.create('/achievements', {
      key: 'late',
      name: 'Late',
      trigger: 'metric',
      metricId: metric,
      metricValue: 3,
    })
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    await tenant.create(`/points/${system}/triggers`, {
      type: 'time',
      points: 5,
      status: 'active',
      timeUnit: 'days',
      timeInterval: 1,
    })
    const id = at((await tenant.admin('GET', '/achievements')).body, 0, 'id')
    await tenant
      .through(newApp({ TIMEKEEPER: UNREACHED }))
      .admin('PATCH', '/achievements', [{ id, status: 'active' }])
    const { bindings, most } = measured()
    // Over two midnights, after which all streaks are lost.
    const to = NOON + 2 * DAY
    await moveUnseen(to)
    await workUntil(tenant, to, { bindings, from: instant(NOON), steps: 1_000 })
    const results = await rowsEverywhere(
      `SELECT points ->> ?2 AS points, json_array_length(achievements) AS done, streak ->> '$.run' IS NULL AS
        lost,
         octet_length(attributes) AS bytes FROM users WHERE tenant_id = ?1`,
      tenant.id,
      `$."${system}"`,
    )
    expect(results).toHaveLength(25)
    for (const user of results) {
      expect(user).toMatchObject({ points: 10, done: 1, lost: 1 })
      expect(Number(user.bytes)).toBeGreaterThan(1_200_000)
    }
    expect(Math.max(most.read, most.written)).toBeLessThan(MOST)
  })

  it('[E9] a batch of events of these users, each with the longest attributes', async () => {
    const { tenant } = await withLargeUser()
    const ids = ['ada', ...(await copies(tenant, 'ada', 7))]
    const webhook = await subscribe(tenant, 'streak.started')
    const events = ids.map((id) => ({ key: 'm', user: { id }, value: 1 }))
    // One event that fills all attributes of a new user: 1.2 MB of JSON.
    const large = { key: 'm', user: { id: 'bob', attributes: largeValues(GROWING.control) }, value: 2 }
    const { bindings, most } = measured()
    const send = tenant.through(newApp({ ...bindings, TIMEKEEPER: UNREACHED }))
    const batch = await send.admin('POST', '/metrics/events', [large, ...events, { ...large, value: 3 }])
    expect(batch.status).toBe(202)
    const context = contextWith(tenant.id, bindings)
    let steps = 0
    for (; (await count(tenant, 'inbox')) > 0 && steps < 30; steps += 1) {
      const [work] = (await worksOf(context)).filter(({ kind }) => kind === 'inbox')
      if (work !== undefined) await inboxStep(context, work, instant(NOON))
    }
    const id = batch.headers.get('x-batch-id')
    expect((await tenant.admin('GET', `/metrics/events/batches/${id}`)).body).toMatchObject({
      processed: ids.length + 2,
      parked: 0,
    })
    expect(steps).toBeGreaterThan(1)
    expect(Math.max(most.read, most.written)).toBeLessThan(MOST)
    expect((await tenant.app('GET', '/users/bob/metrics/m')).body).toMatchObject({ current: 5 })
    await drain(ofUsers(context), flushPoints)
    expect(await messagesOf(webhook)).toHaveLength(ids.length + 1)
  })
})

describe('lists', () => {
  it('[G7] a page of users of the largest size', async () => {
    const { tenant } = await withLargeUser()
    const ids = ['ada', ...(await copies(tenant, 'ada', 11))]
    const { bindings, most } = measured()
    const { status, body } = await tenant.through(newApp(bindings)).admin('GET', '/users?limit=100')
    const users = z
      .array(z.object({ id: z.string(), attributes: z.record(z.string(), z.string()) }))
      .parse(body)
    expect([status, users.map(({ id }) => id)]).toEqual([200, ids])
    expect(users[11]?.attributes).toEqual(largeValues(GROWING.control))
    expect(most.read).toBeLessThan(MOST)
  })

  it('[U8] the export of events with the longest attributes', async () => {
    const tenant = await newTenantInLast()
    await tenant.metric('m')
    const items = Array.from({ length: 100 }, (_, n) => ({ key: `e${n}`, name: 'E', type: 'event' }))
    await tenant.admin('POST', '/attributes', items)
    const attributes = Object.fromEntries(items.map(({ key }) => [key, GROWING.control.repeat(1_000)]))
    const through = tenant.through(newApp(strict()))
    expect((await through.event('m', 'ada', 1, { attributes })).status).toBe(201)
    await lastDatabase()
      .d1.prepare(
        `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset, attributes, counter_ids)
       SELECT user_iid, metric_no, at + n, seq, id, value, utc_offset, attributes, counter_ids
        FROM events,
         (WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20) SELECT n FROM n)
       WHERE user_iid = unhex(?1, '-')`,
      )
      .bind(await iidOf(tenant, 'ada'))
      .run()
    const { bindings, most } = measured()
    const { body } = await tenant.through(newApp(bindings)).admin('GET', '/users/ada/export')
    const Events = z.array(
      z.object({ attributes: z.array(z.object({ key: z.string(), value: z.string() })) }),
    )
    const events = Events.parse(at(body, 'events'))
    expect(events).toHaveLength(21)
    for (const event of events)
      expect(Object.fromEntries(event.attributes.map(({ key, value }) => [key, value]))).toEqual(attributes)
    expect(most.read).toBeLessThan(MOST)
  })
})

describe('leaderboards with the longest groups', () => {
  it('[L3, L12, U8] all users are counted, in parts that fit; the export has all runs', async () => {
    const { tenant, board, ids } = await withGroups(100)
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, status: 'active' }])
    const ranked = () =>
      runInDurableObject(env.LEADERBOARD.getByName(board), (_, { storage }) =>
        storage.sql
          .exec<{ userId: string; bytes: number }>(
            'SELECT user_id AS userId, octet_length(grp) AS bytes FROM scores',
          )
          .toArray(),
      )
    const rows = await ranked()
    expect(rows.map(({ userId }) => userId).toSorted()).toEqual(ids.toSorted())
    expect(Math.min(...rows.map(({ bytes }) => bytes))).toBeGreaterThan(60_000)
    // More final runs than one call of the object can return.
    const iid = await iidOf(tenant, 'ada')
    await runInDurableObject(env.LEADERBOARD.getByName(board), (_, { storage }) => {
      storage.sql.exec(
        `INSERT INTO finals SELECT n, grp, 1, 'ada', ?1, 1, 1 FROM scores,
           (WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 600) SELECT n FROM n)
         WHERE user_id = 'ada'`,
        iid,
      )
    })
    const places = z
      .array(z.object({ start: z.string(), group: z.array(z.string()) }))
      .parse(at((await tenant.admin('GET', '/users/ada/export')).body, 'leaderboards'))
    expect(places).toHaveLength(601)
    expect(new Set(places.map(({ start }) => start)).size).toBe(601)
    expect(places[0]?.group).toEqual(breakdown.map(() => GROWING.control.repeat(1_000)))
  })

  it('[W5] a user with another rank is sent with the whole user, of any size', async () => {
    const { tenant, metric } = await withLargeUser()
    const ids = ['ada', ...(await copies(tenant, 'ada', 9))]
    const item = { key: 'board', name: 'Board', rankBy: 'metric', metricId: metric }
    await tenant.create('/leaderboards', item)
    await subscribe(tenant, 'leaderboard.rank_changed')
    const run = { start: 20_000, end: null }
    const rank = { rank: 1, value: 1, previousRank: null, previousValue: null }
    const facts = await Promise.all(
      ids.map(async (userId): Promise<Fact> => {
        return {
          type: 'leaderboard.rank_changed',
          run,
          group: [],
          userId,
          iid: await iidOf(tenant, userId),
          ...rank,
        }
      }),
    )
    const { bindings, most } = measured()
    const { DELIVERY_QUEUE, told } = queuesThatListen()
    const context = contextWith(tenant.id, { ...bindings, DELIVERY_QUEUE })
    const config = await presentConfiguration(context)
    const [board] = config.leaderboards
    if (board === undefined) throw new Error('no board')
    await sendBoardEvents(
      context,
      config,
      board,
      [{ no: 1, id: newId(instant(NOON)), at: instant(NOON), facts }],
      instant(NOON),
    )
    expect(told.flat().map(({ body }) => at(JSON.parse(body), 'user', 'id'))).toEqual(ids)
    expect(most.read).toBeLessThan(MOST)
  })
})

describe('calls and parameters', () => {
  it('[E3] commands of a user go through the lane in as many calls as they need', async () => {
    const tenant = await largeTenant()
    await fill(tenant, 'ada', GROWING.control)
    const calls: number[] = []
    // Another change comes before each batch, so that no command is stored without the lane.
    const { bindings } = faultyLast(
      async ({ run }) => {
        await tenant.app('PUT', '/users/ada', { name: crypto.randomUUID() })
        return run()
      },
      () => true,
    )
    const USER_LANE = stubbed(env.USER_LANE, (lane) => ({
      commit: async (line: { tenantId: string; userId: string }, messages: string) => {
        const reply = await env.USER_LANE.getByName(lane).commit(line, messages)
        calls.push(messages.length + reply.length)
        return reply
      },
    }))
    const through = tenant.through(newApp({ ...bindings, USER_LANE }))
    const names = Array.from({ length: 20 }, (_, n) => `Ada ${n}`)
    const responses = await Promise.all(names.map((name) => through.app('PUT', '/users/ada', { name })))
    expect(responses.map(({ status }) => status)).toEqual(names.map(() => 200))
    expect(at(responses[3]?.body, 'attributes')).toEqual(largeValues(GROWING.control))
    expect(calls.reduce((sum, one) => sum + one)).toBeGreaterThan(names.length * 1_200_000)
    expect(Math.max(...calls)).toBeLessThan(MOST)
  })
})
