/** Endpoints that fail: how they are shown, and how an operator gets everything delivered after a repair. */
import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { instant, iso } from '../../src/lib/clock'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { Pruning } from '../../src/webhooks/delivery/runner'
import { Courier } from '../../src/worker/index'
import { runs } from '../helpers/runs'
import { present } from '../helpers/time'
import { DAY, forgetTime, HOUR, MINUTE, moveTo, NOON } from '../helpers/worker/boards'
import { hand, log, logged, message, type WithHook, withHook } from '../helpers/worker/delivery-queues'
import { faultyLast, lost } from '../helpers/worker/faulty'
import { at, newApp, nextPath, pagesFrom, pick, until, untilHeld } from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'
import { Hook } from '../helpers/worker/receiver'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const FAIL = { status: 500, body: 'out of order', always: true } as const

const asked = (setup: WithHook, method = 'GET', path = '', body?: unknown) =>
  setup.tenant.admin(method, `/webhooks/${setup.webhookId}${path}`, body)

/** Lets a webhook rest, as after 20 failures. */
const rest = ({ deliveryQueue }: WithHook, until = NOON + HOUR) =>
  runInDurableObject(deliveryQueue, (_, { storage }) => {
    const store = new DeliveryQueueStore(storage)
    store.health = { failures: 20, probeAt: instant(until), restedUntil: null }
  })

/** Fills the log with messages of which each has the next one of these statuses, again and again. */
const fill = (
  { deliveryQueue, destination }: WithHook,
  count: number,
  statuses: readonly ('dead' | 'delivered' | 'pending' | 'untried')[],
  from = NOON - count,
) =>
  runInDurableObject(deliveryQueue, (_, { storage }) => {
    const store = new DeliveryQueueStore(storage)
    store.remember(destination)
    const messages = Array.from({ length: count }, (_, n) => message(from + n))
    store.add(messages, instant(from))
    for (const [n, one] of messages.entries()) {
      const status = statuses[n % statuses.length] ?? 'dead'
      const nextAt = status === 'pending' ? instant(NOON + 6 * HOUR) : null
      if (status !== 'untried') store.settle(one, { status, nextAt, lastStatus: 500, lastError: 'x' }, 1)
    }
    return messages.map(({ id }) => id)
  })

