import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { instant } from '../../src/lib/clock'
import { workOff } from '../../src/time/run'
import { deliveryQueueOf } from '../../src/webhooks/delivery/queue'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { afterFailure } from '../../src/webhooks/delivery/retries.rules'
import { Pruning } from '../../src/webhooks/delivery/runner'
import { Courier } from '../../src/worker/index'
import { JOBS } from '../../src/worker/jobs'
import { present } from '../helpers/time'
import { DAY, forgetTime, HOUR, MINUTE, moveTo, NOON } from '../helpers/worker/boards'
import { everyPlace } from '../helpers/worker/contexts'
import { due, hand, log, logged, message, type WithHook, withHook } from '../helpers/worker/delivery-queues'
import { makeDueAt } from '../helpers/worker/due-work'
import { behind, lost } from '../helpers/worker/faulty'
import { lastDatabase, newApp, newTenantInLast, rowsEverywhere, until } from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'
import { archive } from '../helpers/worker/purge'
import { raiseVersion } from '../helpers/worker/stored-tenants'
import { iidOf } from '../helpers/worker/stored-users'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const FAIL = { status: 500, always: true } as const

/** Sets the status of a webhook without telling its delivery queue. */
async function setStatus({ tenant, webhookId }: WithHook, status: string): Promise<void> {
  await rowsEverywhere('UPDATE webhooks SET status = ?2 WHERE id = ?1', webhookId, status)
  await raiseVersion(tenant)
}

describe('[W4] retries', () => {
  it('[W4] come 1 min, 5 min, 30 min, 2 h, 6 h and 12 h after the attempt before, with one id; then it is dead', async () => {
    const setup = await withHook()
    await setup.hook.plan({ status: 500, body: 'out of order', always: true })
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await moveTo(NOON)
    let next = NOON
    for (const [index, pause] of [1, 5, 30, 120, 360, 720].entries()) {
      next += pause * MINUTE
      expect(await logged(setup, one)).toEqual({
        ...{ id: one.id, event: 'streak.lost', status: 'pending', attempts: index + 1, lastStatus: 500 },
        ...{ lastError: 'answered 500: out of order', created: NOON, nextAttempt: next },
      })
      await moveTo(next - 1)
      expect(await setup.hook.seen()).toHaveLength(index + 1)
      await moveTo(next)
      expect(await setup.hook.seen()).toHaveLength(index + 2)
    }
    expect(await logged(setup, one)).toMatchObject({ status: 'dead', attempts: 7, nextAttempt: null })
    await moveTo(next + 30 * DAY)
    expect(new Set(await setup.hook.ids(7))).toEqual(new Set([one.id]))
    expect(await setup.hook.seen()).toHaveLength(7)
    expect(await due(setup)).toEqual([])
  })

  it('[C1] a queue that is called with a later time runs up to it, also if the test clock was removed during the move', async () => {
    const setup = await withHook()
    await setup.hook.plan(FAIL)
    await forgetTime()
    const now = present()
    const [one, two] = [message(now - 30 * MINUTE, 'ada'), message(now - 29 * MINUTE, 'ada')]
    await hand(setup.destination, now, one, two)
    await setup.deliveryQueue.runDue({ now: instant(now + 3 * HOUR), wait: true })
    // The first message is sent at 0, 1, 6, 36 and 156 minutes. It delays the second one for an hour, which
    // is then sent at 30, 31, 36 and 66 minutes.
    expect(await logged(setup, one)).toMatchObject({ status: 'pending', attempts: 5 })
    expect(await logged(setup, two)).toMatchObject({ status: 'pending', attempts: 4 })
  })

  it('[C1] messages that a run leaves because the test clock was removed are due again', async () => {
    const setup = await withHook()
    // Without its alarm, the delivery queue runs only if the test calls it.
    const alarm = vi.spyOn(Courier.prototype, 'alarm').mockResolvedValue()
    onTestFinished(() => alarm.mockRestore())
    await setStatus(setup, 'inactive')
    const [one, two] = [message(NOON, 'ada'), message(NOON + 1, 'ada')]
    await hand(setup.destination, NOON + 10, one, two)
    await setStatus(setup, 'active')
    await setup.hook.plan({ hold: true })
    const tended = setup.deliveryQueue.runDue({ now: instant(NOON + 10), wait: true })
    expect(await setup.hook.ids(1)).toEqual([one.id])
    await forgetTime()
    // Makes the queue read the clock again, which it caches for a second.
    await setup.deliveryQueue.refresh()
    await setup.hook.release()
    expect(await tended).toEqual({ dueAt: NOON + 10 + 5 * MINUTE })
    expect(await logged(setup, one)).toMatchObject({ status: 'delivered' })
    expect(await logged(setup, two)).toMatchObject({ status: 'pending', attempts: 0 })
  })

  it('in real time the object sends by its own alarm, and D1 has the time of the retry', async () => {
    await forgetTime()
    const setup = await withHook()
    await setup.hook.plan({ status: 503 })
    const now = present()
    const one = message(now)
    await hand(setup.destination, now, one)
    await setup.hook.seen(1)
    await until(async () => (await due(setup)).length > 0)
    const [[name, at] = ['', 0]] = await due(setup)
    expect(name).toBe(`webhook:${setup.webhookId}`)
    expect(at).toBeGreaterThanOrEqual(now + MINUTE)
    expect(at).toBeLessThanOrEqual(present() + MINUTE)
    expect(await logged(setup, one)).toMatchObject({ status: 'pending', attempts: 1, nextAttempt: at })
    // It is too early, so nothing is sent.
    await setup.deliveryQueue.runDue({ now: instant(now), wait: false })
    await runDurableObjectAlarm(setup.deliveryQueue)
    expect(await setup.hook.seen()).toHaveLength(1)
  })
})

