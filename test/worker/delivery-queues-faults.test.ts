import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { instant } from '../../src/lib/clock'
import type { Attempt, ChannelAdapter } from '../../src/webhooks/delivery/messages'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { DeliveryRunner, type RunLimits } from '../../src/webhooks/delivery/runner'
import { Courier } from '../../src/worker/index'
import { present } from '../helpers/time'
import { forgetTime, MINUTE, moveTo, NOON } from '../helpers/worker/boards'
import { hand, log, logged, message, type WithHook, withHook } from '../helpers/worker/delivery-queues'
import { awayAfter, lost } from '../helpers/worker/faulty'
import { expectBetween } from '../helpers/worker/harness'
import { messagesOf } from '../helpers/worker/messages'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

/** Deletes the alarm, so that the delivery queue does not run by itself. */
const silence = ({ deliveryQueue }: WithHook) =>
  runInDurableObject(deliveryQueue, (_, { storage }) => storage.deleteAlarm())

describe('a killed delivery queue', () => {
  it.each(['its alarm', 'a move of the clock'])(
    'between receiving and sending: continues with %s',
    async (next) => {
      const setup = await withHook()
      const messages = [0, 1, 2].map((n) => message(NOON - 10 + n, 'ada'))
      await runInDurableObject(setup.deliveryQueue, async (instance, { storage }) => {
        if (!(instance instanceof Courier)) throw new Error('This is no delivery queue.')
        await instance.accept({ destination: setup.destination, messages, now: instant(NOON), epoch: 0 })
        // The alarm does not come by itself.
        await storage.setAlarm(present() + 3_600_000)
      })
      await evictDurableObject(setup.deliveryQueue)
      if (next === 'its alarm') expect(await runDurableObjectAlarm(setup.deliveryQueue)).toBe(true)
      else await moveTo(NOON + 1)
      expect(await setup.hook.ids(3)).toEqual(messages.map(({ id }) => id))
    },
  )

  it('[W4] between sending and storing the result: sends the message again with the same id', async () => {
    const setup = await withHook()
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await moveTo(NOON)
    await setup.hook.seen(1)
    // The state after a crash before the result is stored.
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      storage.sql.exec("UPDATE messages SET status = 'pending', attempts = 0, tries = 0, next_at = at")
    })
    await evictDurableObject(setup.deliveryQueue)
    await setup.deliveryQueue.runDue({ now: instant(NOON), wait: true })
    expect(await setup.hook.ids(2)).toEqual([one.id, one.id])
    expect(await logged(setup, one)).toMatchObject({ status: 'delivered', attempts: 1 })
  })

  it('with two alarms and a move of the clock in parallel: sends each message once', async () => {
    const setup = await withHook()
    const messages = Array.from({ length: 12 }, (_, n) => message(NOON - 100 + n, `user ${n % 3}`))
    await hand(setup.destination, NOON, ...messages)
    await Promise.all([
      runDurableObjectAlarm(setup.deliveryQueue),
      setup.deliveryQueue.runDue({ now: instant(NOON), wait: true }),
      setup.deliveryQueue.runDue({ now: instant(NOON), wait: true }),
      moveTo(NOON + 1),
      runDurableObjectAlarm(setup.deliveryQueue),
    ])
    expect((await setup.hook.ids(12)).toSorted()).toEqual(messages.map(({ id }) => id).toSorted())
    await silence(setup)
    expect((await log(setup)).map(({ attempts }) => attempts)).toEqual(Array(12).fill(1))
  })
})

