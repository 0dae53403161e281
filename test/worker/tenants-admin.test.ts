import { describe, expect, it } from 'vitest'
import { IMPLICIT_TENANT_ID } from '../../src/access/tenants.sql'
import {
  ADMIN_KEY,
  account,
  at,
  call,
  countedD1,
  databases,
  list,
  NOBODY,
  newApp,
  pick,
  type Send,
  toApp,
  UUID,
} from '../helpers/worker/harness'

const tenants = (method: string, path = '', body?: unknown, send: Send = toApp) =>
  account(method, `/tenants${path}`, body, send)

/** Asks in a tenant with the first admin key. */
const inTenant = (reference: string, method: string, path: string, body?: unknown, send: Send = toApp) =>
  call(send, method, path, { body, headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': reference } })
const WORDS = [{ key: 'words', name: 'Words' }]

const unused = () => `customer-${crypto.randomUUID()}`

async function make(customerId = unused(), name = 'Acme') {
  const { body } = await tenants('POST', '', [{ customerId, name }])
  return { id: String(at(body, 'created', 0, 'id')), customerId }
}

/** All tenants, by pages of 100. */
async function all(): Promise<unknown[]> {
  const found: unknown[] = []
  for (let page: unknown[] = Array(100); page.length === 100; ) {
    page = list((await tenants('GET', `?limit=100&skip=${found.length}`)).body)
    found.push(...page)
  }
  return found
}

/** A new application key of ada. */
async function keyOf(reference: string, send: Send = toApp): Promise<string> {
  const path = '/admin/v1/application-api-keys'
  const { body } = await inTenant(reference, 'POST', path, [{ userId: 'ada' }], send)
  return String(at(body, 'created', 0, 'key'))
}

const metrics = (reference: string, send: Send = toApp) =>
  inTenant(reference, 'GET', '/admin/v1/metrics', undefined, send)

describe('[T2] the management of tenants', () => {
  it('creates, shows, lists and updates', async () => {
    const customerId = unused()
    const unknown = { severity: 'warning', message: 'Unknown field "unknown". It is ignored.' }
    const answer = await tenants('POST', '', [
      { customerId, name: 'Acme' },
      { customerId: unused(), name: 'Beta', unknown: true },
    ])
    expect(answer).toMatchObject({ status: 201, body: { issues: [{ index: 1, ...unknown }] } })
    const first = at(answer.body, 'created', 0)
    expect(first).toEqual({
      ...{ id: UUID, customerId, name: 'Acme', status: 'active' },
      ...{ created: expect.stringMatching(/Z$/), updated: at(first, 'created') },
    })
    const id = String(at(first, 'id'))
    expect((await tenants('GET', `/${id}`)).body).toEqual(first)
    expect((await tenants('GET', `/${id.toUpperCase()}`)).body).toEqual(first)
    const renamed = await tenants('PATCH', '', [{ id, name: 'Acme Ltd', customerId: null }])
    const updated = [{ id, name: 'Acme Ltd', customerId }]
    expect(renamed).toMatchObject({ status: 200, body: { updated, issues: [] } })
    expect((await tenants('GET', `/${id}`)).body).toEqual(at(renamed.body, 'updated', 0))
  })

  it('lists the oldest first, page by page', async () => {
    const made = [await make(), await make(), await make()]
    const ids = pick(await all(), 'id')
    expect(ids.slice(-3)).toEqual(made.map(({ id }) => id))
    const { body } = await tenants('GET', `?limit=2&skip=${ids.length - 3}`)
    expect(pick(body, 'id')).toEqual(ids.slice(-3, -1))
    for (const query of ['limit=0', 'limit=101', 'skip=-1', 'limit=x'])
      expect((await tenants('GET', `?${query}`)).status).toBe(422)
  })

  it('`updated` moves only with a real change', async () => {
    const { id, customerId } = await make()
    const before = (await tenants('GET', `/${id}`)).body
    await tenants('PATCH', '', [{ id, name: 'Acme', customerId }])
    expect((await tenants('GET', `/${id}`)).body).toEqual(before)
  })

  it('[G7] a customerId that is taken is an issue, and the other items are done', async () => {
    const taken = await make()
    const [twice, other] = [unused(), unused()]
    const asked = [taken.customerId, twice, twice, taken.id, taken.id.toUpperCase()]
    const items = asked.map((customerId, n) => ({ customerId, name: `N${n}` }))
    const answer = await tenants('POST', '', items)
    expect(answer.status).toBe(201)
    expect(pick(at(answer.body, 'created'), 'name')).toEqual(['N1'])
    const issue = { severity: 'error', message: expect.stringContaining('already') }
    expect(at(answer.body, 'issues')).toEqual([0, 2, 3, 4].map((index) => ({ index, ...issue })))
    const { id } = await make(other)
    const moved = await tenants('PATCH', '', [
      { id, customerId: taken.customerId, name: 'Not stored' },
      { id: NOBODY, name: 'N' },
      { id, name: 'Stored' },
    ])
    expect(moved.body).toMatchObject({
      updated: [{ id, customerId: other, name: 'Stored' }],
      issues: [id, NOBODY].map((one) => ({ id: one, severity: 'error' })),
    })
    expect((await tenants('POST', '', [{ customerId: other, name: 'A' }])).status).toBe(200)
  })

  it('a body of the wrong shape is 422, names every field error, and stores nothing', async () => {
    const answer = await tenants('POST', '', [
      { customerId: '', name: '' },
      { customerId: 'x'.repeat(256), name: 'x'.repeat(256) },
      { customerId: 'a\nb', name: 3 },
      { customerId: ' padded' },
    ])
    const paths = [0, 1, 2, 3].flatMap((index) => [`${index}.customerId`, `${index}.name`])
    expect([answer.status, pick(at(answer.body, 'issues'), 'path')]).toEqual([422, paths])
    for (const body of [[], {}]) expect((await tenants('POST', '', body)).status).toBe(422)
    expect((await tenants('PATCH', '', [{ id: 'x', name: 'A' }])).status).toBe(422)
    expect((await tenants('DELETE', '')).status).toBe(422)
    for (const id of [NOBODY, 'x']) expect((await tenants('GET', `/${id}`)).status).toBe(404)
  })

  it('needs no Tenant-ID, with the first admin key and with others', async () => {
    const ask = async (headers: Record<string, string>, path = '/tenants') =>
      (await call(toApp, 'GET', `/admin/v1${path}`, { headers })).status
    expect(await ask({ 'x-api-key': ADMIN_KEY, 'tenant-id': 'nobody' })).toBe(200)
    const { body } = await account('POST', '/admin-api-keys', [{ name: 'Other' }])
    const other = { 'x-api-key': String(at(body, 'created', 0, 'key')) }
    for (const path of ['/tenants', '/admin-api-keys', '/test-clock'])
      expect(await ask(other, path)).toBe(200)
  })

  it('a tenant is named by its UUID, in either case, or by its own identifier', async () => {
    const { id, customerId } = await make()
    for (const reference of [id, id.toUpperCase(), customerId])
      expect((await metrics(reference)).status).toBe(200)
    expect((await metrics('nobody')).status).toBe(404)
    expect((await metrics(customerId.toUpperCase())).status).toBe(404)
    await tenants('PATCH', '', [{ id, customerId: unused() }])
    expect((await metrics(customerId)).status).toBe(404)
  })

  it('[T3] a deleted tenant is archived: it allows no access, can still be read, and its identifier is free', async () => {
    const { id, customerId } = await make()
    const key = { 'x-api-key': await keyOf(id) }
    expect((await call(toApp, 'GET', '/v1/achievements', { headers: key })).status).toBe(200)
    expect(await tenants('DELETE', `?ids=${id},${NOBODY}`)).toMatchObject({
      status: 200,
      body: { deleted: [{ id }], issues: [{ id: NOBODY, severity: 'error' }] },
    })
    for (const reference of [id, customerId]) expect((await metrics(reference)).status).toBe(404)
    expect((await call(toApp, 'GET', '/v1/achievements', { headers: key })).status).toBe(404)
    expect((await call(newApp(), 'PUT', '/v1/users/ada', { headers: key, body: {} })).status).toBe(404)
    expect((await tenants('GET', `/${id}`)).body).toMatchObject({ id, customerId, status: 'archived' })
    expect(await tenants('DELETE', `?ids=${id}`)).toMatchObject({
      body: { deleted: [], issues: [{ id, message: expect.stringContaining('archived') }] },
    })
    expect(await tenants('PATCH', '', [{ id, name: 'Again' }])).toMatchObject({
      status: 200,
      body: { updated: [], issues: [{ id, message: expect.stringContaining('archived') }] },
    })
    const heir = await make(customerId)
    expect(heir.id).not.toBe(id)
    expect((await metrics(customerId)).status).toBe(200)
  })

  it('the implicit tenant is listed once it has data, and stays', async () => {
    const find = () => tenants('GET', `/${IMPLICIT_TENANT_ID}`)
    expect((await find()).status).toBe(404)
    for (const name of [IMPLICIT_TENANT_ID, 'default']) expect((await metrics(name)).status).toBe(404)
    const renamed = await tenants('PATCH', '', [{ id: IMPLICIT_TENANT_ID, customerId: unused() }])
    expect(renamed.body).toMatchObject({ updated: [], issues: [{ id: IMPLICIT_TENANT_ID }] })
    const single = newApp({ MULTI_TENANCY: 'off' })
    const created = await account('POST', '/metrics', WORDS, single)
    expect(created.status).toBe(201)
    expect(await find()).toMatchObject({ status: 200, body: { name: 'Default', status: 'active' } })
    expect((await metrics(IMPLICIT_TENANT_ID)).body).toMatchObject([{ key: 'words' }])
    expect(await tenants('DELETE', `?ids=${IMPLICIT_TENANT_ID}`)).toMatchObject({
      body: { deleted: [], issues: [{ id: IMPLICIT_TENANT_ID }] },
    })
    const id = at(created.body, 'created', 0, 'id')
    await account('DELETE', `/metrics?ids=${id}`, undefined, single)
  })

  it('[T1] without multi-tenancy there is nothing to manage, and a Tenant-ID is refused', async () => {
    const single = newApp({ MULTI_TENANCY: 'off' })
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['POST', '', [{ customerId: 'a', name: 'A' }]],
      ['PATCH', '', [{ id: NOBODY }]],
      ['DELETE', `?ids=${NOBODY}`, undefined],
      ['GET', `/${NOBODY}`, undefined],
    ] as const) {
      const error = expect.stringContaining('MULTI_TENANCY')
      expect(await tenants(method, path, body, single)).toMatchObject({ status: 422, body: { error } })
    }
    for (const path of ['/tenants', '/admin-api-keys', '/test-clock', '/metrics'])
      expect((await inTenant('a', 'GET', `/admin/v1${path}`, undefined, single)).status).toBe(422)
  })

  it('parallel creates of one identifier make one tenant', async () => {
    const customerId = unused()
    const create = () => tenants('POST', '', [{ customerId, name: 'A' }])
    const responses = await Promise.all(Array.from({ length: 10 }, create))
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201])
    expect((await all()).filter((tenant) => at(tenant, 'customerId') === customerId)).toHaveLength(1)
  })
})