describe('order', () => {
  it('sends the messages of one user one at a time, by time, and all others in parallel, at most five at once', async () => {
    const setup = await withHook()
    await setup.hook.plan({ hold: true, always: true })
    const ada = [0, 1, 2].map((n) => message(NOON - 10 + n, 'ada'))
    const rest = [3, 4, 5, 6, 7].map((n) => message(NOON - 10 + n, n === 7 ? 'bob' : null))
    await hand(setup.destination, NOON, ...[...ada, ...rest].toReversed())
    const first = await setup.hook.ids(5)
    expect(first.toSorted()).toEqual([ada[0], ...rest.slice(0, 4)].map((one) => one?.id).toSorted())
    // Another webhook does not wait for these.
    const other = await withHook({}, setup.tenant)
    await hand(other.destination, NOON, message(NOON))
    await other.hook.seen(1)
    await setup.hook.plan()
    await setup.hook.release()
    const ids = await setup.hook.ids(8)
    expect(ids.filter((id) => ada.some((one) => one.id === id))).toEqual(ada.map(({ id }) => id))
    expect(await setup.hook.mostOpen()).toBe(5)
  })

  it('[W4] sends a new message while another one waits for its response', async () => {
    const setup = await withHook()
    await setup.hook.plan({ hold: true, always: true })
    const messages = [1, 2, 3].map((n) => message(NOON - n, `user ${n}`))
    for (const [index, one] of messages.entries()) {
      await hand(setup.destination, NOON, one)
      expect((await setup.hook.ids(index + 1)).at(-1)).toBe(one.id)
    }
    // A message of the same user waits.
    const second = message(NOON, 'user 1')
    const other = message(NOON, 'user 4')
    await hand(setup.destination, NOON, second, other)
    expect((await setup.hook.ids(4)).at(-1)).toBe(other.id)
    await setup.hook.plan()
    await setup.hook.release()
    expect((await setup.hook.ids(5)).at(-1)).toBe(second.id)
  })

  it('a failed message delays later ones of its user until it arrives, and no others', async () => {
    const setup = await withHook()
    await setup.hook.plan({ status: 500 })
    const [first, second, third] = [0, 1, 2].map((n) => message(NOON + n, 'ada'))
    if (!first || !second || !third) throw new Error('There are no messages.')
    await hand(setup.destination, NOON + 5, first)
    await moveTo(NOON + 5)
    expect(await setup.hook.ids(1)).toEqual([first.id])
    const bob = message(NOON + 3, 'bob')
    await hand(setup.destination, NOON + 5, second, third, bob)
    await moveTo(NOON + 30_000)
    expect(await setup.hook.ids(2)).toEqual([first.id, bob.id])
    expect(await logged(setup, second)).toMatchObject({ status: 'pending', nextAttempt: NOON + HOUR })
    await moveTo(NOON + 2 * MINUTE)
    expect(await setup.hook.ids(5)).toEqual([first.id, bob.id, first.id, second.id, third.id])
    expect((await log(setup)).every(({ status }) => status === 'delivered')).toBe(true)
  })

  it('[C1] many messages that wait for a slow one of their user do not delay other users, also after a year of the test clock', async () => {
    const setup = await withHook({ status: 'inactive' })
    const ada = Array.from({ length: 60 }, (_, n) => message(NOON - 100 + n, 'ada'))
    const bob = message(NOON - 10, 'bob')
    await hand(setup.destination, NOON, ...ada, bob)
    await moveTo(NOON + 365 * DAY)
    await setup.hook.plan({ hold: true })
    await setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, status: 'active' }])
    expect(await setup.hook.ids(2)).toEqual([ada[0]?.id, bob.id])
    await setup.hook.release()
    const ids = await setup.hook.ids(61)
    expect(ids.filter((id) => id !== bob.id)).toEqual(ada.map(({ id }) => id))
  })
})

