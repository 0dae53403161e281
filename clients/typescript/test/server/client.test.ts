/** The client against a running server, in Node and in a real browser. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PATIENCE } from '../../../../test/helpers/patience'
import { Receiver } from '../../../../test/helpers/receiver'
import { type Server, startServer } from '../../../../test/helpers/server/harness'
import { Laurel, type LiveRanking, verifyWebhook } from '../../src/index.js'
import { errorOf } from '../fake-fetch.js'
import { testBrowser } from './browser.js'

let server: Server
let laurel: Laurel
const receiver = new Receiver()
let hooks: string

beforeAll(async () => {
  hooks = await receiver.start()
  server = await startServer({ env: { WEBHOOK_ALLOW: new URL(hooks).host } })
  laurel = new Laurel({ url: server.url, apiKey: server.adminKey })
})
afterAll(async () => {
  receiver.stop()
  await server.stop()
})

describe('the client in Node', () => {
  it('[E4] sends an event, and reads everything that it changed', async () => {
    const event = { user: { id: 'node-ada', name: 'Ada' }, value: 2, idempotencyKey: 'first' }
    const { data, response } = await laurel.event('demo-lessons', event).withResponse()
    expect(response.status).toBe(201)
    expect(data).toMatchObject({ total: 2, idempotencyKey: 'first', idempotentReplayed: false })
    expect(data.points['demo-xp']?.added).toBe(20)
    expect(await laurel.event('demo-lessons', event)).toMatchObject({ total: 2, idempotentReplayed: true })
    const [user, points, streak, board, place] = await Promise.all([
      laurel.users.get('node-ada'),
      laurel.users.points.get('node-ada', 'demo-xp', { awards: 1 }),
      laurel.users.streak('node-ada', { historyPeriods: 7 }),
      laurel.leaderboards.get('demo-all-time', { limit: 3, userId: 'node-ada' }),
      laurel.users.leaderboards.get('node-ada', 'demo-all-time'),
    ])
    expect(user.name).toBe('Ada')
    expect(points).toMatchObject({ total: 20, awards: [{ awarded: 20 }] })
    expect(streak.length).toBe(1)
    const { rank } = place
    expect(rank).toBeGreaterThan(0)
    expect(board.rankings).toContainEqual({ userId: 'node-ada', userName: 'Ada', rank, value: 2 })
  })

  it('uses keys with every character', async () => {
    const idempotencyKey = 'é ✓ key / ü'
    const event = { user: { id: 'a/b ?#é' }, value: 1, idempotencyKey }
    expect(await laurel.event('demo-lessons', event)).toMatchObject({ idempotencyKey })
    expect(await laurel.event('demo-lessons', event)).toMatchObject({ idempotentReplayed: true })
    expect(await laurel.users.get('a/b ?#é')).toMatchObject({ id: 'a/b ?#é' })
  })

  it('configures, and goes through lists', async () => {
    const keys = ['one', 'two', 'three', 'four', 'five']
    const { created, issues } = await laurel.admin.metrics.create(keys.map((key) => ({ key, name: key })))
    expect([created.length, issues]).toEqual([5, []])
    expect((await laurel.admin.metrics.create([{ key: 'one', name: 'One' }])).issues).toHaveLength(1)
    const all: string[] = []
    for await (const { key } of laurel.admin.metrics.list({ limit: 2 })) all.push(key)
    expect(all.slice(-5)).toEqual(keys)
    expect(await laurel.admin.metrics.list({ key: ['two', 'four'] })).toMatchObject([
      { key: 'two' },
      { key: 'four' },
    ])
    const deleted = await laurel.admin.metrics.delete({ keys })
    expect(deleted.deleted).toHaveLength(5)

    await Promise.all(keys.map((id) => laurel.users.create({ id: `list-${id}` })))
    const users: string[] = []
    for await (const { id } of laurel.admin.users.list({ search: 'list-', limit: 2 })) users.push(id)
    expect(users.sort()).toEqual(keys.map((id) => `list-${id}`).sort())
    const pages: number[] = []
    for await (const page of laurel.admin.users.list({ search: 'list-', limit: 2 }).pages())
      pages.push(page.length)
    expect(pages).toEqual([2, 2, 1])
  })

  it('[Y1, K6] watches a leaderboard with the token of a user', async () => {
    await laurel.users.create({ id: 'live-ada', name: 'Ada' })
    const apiKey = vi.fn(async () => laurel.admin.userTokens.create({ userId: 'live-ada' }))
    const page = new Laurel({ url: server.url, apiKey })
    const seen: LiveRanking[] = []
    const errors: unknown[] = []
    const stop = page.leaderboards.live('demo-all-time', {
      limit: 100,
      onRanking: (ranking) => seen.push(ranking),
      onError: (error) => errors.push(error),
    })
    try {
      await vi.waitFor(() => expect(seen).toHaveLength(1), { timeout: PATIENCE })
      await page.event('demo-lessons', { user: { id: 'live-ada' }, value: 1000 })
      await vi.waitFor(() => expect(seen).toHaveLength(2), { timeout: PATIENCE })
    } finally {
      stop()
    }
    const [first, second] = seen
    const rank = expect.any(Number)
    expect(second?.rankings).toContainEqual({ userId: 'live-ada', userName: 'Ada', rank, value: 1000 })
    expect(second?.version).toBeGreaterThan(first?.version ?? Number.POSITIVE_INFINITY)
    expect([apiKey.mock.calls.length, errors]).toEqual([1, []])
    expect((await page.liveTickets.create()).ticket).not.toBe('')
  })

  it('[W3] verifies webhooks, and knows their types', async () => {
    const webhook = { url: `${hooks}/hooks/client`, events: ['streak.started' as const] }
    const { created } = await laurel.admin.webhooks.create([webhook])
    const [{ id, secret } = { id: '', secret: '' }] = created
    await laurel.admin.webhooks.test(id, { type: 'streak.started' })
    const [seen] = await receiver.seen('client', 1)
    if (seen === undefined) throw new Error('There is no webhook.')
    const event = await verifyWebhook(new Request(webhook.url, seen), secret)
    if (event.type !== 'streak.started') throw new Error(`It is of type ${event.type}.`)
    expect(event.user.id).toBe('sample-user')
    expect(event.streak.length).toBe(1)
    const wrong = { ...seen, body: seen.body.replace('sample-user', 'someone') }
    expect(await errorOf(verifyWebhook(wrong, secret))).toMatchObject({ status: 401 })
  })
})

testBrowser(() => server)