describe('[W4] the health of a webhook', () => {
  it('shows the share of deliveries that failed within a day, and until when it rests', async () => {
    const setup = await withHook()
    await fill(setup, 20, ['dead', 'delivered', 'pending', 'untried', 'delivered'])
    await fill(setup, 5, ['dead'], NOON - DAY - 10)
    await rest(setup)
    const health = {
      failing: true,
      tried: 16,
      failed: 8,
      since: iso(instant(NOON - DAY)),
      pending: 8,
      dead: 9,
      restsUntil: iso(instant(NOON + HOUR)),
    }
    const { body: one, headers } = await asked(setup)
    expect(one).toMatchObject({ health })
    expect((await setup.tenant.admin('GET', '/webhooks')).body).toMatchObject([{ health }])
    // [G15] The health is no state of the webhook: its ETag stays.
    await fill(setup, 1, ['dead'], NOON)
    expect((await asked(setup)).headers.get('etag')).toBe(headers.get('etag'))
    await moveTo(NOON + HOUR + 1)
    expect((await asked(setup)).body).toMatchObject({ health: { failing: true, restsUntil: null } })
  })

  it('is null for an inactive webhook, and if its delivery queue does not answer; answers to writes lack it', async () => {
    const setup = await withHook({ status: 'inactive' })
    expect((await asked(setup)).body).toMatchObject({ health: null })
    const { body } = await setup.tenant.admin('PATCH', '/webhooks', [
      { id: setup.webhookId, status: 'active' },
    ])
    expect(at(body, 'updated', 0)).not.toHaveProperty('health')
    expect((await asked(setup)).body).toMatchObject({ health: { failing: false, tried: 0, failed: 0 } })
    const DELIVERY_QUEUE = stubbed(env.DELIVERY_QUEUE, () => ({ condition: () => Promise.reject(lost()) }))
    const through = setup.tenant.through(newApp({ DELIVERY_QUEUE }))
    const { status, body: list } = await through.admin('GET', '/webhooks')
    expect([status, at(list, 0, 'health')]).toEqual([200, null])
  })

  it('fails from two failures on, if that is a tenth of the deliveries', async () => {
    const few = await withHook()
    await fill(few, 1, ['dead'])
    expect((await asked(few)).body).toMatchObject({ health: { failing: false, failed: 1 } })
    await fill(few, 1, ['dead'], NOON - 100)
    expect((await asked(few)).body).toMatchObject({ health: { failing: true, failed: 2 } })
    await fill(few, 19, ['delivered'], NOON - 200)
    expect((await asked(few)).body).toMatchObject({ health: { failing: false, tried: 21 } })
  })

  it('reads 20,000 rows at most, and says since when it counts', async () => {
    const setup = await withHook({ status: 'inactive' })
    await fill(setup, 25_000, ['delivered', 'untried'])
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      const read: number[] = []
      const sql = new Proxy(storage.sql, {
        get: (target, name) => {
          const exec = (...given: Parameters<SqlStorage['exec']>) => {
            const cursor = target.exec(...given)
            const rows = cursor.toArray()
            read.push(cursor.rowsRead)
            return { toArray: () => rows, one: () => rows[0], rowsWritten: cursor.rowsWritten }
          }
          return name === 'exec' ? exec : Reflect.get(target, name, target)
        },
      })
      const store = new DeliveryQueueStore({ sql, transactionSync: (work) => work() })
      expect(store.counts(10_000, instant(NOON - DAY))).toMatchObject({
        pending: 10_000,
        tried: 5_000,
        failed: 0,
        oldest: NOON - 10_000,
      })
      expect(read.reduce((sum, rows) => sum + rows, 0)).toBeLessThanOrEqual(20_010)
    })
    await setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, status: 'active' }])
    const { body } = await asked(setup)
    expect(Date.parse(String(at(body, 'health', 'since')))).toBeGreaterThanOrEqual(NOON - 10_000)
  })
})

