import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { ADMIN_KEY, at, call, newApp, newTenant, type TestTenant } from './harness'

const list = (body: unknown): unknown[] => [body].flat()
const pick = (rows: unknown, field: string) => list(rows).map((row) => at(row, field))

/** A metric, a system, an attribute and a user of the same keys and ids in each. */
async function twin(points: number) {
  const tenant = await newTenant()
  const metric = await tenant.metric('words')
  const attribute = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const trigger = { type: 'metric', points, status: 'active', metricId: metric, metricThreshold: 1 }
  const system = await tenant.create('/points', {
    key: 'xp',
    name: 'XP',
    triggers: [trigger],
    levels: [{ key: 'l', name: 'L', points: 1 }],
  })
  return { tenant, metric, attribute, system, trigger }
}

describe('two tenants (T3)', () => {
  it('T3: the same user id, metric key and idempotency key are unrelated', async () => {
    const [one, two] = [await twin(1), await twin(100)]
    const event = (tenant: TestTenant, value: number) =>
      tenant.event('words', { id: 'ada', name: tenant.id }, value, { idempotencyKey: 'same' })
    const [first, second] = [await event(one.tenant, 3), await event(two.tenant, 5)]
    expect(first).toMatchObject({
      status: 201,
      body: { total: 3, metricId: one.metric, points: { xp: { total: 3 } } },
    })
    expect(second).toMatchObject({
      status: 201,
      body: { total: 5, metricId: two.metric, points: { xp: { total: 500 } } },
    })
    expect(await event(one.tenant, 3)).toMatchObject({
      status: 202,
      body: { total: 3, eventId: at(first.body, 'eventId') },
    })
    expect(await event(two.tenant, 3)).toMatchObject({
      status: 202,
      body: { total: 5, eventId: at(second.body, 'eventId') },
    })
    for (const [{ tenant, system }, total] of [
      [one, 3],
      [two, 500],
    ] as const) {
      expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({ name: tenant.id })
      expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({
        id: system,
        total,
        awards: [{ total }],
      })
      const summary = await tenant.app('GET', '/points/xp/summary')
      expect(
        pick(summary.body, 'users')
          .map(Number)
          .reduce((a, b) => a + b, 0),
      ).toBe(1)
      expect(pick((await tenant.app('GET', '/points/xp/level-summary')).body, 'users')).toEqual([1])
    }
  })

  it('T3: 40 parallel events of the same user and key in two tenants, through one app, mix nothing', async () => {
    const [one, two] = [await twin(1), await twin(100)]
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const mine = n % 2 === 0 ? one : two
        return { mine, ...(await mine.tenant.event('words', 'ada', 1, { idempotencyKey: `k${n >> 2}` })) }
      }),
    )
    for (const { tenant, metric } of [one, two]) {
      const own = answers.filter(({ mine }) => mine.tenant === tenant)
      expect(own.filter(({ status }) => status === 201)).toHaveLength(10)
      expect(own.filter(({ status }) => status === 202)).toHaveLength(10)
      expect(new Set(own.map(({ body }) => at(body, 'metricId')))).toEqual(new Set([metric]))
      expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 10 })
    }
  })

  it("T3: an admin call finds, changes and deletes nothing of another tenant's", async () => {
    const [mine, theirs] = [await twin(1), await twin(2)]
    const { tenant } = mine
    const nested = await theirs.tenant.admin('GET', `/points/${theirs.system}/triggers`)
    const trigger = String(at(nested.body, 0, 'id'))
    const boost = await theirs.tenant.create(`/points/${theirs.system}/boosts`, {
      name: 'B',
      start: '2020-01-01',
      multiplier: 2,
    })
    for (const [path, id] of [
      ['/metrics', theirs.metric],
      ['/attributes', theirs.attribute],
      ['/points', theirs.system],
    ] as const) {
      expect((await tenant.admin('GET', `${path}/${id}`)).status).toBe(404)
      expect(pick((await tenant.admin('GET', path)).body, 'id')).not.toContain(id)
      expect((await tenant.admin('PATCH', path, [{ id, name: 'stolen' }])).body).toMatchObject({
        updated: [],
        issues: [{ id }],
      })
      expect((await tenant.admin('DELETE', `${path}?ids=${id}`)).body).toMatchObject({
        deleted: [],
        issues: [{ id }],
      })
      expect((await theirs.tenant.admin('GET', `${path}/${id}`)).body).not.toMatchObject({ name: 'stolen' })
    }
    for (const part of ['triggers', 'levels', 'boosts']) {
      expect((await tenant.admin('GET', `/points/${theirs.system}/${part}`)).status).toBe(404)
      expect((await tenant.admin('DELETE', `/points/${theirs.system}/${part}?ids=${trigger}`)).status).toBe(
        404,
      )
      // By way of the own system it is not found either.
      const gone = await tenant.admin(
        'DELETE',
        `/points/${mine.system}/${part}?ids=${part === 'boosts' ? boost : trigger}`,
      )
      expect(gone.body).toMatchObject({ deleted: [], issues: [{ severity: 'error' }] })
    }
    const foreign = await tenant.admin('POST', `/points/${mine.system}/triggers`, [
      { ...mine.trigger, metricId: theirs.metric },
      { ...mine.trigger, userAttributes: [{ attributeId: theirs.attribute, attributeValue: 'x' }] },
    ])
    expect(foreign).toMatchObject({
      status: 200,
      body: { created: [], issues: [{ index: 0 }, { index: 1 }] },
    })
    await theirs.tenant.app('PUT', '/users/only-theirs', {})
    const own = { name: 'B', start: '2020-01-01', multiplier: 2, userId: 'only-theirs' }
    expect((await tenant.admin('POST', `/points/${mine.system}/boosts`, [own])).body).toMatchObject({
      created: [],
      issues: [{ index: 0 }],
    })
    expect((await tenant.app('GET', '/users/only-theirs')).status).toBe(404)
    expect((await theirs.tenant.event('words', 'ada', 1)).body).toMatchObject({
      points: { xp: { total: 4 } },
    })
  })

  it("T3: settings and an own boost of one tenant's user touch nobody of the same id in another", async () => {
    const [one, two] = [await twin(1), await twin(1)]
    for (const { tenant } of [one, two]) await tenant.app('PUT', '/users/ada', {})
    await one.tenant.admin('PATCH', '/settings', { controlRatio: 100 })
    await one.tenant.create(`/points/${one.system}/boosts`, {
      name: 'B',
      start: '2020-01-01',
      multiplier: 5,
      userId: 'ada',
    })
    expect((await one.tenant.event('words', 'ada', 1)).body).toMatchObject({ points: { xp: { total: 5 } } })
    expect((await two.tenant.event('words', 'ada', 1)).body).toMatchObject({ points: { xp: { total: 1 } } })
    expect((await one.tenant.app('PUT', '/users/new', {})).body).toMatchObject({ control: true })
    expect((await two.tenant.app('PUT', '/users/new', {})).body).toMatchObject({ control: false })
    expect((await two.tenant.admin('GET', '/settings')).body).toMatchObject({ controlRatio: 0 })
  })

  it('T2: an application key belongs to its tenant: the header may be omitted, and another is 403', async () => {
    const [one, two] = [await twin(1), await twin(1)]
    const key = await one.tenant.key('ada')
    const body = { user: { id: 'ada' }, value: 1 }
    const event = (headers: Record<string, string>) =>
      one.tenant.as(key, 'POST', '/metrics/words/event', body, headers)
    expect((await event({})).status).toBe(201)
    expect((await event({ 'tenant-id': one.tenant.id })).status).toBe(201)
    expect((await event({ 'tenant-id': `customer-${one.tenant.id}` })).status).toBe(201)
    expect((await event({ 'tenant-id': two.tenant.id })).status).toBe(403)
    expect(
      (await one.tenant.as(key, 'GET', '/points/xp', undefined, { 'tenant-id': two.tenant.id })).status,
    ).toBe(403)
    expect((await two.tenant.app('GET', '/users/ada')).status).toBe(404)
    expect((await one.tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 3 })
    const listed = await two.tenant.admin('GET', '/application-api-keys')
    expect(listed.body).toEqual([])
  })
})

