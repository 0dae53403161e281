import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { behind } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  call,
  countedD1,
  newApp,
  newTenant,
  rowsEverywhere,
  type TestTenant,
  UUID,
  untilHeld,
} from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'

const [started, periodStart] = [expect.any(String), expect.any(String)]
const dayOne = (extended: boolean) =>
  expect.objectContaining({ length: 1, frequency: 'daily', started, periodStart, extended })

/** A tenant with two metrics, words and pages, and one point for each word. */
async function setup() {
  const tenant = await newTenant()
  const words = await tenant.metric('words')
  await tenant.metric('pages')
  const trigger = (points: number, more: object = {}) => ({
    ...{ type: 'metric', points, status: 'active', metricId: words, metricThreshold: 1 },
    ...more,
  })
  const system = await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger(1)] })
  return { tenant, words, system, path: `/points/${system}/triggers`, trigger }
}

const total = async (tenant: TestTenant, user: string, metric = 'words') =>
  at((await tenant.app('GET', `/users/${user}/metrics/${metric}`)).body, 'current')

let shared: TestTenant
beforeAll(async () => {
  shared = (await setup()).tenant
  await shared.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
  await shared.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
})

describe('[E1] the value of an event', () => {
  it('[E1] is rounded to six decimals, half away from zero, and 0 and -0 are valid', async () => {
    for (const [n, [value, after]] of [
      [0, 0],
      [-0, 0],
      [0.0000005, 0.000001],
      [-0.0000005, -0.000001],
      [0.00000049, 0],
      [1e9, 1e9],
      [-1e9, -1e9],
    ].entries()) {
      const { status, body } = await shared.event('pages', `rounded-${n}`, Number(value))
      expect([value, status, at(body, 'total')]).toEqual([value, 201, after])
      expect(await total(shared, `rounded-${n}`, 'pages')).toBe(after)
    }
  })

  it('[E1] must be finite and |value| ≤ 1e9; else the response is 422, and nothing is stored', async () => {
    const before = await shared.stored()
    const numbers = ['1000000001', '1000000000.0000001', '-1000000001', '1e308', '1e999', '-1e999']
    for (const raw of [...numbers, '"5"', 'null', 'true', '[1]', '{}']) {
      const { status, body } = await call(shared.send, 'POST', '/v1/metrics/words/event', {
        raw: `{"user":{"id":"ada"},"value":${raw}}`,
        headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': shared.id },
      })
      expect([raw, status]).toEqual([raw, 422])
      expect(String(at(body, 'error'))).toContain('value')
    }
    const missing = await shared.app('POST', '/metrics/words/event', { user: { id: 'ada' } })
    expect(missing.status).toBe(422)
    expect(await shared.stored()).toEqual(before)
  })

  it('[E1, P1] a counter of matching events may be further from 0 than the total, without a 5xx', async () => {
    const { tenant, path, trigger } = await setup()
    const page = await tenant.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
    const eventAttributes = [{ attributeId: page, attributeValue: 'x' }]
    await tenant.create(path, trigger(1, { metricThreshold: 1_000_000_000, eventAttributes }))
    for (let n = 0; n < 12; n += 1) {
      expect((await tenant.event('words', 'ada', 1e9, { attributes: { page: 'x' } })).status).toBe(201)
      expect((await tenant.event('words', 'ada', -1e9)).status).toBe(201)
    }
  })
})

