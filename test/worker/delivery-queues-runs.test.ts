import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { instant } from '../../src/lib/clock'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { DeliveryRunner, Pruning } from '../../src/webhooks/delivery/runner'
import { Courier } from '../../src/worker/index'
import { present } from '../helpers/time'
import { DAY, forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { hand, log, logged, message, withHook } from '../helpers/worker/delivery-queues'
import { until } from '../helpers/worker/harness'

beforeEach(() => moveTo(NOON))
afterEach(async () => {
  vi.restoreAllMocks()
  await forgetTime()
})

it('[W4] a run begins at most 500 attempts, and its alarm continues with the rest', async () => {
  const { deliveryQueue, destination } = await withHook()
  const messages = Array.from({ length: 510 }, (_, n) => message(NOON - 1_000 + n))
  const run = vi.spyOn(DeliveryRunner.prototype, 'run')
  await runInDurableObject(deliveryQueue, async (instance, { storage }) => {
    if (!(instance instanceof Courier)) throw new Error('This is no delivery queue.')
    const store = new DeliveryQueueStore(storage)
    store.remember(destination)
    store.add(messages, instant(NOON))
    await instance.alarm()
    expect(store.settled()).toBe(500)
    // Not later: the alarm may have begun another run by then.
    expect(run).toHaveBeenCalledTimes(1)
    expect(await storage.getAlarm()).not.toBeNull()
  })
  await until(async () => (await log({ deliveryQueue }, 600)).every(({ status }) => status === 'delivered'))
})

it('[C1] tries a destination again that rested in the future of a removed test clock', async () => {
  const setup = await withHook()
  await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
    new DeliveryQueueStore(storage).health = {
      failures: 20,
      probeAt: instant(NOON + 30 * DAY),
      restedUntil: instant(NOON + 29 * DAY),
    }
  })
  await forgetTime()
  const now = present()
  const one = message(now)
  await hand(setup.destination, now, one)
  await until(async () => (await logged(setup, one))?.status === 'delivered')
})

it('[W4, U8] sends the events of a leaderboard in order, and keeps them if a user with the same name is erased', async () => {
  const { hook, destination, deliveryQueue, tenant } = await withHook()
  await hook.plan({ hold: true })
  const messages = [message(NOON - 2, 'board:b'), message(NOON - 1, 'board:b'), message(NOON, 'board:c')]
  await hand(destination, NOON, ...messages)
  const [first, second, other] = messages.map(({ id }) => id)
  expect(await hook.ids(2)).toEqual([first, other])
  await hook.release()
  expect(await hook.ids(3)).toEqual([first, other, second])
  await tenant.metric('m')
  expect((await tenant.event('m', { id: 'board:b' }, 1)).status).toBe(201)
  expect((await tenant.admin('DELETE', '/users/board:b')).status).toBe(200)
  await moveTo(NOON + 1)
  const kept = (await log({ deliveryQueue })).map(({ id }) => id)
  expect(kept).toEqual(expect.arrayContaining([first, second, other]))
})

it('keeps the newest 20,000 settled messages of a destination', async () => {
  const { deliveryQueue } = await withHook({ status: 'inactive' })
  await runInDurableObject(deliveryQueue, (_, { storage }) => {
    const store = new DeliveryQueueStore(storage)
    const messages = Array.from({ length: 20_003 }, (_, n) => message(NOON + n))
    store.add(messages, instant(NOON))
    storage.sql.exec("UPDATE messages SET status = 'delivered', next_at = NULL")
    new Pruning(30).run(store, instant(NOON + DAY), 0)
    expect(store.settled()).toBe(20_000)
    expect(store.find(messages[2]?.id ?? '')).toBeUndefined()
    expect(store.find(messages[3]?.id ?? '')).toMatchObject({ at: NOON + 3 })
  })
})

it('keeps settled messages for DELIVERY_LOG_DAYS', async () => {
  const { destination, deliveryQueue } = await withHook()
  await moveTo(NOON)
  await hand(destination, NOON, message(NOON))
  await moveTo(NOON + 1)
  const at = NOON + 8 * DAY
  await moveTo(at)
  /** The number of messages after a run, if settled ones are kept for `days`. */
  const countAfter = (days: string) =>
    runInDurableObject(deliveryQueue, async (_, state) => {
      await new Courier(state, { ...env, DELIVERY_LOG_DAYS: days }).alarm()
      return new DeliveryQueueStore(state.storage).settled()
    })
  expect([await countAfter('9'), await countAfter('8'), await countAfter('7')]).toEqual([1, 1, 0])
})
