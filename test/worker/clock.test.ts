import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import * as z from 'zod'
import { newInstance } from '../../src/configuration/configuration'
import type { Instant } from '../../src/lib/clock'
import { createApp } from '../../src/worker/app'
import { present } from '../helpers/time'
import { gate } from '../helpers/worker/boards'
import { deleteData } from '../helpers/worker/delete-data'
import { log, withHook } from '../helpers/worker/delivery-queues'
import { addDueWork, dueWork, forgetDueWork } from '../helpers/worker/due-work'
import { intercepted, lost } from '../helpers/worker/faulty'
import { cron } from '../helpers/worker/handlers'
import {
  ADMIN_KEY,
  account,
  at,
  call,
  countedD1,
  everything,
  expectBetween,
  list,
  newApp,
  newTenant,
  pick,
  rowsEverywhere,
  type Send,
  type TestTenant,
  toApp,
  until,
  untilHeld,
  untilTheClockMoves,
} from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'
import { stubbed } from '../helpers/worker/objects'
import { filter, world } from '../helpers/worker/world'

/** The whole database has one test clock, so each test returns to real time at its end. */
const clock = (tenant: TestTenant, method: string, body?: unknown) =>
  tenant.admin(method, '/test-clock', body)
const DAY = 86_400_000

const move = async (tenant: TestTenant, now: string) => {
  const answer = await clock(tenant, 'PUT', { now })
  expect([answer.status, at(answer.body, 'now')]).toEqual([200, new Date(now).toISOString()])
}

afterEach(() => account('DELETE', '/test-clock'))

const iso = (ms: number) => new Date(ms).toISOString()

/** D1 that calls `after` after each batch, with the SQL of the batch's first statement. */
function interposed(after: (sql: string) => Promise<void>): D1Database {
  return intercepted(env.DB, async ({ texts, run }) => {
    const results = await run()
    await after(texts[0] ?? '')
    return results
  })
}

async function setup() {
  const made = await world()
  const active = { type: 'metric', points: 10, status: 'active', metricId: made.words, metricThreshold: 1 }
  await made.tenant.create('/points/xp/triggers', active)
  return made
}

/** The dates, changes and totals in the summary of ada's events, by metric or points, on which something happened. */
async function changes(tenant: TestTenant, kind: string, range: string) {
  const [from, to] = range.split('..')
  const query = `aggregation=daily&startDate=${from}&endDate=${to}`
  const { body } = await tenant.app('GET', `/users/ada/${kind}/event-summary?${query}`)
  const rows = list(body).map((row) => [at(row, 'date'), at(row, 'change'), at(row, 'total')])
  return rows.filter(([, change]) => change !== 0)
}

/** Expects a time in a response to be the time of the request, by the machine's clock. */
async function expectRealTime(ask: () => Promise<unknown>): Promise<void> {
  const asked = present()
  const answered = Date.parse(String(await ask()))
  expectBetween(asked, answered, present())
}