describe('[E2] the response of an event', () => {
  it('[E2] shows exactly the changes of the event', async () => {
    const { tenant, words, system } = await setup()
    const plain = await tenant.event('words', 'ada', 2)
    const body = Object(plain.body)
    expect(body).toEqual({
      ...{ eventId: UUID, metricId: words, total: 2, achievements: [], currentStreak: dayOne(true) },
      points: { xp: expect.objectContaining({ id: system, key: 'xp', total: 2, added: 2 }) },
      leaderboards: {},
    })
    expect(body.points.xp.awards).toMatchObject([{ id: UUID, awarded: 2, total: 2, boosts: [] }])
    const { awards } = body.points.xp
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({ awards })
    const nothing = await tenant.event('pages', 'ada', 1)
    expect(nothing.body).toMatchObject({ total: 1, points: {} })
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const sent = { body: { user: { id: 'ada' }, value: 1 }, headers }
    const alias = await call(tenant.send, 'POST', '/api/metrics/words/event', sent)
    expect([alias.status, at(alias.body, 'total')]).toEqual([201, 3])
  })

  it('[E2, P7] a refused event stores nothing: no user, event, key or other award', async () => {
    const { tenant, path, trigger } = await setup()
    await tenant.create(path, { type: 'user_creation', points: 3, status: 'active' })
    const price = trigger(-5, { metricThreshold: 10, blockIfOutOfPoints: true })
    await tenant.create('/points', { key: 'energy', name: 'Energy', triggers: [price] })
    await tenant.event('words', { id: 'ada', name: 'Ada' }, 5)
    const before = await tenant.stored()
    for (const id of ['ada', 'newcomer']) {
      const user = { id, name: 'other', email: 'x@y.z' }
      const { status, body } = await tenant.event('words', user, 12, { idempotencyKey: 'k' })
      expect([status, Object.keys(Object(body))]).toEqual([422, ['error', 'issues']])
    }
    expect(await tenant.stored()).toEqual(before)
    expect((await tenant.app('GET', '/users/newcomer')).status).toBe(404)
    // The key is still free. With a smaller value, this is its first event.
    const after = await tenant.event('words', 'ada', 1, { idempotencyKey: 'k' })
    expect(after).toMatchObject({ status: 201, body: { total: 6, idempotentReplayed: false } })
  })

  it('[E2] refused events of a group of parallel events do not affect the others', async () => {
    const { tenant } = await setup()
    const subscribing = { id: 'ada', subscribeToEmails: true }
    const users = Array.from({ length: 40 }, (_, n) => (n % 4 === 0 ? subscribing : 'ada'))
    const responses = await Promise.all(users.map((user) => tenant.event('words', user, 1)))
    expect(responses.map(({ status }) => status)).toEqual(users.map((user) => (user === 'ada' ? 201 : 422)))
    const totals = responses.flatMap(({ body }) => at(body, 'total') ?? []).map(Number)
    expect(totals.sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({ total: 30 })
  })

  it('[E2] a failed write stores nothing, and the response is an opaque 500 with the request id', async () => {
    const { tenant } = await setup()
    await tenant.event('words', 'ada', 1)
    const before = await tenant.stored()
    let writes = false
    // The last statement of the write batch fails, after all others.
    const failing = behind(({ texts, run }) => {
      writes ||= texts.some((sql) => sql.includes('INSERT INTO events'))
      return writes ? run('SELECT secret FROM nowhere') : run()
    })
    const broken = tenant.through(newApp(failing))
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id, 'idempotency-key': 'k' }
    const body = JSON.stringify({ user: { id: 'ada' }, value: 5 })
    const url = 'http://laurel.test/v1/metrics/words/event'
    const response = await broken.send(new Request(url, { method: 'POST', body, headers }))
    const text = await response.text()
    expect([response.status, writes]).toEqual([500, true])
    expect(text).toContain(response.headers.get('x-request-id') ?? 'none')
    expect(text).not.toMatch(/nowhere|secret|D1|SQL|Error/)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await tenant.stored()).toEqual(before)
    const again = await tenant.event('words', 'ada', 5, { idempotencyKey: 'k' })
    expect(again.body).toMatchObject({ total: 6, idempotentReplayed: false })
  })
})

it('[E3] two apps without shared memory have conflicts, use the lane, and are exact', async () => {
  const lanes: string[] = []
  const USER_LANE = stubbed(env.USER_LANE, (lane) => {
    lanes.push(lane)
    return env.USER_LANE.getByName(lane)
  })
  let conflicts = 0
  const counting = behind(({ run }) =>
    run().catch((error: unknown) => {
      if (String(error).includes('laurel-conflict')) conflicts += 1
      throw error
    }),
  )
  const { tenant, path, trigger } = await setup()
  // Every tenth word gives three more points.
  await tenant.create(path, trigger(3, { metricThreshold: 10 }))
  const apps = [1, 2].map(() => tenant.through(newApp({ USER_LANE, ...counting })))
  // Both know the configuration and the place of the user.
  for (const app of apps) await app.event('words', 'ada', 0)
  const responses = await Promise.all(
    Array.from({ length: 100 }, () => apps.map((app) => app.event('words', 'ada', 1))).flat(),
  )
  expect(responses.map(({ status }) => status)).toEqual(Array(200).fill(201))
  expect(conflicts).toBeGreaterThan(0)
  expect(lanes.length).toBeGreaterThan(0)
  // Each response has the total of its own event, and the awards of this event alone.
  const found = responses.map(({ body }) => [at(body, 'total'), at(body, 'points', 'xp', 'total')])
  expect(found.sort(([a], [b]) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 200 }, (_, n) => [n + 1, n + 1 + 3 * Math.floor((n + 1) / 10)]),
  )
  expect(responses.filter(({ body }) => at(body, 'points', 'xp', 'added') === 4)).toHaveLength(20)
  expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({ total: 260 })
})

