import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { CourierRounds } from '../../src/modules/couriers/courier'
import { Courier } from '../../src/modules/couriers/courier.object'
import { CourierStore } from '../../src/modules/couriers/courier.store'
import { instant } from '../../src/shared/clock'
import { DAY, forgetTime, moveTo, NOON } from './boards'
import { hand, letter, log, logged, withHook } from './couriers'

beforeEach(() => moveTo(NOON))
afterEach(async () => {
  vi.restoreAllMocks()
  await forgetTime()
})

it('W4: a run begins 500 attempts at most, and has its alarm go on with the rest', async () => {
  const { courier, destination } = await withHook()
  const letters = Array.from({ length: 510 }, (_, n) => letter(NOON - 1_000 + n))
  const run = vi.spyOn(CourierRounds.prototype, 'run')
  await runInDurableObject(courier, async (instance, { storage }) => {
    if (!(instance instanceof Courier)) throw new Error('no courier')
    const store = new CourierStore(storage.sql)
    store.remember(destination)
    store.add(letters, instant(NOON))
    await instance.alarm()
    expect(store.settled()).toBe(500)
    expect(await storage.getAlarm()).not.toBeNull()
  })
  expect(run).toHaveBeenCalledTimes(1)
  await vi.waitUntil(async () => (await log({ courier }, 600)).every(({ status }) => status === 'delivered'))
})
