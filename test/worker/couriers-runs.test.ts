import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Pruning } from '../../src/delivery/prune.service'
import { CourierRounds } from '../../src/delivery/queue.model'
import { CourierStore } from '../../src/delivery/queue.store'
import { instant } from '../../src/lib/clock'
import { Courier } from '../../src/worker/objects'
import { DAY, forgetTime, moveTo, NOON } from './boards'
import { hand, letter, log, logged, withHook } from './couriers'
import { until } from './harness'

beforeEach(() => moveTo(NOON))
afterEach(async () => {
  vi.restoreAllMocks()
  await forgetTime()
})

it('[W4] a run begins 500 attempts at most, and has its alarm go on with the rest', async () => {
  const { courier, destination } = await withHook()
  const letters = Array.from({ length: 510 }, (_, n) => letter(NOON - 1_000 + n))
  const run = vi.spyOn(CourierRounds.prototype, 'run')
  await runInDurableObject(courier, async (instance, { storage }) => {
    if (!(instance instanceof Courier)) throw new Error('no courier')
    const store = new CourierStore(storage)
    store.remember(destination)
    store.add(letters, instant(NOON))
    await instance.alarm()
    expect(store.settled()).toBe(500)
    expect(await storage.getAlarm()).not.toBeNull()
  })
  expect(run).toHaveBeenCalledTimes(1)
  await until(async () => (await log({ courier }, 600)).every(({ status }) => status === 'delivered'))
})

it('one slow answer keeps no letters waiting that come after it', async () => {
  const { hook, destination } = await withHook()
  await hook.plan({ hold: true })
  const [slow, next] = [letter(NOON - 2), letter(NOON - 1)]
  await hand(destination, NOON, slow)
  await hook.seen(1)
  await hand(destination, NOON, next)
  expect(await hook.ids(2)).toEqual([slow.id, next.id])
  await hook.release()
})

it('[C1] a destination that rested in the future of a clock that was taken away is tried again', async () => {
  const setup = await withHook()
  await runInDurableObject(setup.courier, (_, { storage }) => {
    new CourierStore(storage).health = {
      failures: 20,
      probeAt: instant(NOON + 30 * DAY),
      restedUntil: instant(NOON + 29 * DAY),
    }
  })
  await forgetTime()
  const now = Date.now()
  const one = letter(now)
  await hand(setup.destination, now, one)
  await until(async () => (await logged(setup, one))?.status === 'delivered')
})

it('[W4, U8] what a leaderboard tells goes in its order, and no user’s erasure takes it along', async () => {
  const { hook, destination, courier, tenant } = await withHook()
  await hook.plan({ hold: true })
  const letters = [letter(NOON - 2, 'board:b'), letter(NOON - 1, 'board:b'), letter(NOON, 'board:c')]
  await hand(destination, NOON, ...letters)
  const [first, second, other] = letters.map(({ id }) => id)
  expect(await hook.ids(2)).toEqual([first, other])
  await hook.release()
  expect(await hook.ids(3)).toEqual([first, other, second])
  await tenant.metric('m')
  expect((await tenant.event('m', { id: 'board:b' }, 1)).status).toBe(201)
  expect((await tenant.admin('DELETE', '/users/board:b')).status).toBe(200)
  await moveTo(NOON + 1)
  const kept = (await log({ courier })).map(({ id }) => id)
  expect(kept).toEqual(expect.arrayContaining([first, second, other]))
})

it('keeps the newest 20,000 settled letters of a destination', async () => {
  const { courier } = await withHook({ status: 'inactive' })
  await runInDurableObject(courier, (_, { storage }) => {
    const store = new CourierStore(storage)
    const letters = Array.from({ length: 20_003 }, (_, n) => letter(NOON + n))
    store.add(letters, instant(NOON))
    storage.sql.exec("UPDATE letters SET status = 'delivered', next_at = NULL")
    new Pruning().run(store, instant(NOON + DAY), 0)
    expect(store.settled()).toBe(20_000)
    expect(store.find(letters[2]?.id ?? '')).toBeUndefined()
    expect(store.find(letters[3]?.id ?? '')).toMatchObject({ at: NOON + 3 })
  })
})
