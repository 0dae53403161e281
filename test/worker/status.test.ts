import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { version } from '../../package.json'
import { present } from '../helpers/time'
import { DAY, dateAt, events, patch, through, withBoard } from '../helpers/worker/boards'
import { hand, log, message, withHook } from '../helpers/worker/delivery-queues'
import { addDueWork } from '../helpers/worker/due-work'
import { awayAfter, intercepted } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  call,
  databases,
  newApp,
  newTenant,
  rowsEverywhere,
  type Send,
  type TestTenant,
  toApp,
  until,
} from '../helpers/worker/harness'
import { linesSoFar } from '../helpers/worker/lines'
import { manyUsers } from '../helpers/worker/many-users'
import { subscribe } from '../helpers/worker/messages'
import { stubbed } from '../helpers/worker/objects'
import { archive } from '../helpers/worker/purge'

const headers = { 'x-api-key': ADMIN_KEY }
const status = async (send: Send = toApp) => (await call(send, 'GET', '/admin/v1/status', { headers })).body

const BOARD = { name: 'B', rankBy: 'metric', status: 'active', maxParticipants: 10, start: '2026-01-01' }

const work = (tenant: TestTenant, kind: string, dueAt: number, subject = '') =>
  addDueWork(tenant, kind, { dueAt, subject, d1: env.DB })

/** A call of an object that fails. */
const wasReset = () => Promise.reject(new Error('it was reset'))

beforeEach(async () => {
  const tables = ['due_work', 'inbox', 'outbox', 'webhooks', 'notification_templates', 'leaderboards']
  for (const name of tables) await rowsEverywhere(`DELETE FROM ${name}`)
})