describe('[W1] a sample', () => {
  const sample = (setup: WithHook, type = 'streak.lost') => asked(setup, 'POST', '/test', { type })

  it('is sent at once while the webhook rests and the test clock stands still, and says what came back', async () => {
    const setup = await withHook()
    await setup.hook.plan({ status: 503, body: `No. ${'x'.repeat(2_000)}` }, { status: 201, body: 'Thanks' })
    await rest(setup, NOON + 5 * MINUTE)
    const failed = await sample(setup)
    expect([failed.status, failed.body]).toEqual([
      202,
      {
        id: expect.any(String),
        event: 'streak.lost',
        status: 'pending',
        attempts: 1,
        lastStatus: 503,
        lastError: expect.stringMatching(/^answered 503: No\. x+$/),
        created: iso(instant(NOON)),
        nextAttempt: iso(instant(NOON + MINUTE)),
        response: { status: 503, milliseconds: expect.any(Number), body: `No. ${'x'.repeat(1_020)}` },
      },
    ])
    expect((await asked(setup)).body).toMatchObject({
      health: { restsUntil: iso(instant(NOON + 5 * MINUTE)) },
    })
    const arrived = await sample(setup)
    expect(arrived.body).toMatchObject({
      status: 'delivered',
      attempts: 1,
      lastError: null,
      nextAttempt: null,
      response: { status: 201, body: 'Thanks' },
    })
    // A sample that arrives ends the rest.
    expect((await asked(setup)).body).toMatchObject({ health: { failing: false, restsUntil: null } })
    expect(await setup.hook.seen(2)).toHaveLength(2)
  })

  it('without an answer says why, and is tried again a minute later', async () => {
    const setup = await withHook({ url: 'http://127.0.0.1:9/' })
    const { body } = await sample(setup)
    expect(body).toMatchObject({ status: 'pending', attempts: 1, lastStatus: null, response: null })
    expect(at(body, 'lastError')).toMatch(/^no answer: ./)
    await moveTo(NOON + MINUTE)
    expect((await log(setup)).map(({ attempts }) => attempts)).toEqual([2])
  })

  it('[U8] of a leaderboard event shows the body of the answer, and does not store it', async () => {
    const setup = await withHook()
    const answer = { status: 400, body: 'I do not know Ada.' }
    await setup.hook.plan(answer, { drop: true })
    const refused = await sample(setup, 'leaderboard.finished')
    expect(refused.body).toMatchObject({ lastError: 'answered 400', response: answer })
    const cut = await sample(setup, 'leaderboard.rank_changed')
    expect(cut.body).toMatchObject({ lastError: 'no answer', response: null })
    expect(pick(await log(setup), 'lastError').toSorted()).toEqual(['answered 400', 'no answer'])
  })

  it('is sent once, also if runs of the delivery queue begin meanwhile', async () => {
    const setup = await withHook()
    await setup.hook.plan({ hold: true })
    const sent = sample(setup)
    await setup.hook.seen(1)
    await setup.deliveryQueue.refresh()
    const moved = moveTo(NOON + 1)
    await setup.hook.release()
    await moved
    expect((await sent).body).toMatchObject({ status: 'delivered', attempts: 1 })
    expect(await setup.hook.seen()).toHaveLength(1)
  })

  it('that is killed in the middle is sent again by its alarm, with the same id', async () => {
    const setup = await withHook()
    const alarm = vi.spyOn(Courier.prototype, 'alarm').mockResolvedValue()
    onTestFinished(() => alarm.mockRestore())
    await setup.hook.plan({ hold: true })
    const sent = sample(setup)
    const [id] = await setup.hook.ids(1)
    await untilHeld(() => expect(alarm).toHaveBeenCalled())
    alarm.mockRestore()
    // Another object on the same storage, as after a kill.
    await runInDurableObject(setup.deliveryQueue, (_, state) => new Courier(state, env).alarm())
    expect(await setup.hook.ids(2)).toEqual([id, id])
    await setup.hook.release()
    await sent
    expect(await log(setup)).toMatchObject([{ id, status: 'delivered', attempts: 1 }])
  })

  it('[Z1] is not sent if the audit log cannot be written', async () => {
    const setup = await withHook()
    const { bindings } = faultyLast(() => Promise.reject(lost()))
    const { status } = await setup.tenant
      .through(newApp({ ...bindings, DB: faultyLast(async () => Promise.reject(lost())).DB }))
      .admin('POST', `/webhooks/${setup.webhookId}/test`, { type: 'streak.lost' })
    expect(status).toBeGreaterThanOrEqual(500)
    expect(await setup.hook.seen()).toEqual([])
  })
})