/** Runs a delivery queue's real storage with a channel adapter of the test. */
function rounds(
  setup: WithHook,
  given: ChannelAdapter | ((store: DeliveryQueueStore) => ChannelAdapter),
  messages: readonly ReturnType<typeof message>[],
  more: Partial<RunLimits> = {},
) {
  return runInDurableObject(setup.deliveryQueue, async (_, { storage }) => {
    const store = new DeliveryQueueStore(storage)
    store.add(messages, instant(NOON))
    const adapter = typeof given === 'function' ? given(store) : given
    const limits: RunLimits = {
      until: () => instant(NOON),
      momentOf: (dueAt) => dueAt,
      adapter: async () => adapter,
      isOver: () => false,
      givesUp: 10,
      begins: 100,
      ...more,
    }
    await new DeliveryRunner(() => store).run(limits)
    return store.list({ limit: 100, skip: 0, before: null }).rows
  })
}

describe('[N2] a message that must not be sent twice', () => {
  const counted = (mayRepeat: boolean, attempt: () => Promise<Attempt>) => {
    const sent: string[] = []
    const adapter: ChannelAdapter = {
      mayRepeat,
      attempt: (one) => {
        sent.push(one.id)
        return attempt()
      },
    }
    return { sent, adapter }
  }

  it('is claimed before it is sent; if a run finds it claimed, it is dead', async () => {
    const setup = await withHook({ status: 'inactive' })
    const one = message(NOON - 2, 'ada')
    const next = message(NOON - 1, 'ada')
    let claimed: unknown
    const first = (store: DeliveryQueueStore) =>
      counted(false, async () => {
        claimed = store.pending(one)?.claimed
        return { kind: 'delivered', status: 200 }
      }).adapter
    await rounds(setup, first, [one])
    expect(claimed).toBe(1)
    // A crash between the provider's response and the storing of the result.
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      storage.sql.exec(
        "UPDATE messages SET status = 'pending', attempts = 0, tries = 0, next_at = at, claimed = 1",
      )
    })
    const second = counted(false, async () => ({ kind: 'delivered', status: 200 }))
    const rows = await rounds(setup, second.adapter, [next])
    expect(second.sent).toEqual([next.id])
    expect(rows).toMatchObject([
      { id: next.id, status: 'delivered' },
      { id: one.id, status: 'dead', attempts: 1, lastError: 'unknown whether the message arrived' },
    ])
  })

  it('is also dead if the attempt throws; a message that may be repeated is tried again', async () => {
    const setup = await withHook({ status: 'inactive' })
    const broken = () => Promise.reject(new Error('it broke'))
    const once = await rounds(setup, counted(false, broken).adapter, [message(NOON - 2)])
    expect(once).toMatchObject([{ status: 'dead', lastError: 'unknown whether the message arrived' }])
    const [again] = await rounds(setup, counted(true, broken).adapter, [message(NOON - 1)])
    expect(again).toMatchObject({ status: 'pending', attempts: 1, nextAt: NOON - 1 + 1 + MINUTE })
  })

  it('[N4] is sent again without the part of it that has arrived', async () => {
    const setup = await withHook({ status: 'inactive' })
    const partly = async (): Promise<Attempt> => ({ kind: 'failed', status: 429, error: 'slow', body: '[1]' })
    await rounds(setup, counted(true, partly).adapter, [message(NOON, 'ada', { isNamed: true })])
    expect(await messagesOf(setup.webhookId)).toMatchObject([{ body: [1] }])
  })

  it('[N4] is not used up by a provider that takes no more for now, and all others wait too', async () => {
    const setup = await withHook({ status: 'inactive' })
    const five = Promise.withResolvers<void>()
    const busy = counted(false, async () => {
      if (busy.sent.length === 5) five.resolve()
      await five.promise
      return { kind: 'postponed', status: 429, error: 'slow', retryAfter: 2_000 }
    })
    const messages = Array.from({ length: 8 }, (_, n) => message(NOON - 8 + n))
    await rounds(setup, busy.adapter, messages)
    // Five were under way at once. Until the time is over, no other one is tried, and then one.
    expect(busy.sent).toHaveLength(5)
    for (const [ms, tried] of [
      [1_999, 5],
      [2_000, 6],
    ] as const) {
      await rounds(setup, busy.adapter, [], { until: () => instant(NOON + ms) })
      expect([ms, busy.sent.length]).toEqual([ms, tried])
    }
    // More often than a message is tried that fails.
    for (let n = 1; n <= 80; n += 1)
      await rounds(setup, busy.adapter, [], { until: () => instant(NOON + n * 5 * MINUTE) })
    const taken = counted(false, async () => ({ kind: 'delivered', status: 200 }))
    const rows = await rounds(setup, taken.adapter, [], { until: () => instant(NOON + 405 * MINUTE) })
    expect(rows.map(({ status }) => status)).toEqual(messages.map(() => 'delivered'))
    expect(Math.max(...rows.map(({ attempts }) => attempts))).toBeGreaterThan(8)
  })

  it('is dead at once if the provider refuses it; without a provider, the log says so', async () => {
    const setup = await withHook({ status: 'inactive' })
    const came: Attempt[] = [
      { kind: 'refused', status: 400, error: 'no such address' },
      { kind: 'unsent', error: 'unsent: no provider' },
    ]
    const { adapter } = counted(false, async () => came.shift() ?? { kind: 'delivered', status: null })
    expect(await rounds(setup, adapter, [message(NOON - 1, 'ada'), message(NOON, 'ada')])).toMatchObject([
      { status: 'unsent: no provider', attempts: 1, lastError: null },
      { status: 'dead', attempts: 1, lastStatus: 400, lastError: 'no such address' },
    ])
  })
})