describe('[E4] idempotency keys', () => {
  it('[E4] a replay is a 202 with only the first event and the current total, and changes nothing', async () => {
    const { tenant, words } = await setup()
    const first = await tenant.event('words', { id: 'ada', name: 'Ada' }, 5, { idempotencyKey: 'key-1' })
    expect(first).toMatchObject({
      status: 201,
      body: { total: 5, idempotencyKey: 'key-1', idempotentReplayed: false, points: { xp: { added: 5 } } },
    })
    await tenant.event('words', 'ada', 2)
    const before = await tenant.stored()
    for (const user of [
      { id: 'ada' },
      { id: 'ada', name: 'Other', email: 'a@b.c', tz: 'Asia/Tokyo', deviceTokens: ['t'] },
    ]) {
      for (const value of [5, 7, -1, 1e9]) {
        const replay = await tenant.event('words', user, value, { idempotencyKey: 'key-1' })
        expect(replay.status).toBe(202)
        expect(replay.body).toEqual({
          ...{ eventId: at(first.body, 'eventId'), metricId: words, total: 7, achievements: [] },
          ...{ currentStreak: dayOne(false), points: {}, leaderboards: {} },
          ...{ idempotencyKey: 'key-1', idempotentReplayed: true, bodyDiffers: true },
        })
      }
    }
    expect(await tenant.stored()).toEqual(before)
    expect(at((await tenant.event('words', 'ada', 1)).body, 'idempotencyKey')).toBeUndefined()
    expect(at((await tenant.event('words', 'ada', 1)).body, 'idempotentReplayed')).toBeUndefined()
  })

  it('[E4] a replay with another body says so, and one with the same body in another order does not', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    for (const key of ['page', 'part']) await tenant.create('/attributes', { key, name: key, type: 'event' })
    await tenant.create('/attributes', { key: 'plan', name: 'plan', type: 'user' })
    const user = { id: 'ada', name: 'Ada', attributes: { plan: 'pro' } }
    const first = { user, value: 5, attributes: { page: '1', part: '2' } }
    const send = async (body: object, key = 'k') => {
      const answer = await tenant.app('POST', '/metrics/words/event', body, { 'idempotency-key': key })
      return [answer.status, at(answer.body, 'bodyDiffers'), at(answer.body, 'total')]
    }
    expect(await send(first)).toEqual([201, undefined, 5])
    const { id, name, attributes } = user
    const same = { value: 5, attributes: { part: '2', page: '1' }, user: { attributes, name, id } }
    for (const body of [first, same]) expect(await send(body)).toEqual([202, undefined, 5])
    for (const other of [
      { ...first, value: 6 },
      { ...first, attributes: { page: '1' } },
      { ...first, attributes: { page: '2', part: '1' } },
      { ...first, user: { ...user, name: 'Bob' } },
      { ...first, user: { ...user, attributes: { plan: 'free' } } },
    ])
      expect([other, await send(other)]).toEqual([other, [202, true, 5]])
    // Of an event that came in a batch, and of a key of a version that stored no hash.
    await tenant.admin('POST', '/metrics/events', [{ ...first, key: 'words', idempotencyKey: 'b' }])
    await untilHeld(async () => expect(await send(first, 'b')).toEqual([202, undefined, 10]))
    expect(await send({ ...first, value: 6 }, 'b')).toEqual([202, true, 10])
    await rowsEverywhere('UPDATE idempotency_keys SET body = NULL')
    expect(await send({ ...first, value: 6 })).toEqual([202, undefined, 10])
  })

  it('[E4] a replay with an invalid body is a 422, and with another user a first event', async () => {
    const idempotencyKey = 'validated'
    await shared.event('words', 'ada', 1, { idempotencyKey })
    const before = await shared.stored()
    const header = { 'idempotency-key': idempotencyKey }
    const replay = async (body: object, metric = 'words') =>
      (await shared.app('POST', `/metrics/${metric}/event`, body, header)).status
    const user = { id: 'ada' }
    expect(await replay({ user, value: 'x' })).toBe(422)
    expect(await replay({ user: { ...user, tz: 'x' }, value: 1 })).toBe(422)
    expect(await replay({ user: { ...user, attributes: { nope: 'x' } }, value: 1 })).toBe(422)
    expect(await replay({ user: { ...user, subscribeToEmails: true }, value: 1 })).toBe(422)
    expect(await replay({ user, value: 1, attributes: { nope: 'x' } })).toBe(422)
    expect(await replay({ user, value: 1 }, 'none')).toBe(404)
    expect(await shared.stored()).toEqual(before)
  })

  it('[E4] keys belong to one user and one metric, and are case-sensitive', async () => {
    const { tenant } = await setup()
    for (const user of ['ada', 'bob'])
      for (const metric of ['words', 'pages']) {
        const one = await tenant.event(metric, user, 1, { idempotencyKey: 'same' })
        expect(one).toMatchObject({ status: 201, body: { total: 1, idempotentReplayed: false } })
        const two = await tenant.event(metric, user, 1, { idempotencyKey: 'same' })
        expect(two).toMatchObject({ status: 202, body: { total: 1, eventId: at(one.body, 'eventId') } })
      }
    expect((await tenant.event('words', 'ada', 1, { idempotencyKey: 'SAME' })).status).toBe(201)
  })

  it('[E4] have 1–255 characters', async () => {
    const odd = ['k'.repeat(255), 'a b', "'; --", '__proto__', '"', '%00', '{}', '0']
    for (const idempotencyKey of odd) {
      const one = await shared.event('pages', 'keys', 1, { idempotencyKey })
      expect([one.status, at(one.body, 'idempotencyKey')]).toEqual([201, idempotencyKey])
      expect((await shared.event('pages', 'keys', 1, { idempotencyKey })).status).toBe(202)
    }
    expect(await total(shared, 'keys', 'pages')).toBe(odd.length)
    expect((await shared.event('pages', 'keys', 1, { idempotencyKey: '' })).status).toBe(422)
  })

  it('[E4] is one key if the header is sent twice with equal values, and 422 if they differ', async () => {
    const { tenant } = await setup()
    const send = async (...keys: string[]) => {
      const headers = new Headers({ 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id })
      for (const key of keys) headers.append('idempotency-key', key)
      const body = JSON.stringify({ user: { id: 'ada' }, value: 1 })
      const url = 'http://laurel.test/v1/metrics/words/event'
      const response = await tenant.send(new Request(url, { method: 'POST', headers, body }))
      const answer: unknown = await response.json()
      return [response.status, at(answer, 'idempotencyKey') ?? at(answer, 'issues', 0, 'path')]
    }
    expect(await send('a')).toEqual([201, 'a'])
    expect(await send('a', 'a')).toEqual([202, 'a'])
    expect(await send('a', 'a', 'a')).toEqual([202, 'a'])
    const longest = 'k'.repeat(255)
    expect(await send(longest, longest)).toEqual([201, longest])
    expect(await send(longest)).toEqual([202, longest])
    const before = await tenant.stored()
    for (const keys of [['a', 'b'], ['a', 'a', 'b'], ['', ''], ['a', ''], ['k, l'], ['a, b', 'a, b']])
      expect([keys, ...(await send(...keys))]).toEqual([keys, 422, 'idempotency-key'])
    expect(await tenant.stored()).toEqual(before)
    // A comma without a space is a part of the key, and a batch has its keys in the body.
    expect(await send('order,1,1')).toEqual([201, 'order,1,1'])
    const item = { key: 'words', user: { id: 'ada' }, value: 1, idempotencyKey: 'a, b' }
    expect((await tenant.admin('POST', '/metrics/events', [item])).status).toBe(202)
  })

  it('[E4] exactly one of the parallel events with each key is a 201, through two apps', async () => {
    const { tenant } = await setup()
    const other = tenant.through(newApp())
    const responses = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const idempotencyKey = `k${n % 4}`
        const answer = await (n % 2 ? tenant : other).event('words', 'ada', 1, { idempotencyKey })
        return { ...answer, idempotencyKey }
      }),
    )
    for (const key of ['k0', 'k1', 'k2', 'k3']) {
      const own = responses.filter(({ idempotencyKey }) => idempotencyKey === key)
      expect(own.filter(({ status }) => status === 201)).toHaveLength(1)
      expect(own.filter(({ status }) => status === 202)).toHaveLength(9)
      expect(new Set(own.map(({ body }) => at(body, 'eventId'))).size).toBe(1)
    }
    expect(await total(tenant, 'ada')).toBe(4)
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({ total: 4 })
  })
})