describe('a destination that keeps failing', () => {
  it('rests after 20 failures in a row: one attempt every five minutes, and the first success sends all', async () => {
    const setup = await withHook()
    await setup.hook.plan({ ...FAIL })
    const many = Array.from({ length: 30 }, (_, n) => message(NOON + n))
    await hand(setup.destination, NOON + 50, ...many)
    await moveTo(NOON + 4 * MINUTE)
    // Other attempts were in progress at the twentieth failure.
    const before = (await setup.hook.seen(20)).length
    expect(before).toBeLessThan(25)
    await moveTo(NOON + 24 * MINUTE)
    expect(await setup.hook.seen()).toHaveLength(before + 4)
    await setup.hook.plan()
    await moveTo(NOON + 26 * MINUTE)
    const statuses = (await log(setup)).map(({ status }) => status)
    expect(statuses).toEqual(Array(30).fill('delivered'))
  })

  it('while it rests, messages older than 24 hours are dead without an attempt', async () => {
    const setup = await withHook()
    await setup.hook.plan({ ...FAIL })
    const many = Array.from({ length: 400 }, (_, n) => message(NOON + n))
    await hand(setup.destination, NOON + 500, ...many)
    await moveTo(NOON + DAY + 6 * MINUTE)
    const all = [...(await log(setup, 500))]
    expect(all).toHaveLength(400)
    const untried = all.filter(({ attempts }) => attempts === 0)
    expect(untried.length).toBeGreaterThan(50)
    for (const { status, lastError } of untried)
      expect([status, lastError]).toEqual(['dead', expect.stringContaining('24 hours')])
    // One attempt every five minutes, and the ones before the rest.
    expect((await setup.hook.seen()).length).toBeLessThan(25 + 24 * 12 + 2)
  })

  it('[W4] a redelivered message has another 24 hours', async () => {
    const setup = await withHook({ status: 'inactive' })
    const one = message(NOON)
    const now = NOON + 2 * DAY
    await hand(setup.destination, NOON, one)
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      const store = new DeliveryQueueStore(storage)
      store.settle(one, { status: 'dead', nextAt: null, lastStatus: 500, lastError: 'x' }, 1)
      store.health = { failures: 20, probeAt: instant(now), restedUntil: null }
    })
    await moveTo(now)
    await setup.deliveryQueue.redeliver({ id: one.id, now: instant(now) })
    await setStatus(setup, 'active')
    await moveTo(now + 1)
    expect(await logged(setup, one)).toMatchObject({ status: 'delivered', attempts: 2 })
  })
})

