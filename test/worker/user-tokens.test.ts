import { env } from 'cloudflare:workers'
import { base64url, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgetTime, HOUR, moveTo, NOON } from '../helpers/worker/boards'
import { faulty } from '../helpers/worker/faulty'
import {
  account,
  at,
  call,
  countedD1,
  newApp,
  newTenant,
  rowsEverywhere,
  type TestTenant,
} from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'
import { iidOf } from '../helpers/worker/stored-users'

const SECRET = env.TOKEN_SECRET ?? ''
const event = (value = 1) => ({ user: { id: 'ada' }, value })
const ERROR = 'The API key is not valid. Check the X-API-KEY header, or create a new key with an admin key.'
const INVALID = { status: 401, body: { error: ERROR } }

async function tokenOf(tenant: TestTenant, more: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await tenant.admin('POST', '/user-tokens', { userId: 'ada', ...more })
  expect([status, body]).toMatchObject([201, {}])
  return String(at(body, 'token'))
}

async function tenantWithAda(): Promise<TestTenant> {
  const tenant = await newTenant()
  await tenant.metric('words')
  await tenant.app('PUT', '/users/ada', { name: 'Ada' })
  await tenant.app('PUT', '/users/bob', {})
  return tenant
}

const decoded = (token: string, part: 0 | 1): Record<string, unknown> =>
  Object(JSON.parse(new TextDecoder().decode(base64url.decode(token.split('.')[part] ?? ''))))

let tenant: TestTenant
beforeEach(async () => {
  tenant = await tenantWithAda()
})
afterEach(forgetTime)

describe('[K6] POST /admin/v1/user-tokens', () => {
  it('[K6] makes a signed token for an hour, and stores nothing', async () => {
    await moveTo(NOON)
    const before = await tenant.stored()
    const kv = await env.KEYS.list()
    const { status, body } = await tenant.admin('POST', '/user-tokens', { userId: 'ada' })
    const expires = new Date(NOON + HOUR).toISOString()
    expect([status, body]).toEqual([201, { token: expect.any(String), expires }])
    const token = String(at(body, 'token'))
    const iid = await iidOf(tenant)
    expect(decoded(token, 0)).toEqual({ alg: 'HS256', typ: 'JWT', kid: expect.any(String) })
    expect(decoded(token, 1)).toEqual({
      ...{ aud: 'laurel:user', tenant: tenant.id, sub: 'ada', iid, scope: 'write' },
      ...{ iat: NOON / 1000, exp: (NOON + HOUR) / 1000 },
    })
    expect(await tenant.stored()).toEqual(before)
    expect(await env.KEYS.list()).toEqual(kv)
  })

  it('[K6] refuses wrong fields, and an unknown user', async () => {
    const ask = (body: unknown) => tenant.admin('POST', '/user-tokens', body)
    for (const [wrong, message] of [
      [{ ttl: 59 }, 'ttl: must be 60 or more.'],
      [{ ttl: 86_401 }, 'ttl: must be 86400 or less.'],
      [{ ttl: 60.5 }, 'ttl: must be a whole number.'],
      [{ ttl: '60' }, 'ttl: must be a number.'],
      [{ scope: 'admin' }, 'scope: must be one of write, read.'],
      [{ scope: 'x', ttl: 1 }, 'scope: must be one of write, read; ttl: must be 60 or more.'],
      [{ userId: undefined }, 'userId: must be a string, and is missing.'],
      [{ userId: 'a\n' }, 'userId: must have no control characters'],
    ] as const) {
      const { status, body } = await ask({ userId: 'ada', ...wrong })
      expect([status, at(body, 'error')]).toEqual([422, expect.stringContaining(message)])
    }
    for (const body of [[{ userId: 'ada' }], 'ada', null]) expect((await ask(body)).status).toBe(422)
    const error = 'No user has the id "nobody". Check it, or create the user first.'
    expect(await ask({ userId: 'nobody', ttl: 1 })).toMatchObject({ status: 404, body: { error } })
    for (const ttl of [null, 86_400])
      expect((await ask({ userId: 'ada', ttl, scope: null })).status).toBe(201)
  })
})

