import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { presentConfiguration } from '../../../src/configuration/configuration'
import { completionStep } from '../../../src/features/notifications/schedule'
import { activeBetween, gainsBetween } from '../../../src/features/notifications/schedule.sql'
import { flushPoints } from '../../../src/features/points/points-changed'
import { deliver } from '../../../src/leaderboards/updates'
import { instant } from '../../../src/lib/clock'
import { micros } from '../../../src/lib/decimal'
import { newId } from '../../../src/lib/new-id'
import { drain } from '../../../src/webhooks/delivery/drain'
import { boardsWith, DAY, forgetTime, moveTo, NOON, queueWith } from '../../helpers/worker/boards'
import { contextOf, contextWith, ofUsers, worksOf, workUntil } from '../../helpers/worker/contexts'
import {
  at,
  newApp,
  newTenant,
  newTenantInLast,
  rowsEverywhere,
  type TestTenant,
  untilHeld,
} from '../../helpers/worker/harness'
import { done, event, logOf, processed, rowsOf, send } from '../../helpers/worker/inbox'
import {
  achievements,
  count,
  GROWING,
  keepMessages,
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
import { UNREACHED } from '../../helpers/worker/objects'
import { iidOf } from '../../helpers/worker/stored-users'

/*
 * The platform's limits are in bytes; the interfaces' limits are in characters and numbers. The largest input
 * that the interfaces accept must fit in the platform's limits. The local D1 accepts more than the documented
 * one, so these tests use `strict`.
 */

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

/** Makes a webhook inactive, so that nothing is sent. */
const silently = (tenant: TestTenant, id: string) =>
  tenant.admin('PATCH', '/webhooks', [{ id, status: 'inactive' }])

describe('messages about a user of the largest size', () => {
  it('[W2] an event that completes many achievements stores their messages with the user once', async () => {
    const { tenant, metric } = await withLargeUser()
    await achievements(tenant, metric, 30)
    const webhook = await subscribe(tenant, 'achievement.completed')
    expect((await tenant.through(newApp(strict())).event('m', 'ada', 1)).status).toBe(201)
    const sizes = 'SELECT octet_length(messages) AS n FROM outbox WHERE tenant_id = ?1'
    const results = await rowsEverywhere<{ n: number }>(sizes, tenant.id)
    expect(results.map(({ n }) => Math.round(n / 100_000))).toEqual([12])
    const { DELIVERY_QUEUE, told } = queuesThatListen()
    const { bindings, most } = measured()
    await drain(ofUsers(contextWith(tenant.id, { ...bindings, DELIVERY_QUEUE })), flushPoints)
    const calls = told.map((messages) => messages.reduce((sum, { body }) => sum + body.length, 0))
    expect(calls.reduce((sum, one) => sum + one)).toBeGreaterThan(32 * 2 ** 20)
    expect(Math.max(...calls, most.read)).toBeLessThan(MOST)
    expect([await count(tenant, 'outbox'), await messagesOf(webhook)]).toEqual([0, []])
  })

  it('[U8] the export has all messages about the user', async () => {
    const tenant = await newTenantInLast()
    await tenant.app('PUT', '/users/ada', {})
    const webhookId = await subscribe(tenant, 'streak.lost')
    await silently(tenant, webhookId)
    const iid = await iidOf(tenant, 'ada')
    const user = largeValues(GROWING.control)
    const ids = await keepMessages(
      `webhook:${webhookId}`,
      29,
      NOON,
      iid,
      JSON.stringify({ type: 'streak.lost', user }),
    )
    const { body } = await tenant.admin('GET', '/users/ada/export')
    const Deliveries = z.array(z.object({ id: z.string(), payload: z.unknown() }))
    const deliveries = Deliveries.parse(at(body, 'deliveries'))
    expect(deliveries.map(({ id }) => id)).toEqual(ids)
    expect(deliveries.at(-1)?.payload).toEqual({ type: 'streak.lost', user })
    expect((await tenant.admin('GET', `/webhooks/${webhookId}/deliveries?limit=100`)).body).toHaveLength(29)
  })

  it('[N2, C1] scheduled notifications are made a few at a time, and delay nothing', async () => {
    const { tenant, metric } = await withLargeUser()
    await achievements(tenant, metric, 9)
    const webhook = await subscribe(tenant, 'emails.achievement_due')
    await tenant.event('m', 'ada', 1)
    expect(await count(tenant, 'pending_notifications')).toBe(9)
    const { bindings, most } = measured()
    const context = ofUsers(contextWith(tenant.id, bindings))
    const [work] = (await worksOf(context)).filter(({ kind }) => kind === 'completions')
    if (work === undefined) throw new Error('no pending notifications')
    await completionStep(context, work, instant(NOON + DAY))
    const left = await count(tenant, 'pending_notifications')
    expect([left > 2, left < 9, Math.max(most.read, most.written) < MOST]).toEqual([true, true, true])
    await moveTo(NOON + DAY)
    expect(await count(tenant, 'pending_notifications')).toBe(0)
    const told = await messagesOf(webhook)
    const keys = told.map(({ body }) => at(body, 'achievement', 'key'))
    expect(new Set(keys).size).toBe(9)
    expect(told).toHaveLength(9)
    expect(at(told[0]?.body, 'user', 'attributes')).toEqual(largeValues(GROWING.control))
  })
})

describe('work on many users of the largest size', () => {
  it('[U8] parked and pending events are exported whole', async () => {
    const { tenant } = await withLargeUser(GROWING.quote)
    const user = { id: 'ada', attributes: largeValues(GROWING.quote) }
    const events = Array.from({ length: 8 }, (_, n) => ({ key: 'm', user, value: n + 1 }))
    const send = tenant.through(newApp({ ...strict(), TIMEKEEPER: UNREACHED }))
    expect((await send.admin('POST', '/metrics/events', events)).status).toBe(202)
    // The second event can't be read and is parked.
    await env.DB.prepare(
      `UPDATE inbox SET events = json_set(events, '$[1].kind', 'other') WHERE "offset" = 0 AND tenant_id = ?1`,
    )
      .bind(tenant.id)
      .run()
    const { bindings, most } = measured()
    const asked = tenant.through(newApp(bindings))
    const exported = await asked.admin('GET', '/users/ada/export')
    const Waiting = z.array(z.object({ value: z.number(), user: z.record(z.string(), z.unknown()) }))
    const waiting = Waiting.parse(at(exported.body, 'waitingEvents'))
    expect(waiting.map(({ value }) => value)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(waiting[7]?.user).toEqual(user)
    await workUntil(tenant, NOON, { bindings, mustAll: false, isClockSet: true })
    expect([await count(tenant, 'inbox'), await count(tenant, 'parked_events')]).toEqual([0, 1])
    const after = (await asked.admin('GET', '/users/ada/export')).body
    expect(at(after, 'parkedEvents', 0, 'event', 'body', 'user')).toEqual(user)
    expect(at(after, 'events')).toHaveLength(7)
    expect(Math.max(most.read, most.written)).toBeLessThan(MOST)
  })
})

describe('lists', () => {
  it('[N4] a page of the log, of the longest emails', async () => {
    const tenant = await newTenantInLast()
    const body = GROWING.wide.repeat(262_144)
    const common = { userId: 'ada', iid: 'i', type: 'recap', title: 't', body, headers: {} }
    const email = JSON.stringify({ ...common, channel: 'email', to: 'a@b.c' })
    const push = JSON.stringify({ ...common, channel: 'push', tokens: [], taken: 0 })
    const emails = await keepMessages(`email:${tenant.id}`, 66, NOON, null, email)
    // At the same moments as some of the emails, after which they come.
    const pushes = await keepMessages(`push:${tenant.id}`, 3, NOON + 5, null, push)
    const newest = emails
      .flatMap((id, n) => [...pushes.slice(n - 5, n - 4), id].slice(n < 5 ? -1 : 0))
      .toReversed()
    const page = async (query: string) => {
      const { status, body: entries } = await tenant.admin('GET', `/notifications/log?${query}`)
      expect(status).toBe(200)
      return z.array(z.object({ id: z.string(), body: z.string() })).parse(entries)
    }
    const whole = await page('limit=100')
    expect(whole.map(({ id }) => id)).toEqual(newest)
    expect(new Set(whole.map((one) => one.body))).toEqual(new Set([body]))
    expect((await page('limit=3&skip=60')).map(({ id }) => id)).toEqual(newest.slice(60, 63))
  })
})

describe('leaderboards with the longest groups', () => {
  it('[L11] changes of many users are delivered in calls that fit, and so are repairs', async () => {
    const { tenant, metric, board } = await withGroups(1)
    await tenant.admin('PATCH', '/leaderboards', [{ id: board, status: 'active' }])
    const context = contextOf(tenant.id)
    const config = await presentConfiguration(context)
    const wide = GROWING.wide.repeat(252)
    const values = new Map(
      config.attributes.slice(0, 10).map(({ id }) => [id, `${GROWING.control.repeat(999)}中`] as const),
    )
    const changes = Array.from({ length: 400 }, (_, n) => ({
      before: null,
      after: {
        id: `${wide}${n}`,
        iid: newId(instant(NOON)),
        seq: 1,
        changed: instant(NOON),
        lastSeqByInput: new Map(),
        profile: { tz: null, attributes: values },
      },
      event: {
        id: 'e',
        metricId: metric,
        at: instant(NOON),
        seq: 1,
        value: micros(1),
        utcOffset: 0,
        attributes: new Map(),
        counterIds: [],
      },
      awards: [],
      growth: 0,
    }))
    const calls: number[] = []
    const repairs: number[] = []
    const LEADERBOARD = boardsWith(async (_go, message) => {
      // Two bytes each, since the value holds a character beyond Latin-1.
      calls.push(2 * JSON.stringify(message).length)
      return { placements: message.changes.map(() => null), rowsWritten: 0 }
    })
    const REPAIRS = queueWith(async (message) => {
      repairs.push(new TextEncoder().encode(JSON.stringify(message)).length)
    })
    await deliver({ ...context, env: { ...env, LEADERBOARD } }, config, changes, instant(NOON))
    expect([calls.length > 5, Math.max(...calls) < 2 ** 24]).toEqual([true, true])
    const lost = boardsWith(() => Promise.reject(new Error('lost')))
    await deliver({ ...context, env: { ...env, LEADERBOARD: lost, REPAIRS } }, config, changes, instant(NOON))
    expect([repairs.length > 4, Math.max(...repairs) < 100_000]).toEqual([true, true])
  })
})

describe('calls and parameters', () => {
  it('[N2] the gains of many users are read with parameters that fit', async () => {
    const tenant = await newTenantInLast()
    const metrics = new Map(
      Array.from(
        { length: 1_000 },
        () => [crypto.randomUUID(), { total: micros(1), highest: micros(1) }] as const,
      ),
    )
    const users = Array.from({ length: 60 }, () => ({ iid: crypto.randomUUID(), metrics, points: new Map() }))
    const { db } = ofUsers(contextWith(tenant.id, strict()))
    expect((await gainsBetween(db, users, { start: 1, end: 7 })).size).toBe(0)
    expect((await activeBetween(db, users, { start: 1, end: 7 })).size).toBe(0)
  })

  it('[G2] a user too large for a row is refused, and nothing is stored', async () => {
    const tenant = await largeTenant()
    await tenant.metric('m')
    await tenant.event('m', { id: 'ada', attributes: { a000: 'short' } }, 1)
    const small = tenant.through(newApp(strict(50_000)))
    const user = { id: 'ada', attributes: largeValues('a') }
    const responses = await Promise.all([
      small.event('m', user, 2),
      small.event('m', { id: 'bob' }, 2),
      small.event('m', user, 3),
      small.app('PATCH', '/users/ada', { attributes: largeValues('a') }),
    ])
    expect(responses.map(({ status }) => status)).toEqual([422, 201, 422, 422])
    expect(at(responses[0]?.body, 'error')).toMatch(/2 MB/)
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({ attributes: { a000: 'short' } })
    expect((await tenant.app('GET', '/users/ada/metrics/m')).body).toMatchObject({ current: 1 })
  })

  it('[U8] the erasure of a user with any number of keys', async () => {
    const tenant = await newTenantInLast()
    await tenant.app('PUT', '/users/ada', {})
    await env.DB.prepare(
      `INSERT INTO api_keys (id, prefix, kind, tenant_id, user_id, hash, created)
       WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 70000)
       SELECT 'k' || n, 'app_' || printf('%028d', n), 'application', ?1, 'ada', 'h', 0 FROM n`,
    )
      .bind(tenant.id)
      .run()
    const through = tenant.through(newApp({ ...strict(), TIMEKEEPER: UNREACHED }))
    expect((await through.admin('DELETE', '/users/ada')).status).toBe(200)
    const results = await rowsEverywhere<{ bytes: number; keys: number; own: number }>(
      `SELECT octet_length(progress) AS bytes, json_array_length(progress, '$.prefixes') AS keys,
         progress ->> '$.iid' IS NOT NULL AS own FROM due_work WHERE tenant_id = ?1 AND kind = 'erasure'`,
      tenant.id,
    )
    // The work on the user's rows is a row without keys.
    expect(results.map(({ keys }) => keys).toSorted((a, b) => a - b)).toEqual([
      0,
      ...Array.from({ length: 7 }, () => 10_000),
    ])
    expect(results.filter(({ own }) => own === 1)).toHaveLength(1)
    expect(Math.max(...results.map(({ bytes }) => bytes))).toBeLessThan(2_000_000)
    // Its steps are the same as in any other erasure.
    await rowsEverywhere("UPDATE due_work SET progress = json_set(progress, '$.prefixes', json('[]'))")
    await moveTo(NOON + DAY)
    expect(await count(tenant, 'due_work')).toBe(0)
  })
})

describe('a batch that is accepted', () => {
  it('[G2] may have 3.9 MiB, and all of it is processed', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const own = (id: string) => `${id} ${'ä'.repeat(940)}`
    const events = Array.from({ length: 1_000 }, (_, n) => {
      const id = `user ${n % 900}`
      return event(id, n, { user: { id, deviceTokens: [own(id), '"'.repeat(950)] } })
    })
    const size = new TextEncoder().encode(JSON.stringify(events)).length / 1_048_576
    expect(size).toBeGreaterThan(3.6)
    expect(size).toBeLessThan(4)
    expect(await done(tenant, await send(tenant, events))).toEqual(processed(1_000))
    const log = await logOf(tenant)
    expect(log.map(({ value }) => Number(value)).sort((a, b) => a - b)).toEqual(events.map((_, n) => n))
    const { body } = await tenant.app('GET', '/users/user%20899')
    expect(at(body, 'deviceTokens', 0)).toBe(own('user 899'))
    // The same token of 900 users belongs to one of them (U2).
    await untilHeld(async () => {
      const owners = await rowsOf(
        tenant,
        `SELECT u.id FROM users u, json_each(u.device_tokens) t WHERE u.tenant_id = ?1
          AND t.value LIKE '"""%'`,
      )
      expect(owners).toHaveLength(1)
    })
  })
})