describe('[W4] the list of deliveries', () => {
  it('shows those with a status and of an event, by exact pages', async () => {
    const setup = await withHook({ status: 'inactive' })
    const ids = (await fill(setup, 60, ['dead', 'delivered', 'untried'])).toReversed()
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      storage.sql.exec("UPDATE messages SET event = 'points.changed' WHERE at % 2 = 0")
    })
    const dead = ids.filter((_, n) => n % 3 === 2)
    const base = `/webhooks/${setup.webhookId}/deliveries`
    const pages = await pagesFrom(setup.tenant, `${base}?status=dead&limit=7`)
    expect(pages.map((page) => pick(page, 'id'))).toEqual(
      [0, 7, 14].map((from) => dead.slice(from, from + 7)),
    )
    const page = async (query: string) => pick((await setup.tenant.admin('GET', base + query)).body, 'id')
    expect(await page('?status=dead&limit=5&skip=4')).toEqual(dead.slice(4, 9))
    expect(await page('?status=dead&event=points.changed&limit=100')).toEqual(
      dead.filter((id) => ids.indexOf(id) % 2 === 1),
    )
    expect(await page('?event=streak.lost&limit=100')).toHaveLength(30)
    expect(await page('?event=streak.started')).toEqual([])
    for (const query of ['status=gone', 'event=nothing', 'status=dead&status=pending'])
      expect([query, (await setup.tenant.admin('GET', `${base}?${query}`)).status]).toEqual([query, 422])
  })

  it('reads a bounded part of a long log, and goes on with the next page', async () => {
    const setup = await withHook({ status: 'inactive' })
    const [oldest] = await fill(setup, 20_500, ['dead', ...Array<'untried'>(20_499).fill('untried')])
    const path = `/webhooks/${setup.webhookId}/deliveries?status=dead`
    const first = await setup.tenant.admin('GET', path)
    expect(first.body).toEqual([])
    const second = await setup.tenant.admin('GET', nextPath(first.headers) ?? '')
    expect([at(second.body, 0, 'id'), nextPath(second.headers)]).toEqual([oldest, null])
    expect(at((await setup.tenant.admin('GET', `${path}&skip=1`)).body)).toEqual([])
  })
})