describe('[K6] a token counts as an application key', () => {
  it('[K3] it does everything for its own user, and nothing for others', async () => {
    const token = await tokenOf(tenant)
    const sent = await tenant.as(token, 'POST', '/metrics/words/event', event())
    expect(sent).toMatchObject({ status: 201, body: { total: 1 } })
    expect((await tenant.as(token, 'PUT', '/users/ada', { name: 'A' })).status).toBe(200)
    expect((await tenant.as(token, 'GET', '/users/ada/streak')).status).toBe(200)
    expect((await tenant.as(token, 'GET', '/achievements')).status).toBe(200)
    for (const [method, path, body] of [
      ['GET', '/users/bob', undefined],
      ['PUT', '/users/bob', {}],
      ['POST', '/users', { id: 'bob' }],
      ['POST', '/metrics/words/event', { user: { id: 'bob' }, value: 1 }],
      ['GET', '/streaks?userIds=bob', undefined],
    ] as const)
      expect([path, (await tenant.as(token, method, path, body)).status]).toEqual([path, 403])
    const headers = { 'x-api-key': token }
    expect((await call(tenant.send, 'GET', '/admin/v1/metrics', { headers })).status).toBe(403)
  })

  it('[G2] all tokens of a user of a tenant share one rate limit, and forged ones count for their address', async () => {
    const asked: string[] = []
    const limiter: RateLimit = {
      limit: async ({ key }) => {
        asked.push(key)
        return { success: false }
      },
    }
    const other = await tenantWithAda()
    const limits = { APPLICATION_LIMIT: limiter, ADDRESS_LIMIT: limiter, ADMIN_LIMIT: limiter }
    const send = newApp({ RATE_LIMITS: 'on', ...limits })
    const tokens = [
      await tokenOf(tenant),
      await tokenOf(tenant, { ttl: 60, scope: 'read' }),
      await tokenOf(tenant, { userId: 'bob' }),
      await tokenOf(other),
    ]
    for (const key of [...tokens, `${tokens[0]}x`]) {
      const headers = { 'x-api-key': key, 'cf-connecting-ip': '192.0.2.9' }
      expect((await call(send, 'GET', '/v1/achievements', { headers })).status).toBe(429)
    }
    const [ada, again, bob, otherAda, forged] = asked
    expect(ada).toBe(again)
    expect(new Set([ada, bob, otherAda]).size).toBe(3)
    expect(forged).toBe('192.0.2.9')
  })

  it('[K6] it costs what an application key costs: two round trips, and no row more', async () => {
    const key = await tenant.key('ada')
    const token = await tokenOf(tenant)
    const costOf = async (by: string) => {
      const { DB, seen } = faulty(({ run }) => run())
      const where = tenant.through(newApp({ DB }))
      for (let warm = 0; warm < 2; warm += 1) await where.as(by, 'POST', '/metrics/words/event', event())
      const before = { ...seen }
      forgetLines()
      expect((await where.as(by, 'POST', '/metrics/words/event', event())).status).toBe(201)
      const [line] = linesSoFar().filter((text) => text.includes('/v1/metrics/:key/event'))
      return {
        roundTrips: at(JSON.parse(line ?? ''), 'd1', 'roundTrips'),
        read: seen.rowsRead - before.rowsRead,
        written: seen.rowsWritten - before.rowsWritten,
      }
    }
    const usual = await costOf(key)
    expect(usual.roundTrips).toBe(2)
    expect(await costOf(token)).toEqual(usual)
  })

  it('[K6] it is also accepted if it was signed with the previous secret, but not with an older one', async () => {
    const token = await tokenOf(tenant)
    const TOKEN_SECRET = 'x'.repeat(32)
    const rotated = tenant.through(newApp({ TOKEN_SECRET, TOKEN_SECRET_PREVIOUS: SECRET }))
    expect((await rotated.as(token, 'GET', '/users/ada')).status).toBe(200)
    const later = tenant.through(newApp({ TOKEN_SECRET }))
    expect(await later.as(token, 'GET', '/users/ada')).toMatchObject(INVALID)
  })

  it('[K6] one read confirms the tokens and keys of events that are stored together', async () => {
    const key = await tenant.key('bob')
    const tokens = [await tokenOf(tenant), await tokenOf(tenant, { userId: 'bob' })]
    const gone = await tokenOf(tenant, { userId: 'bob' })
    await tenant.admin('DELETE', '/users/bob')
    await tenant.app('PUT', '/users/bob', {})
    const mine = await tokenOf(tenant, { userId: 'bob' })
    const all = [...tokens, gone, mine, key]
    const where = tenant.through(newApp())
    const sent = await Promise.all(
      all.map((one, n) =>
        where.as(one, 'POST', '/metrics/words/event', { user: { id: n === 0 ? 'ada' : 'bob' }, value: 1 }),
      ),
    )
    expect(sent.map(({ status }) => status)).toEqual([201, 401, 401, 201, 401])
  })
})

