import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { CourierStore } from '../../src/modules/couriers/courier.store'
import { forgetTime, moveTo, NOON } from './boards'
import { hand, letter, withHook } from './couriers'
import { lettersOf } from './letters'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const GONE = 'ada "the first" \\ é'
const place = (userId: string, rank: number) => ({ userId, userName: null, rank, value: 10 - rank })
const news = (type: string, rankings: unknown, rest: object = {}) =>
  JSON.stringify({ type, ...rest, leaderboard: { id: 'l', name: 'é "x"', rankings, start: '2026-01-01' } })

it('U8: takes an erased user out of the rankings that letters tell of, and leaves the others as they are', async () => {
  const { destination, courier, webhookId, tenant } = await withHook({ status: 'inactive' })
  const many = [place('bob', 1), place(GONE, 2), place('cleo', 3)]
  const bodies: [string, string][] = [
    ['leaderboard.changed', news('leaderboard.changed', many)],
    ['leaderboard.finished', news('leaderboard.finished', [place(GONE, 1)])],
    ['leaderboard.started', news('leaderboard.started', [place('ada', 1)])],
    // Whose rankings are no list, or which is of no leaderboard, is somebody else's business.
    ['leaderboard.rank_changed', news('leaderboard.rank_changed', null, { user: { userId: GONE } })],
    ['streak.lost', news('streak.lost', many)],
  ]
  const letters = bodies.map(([event, body], n) => letter(NOON + n, null, { event, body }))
  await hand(destination, NOON, ...letters)
  await runInDurableObject(courier, (_, { storage }) => {
    const store = new CourierStore(storage.sql)
    const [first] = letters
    if (first === undefined) throw new Error('no letter')
    store.settle(first, { status: 'delivered', nextAt: null, lastStatus: 200, lastError: null }, 1)
    const before = store.rowsWritten
    store.erase({ iid: 'of nobody', userId: 'dan' })
    expect(store.rowsWritten - before).toBe(0)
  })
  await tenant.metric('m')
  expect((await tenant.event('m', { id: GONE }, 1)).status).toBe(201)
  expect((await tenant.admin('DELETE', `/users/${encodeURIComponent(GONE)}`)).status).toBe(200)
  await moveTo(NOON + 1)
  const [changed, finished, ...others] = await lettersOf(webhookId)
  const parsed = (index: number) => JSON.parse(bodies[index]?.[1] ?? '')
  expect(changed?.body).toEqual({
    ...parsed(0),
    leaderboard: { ...parsed(0).leaderboard, rankings: [place('bob', 1), place('cleo', 3)] },
  })
  expect(finished?.body).toEqual({ ...parsed(1), leaderboard: { ...parsed(1).leaderboard, rankings: [] } })
  expect(others.map(({ body }) => body)).toEqual([parsed(2), parsed(3), parsed(4)])
})
