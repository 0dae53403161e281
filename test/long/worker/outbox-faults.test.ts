import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { flushPoints } from '../../../src/features/points/points-changed'
import { wakeAll } from '../../../src/time/timekeeper'
import { drain } from '../../../src/webhooks/delivery/drain'
import type { DrainRequest } from '../../../src/webhooks/outbox/outbox'
import { JOBS } from '../../../src/worker/jobs'
import { START } from '../../helpers/time'
import { contextOfUsers } from '../../helpers/worker/contexts'
import { faultyLast, losing, lost, onWrites } from '../../helpers/worker/faulty'
import { handOver } from '../../helpers/worker/handlers'
import {
  at,
  lastDatabase,
  newApp,
  newTenantInLast,
  rowsEverywhere,
  type TestTenant,
  untilHeld,
} from '../../helpers/worker/harness'
import { messagesOf, subscribe } from '../../helpers/worker/messages'
import { stubbed } from '../../helpers/worker/objects'

let tenant: TestTenant
let webhook: string

/** The number of outbox rows and of scheduled points notifications. */
async function waiting(): Promise<number> {
  const rows = await rowsEverywhere<{ count: number }>(
    `SELECT (SELECT count(*) FROM outbox WHERE tenant_id = ?1)
       + (SELECT count(*) FROM points_notifications WHERE tenant_id = ?1 AND due_at IS NOT NULL) AS count`,
    tenant.id,
  )
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/** The messages in the webhook's delivery queue: types, with the points that were added. */
const told = async () =>
  (await messagesOf(webhook)).map(({ event, body }) => [event, at(body, 'points', 'added')])

/** The ids of messages that the Worker acknowledges. */
const consume = async (...bodies: DrainRequest[]) => (await handOver('laurel-outbox', bodies)).acks

/** An app that loses its messages to the queue. */
const silent = newApp({
  OUTBOX: new Proxy(env.OUTBOX, {
    get: (target, name) => (name === 'send' ? () => Promise.reject(lost()) : Reflect.get(target, name)),
  }),
})

/** The context with a delivery queue, or all of them, that cannot be reached. */
function withoutQueue(context: ReturnType<typeof contextOfUsers>, suffix: string) {
  const away = { accept: () => Promise.reject(lost()) }
  const DELIVERY_QUEUE = stubbed(env.DELIVERY_QUEUE, (id) =>
    id.endsWith(suffix) ? away : env.DELIVERY_QUEUE.getByName(id),
  )
  return { ...context, env: { ...context.env, DELIVERY_QUEUE } }
}

/** Puts this number of rows into the outbox, each with these messages: SQL with its number `n`. */
const fill = (rows: number, messages: string) =>
  lastDatabase()
    .d1.prepare(
      `INSERT INTO outbox (tenant_id, at, seq, id, messages)
       WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?2)
       SELECT ?1, n, 0, 'p' || n, ${messages} FROM n`,
    )
    .bind(tenant.id, rows)
    .run()

beforeEach(async () => {
  tenant = (await newTenantInLast()).through(silent)
  const steps = await tenant.metric('steps')
  const system = await tenant.create('/points', { name: 'XP', key: 'xp' })
  const trigger = { type: 'metric', metricId: steps, metricThreshold: 1, points: 10, status: 'active' }
  await tenant.create(`/points/${system}/triggers`, trigger)
  webhook = await subscribe(tenant, '*')
})

describe('[W2] between the commit and the drain', () => {
  it('the message of the queue is lost: the event counts, and the cron trigger sends its webhook events', async () => {
    expect((await tenant.event('steps', 'ada', 1)).status).toBe(201)
    expect(await waiting()).toBe(2)
    await wakeAll(contextOfUsers(tenant.id), JOBS)
    await untilHeld(async () => expect(await waiting()).toBe(0))
    expect((await told()).toSorted()).toEqual([
      ['points.changed', 10],
      ['streak.started', undefined],
    ])
  })

  it('[C1] a move of the clock first sends waiting messages, with the time at which they were due', async () => {
    const now = START + 3_600_000
    const put = (ms: number) => tenant.admin('PUT', '/test-clock', { now: new Date(ms).toISOString() })
    await put(now)
    await tenant.event('steps', 'ada', 1)
    await put(now + 3 * 3_600_000)
    expect(await waiting()).toBe(0)
    expect((await messagesOf(webhook)).map(({ at: when }) => when)).toEqual([now, now])
    await tenant.admin('DELETE', '/test-clock')
  })

  it('the queue delivers a message twice, and one of an unknown tenant', async () => {
    await tenant.event('steps', 'ada', 1)
    const own = { tenantId: tenant.id }
    expect(await consume(own, own, { tenantId: 'nobody' })).toEqual(['m0', 'm1', 'm2'])
    expect(await consume(own)).toEqual(['m0'])
    expect(await told()).toHaveLength(2)
  })

  it('the write of an event has no answer: its messages are sent once, whether it was stored or not', async () => {
    for (const goesThrough of [true, false]) {
      const { bindings } = onWrites(losing(0, goesThrough))
      const { status } = await tenant.through(newApp(bindings)).event('steps', `user-${goesThrough}`, 1)
      expect(status).toBe(201)
    }
    await drain(contextOfUsers(tenant.id), flushPoints)
    expect((await told()).map(([event]) => event).toSorted()).toEqual([
      'points.changed',
      'points.changed',
      'streak.started',
      'streak.started',
    ])
  })

  it('a failed write leaves no messages', async () => {
    const { bindings } = faultyLast(() => Promise.reject(lost()))
    const away = newApp({ DB: env.DB, ...bindings })
    const { status } = await tenant.through(away).event('steps', 'ada', 1)
    expect(status).toBe(503)
    expect(await waiting()).toBe(0)
  })
})

describe('[W2, W5] in the middle of a drain', () => {
  it.each([0, 1, 2, 3, 4])(
    'D1 fails at its write %i, after it or before: each message is sent once',
    async (n) => {
      for (const goesThrough of [true, false]) {
        const user = `user-${goesThrough}`
        await tenant.event('steps', user, 1)
        const { DB, seen } = faultyLast(losing(n, goesThrough))
        await drain(contextOfUsers(tenant.id, DB), flushPoints).catch(() => undefined)
        expect(seen.writes).toBeGreaterThan(0)
        await drain(contextOfUsers(tenant.id), flushPoints)
        expect(await waiting()).toBe(0)
        const messages = await messagesOf(webhook)
        const own = messages.filter(({ body }) => at(body, 'user', 'id') === user)
        expect(own.map(({ event }) => event).toSorted()).toEqual(['points.changed', 'streak.started'])
      }
    },
  )

  it('messages for an unreachable delivery queue stay in the outbox', async () => {
    await tenant.event('steps', 'ada', 1)
    const context = contextOfUsers(tenant.id)
    await expect(drain(withoutQueue(context, ''), flushPoints)).rejects.toThrow('not reached')
    expect(await told()).toEqual([])
    await drain(context, flushPoints)
    expect(await told()).toHaveLength(2)
  })

  it('[W4] an unreachable delivery queue delays no other, and misses nothing', async () => {
    const other = await subscribe(tenant, '*')
    await fill(450, "json_array(json_object('id', 'm' || n, 'type', 'streak.lost', 'body', json('{}')))")
    const context = contextOfUsers(tenant.id)
    for (let time = 0; time < 2; time += 1)
      await expect(drain(withoutQueue(context, webhook), flushPoints)).rejects.toThrow('not reached')
    expect([(await messagesOf(other)).length, await told(), await waiting()]).toEqual([450, [], 450])
    await drain(context, flushPoints)
    expect([(await messagesOf(other)).length, (await told()).length, await waiting()]).toEqual([450, 450, 0])
  })

  it('[G2] messages too large for one row use several, in order; an event is never refused for their size', async () => {
    const keys = Array.from({ length: 40 }, (_, n) => ({ key: `k${n}`, name: `K${n}`, type: 'user' }))
    const made = (await tenant.admin('POST', '/attributes', keys)).body
    const ids = keys.slice(0, 20).map((_, n) => at(made, 'created', n, 'id'))
    const userAttributes = ids.map((attributeId) => ({ attributeId, attributeValue: '語'.repeat(1_000) }))
    const steps = z.array(z.object({ id: z.string() })).parse((await tenant.admin('GET', '/metrics')).body)
    const first = {
      trigger: 'metric',
      metricId: steps[0]?.id,
      metricValue: 1,
      status: 'active',
      userAttributes,
    }
    const achievements = keys.map((_, n) => ({ key: `a${n}`, name: `A${n}`, ...first }))
    for (const from of [0, 15, 30]) {
      const { status } = await tenant.admin('POST', '/achievements', achievements.slice(from, from + 15))
      expect(status).toBe(201)
    }
    const attributes = Object.fromEntries(keys.map(({ key }) => [key, '語'.repeat(1_000)]))
    expect((await tenant.event('steps', { id: 'ada', attributes }, 1)).status).toBe(201)
    const rows = await lastDatabase()
      .d1.prepare('SELECT max(octet_length(messages)) AS most, count(*) AS count FROM outbox')
      .first<{ most: number; count: number }>()
    // 300,000 bytes of messages, and the user of 120,000 once.
    expect(rows?.most).toBeLessThan(425_000)
    expect(rows?.count).toBeGreaterThan(4)
    await drain(contextOfUsers(tenant.id), flushPoints)
    // In the late afternoon the Timekeeper also sends notifications of the achievements (N2), in an order of
    // their own.
    const all = (await messagesOf(webhook)).filter(({ event }) => event !== 'emails.achievement_due')
    expect(all.filter(({ event }) => event === 'achievement.completed')).toHaveLength(40)
    expect(all[0]?.event).toBe('streak.started')
    for (const { body } of all) expect(at(body, 'user', 'attributes')).toEqual(attributes)
  })

  it('six drains at once, while events arrive: each change is sent, none twice', async () => {
    for (let round = 0; round < 4; round += 1) {
      await Promise.all([
        ...Array.from({ length: 6 }, () => drain(contextOfUsers(tenant.id), flushPoints)),
        ...Array.from({ length: 10 }, (_, n) => tenant.event('steps', `user-${round}-${n}`, 1)),
      ])
    }
    await drain(contextOfUsers(tenant.id), flushPoints)
    const all = await told()
    expect(all).toHaveLength(80)
    expect(all.filter(([event]) => event === 'points.changed')).toHaveLength(40)
  })

  it('an event between the read and the send of a drain is sent with the next message', async () => {
    await tenant.event('steps', 'ada', 1)
    const { DB } = faultyLast(async ({ run }, write) => {
      // The first write deletes the read outbox rows. The second one updates the points notifications.
      if (write === 1) await tenant.event('steps', 'ada', 2)
      return run()
    })
    await drain(contextOfUsers(tenant.id, DB), flushPoints)
    const row = await lastDatabase()
      .d1.prepare('SELECT total, due_at AS due, until FROM points_notifications WHERE tenant_id = ?1')
      .bind(tenant.id)
      .first<{ total: number; due: number | null; until: number }>()
    expect(row?.total).toBe(10)
    expect(row?.due).toBe(row?.until)
    expect((await told()).filter(([event]) => event === 'points.changed')).toEqual([['points.changed', 10]])
  })

  it('rows beyond the limit of a drain are left to the next one, which the drain requests from the queue', async () => {
    await fill(4_300, "'[]'")
    expect(await consume({ tenantId: tenant.id })).toEqual(['m0'])
    expect(await waiting()).toBe(300)
    await untilHeld(async () => expect(await waiting()).toBe(0))
  })
})