describe('[K6] the end of a token', () => {
  it('[K6, C1] it ends by the test clock, in every isolate', async () => {
    await moveTo(NOON)
    const token = await tokenOf(tenant, { ttl: 60 })
    const warm = tenant.through(newApp())
    await moveTo(NOON + 59_999)
    for (const where of [tenant, warm]) {
      expect((await where.as(token, 'GET', '/users/ada')).status).toBe(200)
      expect((await where.as(token, 'POST', '/metrics/words/event', event())).status).toBe(201)
    }
    await moveTo(NOON + 60_000)
    for (const where of [tenant, warm, tenant.through(newApp())])
      for (const [method, path, body] of [
        ['GET', '/users/ada', undefined],
        ['GET', '/points/none', undefined],
        ['PUT', '/users/ada', {}],
        ['POST', '/metrics/words/event', event()],
        ['POST', '/metrics/words/event', { ...event(), value: 'x' }],
        ['POST', '/metrics/none/event', event()],
        ['DELETE', '/users/ada', undefined],
      ] as const)
        expect(await where.as(token, method, path, body), `${method} ${path}`).toMatchObject(INVALID)
    expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 2 })
  })

  it('[K6, U8] it ends with its user, and a user of the same id who comes later is another one', async () => {
    const token = await tokenOf(tenant)
    const warm = tenant.through(newApp())
    expect((await warm.as(token, 'POST', '/metrics/words/event', event())).status).toBe(201)
    expect((await tenant.admin('DELETE', '/users/ada')).status).toBe(200)
    const isRefused = async () => {
      for (const where of [tenant, warm, tenant.through(newApp())]) {
        expect(await where.as(token, 'POST', '/metrics/words/event', event())).toMatchObject(INVALID)
        expect(await where.as(token, 'PUT', '/users/ada', {})).toMatchObject(INVALID)
        expect(await where.as(token, 'GET', '/users/ada')).toMatchObject(INVALID)
        expect(await where.as(token, 'GET', '/achievements')).toMatchObject(INVALID)
      }
    }
    await isRefused()
    expect((await tenant.app('GET', '/users/ada')).status).toBe(404)
    await tenant.app('PUT', '/users/ada', {})
    await isRefused()
    const next = await tokenOf(tenant)
    expect((await warm.as(next, 'POST', '/metrics/words/event', event())).body).toMatchObject({ total: 1 })
  })
})

