/** While D1 is away, every request gets 503 with Retry-After, and background work is done later (G2). */
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { UserLane } from '../../src/features/events/lane.object'
import { LeaderboardObject } from '../../src/leaderboards/object/board.object'
import { Courier, Timekeeper } from '../../src/worker/index'
import { casesOf } from '../helpers/runs'
import { callsOf, operations, pathOf, type World } from '../helpers/walk'
import { awayAfter, beforeEachCall, faultyLast, lastAway } from '../helpers/worker/faulty'
import { cron, handOver } from '../helpers/worker/handlers'
import {
  ADMIN_KEY,
  at,
  call,
  newApp,
  newTenant,
  newTenantInLast,
  newTenantWith,
  untilHeld,
} from '../helpers/worker/harness'
import { messagesOf, subscribe } from '../helpers/worker/messages'
import { stubbed } from '../helpers/worker/objects'
import { disturbUsers } from '../helpers/worker/stored-users'
import { walkIn } from '../helpers/worker/walked'

/** A tenant with data for a call of every operation. */
async function world(): Promise<{ tenantId: string; calls: World }> {
  const tenant = await newTenant()
  return { tenantId: tenant.id, calls: await walkIn(tenant, 'away') }
}

/** The namespace of a class of objects whose bindings are these: its real objects, called once each. */
function objectsWith<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  make: (state: DurableObjectState) => object,
): DurableObjectNamespace<T> {
  const stubOf = (name: string) => {
    const stub = namespace.getByName(name)
    return new Proxy(stub, {
      get:
        (_, method) =>
        (...args: unknown[]) =>
          runInDurableObject(stub, (_instance, state) => {
            const object = make(state)
            return Reflect.apply(Reflect.get(object, method, object), object, args)
          }),
    })
  }
  return stubbed(namespace, stubOf)
}