describe('with multi-tenancy off (T1)', () => {
  const off = newApp({ MULTI_TENANCY: 'off' })
  const headers = { 'x-api-key': ADMIN_KEY }

  it('T1: there is one implicit tenant, and a Tenant-ID header is 422, after 401 and 403', async () => {
    const key = crypto.randomUUID()
    const metric = await call(off, 'POST', '/admin/v1/metrics', { body: [{ key, name: 'N' }], headers })
    expect(metric.status).toBe(201)
    const event = { user: { id: key }, value: 2 }
    for (const path of [`/v1/metrics/${key}/event`, `/api/metrics/${key}/event`]) {
      expect((await call(off, 'POST', path, { body: event, headers })).status).toBe(201)
    }
    expect((await call(off, 'GET', `/v1/users/${key}/metrics/${key}`, { headers })).body).toMatchObject({
      current: 4,
    })
    const made = await call(off, 'POST', '/admin/v1/application-api-keys', {
      body: [{ userId: key }],
      headers,
    })
    const own = { 'x-api-key': String(at(made.body, 'created', 0, 'key')) }
    expect((await call(off, 'GET', `/v1/users/${key}`, { headers: own })).status).toBe(200)
    const implicit = await env.DB.prepare('SELECT tenant_id FROM users WHERE id = ?')
      .bind(key)
      .first('tenant_id')
    for (const id of [String(implicit), 'default', 'anything']) {
      const more = { 'tenant-id': id }
      for (const [path, method, body] of [
        ['/admin/v1/metrics', 'GET', undefined],
        ['/admin/v1/settings', 'PATCH', {}],
        [`/v1/users/${key}`, 'GET', undefined],
        [`/v1/metrics/${key}/event`, 'POST', event],
        ['/v1/metrics/none/event', 'POST', event],
      ] as const) {
        const answer = await call(off, method, path, { body, headers: { ...headers, ...more } })
        expect([path, answer.status, at(answer.body, 'error')]).toEqual([
          path,
          422,
          expect.stringContaining('Tenant-ID'),
        ])
      }
      const event2 = await call(off, 'POST', `/v1/metrics/${key}/event`, {
        body: event,
        headers: { ...own, ...more },
      })
      expect(event2.status).toBe(422)
      expect((await call(off, 'GET', '/admin/v1/metrics', { headers: { ...own, ...more } })).status).toBe(403)
      expect((await call(off, 'GET', '/admin/v1/metrics', { headers: more })).status).toBe(401)
    }
    expect((await call(off, 'GET', `/v1/users/${key}/metrics/${key}`, { headers })).body).toMatchObject({
      current: 4,
    })
  })

  it('T1: the implicit tenant is one of its own: nothing of the others is in it', async () => {
    const { tenant } = await twin(1)
    await tenant.app('PUT', '/users/only-there', {})
    expect((await call(off, 'GET', '/v1/users/only-there', { headers })).status).toBe(404)
    expect((await call(off, 'GET', '/v1/points/xp', { headers })).status).toBe(404)
  })
})