describe('other rules of an event', () => {
  it('[E6] event attributes must be configured for events', async () => {
    const before = await shared.stored()
    const sent = (attributes: unknown) =>
      shared.app('POST', '/metrics/words/event', { user: { id: 'ada' }, value: 1, attributes })
    const unknown = await sent({ pge: 'x', page: 'y', plan: 'z' })
    expect([unknown.status, at(unknown.body, 'error')]).toEqual([
      422,
      'Invalid attribute keys: pge, plan. Attribute keys must match those configured for events.',
    ])
    const values = [[5], null, {}, 'x'.repeat(1_001), '😀'.repeat(1_001)]
    for (const wrong of ['x', [], 5, ...values.map((page) => ({ page }))])
      expect([wrong, (await sent(wrong)).status]).toEqual([wrong, 422])
    expect(await shared.stored()).toEqual(before)
    const pages = ['', 'x'.repeat(1_000), '😀'.repeat(1_000)].map((page) => ({ page }))
    for (const right of [...pages, {}, null]) expect((await sent(right)).status).toBe(201)
  })

  it('[E7, G2] an unknown metric is a 404, also with an odd key, and before all errors of the event', async () => {
    const before = await shared.stored()
    const odd = ['none', 'Words', 'words%20', '%00', '%F0%9F%98%80', '__proto__', 'words%2Fevent']
    for (const key of [...odd, 'x'.repeat(2_000)]) {
      const event = { user: { id: 'ada', tz: 'x' }, value: 'x' }
      const { status, body } = await shared.app('POST', `/metrics/${key}/event`, event)
      expect([key, status, typeof at(body, 'error')]).toEqual([key, 404, 'string'])
    }
    expect(await shared.stored()).toEqual(before)
  })
})