describe('[K6, T2] tokens and tenants', () => {
  it('[K6, T2] a token is for its own tenant only', async () => {
    const other = await tenantWithAda()
    const token = await tokenOf(tenant)
    const inOther = { 'tenant-id': other.id }
    for (const [method, path, body] of [
      ['GET', '/users/ada', undefined],
      ['PUT', '/users/ada', { name: 'X' }],
      ['POST', '/metrics/words/event', event()],
    ] as const) {
      for (const name of [other.id, 'no-such'])
        expect((await tenant.as(token, method, path, body, { 'tenant-id': name })).status).toBe(403)
      for (const name of [tenant.id, `customer-${tenant.id}`])
        expect((await tenant.as(token, method, path, body, { 'tenant-id': name })).status).toBeLessThan(300)
    }
    expect((await other.app('GET', '/users/ada')).body).toMatchObject({ name: 'Ada' })
    expect((await other.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 0 })
    await tenant.admin('DELETE', '/users/ada')
    expect((await tenant.as(token, 'GET', '/users/ada', undefined, inOther)).status).toBe(401)
  })

  it('[K6, U8] a token ends with its tenant', async () => {
    const token = await tokenOf(tenant)
    const warm = tenant.through(newApp())
    expect((await warm.as(token, 'GET', '/users/ada')).status).toBe(200)
    expect((await account('DELETE', `/tenants?ids=${tenant.id}`)).status).toBe(200)
    for (const where of [tenant, warm]) {
      expect((await where.as(token, 'GET', '/users/ada')).status).toBe(404)
      expect((await where.as(token, 'POST', '/metrics/words/event', event())).status).toBe(404)
    }
    for (const table of ['users WHERE tenant_id', 'directory WHERE tenant_id', 'tenants WHERE id'])
      await rowsEverywhere(`DELETE FROM ${table} = ?1`, tenant.id)
    for (const where of [tenant, warm, tenant.through(newApp())]) {
      expect(await where.as(token, 'GET', '/users/ada')).toMatchObject(INVALID)
      expect(await where.as(token, 'POST', '/metrics/words/event', event())).toMatchObject(INVALID)
    }
  })
})

describe('[K6] anything else', () => {
  /** Tokens with a fault, by its name. The unit tests have those that do not open. */
  async function wrong(): Promise<Record<string, string>> {
    const other = await tenantWithAda()
    const token = await tokenOf(tenant)
    const [header, payload] = [decoded(token, 0), decoded(token, 1)]
    const sign = (claims: object, secret = SECRET) =>
      new SignJWT({ ...payload, ...claims })
        .setProtectedHeader({ alg: 'HS256', ...header })
        .sign(new TextEncoder().encode(secret))
    return {
      expired: await sign({ exp: 1 }),
      'an end that is infinite': await sign({ exp: 1e300 }),
      'an end before all time': await sign({ exp: -1e300 }),
      'the scope admin': await sign({ scope: 'admin' }),
      'the internal id of another user': await sign({ sub: 'bob' }),
      'no such user': await sign({ sub: 'nobody', iid: 'nobody' }),
      'a user of another tenant': await sign({ tenant: other.id }),
    }
  }

  it('[K6] is 401 like an unknown key, on every kind of path, and says nothing about the reason', async () => {
    for (const [name, key] of Object.entries(await wrong())) {
      for (const [method, path, body] of [
        ['GET', '/users/ada', undefined],
        ['GET', '/achievements', undefined],
        ['PUT', '/users/ada', {}],
        ['POST', '/metrics/words/event', event()],
        ['POST', '/metrics/none/event', { value: 'x' }],
        ['DELETE', '/users/ada', undefined],
      ] as const)
        expect([name, path, await tenant.as(key, method, path, body)]).toMatchObject([name, path, INVALID])
      const headers = { 'x-api-key': key, 'tenant-id': tenant.id }
      expect(await call(tenant.send, 'GET', '/admin/v1/users', { headers }), name).toMatchObject(INVALID)
    }
    expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 0 })
  })

  it('[K6] a token with a wrong signature costs no read', async () => {
    const token = await tokenOf(tenant)
    const { DB, count } = countedD1()
    const where = tenant.through(newApp({ DB }))
    const forged = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BA' : 'AA'}`
    expect(await where.as(forged, 'GET', '/users/ada')).toMatchObject(INVALID)
    expect(await where.as(forged, 'POST', '/metrics/words/event', event())).toMatchObject(INVALID)
    // The migration of the tables is read once in each isolate.
    expect(count.batches).toBeLessThanOrEqual(1)
  })
})
