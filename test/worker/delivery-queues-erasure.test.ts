import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { hand, message, withHook } from '../helpers/worker/delivery-queues'
import { messagesOf } from '../helpers/worker/messages'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const GONE = 'ada "the first" \\ é'
const place = (userId: string, rank: number) => ({ userId, userName: null, rank, value: 10 - rank })
const news = (type: string, rankings: unknown, rest: object = {}) =>
  JSON.stringify({ type, ...rest, leaderboard: { id: 'l', name: 'é "x"', rankings, start: '2026-01-01' } })

it('[U8] removes an erased user from the rankings in messages, and keeps the other users', async () => {
  const { destination, deliveryQueue, webhookId, tenant } = await withHook({ status: 'inactive' })
  const many = [place('bob', 1), place(GONE, 2), place('cleo', 3)]
  const bodies: [string, string][] = [
    ['leaderboard.changed', news('leaderboard.changed', many)],
    ['leaderboard.finished', news('leaderboard.finished', [place(GONE, 1)])],
    ['leaderboard.started', news('leaderboard.started', [place('ada', 1)])],
    // Erasure skips bodies whose rankings are no list, and events of no leaderboard.
    ['leaderboard.rank_changed', news('leaderboard.rank_changed', null, { user: { userId: GONE } })],
    ['streak.lost', news('streak.lost', many)],
  ]
  const messages = bodies.map(([event, body], n) => message(NOON + n, null, { event, body }))
  await hand(destination, NOON, ...messages)
  await runInDurableObject(deliveryQueue, (_, { storage }) => {
    const store = new DeliveryQueueStore(storage)
    const [first] = messages
    if (first === undefined) throw new Error('There is no message.')
    store.settle(first, { status: 'delivered', nextAt: null, lastStatus: 200, lastError: null }, 1)
    const before = store.sql.rowsWritten
    store.erase({ iid: 'of nobody', userId: 'dan' })
    expect(store.sql.rowsWritten - before).toBe(0)
  })
  await tenant.metric('m')
  expect((await tenant.event('m', { id: GONE }, 1)).status).toBe(201)
  expect((await tenant.admin('DELETE', `/users/${encodeURIComponent(GONE)}`)).status).toBe(200)
  await moveTo(NOON + 1)
  const [changed, finished, ...others] = await messagesOf(webhookId)
  const parsed = (index: number) => JSON.parse(bodies[index]?.[1] ?? '')
  expect(changed?.body).toEqual({
    ...parsed(0),
    leaderboard: { ...parsed(0).leaderboard, rankings: [place('bob', 1), place('cleo', 3)] },
  })
  expect(finished?.body).toEqual({ ...parsed(1), leaderboard: { ...parsed(1).leaderboard, rankings: [] } })
  expect(others.map(({ body }) => body)).toEqual([parsed(2), parsed(3), parsed(4)])
})