describe('the object', () => {
  it('writes three rows per delivery, and one more when the log drops it', async () => {
    const setup = await withHook()
    await hand(setup.destination, NOON, message(NOON))
    await until(async () => (await log(setup))[0]?.status === 'delivered')
    await runInDurableObject(setup.deliveryQueue, async (_, { storage }) => {
      const store = new DeliveryQueueStore(storage)
      const start = store.sql.rowsWritten
      const spent = () => store.sql.rowsWritten - start
      const one = message(NOON + 1, 'ada')
      store.add([one], instant(NOON + 1))
      expect(spent()).toBe(2)
      store.add([one], instant(NOON + 2))
      expect(spent()).toBe(2)
      const outcome = { status: 'delivered', nextAt: null, lastStatus: 200, lastError: null }
      store.settle(one, outcome, 1)
      store.release({ ...one, subject: 'ada' }, instant(NOON + 2))
      // Removing it from the index counts no row.
      expect(spent()).toBe(3)
      expect(store.dropOldest(2)).toBe(2)
      expect(spent()).toBe(5)

      // A failed message is in the second index, and the health of the destination is stored.
      const failing = message(NOON + 2, 'ada')
      store.add([failing], instant(NOON + 2))
      const later = { status: 'pending', nextAt: instant(NOON + MINUTE), lastStatus: 500, lastError: 'x' }
      store.settle(failing, later, 1)
      expect(spent()).toBe(5 + 2 + 3)
      store.settle(failing, { ...later, nextAt: instant(NOON + 2 * MINUTE) }, 1)
      store.health = afterFailure(store.health, instant(NOON))
      expect(spent()).toBe(5 + 2 + 3 + 3 + 1)
    })
  })

  it('keeps at most the given number of settled messages, and all pending ones', async () => {
    const setup = await withHook({ status: 'inactive' })
    await hand(setup.destination, NOON, message(NOON))
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      const store = new DeliveryQueueStore(storage)
      const now = instant(NOON + 31 * DAY)
      const settled = Array.from({ length: 10 }, (_, n) => message(NOON + 30 * DAY + 10 + n))
      store.add(settled, now)
      for (const one of settled)
        store.settle(one, { status: 'dead', nextAt: null, lastStatus: null, lastError: 'x' }, 1)
      const pruning = new Pruning(30, 4)
      pruning.run(store, now, 0)
      const statuses = () =>
        store.list({ limit: 100, skip: 0, before: null }).rows.map(({ status }) => status)
      expect(statuses()).toEqual([...Array(4).fill('dead'), 'pending'])
      const more = [message(now), message(now)]
      store.add(more, now)
      for (const one of more)
        store.settle(one, { status: 'delivered', nextAt: null, lastStatus: 200, lastError: null }, 1)
      pruning.run(store, now, 2)
      expect(statuses()).toEqual(['delivered', 'delivered', 'dead', 'dead', 'pending'])
    })
  })

  it('[W4, U8] keeps that many also after some were sent again or erased', async () => {
    const setup = await withHook({ status: 'inactive' })
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      const store = new DeliveryQueueStore(storage)
      const now = instant(NOON + DAY)
      const messages = Array.from({ length: 4 }, (_, n) => message(NOON + n, n === 0 ? 'ada' : null))
      const settle = (some: typeof messages) => {
        for (const one of some)
          store.settle(one, { status: 'dead', nextAt: null, lastStatus: null, lastError: 'x' }, 1)
      }
      const pruning = new Pruning(30, 4)
      store.add(messages, now)
      settle(messages)
      pruning.run(store, now, 4)
      // All are sent again, and fail again.
      store.beginResend({ since: instant(0), status: null })
      store.resendPart(now)
      settle(messages)
      pruning.run(store, now, 8)
      expect(store.settled()).toBe(4)
      store.erase({ iid: 'ada', userId: 'Ada' })
      const another = [message(NOON + 10)]
      store.add(another, now)
      settle(another)
      pruning.run(store, now, 9)
      expect(store.settled()).toBe(4)
    })
  })

  it('sends nothing while the tenant is archived', async () => {
    const other = await withHook()
    await archive(other.tenant.id)
    await hand(other.destination, NOON, message(NOON))
    await runDurableObjectAlarm(other.deliveryQueue)
    const run = await other.deliveryQueue.runDue({ now: instant(NOON + DAY), wait: true })
    expect(run).toEqual({ dueAt: null })
    expect(await other.hook.seen()).toEqual([])
  })

  it('continues after the activation also if the call to it fails, because due work in D1 runs it', async () => {
    const setup = await withHook({ status: 'inactive' })
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await moveTo(NOON + 1)
    const DELIVERY_QUEUE = stubbed(env.DELIVERY_QUEUE, () => ({ refresh: () => Promise.reject(lost()) }))
    const lame = setup.tenant.through(newApp({ DELIVERY_QUEUE }))
    const activated = await lame.admin('PATCH', '/webhooks', [{ id: setup.webhookId, status: 'active' }])
    expect(activated.status).toBe(200)
    await moveTo(NOON + 2)
    expect(await setup.hook.ids(1)).toEqual([one.id])
  })

  it('deletes everything with the webhook, and accepts no messages later', async () => {
    const setup = await withHook({ status: 'inactive' })
    await hand(setup.destination, NOON, message(NOON))
    expect(await log(setup)).toHaveLength(1)
    expect((await setup.tenant.admin('DELETE', `/webhooks?ids=${setup.webhookId}`)).status).toBe(200)
    expect(await log(setup)).toEqual([])
    await hand(setup.destination, NOON, message(NOON))
    expect(await log(setup)).toEqual([])
    await moveTo(NOON + DAY)
    expect(await setup.hook.seen()).toEqual([])
    expect(await due(setup)).toEqual([])
  })

  it('finds a deleted webhook without a call', async () => {
    const setup = await withHook()
    await setup.hook.plan({ status: 500 })
    await hand(setup.destination, NOON, message(NOON))
    await moveTo(NOON)
    await rowsEverywhere('UPDATE webhooks SET deleted = 1 WHERE id = ?1', setup.webhookId)
    await raiseVersion(setup.tenant)
    await moveTo(NOON + 2 * MINUTE)
    expect(await setup.hook.seen()).toHaveLength(1)
    expect(await log(setup)).toEqual([])
  })
})