describe('[G12] the state of the service', () => {
  it('is all zeros if nothing waits, with the version and the size of the database', async () => {
    const found = await status()
    expect(found).toEqual({
      version,
      databases: databases().map(({ name }) => ({ name, bytes: expect.any(Number) })),
      due: { count: 0, oldest: null, ahead: 0 },
      inbox: 0,
      outbox: 0,
      deliveries: { pending: 0, dead: 0, unknown: 0 },
      failing: [],
      leaderboards: { behind: 0, unconfirmed: 0, unknown: 0 },
    })
    expect(at(found, 'databases', 0, 'bytes')).toBeGreaterThan(100_000)
  })

  it('counts the due work of all active tenants, and boards whose upkeep is late', async () => {
    const [first, second, archived] = [await newTenant(), await newTenant(), await newTenant()]
    const now = present()
    await work(first, 'ticks', now - 5_000)
    await work(first, 'ticks', now + 3_600_000, 'later')
    await work(first, 'leaderboard', now - 61_000, 'late')
    await work(second, 'leaderboard', now - 30_000, 'in time')
    await work(second, 'nothing', now - 7_200_000, 'of no kind that exists')
    await work(archived, 'leaderboard', now - 9_000_000, 'archived')
    await archive(archived.id)
    expect(await status()).toMatchObject({
      due: { count: 3, oldest: new Date(now - 61_000).toISOString() },
      leaderboards: { behind: 1 },
    })
  })

  it('finds the oldest work behind more than 5,000 other rows, and reads at most 20,000 rows in a statement', async () => {
    const tenant = await newTenant()
    const now = present()
    const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO due_work (tenant_id, kind, subject, due_at)
      SELECT ?1, 'leaderboard', printf('%06d', i), ?2 - i FROM n`
    await env.DB.prepare(many)
      .bind(tenant.id, now - 1_000)
      .run()
    const read: number[] = []
    const counted = intercepted(env.DB, async ({ run }) => {
      const results = await run()
      read.push(...results.map(({ meta }) => meta.rows_read))
      return results
    })
    expect(await status(newApp({ DB: counted }))).toMatchObject({
      due: { count: 12_000, oldest: new Date(now - 13_000).toISOString() },
    })
    expect(Math.max(...read)).toBeGreaterThan(5_000)
    expect(Math.max(...read)).toBeLessThanOrEqual(20_000)
  })

  it('counts the inbox in events, and the outbox in changes', async () => {
    const tenant = await newTenant()
    const waiting = `INSERT INTO inbox (tenant_id, batch_id, count, offset, done, events)
      VALUES (?1, 'b', 250, 0, 50, '[]'), (?1, 'b', 7, 0, 0, '[]')`
    const changes = `INSERT INTO outbox (tenant_id, at, seq, id, messages)
      VALUES (?1, 0, 0, 'a', '[]'), (?1, 0, 0, 'b', '[]')`
    await env.DB.batch([waiting, changes].map((sql) => env.DB.prepare(sql).bind(tenant.id)))
    expect(await status()).toMatchObject({ inbox: 207, outbox: 2 })
  })

  it('counts pending and dead messages of all delivery queues', async () => {
    const [failing, working] = [await withHook(), await withHook()]
    await failing.hook.plan({ status: 500 }, { status: 500 })
    const now = present()
    await hand(failing.destination, now, message(now - 2), message(now - 1))
    await hand(working.destination, now, message(now - 2), message(now - 1), message(now))
    await until(async () => (await log(failing)).every(({ attempts }) => attempts === 1))
    await until(async () => (await log(working)).every((one) => one.status === 'delivered'))
    await runInDurableObject(working.deliveryQueue, (_, { storage }) => {
      storage.sql.exec("UPDATE messages SET status = 'dead' WHERE at < ?", now)
    })
    expect(await status()).toMatchObject({ deliveries: { pending: 2, dead: 2, unknown: 0 } })
    // Of these, two in three failed, and two in two. An inactive webhook does not fail.
    const day = new Date(present() - 86_400_000).toISOString().slice(0, 10)
    const shown = { since: expect.stringContaining(day), restsUntil: null, failing: true }
    const listed = ({ tenant: { id: tenantId }, webhookId: id }: typeof failing, more: object) => {
      return { tenantId, id, key: expect.any(String), ...shown, ...more }
    }
    const { failing: found } = z.object({ failing: z.array(z.unknown()) }).parse(await status())
    expect(found).toHaveLength(2)
    expect(found).toContainEqual(listed(failing, { tried: 2, failed: 2, pending: 2, dead: 0 }))
    expect(found).toContainEqual(listed(working, { tried: 3, failed: 2, pending: 0, dead: 2 }))
    await failing.tenant.admin('PATCH', '/webhooks', [{ id: failing.webhookId, status: 'inactive' }])
    expect(at(await status(), 'failing')).toMatchObject([{ id: working.webhookId }])
  })

  it('[L12] counts users with a change that is stored, and that a leaderboard has not confirmed', async () => {
    const setup = await withBoard({}, await newTenant())
    const unconfirmed = async () => at(await status(), 'leaderboards')
    await events(setup.tenant, ['ada', 1], ['bob', 2])
    await setup.tenant.app('PUT', '/users/cai', { name: 'Cai' })
    expect(await unconfirmed()).toEqual({ behind: 0, unconfirmed: 0, unknown: 0 })
    // The calls and the repairs of a full disk, or of a crash, are lost.
    await events(through(setup.tenant).tenant, ['ada', 4], ['dan', 9], ['ada', 3])
    expect(await unconfirmed()).toEqual({ behind: 0, unconfirmed: 2, unknown: 0 })
    await events(setup.tenant, ['dan', 1])
    expect(await unconfirmed()).toEqual({ behind: 0, unconfirmed: 1, unknown: 0 })
    await events(setup.tenant, ['ada', 1], ['bob', 1])
    expect(await unconfirmed()).toEqual({ behind: 0, unconfirmed: 0, unknown: 0 })
    // What happened before the first run of a leaderboard is in no score.
    const next = { start: dateAt(present() + DAY) }
    await patch(setup, { status: 'inactive' }, next, { status: 'active' })
    await events(through(setup.tenant).tenant, ['eva', 1])
    expect(await unconfirmed()).toMatchObject({ unconfirmed: 0 })
  })

  it('asks at most 20 leaderboards; those that do not answer, or have too many users, are unknown', async () => {
    const setup = await withBoard({}, await newTenant())
    await events(setup.tenant, ['ada', 1])
    const LEADERBOARD = stubbed(env.LEADERBOARD, () => ({ unconfirmed: wasReset }))
    const leaderboards = { unconfirmed: 0, unknown: 1 }
    expect(await status(newApp({ LEADERBOARD }))).toMatchObject({ leaderboards })
    expect(linesSoFar().some((line) => line.includes(`"leaderboard":"${setup.board}"`))).toBe(true)
    await manyUsers(setup.tenant, 1_001, {}, env.DB)
    await rowsEverywhere('UPDATE users SET changed = ?2 WHERE tenant_id = ?1', setup.tenant.id, present())
    expect(await status()).toMatchObject({ leaderboards })
    const copies = Array.from({ length: 25 }, (_, n) => ({ ...BOARD, key: `b${n}`, metricId: setup.metric }))
    await setup.tenant.admin('POST', '/leaderboards', copies)
    const asked: string[] = []
    const counting = stubbed(env.LEADERBOARD, (id) => {
      asked.push(id)
      return env.LEADERBOARD.getByName(id)
    })
    expect(at(await status(newApp({ LEADERBOARD: counting })), 'leaderboards', 'unknown')).toBeGreaterThan(5)
    expect(asked).toHaveLength(20)
  })

  it('counts a delivery queue that does not answer as unknown, and logs it', async () => {
    const webhook = await subscribe(await newTenant(), '*')
    const DELIVERY_QUEUE = stubbed(env.DELIVERY_QUEUE, () => ({ counts: wasReset }))
    const deliveries = { pending: 0, dead: 0, unknown: 1 }
    expect(await status(newApp({ DELIVERY_QUEUE }))).toMatchObject({ deliveries })
    expect(linesSoFar().some((line) => line.includes(`"queue":"webhook:${webhook}"`))).toBe(true)
  })

  it('asks at most 100 delivery queues', async () => {
    const tenant = await newTenant()
    const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 130)
      INSERT INTO webhooks (id, key, tenant_id, url, events, status, secret, created, updated)
      SELECT 'w' || i, 'w' || i, ?1, 'https://example.com', '["*"]', 'active', '', 0, 0 FROM n`
    await env.DB.prepare(many).bind(tenant.id).run()
    expect(await status()).toMatchObject({ deliveries: { unknown: 30 } })
  })

  it('logs its cost', async () => {
    await status()
    const line = linesSoFar().find((one) => one.includes('GET /admin/v1/status'))
    expect(JSON.parse(line ?? '')).toMatchObject({
      status: 200,
      tenant: null,
      d1: { roundTrips: 1 + 2 * databases().length },
    })
  })

  it.each([0, 1, 2])('[G2] is 503 with Retry-After if round trip %i does not reach D1', async (nth) => {
    const answer = await call(newApp({ DB: awayAfter(nth) }), 'GET', '/admin/v1/status', { headers })
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0)
  })
})