describe('[W4] sending many deliveries again', () => {
  const again = (setup: WithHook, body: object) => asked(setup, 'POST', '/redeliver', body)
  const progress = async (setup: WithHook) => (await asked(setup, 'GET', '/redeliver')).body
  const isDone = async (setup: WithHook) => at(await progress(setup), 'running') === false
  const since = iso(instant(NOON - DAY))
  /** More than a part of 500, which is all that most tests here need. */
  const MANY = runs(510, 1_200)

  it('sends each that failed once, by parts, and GET shows how far it is', async () => {
    const setup = await withHook()
    expect(await progress(setup)).toEqual({
      running: false,
      since: null,
      status: null,
      reached: null,
      until: null,
      sent: 0,
    })
    const all = (MANY * 4) / 3
    const ids = await fill(setup, all, ['dead', 'delivered', 'pending', 'dead'])
    const begun = await again(setup, { since })
    expect([begun.status, begun.body]).toMatchObject([202, { running: true, since, status: null, sent: 0 }])
    await until(() => isDone(setup))
    expect(await progress(setup)).toEqual({
      running: false,
      since,
      status: null,
      reached: iso(instant(NOON - 1)),
      until: iso(instant(NOON - 1)),
      sent: MANY,
    })
    const failed = ids.filter((_, n) => n % 4 !== 1)
    await until(async () => (await setup.hook.seen()).length >= failed.length)
    await moveTo(NOON + 1)
    expect((await setup.hook.ids()).toSorted()).toEqual(failed.toSorted())
    expect((await asked(setup)).body).toMatchObject({ health: { failing: false, failed: 0, pending: 0 } })
  })

  it('called twice at once sends nothing twice, and leaves nothing out if it is killed between parts', async () => {
    const setup = await withHook()
    const ids = await fill(setup, MANY, ['dead'])
    const calls = await Promise.all([1, 2, 3].map(() => again(setup, { since, status: 'dead' })))
    expect(calls.map(({ status }) => status).toSorted()).toEqual([202, 422, 422])
    for (const { status, body } of calls)
      if (status === 422) expect(at(body, 'error')).toContain('already being sent again')
    await evictDurableObject(setup.deliveryQueue)
    await until(() => isDone(setup))
    await moveTo(NOON + 1)
    await until(async () => (await log(setup, MANY + 100)).every(({ status }) => status === 'delivered'))
    // A kill may repeat an attempt whose answer was lost, under the same id; the count of renewals is exact.
    expect(new Set(await setup.hook.ids())).toEqual(new Set(ids))
    expect(await progress(setup)).toMatchObject({ sent: MANY })
    const { body } = await setup.tenant.admin('GET', '/audit-log?kind=webhook&limit=1')
    const fields = { since: { before: null, after: since }, status: { before: null, after: 'dead' } }
    expect(body).toMatchObject([{ action: 'redeliver', resourceId: setup.webhookId, fields }])
  })

  it('takes those since a moment, and of one status', async () => {
    const setup = await withHook()
    const ids = await fill(setup, 8, ['dead', 'delivered', 'pending', 'delivered'])
    const from = iso(instant(NOON - 4))
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      storage.sql.exec('UPDATE messages SET created = at')
    })
    for (const [status, expected] of [
      ['delivered', [ids[5], ids[7]]],
      ['dead', [ids[4]]],
      ['pending', [ids[6]]],
    ] as const) {
      const hook = new Hook()
      await setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, url: hook.url }])
      expect((await again(setup, { since: from, status })).body).toMatchObject({ status })
      await until(() => isDone(setup))
      await moveTo(NOON)
      expect((await hook.ids(expected.length)).toSorted()).toEqual([...expected].toSorted())
    }
  })

  it('says what is wrong with a request, and does nothing then', async () => {
    const setup = await withHook()
    await fill(setup, 3, ['dead'])
    for (const body of [{}, { since: 'yesterday' }, { since, status: 'failed' }, { since: null }, []])
      expect([body, (await again(setup, body)).status]).toEqual([body, 422])
    expect((await setup.tenant.admin('POST', '/webhooks/nothing/redeliver', { since })).status).toBe(404)
    await setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, status: 'inactive' }])
    for (const path of ['/redeliver', '/try']) {
      const { status, body } = await asked(setup, 'POST', path, { since })
      expect([status, at(body, 'error')]).toEqual([422, expect.stringContaining('inactive')])
    }
    expect(await progress(setup)).toMatchObject({ running: false, since: null })
    expect((await log(setup)).every(({ status }) => status === 'dead')).toBe(true)
    const empty = await withHook()
    expect((await again(empty, { since })).status).toBe(202)
    expect(await progress(empty)).toMatchObject({ running: false, sent: 0 })
  })

  it('ends a rest, goes on through the next one, and keeps new deliveries in between', async () => {
    const setup = await withHook()
    const ids = await fill(setup, MANY, ['dead'])
    await rest(setup)
    await setup.hook.plan(...Array.from({ length: 30 }, () => ({ status: 500 })))
    expect((await again(setup, { since })).status).toBe(202)
    await until(() => isDone(setup))
    const late = message(NOON + MINUTE)
    await hand(setup.destination, NOON + MINUTE, late)
    await moveTo(NOON + 6 * HOUR)
    expect(new Set(await setup.hook.ids())).toEqual(new Set([...ids, late.id]))
    expect((await log(setup, MANY + 100)).every(({ status }) => status === 'delivered')).toBe(true)
  })

  it('stops while the webhook is inactive, and ends with it', async () => {
    const setup = await withHook()
    await fill(setup, 1_200, ['dead'])
    await setup.hook.plan({ status: 410, always: true })
    await again(setup, { since })
    await until(async () => at((await asked(setup)).body, 'status') === 'inactive')
    expect(at(await progress(setup), 'running')).toBe(true)
    await setup.hook.plan()
    await setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, status: 'active' }])
    await until(() => isDone(setup))
    expect(await progress(setup)).toMatchObject({ sent: 1_200 })
    await again(setup, { since, status: 'delivered' })
    expect((await setup.tenant.admin('DELETE', `/webhooks?ids=${setup.webhookId}`)).status).toBe(200)
    expect((await asked(setup, 'GET', '/redeliver')).status).toBe(404)
    await runInDurableObject(setup.deliveryQueue, async (instance, { storage }) => {
      if (!(instance instanceof Courier)) throw new Error('This is no delivery queue.')
      await instance.alarm()
      expect(instance.resend()).toBeNull()
      expect(await storage.getAlarm()).toBeNull()
    })
  })

  it.each(['goes on', 'stands still'])(
    'stays active if a 410 comes late, after somebody has made the webhook active again, while time %s',
    async (time) => {
      if (time === 'goes on') await forgetTime()
      const setup = await withHook()
      await setup.hook.plan({ status: 410 }, { status: 410, hold: true })
      const messages = [1, 2].map((n) => message(present() - n))
      await hand(setup.destination, present(), ...messages)
      await until(async () => at((await asked(setup)).body, 'status') === 'inactive')
      await setup.hook.seen(2)
      await setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, status: 'active' }])
      await setup.hook.release()
      await until(async () => (await log(setup)).every(({ lastStatus }) => lastStatus !== null))
      expect((await asked(setup)).body).toMatchObject({ status: 'active', goneAt: null })
    },
  )

  it('[U8] leaves out users who are erased meanwhile, and keeps old deliveries until it has come to them', async () => {
    const setup = await withHook({ status: 'inactive' })
    await fill(setup, 510, ['dead'], NOON - 29 * DAY)
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      const store = new DeliveryQueueStore(storage)
      store.beginResend({ since: instant(NOON - 31 * DAY), status: null })
      expect(store.resendPart(instant(NOON))).toBe(true)
      const pruning = new Pruning(30, 4)
      pruning.run(store, instant(NOON + 5 * DAY), 1_000)
      expect(store.counts(10_000, instant(0))).toMatchObject({ pending: 500, dead: 10 })
      storage.sql.exec("UPDATE messages SET subject = 'ada' WHERE status = 'dead' AND at % 2 = 0")
      store.erase({ iid: 'ada', userId: 'Ada' })
      store.resendPart(instant(NOON))
      expect(store.resend).toMatchObject({ sent: 505, running: false })
      pruning.run(store, instant(NOON + 5 * DAY), 2_000)
      expect(store.counts(10_000, instant(0))).toMatchObject({ pending: 505, dead: 0 })
    })
  })

  it('writes three rows for each, and a note for each part', async () => {
    const setup = await withHook({ status: 'inactive' })
    await fill(setup, 400, ['dead'])
    await runInDurableObject(setup.deliveryQueue, (_, { storage }) => {
      const store = new DeliveryQueueStore(storage)
      store.beginResend({ since: instant(0), status: null })
      const before = store.sql.rowsWritten
      store.resendPart(instant(NOON))
      expect(store.sql.rowsWritten - before).toBe(3 * 400 + 1)
    })
  })
})