describe('D1 is unavailable', () => {
  it('while the queue sends: no message is lost, and it is sent when D1 is available again', async () => {
    const setup = await withHook()
    const one = message(NOON)
    const away = awayAfter(0)
    const inside = (work: (deliveryQueue: Courier) => Promise<void>) =>
      runInDurableObject(setup.deliveryQueue, async (instance, { storage }) => {
        if (!(instance instanceof Courier)) throw new Error('This is no delivery queue.')
        await work(instance)
        return storage.getAlarm()
      })
    const failed = present()
    // Opens the store first. A delivery queue without data asks D1 whether the tenant is active.
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => void new DeliveryQueueStore(storage))
    const alarm = await inside(async (deliveryQueue) => {
      Object.defineProperty(deliveryQueue, 'env', { value: { ...env, DB: away }, configurable: true })
      // The caller gets the error, and hands the message over again.
      const handed = deliveryQueue.accept({
        destination: setup.destination,
        messages: [one],
        now: instant(NOON),
        epoch: 0,
      })
      await expect(handed).rejects.toThrow('Network connection lost')
      await deliveryQueue.alarm()
    })
    // The next attempt is in one minute.
    expectBetween(failed + MINUTE, Number(alarm), present() + MINUTE)
    expect(await setup.hook.seen()).toEqual([])
    expect(await logged(setup, one)).toMatchObject({ status: 'pending', attempts: 0 })
    await inside(async (deliveryQueue) => {
      Object.defineProperty(deliveryQueue, 'env', { value: env })
    })
    await runDurableObjectAlarm(setup.deliveryQueue)
    expect(await setup.hook.ids(1)).toEqual([one.id])
  })

  it('a run that cannot read D1 throws after the attempts in progress have ended and are stored', async () => {
    const setup = await withHook({ status: 'inactive' })
    let asked = 0
    const adapter: ChannelAdapter = {
      mayRepeat: true,
      attempt: async () => ({ kind: 'delivered', status: 200 }),
    }
    const away = async () => {
      asked += 1
      if (asked === 1) return adapter
      throw lost()
    }
    const messages = [message(NOON - 2), message(NOON - 1)]
    await expect(rounds(setup, adapter, messages, { adapter: away })).rejects.toThrow(
      'Network connection lost',
    )
    expect((await log(setup)).map(({ status }) => status)).toEqual(['pending', 'delivered'])
    expect((await rounds(setup, adapter, [])).map(({ status }) => status)).toEqual(['delivered', 'delivered'])
  })
})