describe('[U8] an erased user', () => {
  it('is removed from every delivery queue, also from pending messages; before that, the export shows the log', async () => {
    const setup = await withHook({}, await newTenantInLast())
    const { d1 } = lastDatabase()
    const { tenant, deliveryQueue } = setup
    await tenant.app('PUT', '/users/ada', { name: 'A', email: 'a@b.example' })
    const iid = await iidOf(tenant)
    const sent = message(NOON, iid, { body: '{"type":"streak.lost","length":3}' })
    await hand(setup.destination, NOON, sent)
    await moveTo(NOON)
    await setup.hook.plan({ ...FAIL })
    const waiting = message(NOON + 1, iid)
    const others = message(NOON + 2, 'somebody else')
    await hand(setup.destination, NOON + 2, waiting, others)
    const email = { kind: 'email', tenantId: tenant.id } as const
    const told = {
      ...{ userId: 'ada', iid, type: 'recap', channel: 'email', to: 'x', title: 'T', body: 'B', headers: {} },
    }
    const mail = message(NOON, iid, { event: 'recap', body: JSON.stringify(told) })
    await hand(email, NOON, mail)
    await moveTo(NOON + 10)

    const { body } = await tenant.admin('GET', '/users/ada/export')
    expect(Object(body).deliveries).toMatchObject([
      { webhookId: setup.webhookId, id: sent.id, status: 'delivered', payload: { length: 3 } },
      { id: waiting.id, status: 'pending', attempts: 1, lastStatus: 500 },
    ])
    expect(Object(body).notifications).toMatchObject([
      { channel: 'email', type: 'recap', id: mail.id, status: 'unsent: no provider', payload: { to: 'x' } },
    ])

    const rows = {
      outbox: "(?1, 1, 1, 'a', ?2, '[]'), (?1, 1, 1, 'b', 'x', '[]')",
      pending_notifications: "(?1, 1, 'a', 'ada', ?2, 'x'), (?1, 1, 'b', 'b', 'x', 'x')",
      points_notifications: "(?2, 's', ?1, 'ada', 0, 0, 0, 0, NULL), ('x', 's', ?1, 'b', 0, 0, 0, 0, NULL)",
    }
    for (const [table, values] of Object.entries(rows))
      await d1.prepare(`INSERT INTO ${table} VALUES ${values}`).bind(tenant.id, iid).run()
    expect((await tenant.admin('DELETE', '/users/ada')).status).toBe(200)
    for (const table of Object.keys(rows)) {
      const rows = await rowsEverywhere(`SELECT user_iid FROM ${table} WHERE tenant_id = ?1`, tenant.id)
      expect([table, rows]).toEqual([table, [{ user_iid: 'x' }]])
    }
    expect((await log(setup)).map(({ id }) => id)).toEqual([others.id])
    expect(await log({ deliveryQueue: deliveryQueueOf({ env }, email) })).toEqual([])
    expect(await deliveryQueue.held({ iid, after: null })).toEqual({ messages: [], hasMore: false })
    await rowsEverywhere('DELETE FROM outbox WHERE tenant_id = ?1', tenant.id)
  })

  it('is also removed from messages that were in progress during the erasure, by a second run', async () => {
    await forgetTime()
    const setup = await withHook({ status: 'inactive' })
    const { tenant } = setup
    await tenant.app('PUT', '/users/ada', { name: 'A' })
    const iid = await iidOf(tenant)
    expect((await tenant.admin('DELETE', '/users/ada')).status).toBe(200)
    const late = message(present(), iid)
    await hand(setup.destination, present(), late)
    expect(await logged(setup, late)).toBeDefined()
    await makeDueAt({ tenant, kind: 'erasure' }, 0)
    await env.TIMEKEEPER.getByName(tenant.id).wake(tenant.id, 10)
    expect(await log(setup)).toEqual([])
  })
})