describe('[W4] "try now"', () => {
  it('ends a rest and tries the next pending delivery at once, and the audit log has it', async () => {
    const setup = await withHook()
    await setup.hook.plan(FAIL)
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await until(async () => (await logged(setup, one))?.attempts === 1)
    await rest(setup)
    const tried = await asked(setup, 'POST', '/try')
    expect([tried.status, tried.body]).toMatchObject([200, { health: { restsUntil: null } }])
    await until(async () => (await logged(setup, one))?.attempts === 2)
    await setup.hook.plan()
    expect((await asked(setup, 'POST', '/try')).status).toBe(200)
    await until(async () => (await logged(setup, one))?.status === 'delivered')
    const { body } = await setup.tenant.admin('GET', '/audit-log?kind=webhook&limit=2')
    expect(body).toMatchObject([
      { action: 'try', resourceId: setup.webhookId, fields: {} },
      { action: 'try' },
    ])
  })

  it('so does a delivery that is sent again, while the test clock stands still', async () => {
    const setup = await withHook()
    const [id] = await fill(setup, 1, ['dead'])
    await rest(setup)
    expect((await asked(setup, 'POST', `/deliveries/${id}/redeliver`)).status).toBe(200)
    await until(async () => (await log(setup))[0]?.status === 'delivered')
    expect((await asked(setup)).body).toMatchObject({ health: { failing: false } })
  })
})