describe('[G2] while the database cannot be reached', () => {
  it('every operation answers 503 with Retry-After', async () => {
    const { tenantId, calls } = await world()
    const send = newApp({ DB: awayAfter(0) })
    // The calls of the whole account need no input: without D1 no key is confirmed.
    for (const spec of operations)
      for (const one of spec.account ? [{ params: { id: tenantId } }] : callsOf(spec, calls)) {
        const answer = await call(send, spec.method.toUpperCase(), pathOf(spec, one), {
          body: one.body,
          headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': tenantId, ...one.headers },
        })
        expect([spec.id, answer.status, answer.headers.get('Retry-After')]).toEqual([spec.id, 503, '5'])
        expect(at(answer.body, 'error')).toMatch(/^The database cannot be reached.*idempotency key/)
      }
  })

  it.each(casesOf(1, [2, 1, 3]))(
    'no operation fails in another way if it goes away after %i batches',
    async (batches) => {
      const { tenantId, calls } = await world()
      let away = 0
      for (const spec of operations.filter(({ account }) => !account))
        for (const one of callsOf(spec, calls)) {
          const send = newApp({ DB: awayAfter(batches) })
          // `call` throws if the status is 500.
          const answer = await call(send, spec.method.toUpperCase(), pathOf(spec, one), {
            body: one.body,
            headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': tenantId, ...one.headers },
          })
          if (answer.status !== 503) continue
          away += 1
          expect([spec.id, answer.headers.get('Retry-After')]).toEqual([spec.id, '5'])
        }
      expect(away).toBeGreaterThan(10)
    },
  )

  it('/health and the documents with ids of a demo answer 503 too', async () => {
    const send = newApp({ DB: awayAfter(0), DEMO: 'on', MULTI_TENANCY: 'off' })
    for (const path of ['/health', '/v1/openapi.json']) {
      const { status, headers } = await call(send, 'GET', path)
      expect([path, status, headers.get('Retry-After')]).toEqual([path, 503, '5'])
    }
  })

  /** Sends an event to a lane of this binding: each isolate loses its conflicts, so that the event goes there. */
  async function sendByLane(USER_LANE: typeof env.USER_LANE) {
    const tenant = await newTenantWith('steps', newTenantInLast)
    await tenant.app('PUT', '/users/ada', {})
    const { bindings } = faultyLast(beforeEachCall(() => disturbUsers(tenant)))
    const through = tenant.through(newApp({ DB: env.DB, ...bindings, USER_LANE }))
    const { status, headers } = await through.event('steps', 'ada', 1)
    return [status, headers.get('Retry-After')]
  }

  it('a lane answers 503', async () => {
    let calls = 0
    const USER_LANE = objectsWith(env.USER_LANE, (state) => {
      calls += 1
      return new UserLane(state, { ...env, ...lastAway() })
    })
    expect([...(await sendByLane(USER_LANE)), calls]).toEqual([503, '5', 1])
  })

  const saying = (text: string) => () => Promise.reject(new Error(text))
  const failure = (flag: string) => () => Promise.reject(Object.assign(new Error('lost'), { [flag]: true }))

  it.each<[string, (stub: DurableObjectStub) => Promise<unknown>]>([
    ['restarts', (stub) => runInDurableObject(stub, (_instance, state) => state.abort('new code'))],
    ['cannot be reached', failure('retryable')],
    ['is overloaded', failure('overloaded')],
    ['has a full disk', saying('database or disk is full: SQLITE_FULL')],
    ['has a storage that cannot be opened', saying('internal error; reference = 0a1b')],
    ['is slow', saying('Durable Object storage operation exceeded timeout which caused object to be reset.')],
  ])('an event whose lane %s is answered with 503', async (_what, commit) => {
    const USER_LANE = stubbed(env.USER_LANE, (lane) => ({
      commit: () => commit(env.USER_LANE.getByName(lane)),
    }))
    expect(await sendByLane(USER_LANE)).toEqual([503, '5'])
  })

  it('a leaderboard that must read D1 answers 503, and is right when D1 is back', async () => {
    const tenant = await newTenant()
    const metricId = await tenant.metric('steps')
    await tenant.event('steps', 'ada', 3)
    const item = { name: 'B', key: 'b', status: 'active', rankBy: 'metric', metricId, start: '2020-01-01' }
    let calls = 0
    const LEADERBOARD = objectsWith(env.LEADERBOARD, (state) => {
      calls += 1
      return new LeaderboardObject(state, { ...env, DB: awayAfter(0) })
    })
    // The Timekeeper would make the leaderboard count at once.
    const TIMEKEEPER = objectsWith(
      env.TIMEKEEPER,
      (state) => new Timekeeper(state, { ...env, DB: awayAfter(0) }),
    )
    const away = tenant.through(newApp({ DB: env.DB, LEADERBOARD, TIMEKEEPER }))
    await away.create('/leaderboards', item)
    const { status, headers } = await away.app('GET', '/leaderboards/b')
    expect([status, headers.get('Retry-After')]).toEqual([503, '5'])
    expect(calls).toBeGreaterThan(0)
    await cron()
    await untilHeld(async () => {
      const { body } = await tenant.app('GET', '/leaderboards/b')
      expect(at(body, 'rankings', 0)).toMatchObject({ userId: 'ada', value: 3 })
    })
  })

  it('a move of the clock answers 503 if the Timekeeper cannot reach it', async () => {
    const tenant = await newTenantWith('steps')
    const system = await tenant.create('/points', { name: 'XP', key: 'xp' })
    const hourly = { type: 'time', points: 5, status: 'active', timeUnit: 'hours', timeInterval: 1 }
    await tenant.create(`/points/${system}/triggers`, hourly)
    await tenant.event('steps', 'ada', 1)
    const TIMEKEEPER = objectsWith(
      env.TIMEKEEPER,
      (state) => new Timekeeper(state, { ...env, DB: awayAfter(0) }),
    )
    const away = tenant.through(newApp({ DB: env.DB, TIMEKEEPER }))
    const { status, headers } = await away.admin('PUT', '/test-clock', { advance: 'PT3H' })
    expect([status, headers.get('Retry-After')]).toEqual([503, '5'])
    await tenant.admin('DELETE', '/test-clock')
  })

  it('a message of a queue is delivered again', async () => {
    const tenant = await newTenant()
    const bodies = [
      { tenantId: tenant.id },
      { tenantId: tenant.id, leaderboardId: crypto.randomUUID(), userIds: ['ada'] },
    ]
    for (const body of bodies)
      expect(await handOver('laurel', [body], { DB: awayAfter(0) })).toEqual({ acks: [], again: ['m0'] })
  })

  it('a delivery queue that cannot reach it takes no message over, and gets it from the outbox later', async () => {
    const tenant = await newTenantWith('steps')
    const webhook = await subscribe(tenant, '*')
    const silent = { send: () => Promise.reject(new Error('silent')) }
    const OUTBOX = new Proxy(env.OUTBOX, {
      get: (target, name) => (name === 'send' ? silent.send : Reflect.get(target, name, target)),
    })
    await tenant.through(newApp({ OUTBOX })).event('steps', 'ada', 1)
    const DELIVERY_QUEUE = objectsWith(
      env.DELIVERY_QUEUE,
      (state) => new Courier(state, { ...env, DB: awayAfter(0) }),
    )
    const drained = async (bindings: Partial<typeof env>) =>
      (await handOver('laurel-outbox', [{ tenantId: tenant.id }], bindings)).acks
    expect(await drained({ DELIVERY_QUEUE })).toEqual([])
    expect(await messagesOf(webhook)).toEqual([])
    expect(await drained({})).toEqual(['m0'])
    expect((await messagesOf(webhook)).map(({ event }) => event)).toEqual(['streak.started'])
  })

  it('the cron trigger fails, and its next run does the work', async () => {
    await expect(cron({ DB: awayAfter(0) })).rejects.toThrow('D1_ERROR')
    await cron()
  })
})