describe('[T2] the name of a tenant', () => {
  // It counts the round trips of the first database only.
  it.skipIf(databases().length > 1)(
    'costs no round trip if it is cached, and an event costs only two',
    async () => {
      const { id, customerId } = await make()
      const { DB, count } = countedD1()
      const send = newApp({ DB })
      await inTenant(id, 'POST', '/admin/v1/metrics', WORDS)
      const event = (reference: string) =>
        inTenant(reference, 'POST', '/v1/metrics/words/event', { user: { id: 'ada' }, value: 1 }, send)
      for (const reference of [id, customerId]) {
        expect((await event(reference)).status).toBe(201)
        count.batches = 0
        expect((await event(reference)).status).toBe(201)
        expect(count.batches).toBe(2)
      }
      count.batches = 0
      expect((await inTenant(unused(), 'GET', '/v1/achievements', undefined, send)).status).toBe(404)
      expect(count.batches).toBe(2)
    },
  )

  it('is read again if it now means another tenant, also by an app with a cache', async () => {
    const [name, send] = [unused(), newApp()]
    const as = (key = ADMIN_KEY) => ({ headers: { 'x-api-key': key, 'tenant-id': name } })
    const event = (key?: string) =>
      call(send, 'POST', '/v1/metrics/words/event', { ...as(key), body: { user: { id: 'ada' }, value: 1 } })
    const metric = () => inTenant(name, 'POST', '/admin/v1/metrics', WORDS, send)

    const first = await make(name)
    await metric()
    const old = await keyOf(name, send)
    expect(await event(old)).toMatchObject({ status: 201, body: { total: 1 } })
    const renamed = unused()
    await tenants('PATCH', '', [{ id: first.id, customerId: renamed }])
    expect((await event()).status).toBe(404)
    const second = await make(name)
    expect((await metric()).status).toBe(201)
    expect(await event()).toMatchObject({ status: 201, body: { total: 1 } })
    const ofFirst = await inTenant(renamed, 'GET', '/v1/users/ada/metrics/words')
    expect(ofFirst).toMatchObject({ status: 200, body: { current: 1 } })
    expect((await event(old)).status).toBe(403)
    expect((await call(send, 'GET', '/v1/users/ada', as(old))).status).toBe(403)

    await tenants('DELETE', `?ids=${second.id}`)
    expect((await event()).status).toBe(404)
    expect((await metrics(name, send)).status).toBe(404)
    await tenants('PATCH', '', [{ id: first.id, customerId: name }])
    expect(await event()).toMatchObject({ status: 201, body: { total: 2 } })
    expect(await event(old)).toMatchObject({ status: 201, body: { total: 3 } })

    // A Worker whose cache has the name for another tenant than the key's reads again before it refuses.
    const third = await make()
    await tenants('PATCH', '', [{ id: first.id, customerId: unused() }])
    await tenants('PATCH', '', [{ id: third.id, customerId: name }])
    expect((await event(old)).status).toBe(403)
    await tenants('PATCH', '', [{ id: third.id, customerId: unused() }])
    await tenants('PATCH', '', [{ id: first.id, customerId: name }])
    expect(await event(old)).toMatchObject({ status: 201, body: { total: 4 } })
    expect((await metrics(name, send)).body).toHaveLength(1)
  })
})