it('[C1] a move of the clock sends the messages of events at its very end', async () => {
  const setup = await withHook({ events: ['achievement.completed'] })
  const { tenant, hook } = setup
  await tenant.create('/achievements', { key: 'hello', name: 'Hello', trigger: 'api', status: 'active' })
  // Without the queue, only the move of the clock drains the outbox.
  const OUTBOX = new Proxy(env.OUTBOX, { get: () => () => Promise.resolve() })
  const unheard = tenant.through(newApp({ OUTBOX }))
  // The completion happens after the last search for due work.
  let hasLooked = false
  let hasHappened = false
  const looking = behind(async ({ texts, run }) => {
    hasLooked ||= texts.some((text) => /SELECT due_work\."kind".* FROM due_work/.test(text))
    const results = await run()
    if (!hasLooked || hasHappened) return results
    hasHappened = true
    const done = await unheard.app('POST', '/achievements/hello/complete', { user: { id: 'ada' } })
    expect(done.status).toBe(201)
    return results
  })
  const [from, to] = [instant(NOON - MINUTE), instant(NOON)]
  const grace = { first: 0, finals: 0 }
  const places = await everyPlace(tenant.id, looking)
  await workOff(JOBS, places, { from, to, steps: 20, mustAll: true, grace })
  expect(hasHappened).toBe(true)
  expect(await due(setup)).toEqual([])
  expect(await hook.ids()).toHaveLength(1)
})