describe('[C1] the test clock', () => {
  it('[C1] a set clock stays at its time for every app until it is moved, and DELETE returns to real time', async () => {
    const tenant = await newTenant()
    const other = tenant.through(newApp())
    await expectRealTime(async () => at((await clock(tenant, 'GET')).body, 'now'))
    await move(tenant, '2027-03-10T12:00:00Z')
    const now = '2027-03-10T12:00:00.000Z'
    const dateIn = async () => Date.parse((await tenant.app('GET', '/points')).headers.get('date') ?? '')
    // A request can take some seconds, if the machine is busy.
    expectBetween(Date.parse(now), await dateIn(), Date.parse(now) + 60_000)
    for (const [n, where] of [tenant, other, tenant.through(newApp())].entries()) {
      expect((await clock(where, 'GET')).body).toEqual({ now })
      const user = await where.app('POST', '/users', { id: `u${n}` })
      expect(user.body).toMatchObject({ created: now, updated: now })
    }
    await untilTheClockMoves()
    expect((await clock(other, 'GET')).body).toEqual({ now })
    expect((await clock(other, 'PUT', { now })).body).toEqual({ now })
    await move(other, '2027-03-10T14:00:00.001+02:00')
    expect((await clock(tenant, 'GET')).body).toEqual({ now: '2027-03-10T12:00:00.001Z' })
    await expectRealTime(async () => at((await clock(tenant, 'DELETE')).body, 'now'))
    await expectRealTime(async () => at((await clock(other, 'GET')).body, 'now'))
  })

  it('[C1] the Date of an event is the time of the test clock, and an answer before the clock is read has none', async () => {
    const { tenant } = await setup()
    const now = '2027-03-10T12:00:00.000Z'
    await move(tenant, now)
    const date = new Date(now).toUTCString()
    const event = { user: { id: 'ada' }, value: 1 }
    const send = (key: string, body: unknown) =>
      tenant.app('POST', '/metrics/words/event', body, { 'idempotency-key': key })
    // The second one is a replay, and the third one is refused.
    for (const [key, body, status] of [
      ['one', event, 201],
      ['one', event, 202],
      ['two', {}, 422],
    ] as const) {
      const answer = await send(key, body)
      expect([answer.status, answer.headers.get('date')]).toEqual([status, date])
    }
    const headers = { 'tenant-id': tenant.id }
    const refused = await call(tenant.send, 'POST', '/v1/metrics/words/event', { body: event, headers })
    expect([refused.status, refused.headers.get('date')]).toEqual([401, null])
    const real = newApp({ TEST_CLOCK: 'off' })
    const before = Math.floor(present() / 1000) * 1000
    const answer = await call(real, 'POST', '/v1/metrics/words/event', { body: event, headers })
    const answered = Date.parse(answer.headers.get('date') ?? '')
    expect([answer.status, before <= answered, answered <= present()]).toEqual([401, true, true])
  })

  describe('with Prefer: respond-async', () => {
    const HOURLY = { type: 'time', points: 1, status: 'active', timeUnit: 'hours', timeInterval: 1 }
    const LATER = { prefer: 'handling=lenient, Respond-Async;x=y' }

    const made: string[] = []
    const contexts: ExecutionContext[] = []
    afterEach(async () => {
      for (const context of contexts.splice(0)) await waitOnExecutionContext(context)
      // Otherwise each later test that moves the clock far would do their ticks too.
      await account('DELETE', `/tenants?ids=${made.splice(0).join('&ids=')}`)
    })

    /** An isolate that answers before the rest of its work is done. */
    const unawaited = (TIMEKEEPER: typeof env.TIMEKEEPER, DB = env.DB): Send => {
      const instance = newInstance()
      const isolate = createApp(() => instance)
      return async (request) => {
        const context = createExecutionContext()
        contexts.push(context)
        return isolate.fetch(request, { ...env, TIMEKEEPER, DB }, context)
      }
    }

    /** Tenants with an hourly trigger, and an app in which the work of each waits for its gate. */
    async function waiting(count: number) {
      // A move does the due work of all tenants, also of those of other tests.
      await deleteData()
      const held: { tenant: TestTenant; open: () => void; opened: Promise<void> }[] = []
      for (let nth = 0; nth < count; nth += 1) {
        const { tenant } = await setup()
        await tenant.create('/points/xp/triggers', HOURLY)
        await tenant.event('words', 'ada', 1)
        held.push({ tenant, ...gate() })
        made.push(tenant.id)
      }
      const send = unawaited(
        stubbed(env.TIMEKEEPER, (id) => ({
          wake: (...asked: [string, number]) => env.TIMEKEEPER.getByName(id).wake(...asked),
          catchUp: async (...asked: [string, Instant, Instant]) => {
            await held.find(({ tenant }) => tenant.id === id)?.opened
            return env.TIMEKEEPER.getByName(id).catchUp(...asked)
          },
        })),
      )
      const ask = (method: string, body?: object, headers: Record<string, string> = LATER, to = send) =>
        call(to, method, '/admin/v1/test-clock', { headers: { 'x-api-key': ADMIN_KEY, ...headers }, body })
      const state = async (to = send) => z.looseObject({}).parse((await ask('GET', undefined, {}, to)).body)
      const pointsOf = async ({ tenant }: { tenant: TestTenant }) =>
        Number(at((await tenant.app('GET', '/users/ada/points/xp')).body, 'total'))
      return { held, ask, state, pointsOf }
    }

    it('[C1] answers 202 once the clock has moved, and shows the progress until the work is done', async () => {
      const { held, ask, state, pointsOf } = await waiting(2)
      const [first, second] = held
      if (first === undefined || second === undefined) throw new Error('no tenants')
      const begun = await ask('PUT', { advance: 'P2D' })
      expect([begun.status, begun.headers.get('preference-applied')]).toEqual([202, 'respond-async'])
      const now = at(begun.body, 'now')
      const other = newApp()
      expect(begun.body).toEqual({ now })
      // The client's next request may reach another isolate.
      const before = z.looseObject({ progress: z.number() }).parse((await state(other)).moving)
      expect([before.progress < 1, await pointsOf(first)]).toEqual([true, 10])
      first.open()
      await untilHeld(async () => expect(await pointsOf(first)).toBe(58))
      await untilHeld(async () => {
        expect(at(await state(newApp()), 'moving', 'progress')).toBeGreaterThan(before.progress)
      })
      expect(await pointsOf(second)).toBe(10)
      second.open()
      await untilHeld(async () => expect(await state()).toEqual({ now }))
      expect([await state(other), await pointsOf(second)]).toEqual([{ now }, 58])
    })

    it('[C1] lets the process take requests between the steps of many tenants', async () => {
      const { held, ask, state, pointsOf } = await waiting(3)
      const real = scheduler.wait.bind(scheduler)
      const turns = { waiting: 0, given: false }
      const wait = async (milliseconds: number) => {
        // Other work waits for some time, for example for a lock.
        if (milliseconds > 0) return real(milliseconds)
        turns.waiting += 1
        while (!turns.given) await real(5)
      }
      vi.stubGlobal('scheduler', { wait })
      onTestFinished(() => void vi.unstubAllGlobals())
      expect((await ask('PUT', { advance: 'P2D' })).status).toBe(202)
      for (const { open } of held) open()
      // The work of each tenant waits for its turn, so the process has nothing to do but to take requests.
      await untilHeld(() => expect(turns.waiting).toBe(held.length))
      expect(await state()).toMatchObject({ moving: { tenants: 3 } })
      expect(await Promise.all(held.map(pointsOf))).toEqual([10, 10, 10])
      turns.given = true
      await untilHeld(async () => expect(Object.keys(await state())).toEqual(['now']))
      expect(await Promise.all(held.map(pointsOf))).toEqual([58, 58, 58])
    })

    it('[C1] takes a second move and the return to real time meanwhile, and refuses a move back', async () => {
      const { held, ask, state, pointsOf } = await waiting(1)
      const [one] = held
      if (one === undefined) throw new Error('no tenant')
      const start = Date.parse(String(at((await ask('PUT', { advance: 'P1D' })).body, 'now')))
      const again = await ask('PUT', { advance: 'P1D' })
      expect([again.status, again.body]).toEqual([202, { now: iso(start + 86_400_000) }])
      const back = await ask('PUT', { now: iso(start) })
      expect([back.status, back.headers.get('preference-applied')]).toEqual([422, null])
      one.open()
      await untilHeld(async () => expect(await state()).toEqual(again.body))
      expect(await pointsOf(one)).toBe(58)
      Object.assign(one, gate())
      expect((await ask('PUT', { advance: 'P1D' })).status).toBe(202)
      expect((await ask('DELETE')).status).toBe(200)
      expect(Object.keys(await state())).toEqual(['now'])
      one.open()
      expect((await ask('PUT', { advance: 'PT0S' }, { prefer: 'wait=5' })).status).toBe(200)
    })

    it('[C1, C2] leaves a move that fails to the Timekeepers, and logs it', async () => {
      const { ask, state, pointsOf, held } = await waiting(1)
      const [one] = held
      if (one === undefined) throw new Error('no tenant')
      const failing = unawaited(
        stubbed(env.TIMEKEEPER, (id) => ({
          wake: (...asked: [string, number]) => env.TIMEKEEPER.getByName(id).wake(...asked),
          catchUp: () => Promise.reject(new Error('Network connection lost.')),
        })),
      )
      forgetLines()
      const begun = await ask('PUT', { advance: 'P2D' }, LATER, failing)
      expect(begun.status).toBe(202)
      await untilHeld(async () => expect(await state(failing)).toEqual(begun.body))
      await untilHeld(async () => expect(await pointsOf(one)).toBe(58))
      const stopped = 'a move of the test clock stopped: Error: Network connection lost.'
      expect(linesSoFar().join()).toContain(stopped)
    })

    it('[C1, C2] leaves a move to the cron trigger if D1 fails with it', async () => {
      const { ask, pointsOf, held } = await waiting(1)
      const [one] = held
      if (one === undefined) throw new Error('no tenant')
      let isLost = false
      const failing = unawaited(
        stubbed(env.TIMEKEEPER, () => ({
          catchUp: () => {
            isLost = true
            return Promise.reject(lost())
          },
        })),
        intercepted(env.DB, ({ run }) => (isLost ? Promise.reject(lost()) : run())),
      )
      forgetLines()
      expect((await ask('PUT', { advance: 'P2D' }, LATER, failing)).status).toBe(202)
      await untilHeld(() =>
        expect(linesSoFar().join().split('a move of the test clock stopped')).toHaveLength(3),
      )
      expect(await pointsOf(one)).toBe(10)
      await cron()
      await untilHeld(async () => expect(await pointsOf(one)).toBe(58))
    })
  })

  // test/unit/time.test.ts has the texts that are no timestamp.
  it('[C1] answers 422 to a move back, over 400 days ahead, or to no ISO timestamp with an offset, and moves nothing', async () => {
    const tenant = await newTenant()
    await move(tenant, '2027-03-10T12:00:00Z')
    const start = Date.UTC(2027, 2, 10, 12)
    const far = [iso(start - 1), iso(start + 400 * 86_400_000 + 1), '+275760-09-13T00:00:00.001Z']
    for (const now of [...far, '2027-03-11T12:00:00', 'now', '', start + 1, null, undefined, {}]) {
      expect((await clock(tenant, 'PUT', { now })).status, String(now)).toBe(422)
      expect((await clock(tenant, 'GET')).body).toEqual({ now: iso(start) })
    }
    for (const body of [[], null, 'x']) expect((await clock(tenant, 'PUT', body)).status).toBe(422)
    await move(tenant, iso(start + 400 * 86_400_000))
  })

  it('[C1] advances by an ISO 8601 duration, counted in UTC from the current time of the clock', async () => {
    const tenant = await newTenant()
    // 2028 is a leap year.
    await move(tenant, '2027-01-31T12:00:00Z')
    for (const [advance, now] of Object.entries({
      P1M: '2027-02-28T12:00:00.000Z',
      P1D: '2027-03-01T12:00:00.000Z',
      P1Y: '2028-03-01T12:00:00.000Z',
      P2W: '2028-03-15T12:00:00.000Z',
      PT36H: '2028-03-17T00:00:00.000Z',
      P1M2DT3H4M5S: '2028-04-19T03:04:05.000Z',
      'PT1.5H': '2028-04-19T04:34:05.000Z',
      ...{ 'PT0,25S': '2028-04-19T04:34:05.250Z', 'PT0.0009S': '2028-04-19T04:34:05.250Z' },
      PT0S: '2028-04-19T04:34:05.250Z',
      P400D: new Date(Date.UTC(2028, 3, 19 + 400, 4, 34, 5, 250)).toISOString(),
    })) {
      const { status, body } = await clock(tenant, 'PUT', { advance })
      expect([status, at(body, 'now')], advance).toEqual([200, now])
    }
  })

  it('[C1] each of several parallel calls moves the clock by its own duration, the first one from real time', async () => {
    const tenant = await newTenant()
    const parallel = async (...bodies: object[]) => {
      const responses = await Promise.all(bodies.map((body) => clock(tenant, 'PUT', body)))
      expect(responses.map(({ status }) => status)).toEqual(bodies.map(() => 200))
      return responses.map(({ body }) => Date.parse(String(at(body, 'now')))).sort((a, b) => a - b)
    }
    const day = 86_400_000
    const before = present()
    const [first = 0, ...others] = await parallel(...Array(3).fill({ now: null, advance: 'P1D' }))
    expectBetween(before + day, first, present() + day)
    expect(others).toEqual([first + day, first + 2 * day])

    await parallel({ advance: 'P2D' }, { advance: 'PT1H' }, { advance: 'PT0S' }, { advance: 'P5D' })
    const end = iso(first + 9 * day + 3_600_000)
    expect((await clock(tenant, 'GET')).body).toEqual({ now: end })
  })

  it('[C1] a duration counts from the new time if another call has moved or removed the clock', async () => {
    const tenant = await newTenant()
    await move(tenant, '2027-03-10T12:00:00Z')
    // After each read of the clock, the statement of another call runs, at most `times` times.
    const meanwhile = (statement: string, times: number) => {
      let left = times
      const DB = interposed(async (sql) => {
        if (!sql.startsWith('SELECT now FROM test_clock') || left === 0) return
        left -= 1
        await env.DB.prepare(statement).run()
      })
      return tenant.through(newApp({ DB }))
    }
    const moved = meanwhile('UPDATE test_clock SET now = now + 60000', 5)
    const { body } = await clock(moved, 'PUT', { advance: 'P1D' })
    expect(body).toEqual({ now: '2027-03-11T12:05:00.000Z' })

    const before = present()
    const removed = await clock(meanwhile('DELETE FROM test_clock', 1), 'PUT', { advance: 'P1D' })
    expectBetween(before + 86_400_000, Date.parse(String(at(removed.body, 'now'))), present() + 86_400_000)

    const busy = meanwhile('UPDATE test_clock SET now = now + 1', Number.POSITIVE_INFINITY)
    const refused = await clock(busy, 'PUT', { advance: 'P1D' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  })

  it('[C1] answers 422 to no duration, one that is negative or over 400 days, or both fields, and moves nothing', async () => {
    const tenant = await newTenant()
    await move(tenant, '2027-03-10T12:00:00Z')
    const now = '2027-03-10T12:00:00.000Z'
    const shape = 'advance: must be an ISO 8601 duration, such as P1D or PT1H30M'
    const tooFar = 'advance: must be at most 400 days ahead'
    const tooLong = 'advance: must be at most 400 days. Move in smaller steps.'
    const negative = 'advance: must not be negative'
    const both = 'advance: must not be passed together with now'
    for (const [body, ...faults] of [
      [{ advance: '' }, shape],
      [{ advance: '1 day' }, shape],
      [{ advance: 'P1.5D' }, shape],
      [{ advance: `P${'1'.repeat(99)}D` }, 'advance: must have at most 100 characters'],
      [{ advance: 86_400 }, 'advance: must be a string'],
      [{ advance: '-PT0.001S' }, negative],
      [{ advance: 'P401D' }, tooFar],
      [{ advance: 'P400DT0.001S' }, tooFar],
      [{ advance: 'P4000000000Y' }, tooFar],
      [{ advance: 'P99999999999Y' }, tooLong],
      [{ advance: `PT${'9'.repeat(90)}.5S` }, tooLong],
      [{ advance: '-P99999999999Y' }, negative],
      [{ advance: 'P99999999999' }, shape],
      [{ advance: 'P99999999999.5Y' }, shape],
      [{ advance: 'PT1.0000000001S' }, shape],
      [{ advance: 'P1D', now }, both],
      [{ advance: 'x', now: 'x' }, shape, 'now: must be', both],
      [{}, 'now: must be an ISO 8601 timestamp, and is missing'],
    ] as const) {
      const answer = await clock(tenant, 'PUT', body)
      expect([body, answer.status]).toEqual([body, 422])
      for (const fault of faults) expect(at(answer.body, 'error')).toContain(fault)
      expect((await clock(tenant, 'GET')).body).toEqual({ now })
    }
  })

  it('[C1] with TEST_CLOCK off, its paths are 404, and a clock that is still set has no effect', async () => {
    const { tenant } = await setup()
    await move(tenant, '2027-03-10T12:00:00Z')
    const off = tenant.through(newApp({ TEST_CLOCK: 'off' }))
    for (const method of ['GET', 'DELETE']) expect((await clock(off, method)).status).toBe(404)
    for (const body of [{ now: '2027-03-11T12:00:00Z' }, {}])
      expect((await clock(off, 'PUT', body)).status).toBe(404)
    expect((await call(off.send, 'GET', '/admin/v1/test-clock')).status).toBe(401)
    await expectRealTime(async () => at((await off.app('POST', '/users', { id: 'real' })).body, 'created'))
    await expectRealTime(async () => {
      await off.event('words', 'real', 1)
      return at((await off.app('GET', '/users/real/points/xp')).body, 'awards', 0, 'date')
    })
  })

  it('uses 2 D1 batches for a warm event, also with a set clock', async () => {
    const { tenant } = await setup()
    await move(tenant, '2027-03-10T12:00:00Z')
    const key = await tenant.key('ada')
    const { bindings, count } = countedD1()
    const where = tenant.through(newApp(bindings))
    const event = () => where.as(key, 'POST', '/metrics/words/event', { user: { id: 'ada' }, value: 1 })
    await event()
    Object.assign(count, { batches: 0 })
    expect((await event()).status).toBe(201)
    expect(count.batches).toBe(2)
  })

  it('[G7, P13] keeps the order of creation while the clock does not move', async () => {
    const { tenant, words } = await setup()
    await move(tenant, '2027-03-10T12:00:00Z')
    const keys = Array.from({ length: 30 }, (_, n) => `k${n}`)
    const items = keys.slice(0, 15).map((key) => ({ key, name: key }))
    await tenant.admin('POST', '/metrics', items)
    for (const key of keys.slice(15)) await tenant.metric(key)
    expect(pick((await tenant.admin('GET', '/metrics?limit=100&skip=2')).body, 'key')).toEqual(keys)
    const trigger = { type: 'metric', status: 'active', metricId: words, metricThreshold: 1 }
    const triggers = Array.from({ length: 20 }, (_, n) => ({ ...trigger, points: n + 1 }))
    const { body } = await tenant.admin('POST', '/points/xp/triggers', triggers)
    const shown = at((await tenant.app('GET', '/points/xp')).body, 'triggers')
    expect(pick(shown, 'id').slice(1)).toEqual(pick(at(body, 'created'), 'id'))
    for (let n = 1; n <= 5; n += 1) await tenant.event('words', 'ada', 1)
    const awards = await tenant.app('GET', '/users/ada/points/xp?awards=100')
    const totals = pick(at(awards.body, 'awards'), 'total').map(Number)
    expect(totals).toEqual([...totals].sort((a, b) => b - a))
    expect(totals).toHaveLength(100)
  })
})

describe("[E8] an event's local date", () => {
  it("[E8] does not change when the user's zone changes, for events and awards", async () => {
    const { tenant } = await setup()
    await move(tenant, '2027-03-10T12:00:00Z')
    await tenant.event('words', { id: 'ada', tz: 'Pacific/Kiritimati' }, 1)
    await tenant.event('words', { id: 'ada', tz: 'Etc/GMT+12' }, 2)
    await tenant.event('words', { id: 'ada', tz: null }, 4)
    await move(tenant, '2027-03-10T23:00:00Z')
    await tenant.event('words', 'ada', 8)
    await tenant.app('PUT', '/users/ada', { tz: 'Pacific/Kiritimati' })
    for (const [kind, by] of Object.entries({ 'metrics/words': 1, 'points/xp': 10 })) {
      expect(await changes(tenant, kind, '2027-03-08..2027-03-12')).toEqual([
        // 2 has 00:00 on the 10th at UTC−12, 1 has 02:00 on the 11th at UTC+14.
        ['2027-03-10', 14 * by, 14 * by],
        ['2027-03-11', 1 * by, 15 * by],
      ])
    }
    await tenant.event('words', 'ada', 16)
    await tenant.app('PUT', '/users/ada', { tz: 'UTC' })
    expect(await changes(tenant, 'metrics/words', '2027-03-08..2027-03-12')).toEqual([
      ['2027-03-10', 14, 14],
      ['2027-03-11', 17, 31],
    ])
  })
})

describe('[P5] the status of boosts', () => {
  it("[P5] a boost of one user follows that user's midnights, in its status and in awards", async () => {
    const { tenant } = await setup()
    await move(tenant, '2027-03-09T00:00:00Z')
    await tenant.app('PUT', '/users/ada', { tz: 'Asia/Kathmandu' })
    const own = { name: 'B', start: '2027-03-10', end: '2027-03-10', multiplier: 2, userId: 'ada' }
    const id = await tenant.create('/points/xp/boosts', own)
    let total = 0
    for (const [now, status, added] of [
      ['2027-03-09T18:14:59.999Z', 'scheduled', 10],
      ['2027-03-09T18:15:00Z', 'active', 20],
      ['2027-03-10T18:14:59.999Z', 'active', 20],
      ['2027-03-10T18:15:00Z', 'finished', 10],
    ] as const) {
      await move(tenant, now)
      expect(at((await tenant.admin('GET', `/points/xp/boosts/${id}`)).body, 'status'), now).toBe(status)
      total += added
      const event = await tenant.event('words', 'ada', 1)
      expect(at(event.body, 'points', 'xp', 'total'), now).toBe(total)
      const listed = list((await tenant.app('GET', '/users/ada/points/xp/boosts')).body)
      expect(pick(listed, 'status').filter(Boolean)).toEqual(added === 20 ? ['active'] : [])
      expect(list((await tenant.app('GET', '/points/xp/boosts?includeFinished=true')).body)).toEqual([])
    }
    // In a zone further west, it is that date again.
    await tenant.app('PUT', '/users/ada', { tz: 'Etc/GMT+12' })
    expect(at((await tenant.admin('GET', `/points/xp/boosts/${id}`)).body, 'status')).toBe('active')
    expect(at((await tenant.event('words', 'ada', 1)).body, 'points', 'xp', 'added')).toBe(20)
  })

  it('[G9] allows deleting an attribute of a boost after the boost is finished', async () => {
    const { tenant, plan } = await setup()
    const boost = { name: 'B', start: '2027-03-10', end: '2027-03-10', multiplier: 2 }
    await tenant.create('/points/xp/boosts', { ...boost, userAttributes: filter(plan) })
    const remove = async () =>
      list(at((await tenant.admin('DELETE', `/attributes?ids=${plan}`)).body, 'deleted')).length
    expect(await remove()).toBe(0)
    await move(tenant, '2027-03-11T11:59:59.999Z')
    expect(await remove()).toBe(0)
    await move(tenant, '2027-03-11T12:00:00Z')
    expect(await remove()).toBe(1)
  })
})

describe('users and the clock', () => {
  it('[C1] data from the future does no harm after the clock is removed', async () => {
    const { tenant } = await setup()
    await tenant.admin('PATCH', '/streaks/settings', { daysOff: [0, 1, 2, 3, 4, 5] })
    await move(tenant, '2027-03-10T12:00:00Z')
    await tenant.event('words', 'ada', 1)
    const freezes = { startCount: 0, maxCount: 1, autoEarnInterval: 4, autoEarnAmount: 1 }
    const goal = { metrics: [{ key: 'words', threshold: 1 }], freezes, daysOff: [] }
    await tenant.admin('PATCH', '/streaks/settings', goal)
    await clock(tenant, 'DELETE')
    const event = await tenant.event('words', 'ada', 1)
    expect(event.body).toMatchObject({ total: 2, points: { xp: { total: 20 } } })
    expect((await tenant.app('PUT', '/users/ada', { name: 'x' })).status).toBe(200)
    expect(at((await tenant.app('GET', '/users/ada/points/xp')).body, 'total')).toBe(20)
    expect((await everything()).test_clock).toEqual([])
    expect(env.TEST_CLOCK).toBe('on')
    expect((await call(toApp, 'GET', '/health')).status).toBe(200)
    // The settings were changed at a time that has not come yet. They count from now on.
    const goOn = (days: number) => move(tenant, new Date(present() + days * DAY).toISOString())
    for (let days = 1; days <= 8; days += 1) {
      await goOn(days)
      const { body } = await tenant.event('words', 'bob', 1)
      expect(at(body, 'currentStreak')).toMatchObject({ length: days, freezes: days < 5 ? 0 : 1 })
    }
    // A freeze saves one day without an event. The next one is no day off.
    await goOn(11)
    expect(at((await tenant.app('GET', '/users/bob/streak')).body, 'length')).toBe(0)
  })

  it('[C1, L12] a leaderboard whose upkeep is an hour ahead after the clock is removed does it once', async () => {
    const { tenant, words } = await setup()
    const board = { name: 'Board', key: 'board', rankBy: 'metric', metricId: words, status: 'active' }
    await tenant.create('/leaderboards', board)
    const wake = () => env.TIMEKEEPER.getByName(tenant.id).wake(tenant.id, 20)
    // The next upkeep is that of the next full hour. The move does it.
    await wake()
    await move(tenant, '2027-03-10T12:00:00Z')
    await clock(tenant, 'DELETE')
    const returned = present()
    await wake()
    const [upkeep] = await dueWork({ tenant, kind: 'leaderboard' })
    expect(upkeep?.dueAt).toBeGreaterThan(returned)
  })
})

describe('[C3] a clock that was ahead', () => {
  const status = async () => (await account('GET', '/status')).body
  const ahead = async () => Number(at(await status(), 'due', 'ahead'))
  const warnings = () => linesSoFar().filter((line) => line.includes('"work":"clock"'))

  it('[C3] is noticed by the cron trigger: deliveries, ticks, figures and leaderboards go on, once', async () => {
    const { tenant, words } = await setup()
    const board = { name: 'Board', key: 'board', rankBy: 'metric', metricId: words, status: 'active' }
    const weekly = { runUnit: 'day', runInterval: 7, start: iso(present()).slice(0, 10) }
    await tenant.create('/leaderboards', { ...board, ...weekly })
    const hourly = { type: 'time', points: 1, status: 'active', timeUnit: 'hours', timeInterval: 1 }
    await tenant.create('/points/xp/triggers', hourly)
    const webhook = await withHook({ events: ['points.changed'] }, tenant)
    // The test clock is the clock that is ahead. That its row is gone is how the machine's clock is set right.
    await move(tenant, iso(present() + 40 * DAY))
    await webhook.hook.plan({ status: 500 })
    await tenant.event('words', 'ada', 1)
    await until(async () => (await log(webhook)).some(({ attempts }) => attempts === 1))
    await tenant.event('words', 'bea', 1)
    await tenant.event('words', 'bea', 1)
    await rowsEverywhere('DELETE FROM test_clock')
    expect(await ahead()).toBeGreaterThan(0)

    forgetLines()
    await cron()
    expect(warnings()).toHaveLength(1)
    await until(async () => (await ahead()) === 0)
    await until(async () => (await log(webhook)).every((one) => one.status === 'delivered'))
    await tenant.event('words', 'ada', 5)
    const ranked = async () => (await tenant.app('GET', '/leaderboards/board')).body
    await until(async () => JSON.stringify(pick(at(await ranked(), 'rankings'), 'value')) === '[5]')
    expect(at(await ranked(), 'start')).toBe(weekly.start)
    const ticks = await dueWork({ tenant, kind: 'ticks' })
    for (const { dueAt } of ticks) expect(dueAt).toBeLessThan(present() + DAY)
    await cron()
    expect(warnings()).toHaveLength(1)
    expect(await ahead()).toBe(0)
  })

  it.each([
    ['leaderboard', 25 * 3_600_000],
    ['delivery', 25 * 3_600_000],
    ['analytics', 2 * 3_600_000],
    ['schedule', 33 * DAY],
    ['anniversaries', 367 * DAY],
    ['boosts', null],
    ['streaks', null],
  ])('[C3, G12] work of the kind %s is ahead if it is due after more than %s ms', async (kind, furthest) => {
    await forgetDueWork()
    const tenant = await newTenant()
    const put = (dueAt: number) => addDueWork(tenant, kind, { dueAt, subject: 'x', d1: env.DB })
    await put(present() + (furthest ?? 400 * DAY) - 1)
    expect(await ahead()).toBe(0)
    await put(present() + (furthest ?? 4_000 * DAY) + 60_000)
    expect(await ahead()).toBe(furthest === null ? 0 : 1)
    await forgetDueWork()
  })
})