describe('the cost of an event', () => {
  it('a warm event is exactly 2 D1 batches, also with 50 triggers and an idempotency key', async () => {
    const { tenant, system, path, trigger } = await setup()
    const key = await tenant.key('ada')
    const { bindings, count } = countedD1()
    const where = tenant.through(newApp(bindings))
    const event = { user: { id: 'ada' }, value: 1 }
    const cost = async (metric: string, idempotencyKey?: string, expected = 201) => {
      Object.assign(count, { batches: 0, prepared: 0, batched: 0 })
      const more = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
      const answer = await where.as(key, 'POST', `/metrics/${metric}/event`, event, more)
      expect(answer.status).toBe(expected)
      expect(count.batched).toBe(count.prepared)
      return [count.batches, Object.keys(Object(at(answer.body, 'points'))).length]
    }
    await cost('words')
    expect(await cost('words')).toEqual([2, 1])
    expect(await cost('pages')).toEqual([2, 0])
    expect(await cost('words', 'k')).toEqual([2, 1])
    await tenant.admin('POST', path, Array(50).fill(trigger(1)))
    await tenant.app('POST', '/users', { id: 'other' })
    const boost = { name: 'b', start: '2020-01-01', multiplier: 2, userId: 'ada' }
    await tenant.create(`/points/${system}/boosts`, boost)
    await cost('words')
    expect(await cost('words')).toEqual([2, 1])
    expect(await cost('words', 'k2')).toEqual([2, 1])
    // A replay writes nothing, so it has no second batch.
    expect(await cost('words', 'k2', 202)).toEqual([1, 0])
    // Multi-tenancy off and the admin key, as in a small deployment.
    const off = newApp({ ...bindings, MULTI_TENANCY: 'off' })
    const headers = { 'x-api-key': ADMIN_KEY }
    await call(off, 'POST', '/admin/v1/metrics', { body: [{ key: 'budget', name: 'B' }], headers })
    const small = () => call(off, 'POST', '/v1/metrics/budget/event', { body: event, headers })
    await small()
    Object.assign(count, { batches: 0 })
    expect((await small()).status).toBe(201)
    expect(count.batches).toBe(2)
  })

  it('200 parallel events of one user are at most 20 write batches', async () => {
    const { tenant } = await setup()
    const key = await tenant.key('ada')
    const { bindings, count } = countedD1()
    const where = tenant.through(newApp(bindings))
    const send = () => where.as(key, 'POST', '/metrics/words/event', { user: { id: 'ada' }, value: 1 })
    await send()
    Object.assign(count, { batches: 0 })
    const responses = await Promise.all(Array.from({ length: 200 }, send))
    expect(responses.filter(({ status }) => status !== 201)).toEqual([])
    expect(count.batches).toBeLessThanOrEqual(40)
    expect(await total(tenant, 'ada')).toBe(201)
  })
})
