import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import type { OperationSpec } from '../../src/api/endpoint'
import { adminOperations, applicationOperations } from '../../src/worker/operations'
import { inTurn } from '../helpers/runs'
import { basesOf } from '../helpers/walk'
import { type Call, losing, only } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  account,
  at,
  call,
  countedD1,
  everything,
  list,
  NOBODY,
  newApp,
  newTenant,
  newTenantWith,
  pick,
  type TestTenant,
  toApp,
  untilHeld,
} from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Every path under which an operation is served. The ids in it need not exist. */
function routesOf(spec: OperationSpec, user = 'nobody'): string[] {
  return basesOf(spec).map((base) =>
    (base + spec.path)
      .replaceAll('{systemId}', NOBODY)
      .replaceAll('{id}', spec.surface === 'admin' ? NOBODY : user)
      .replaceAll('{key}', 'nothing'),
  )
}

const everyRoute = (operations: readonly OperationSpec[]) =>
  operations.flatMap((spec) =>
    routesOf(spec).map((path) => ({ spec, path, method: spec.method.toUpperCase() })),
  )
const APPLICATION = everyRoute(applicationOperations)
const ADMIN = everyRoute(adminOperations)

const asKey = (tenant: TestTenant, text: string) =>
  call(tenant.send, 'GET', '/admin/v1/metrics', { headers: { 'x-api-key': text, 'tenant-id': tenant.id } })

/** The same key with another last letter. */
const tampered = (key: string) => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A')

const kvDown = () =>
  new Proxy(env.KEYS, {
    get: () => async () => {
      throw new Error('KV is unreachable')
    },
  })

let shared: TestTenant
let key: string
beforeAll(async () => {
  shared = await newTenant()
  await shared.metric('words')
  key = await shared.key('ada')
})

describe('the walk over every route', () => {
  it('[G2] 401 without a key, and with a malformed, an unknown or a changed one', async () => {
    const [prefix = '', body = ''] = key.split('.')
    const wrong = {
      'without a dot': 'nonsense',
      'without a body': `${prefix}.`,
      'without a prefix': `.${body}`,
      unknown: `app_AAAAAAAAAAAA.${body}`,
      'with another last letter': tampered(key),
      'with extra text at the end': `${key}.`,
      'with the prefix in the wrong case': `${prefix.toUpperCase()}.${body}`,
      'too long': `${prefix}.${body.repeat(10)}`,
      'the admin key with another end': tampered(ADMIN_KEY),
    }
    for (const [nth, { method, path }] of [...APPLICATION, ...ADMIN].entries()) {
      for (const [what, text] of [['none', undefined] as const, ...inTurn(2, Object.entries(wrong), nth)]) {
        const headers = text === undefined ? {} : { 'x-api-key': text }
        const answer = await call(toApp, method, path, { headers })
        expect(answer.status, `${method} ${path} with a key ${what}`).toBe(401)
        expect(Object.keys(Object(answer.body))).toEqual(['error'])
      }
    }
  })

  it('[G2] a key that is sent twice counts once, and 401 if the two differ', async () => {
    const status = async (one: string, two: string) => {
      const headers = new Headers([
        ['x-api-key', one],
        ['x-api-key', two],
      ])
      return (await toApp(new Request('http://laurel.test/v1/points', { headers }))).status
    }
    expect(await status(key, key)).toBe(200)
    expect(await status(key, tampered(key))).toBe(401)
    expect(await status(key, ADMIN_KEY)).toBe(401)
  })

  it('[G2] 403 for an application key on every admin route, before 413, 400, 404 and 422', async () => {
    for (const { method, path, spec } of ADMIN) {
      const bodies = spec.body ? [{}, { raw: 'no JSON' }, { raw: ' '.repeat(1_048_577) }] : [{}]
      for (const one of bodies) {
        const answer = await call(toApp, method, path, { ...one, headers: { 'x-api-key': key } })
        expect(`${method} ${path} ${answer.status}`).toBe(`${method} ${path} 403`)
      }
    }
  })

  it('[K3] 403 for an application key on another user, in every path that names one, and not on its own', async () => {
    const about = applicationOperations.filter(({ path }) => path.startsWith('/users/{id}'))
    expect(about.length).toBeGreaterThan(8)
    for (const [user, statuses] of Object.entries({ nobody: [403], ada: [404, 422] })) {
      for (const spec of about) {
        for (const path of routesOf(spec, user)) {
          const body = spec.body && { body: { tz: 'nowhere' } }
          const headers = { 'x-api-key': key }
          const { status } = await call(toApp, spec.method.toUpperCase(), path, { ...body, headers })
          expect(statuses, `${spec.method} ${path}`).toContain(status)
        }
      }
    }
  })
})

describe('[G2] the order of API errors', () => {
  const big = 'x'.repeat(1_048_577)
  const broken = '{'
  const event = (id: string) => JSON.stringify({ user: { id }, value: 1 })
  const own = () => ({ 'x-api-key': key })
  const wrongKey = () => ({ 'x-api-key': tampered(key) })
  const admin = (tenant?: string) => () => ({
    'x-api-key': ADMIN_KEY,
    ...(tenant && { 'tenant-id': tenant }),
  })
  const inShared = () => ({ 'x-api-key': ADMIN_KEY, 'tenant-id': shared.id })
  const EVENTS = ['POST /v1/metrics/none/event', 'POST /api/metrics/none/event']
  const CREATES = [...EVENTS, 'POST /v1/users']
  const WRITES = [...CREATES, 'POST /admin/v1/metrics']
  const OF_WORDS = ['POST /v1/metrics/words/event', 'POST /api/metrics/words/event']
  const WRONG_BOB = '{"id":"bob","tz":1,"user":{"id":"bob"},"value":"x"}'
  const OF_BOB = [...CREATES, 'PUT /v1/users/bob', 'PUT /api/users/bob', 'PATCH /v1/users/bob']
  const SEEN = ['/users/nobody/points/xp?awards=x', '/users/nobody/metrics/words/event-summary']
  const READS = [...SEEN, '/points/none/summary?userAttributes=x'].map((path) => `GET /v1${path}`)
  const nested = (method: string, query = '') =>
    ['levels', 'triggers', 'boosts'].map((part) => `${method} /admin/v1/points/${NOBODY}/${part}${query}`)

  it.each([
    ['401 before 413, 400 and 422', 401, wrongKey, WRITES, [big, 'no JSON', '{}']],
    ['422 without a tenant before 413 and 400', 422, admin(), WRITES, [big, broken, '{}']],
    ['404 of the tenant before 413 and 400', 404, admin('nobody'), WRITES, [big, broken, '{}']],
    ['413 before 400, 403 and 404', 413, own, OF_BOB, [big]],
    ['400 before 403 of another user and 404', 400, own, OF_BOB, [broken]],
    ['400 before 404 of a points system', 400, inShared, nested('POST'), [broken]],
    ['403 of another user before 404', 403, own, [...EVENTS, 'PATCH /v1/users/bob'], [event('bob')]],
    ['403 of another user before 404', 403, own, ['GET /v1/users/bob/metrics/none'], [undefined]],
    ['403 of another user before 422', 403, own, [...OF_WORDS, 'POST /v1/users'], [WRONG_BOB]],
    ['404 of the metric before 422', 404, inShared, EVENTS, ['{}', event('ada').replace('1', '"x"')]],
    ['404 of the user before 422', 404, inShared, ['PATCH /v1/users/nobody'], ['{"tz":1,"email":"x"}']],
    ['404 of what a read is about before 422', 404, inShared, READS, [undefined]],
    ['404 of a points system before 422', 404, inShared, [...nested('POST'), ...nested('PATCH')], ['[]']],
    ['404 of a points system before 422', 404, inShared, nested('GET', '?limit=x'), [undefined]],
    ['404 of a points system before 422', 404, inShared, nested('DELETE'), [undefined]],
  ] as const)('%s', async (_order, expected, headers, requests, bodies) => {
    for (const request of requests) {
      const [method = '', path = ''] = request.split(' ')
      for (const raw of bodies) {
        const answer = await call(toApp, method, path, { headers: headers(), ...(raw && { raw }) })
        expect([request, raw?.slice(0, 20), answer.status]).toEqual([request, raw?.slice(0, 20), expected])
        if (expected === 422) expect(at(answer.body, 'error')).toContain('Tenant-ID')
      }
    }
  })
})

describe('headers of every response', () => {
  const EXPOSED = 'X-Request-Id,Date,Retry-After,Link,Allow,X-Laurel-Warning,X-Laurel-Ignored'

  it('[G8] preflights on application routes allow the requested headers, without a key, for any origin', async () => {
    const asked = [
      ...['x-api-key', 'tenant-id', 'idempotency-key', 'content-type'],
      // The npm client sends these.
      ...['x-fern-language', 'x-fern-runtime', 'x-fern-runtime-version', 'x-trace'],
    ]
    for (const { path, method } of APPLICATION) {
      const { status, headers } = await call(toApp, 'OPTIONS', path, {
        headers: {
          origin: 'https://example.com',
          'access-control-request-method': method,
          'access-control-request-headers': asked.join(', '),
        },
      })
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-allow-methods')?.split(/, ?/)).toContain(method)
      expect(headers.get('access-control-allow-headers')?.toLowerCase().split(/, ?/)).toEqual(asked)
      expect(headers.has('access-control-allow-credentials')).toBe(false)
    }
  })

  it('[G8] application responses and errors allow any origin, and admin responses have no CORS header', async () => {
    const origin = { origin: 'https://example.com' }
    for (const { path, method } of APPLICATION) {
      const { headers } = await call(toApp, method, path, { headers: origin })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-expose-headers')).toBe(EXPOSED)
    }
    const cors = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control'))
    for (const { path, method } of ADMIN) {
      for (const verb of [method, 'OPTIONS']) {
        const preflight = { headers: { ...origin, 'access-control-request-method': method } }
        expect(cors((await call(toApp, verb, path, preflight)).headers)).toEqual([])
      }
    }
    expect(cors((await shared.admin('GET', '/metrics')).headers)).toEqual([])
    for (const path of ['/%61dmin/v1/metrics', '/v1/../admin/v1/metrics', '/admin/v1/nowhere', '/docs'])
      expect(cors((await call(toApp, 'OPTIONS', path, { headers: origin })).headers), path).toEqual([])
    const asKey = { headers: { 'x-api-key': key, ...origin } }
    const statuses = { '/v1/users/ada/metrics/none': 404, '/v1/nowhere': 404, '/v1/users/bob': 403 }
    for (const [path, status] of Object.entries(statuses)) {
      const answer = await call(toApp, 'GET', path, asKey)
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, '*'])
    }
  })

  it('[G8] pages of any origin can also read a 413, a 429 and a 500', async () => {
    const refusing: RateLimit = { limit: async () => ({ success: false }) }
    // A fault of Laurel: results are missing. An error of D1 would be a 503.
    const DB = new Proxy(env.DB, {
      get: (target, name) => (name === 'prepare' ? target.prepare.bind(target) : async () => []),
    })
    const headers = { 'x-api-key': key, 'content-type': 'application/json', origin: 'https://example.com' }
    const put = { method: 'PUT', headers, body: ' '.repeat(1_048_577) }
    const limited = newApp({ RATE_LIMITS: 'on', APPLICATION_LIMIT: refusing })
    for (const base of ['/v1', '/api']) {
      const url = `http://laurel.test${base}/users/ada`
      for (const [status, send] of Object.entries({ 413: toApp, 429: limited, 500: newApp({ DB }) })) {
        const response = await send(new Request(url, send === toApp ? put : { headers }))
        expect(response.status, url).toBe(Number(status))
        expect(response.headers.get('access-control-allow-origin')).toBe('*')
        expect(response.headers.get('access-control-expose-headers')).toBe(EXPOSED)
      }
    }
  })

  // test/helpers/conformance.ts checks X-Request-Id and the form of the error in each answer.
  it('[G2] 404 with an own X-Request-Id on unknown paths, on both interfaces and outside them', async () => {
    const seen = new Set<string | null>()
    const paths = [
      ...['/nowhere', '/v1', '/v1/', '/v1/nowhere', '/v1/users/', '/admin', '/admin/v1/nowhere', '/api/x'],
      ...['/v1/users/ada/', '//v1/users', '/v1//users/ada', '/v1/users//points/xp'],
      '/v1/users/ada//points/xp',
      // Only the value of a parameter may be percent-encoded.
      ...['/%76%31/users/ada', '/v1/%75sers/ada', '/%61pi/users/ada', '/v1/users/ada%2Fpoints/xp'],
      ...['/v1/users/ada/point%73/xp', '/v1%2Fusers/ada', '/v1/openapi%2Ejson', '/%61dmin/v1/metrics'],
      ...['/admin%2Fv1/metrics', '/admin/v1/metric%73', '/%68ealth', '/d%6Fcs'],
    ]
    for (const path of paths) {
      for (const headers of [{}, { 'x-api-key': ADMIN_KEY, 'tenant-id': shared.id }]) {
        const answer = await call(toApp, 'GET', path, { headers })
        expect([path, answer.status]).toEqual([path, 404])
        seen.add(answer.headers.get('x-request-id'))
      }
    }
    expect(seen.size).toBe(paths.length * 2)
  })

  // test/worker/security.test.ts has the spellings of the host and of paths.
  it('[G1] on ADMIN_HOST, /v1 is the admin interface, without CORS; on others it is not', async () => {
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': shared.id, origin: 'https://example.com' }
    const own = newApp({ ADMIN_HOST: 'laurel.test' })
    const eve = await shared.key('eve')
    expect((await shared.as(eve, 'PUT', '/users/eve', {})).status).toBe(200)
    const list = await call(own, 'GET', '/v1/metrics', { headers })
    expect([list.status, at(list.body, 0, 'key')]).toEqual([200, 'words'])
    expect([...list.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect((await call(own, 'GET', '/health')).status).toBe(200)
    expect(at((await call(own, 'GET', '/v1/openapi.json')).body, 'servers', 0, 'url')).toBe('/admin/v1')
    // The operation of the application interface does not exist there. On the admin interface the path has
    // another method, so a user's key is 403 there, and an admin key 405 (O5).
    const users = await own(new Request('http://laurel.test/v1/users/ada', { headers: { 'x-api-key': key } }))
    expect(users.status).toBe(403)
    expect((await call(own, 'GET', '/v1/users/ada', { headers })).status).toBe(405)
    // At /api it exists, with CORS: only /v1 has another meaning on this host.
    const asEve = { 'x-api-key': eve, origin: 'https://example.com' }
    const older = await call(own, 'GET', '/api/users/eve', { headers: asEve })
    expect([older.status, at(older.body, 'id')]).toEqual([200, 'eve'])
    expect(older.headers.get('access-control-allow-origin')).toBe('*')
    expect((await call(own, 'GET', '/api/metrics', { headers })).status).toBe(404)
    const { body: served } = await call(own, 'GET', '/api/openapi.json')
    expect(pick(at(served, 'servers'), 'url')).toEqual(['/v1', '/api'])
    const typed = newApp({ ADMIN_HOST: 'Admin.Laurel.test' })
    expect((await typed(new Request('https://ADMIN.laurel.test/v1/metrics', { headers }))).status).toBe(200)
  })
})

describe('application keys', () => {
  it('[K1] a key is {prefix}.{body}, of which only a hash is stored, anywhere', async () => {
    const tenant = await newTenant()
    const { status, body, headers } = await tenant.admin('POST', '/application-api-keys', [{ userId: 'ada' }])
    const made = Object(at(body, 'created', 0))
    const { id, prefix } = { id: expect.stringMatching(UUID), prefix: expect.stringMatching(/^app_/) }
    const shown = { id, prefix, userId: 'ada', key: made.key, scope: 'write', expires: null }
    expect([status, body]).toEqual([201, { created: [shown], issues: [] }])
    const [first, secret = '', ...rest] = made.key.split('.')
    expect([first, rest]).toEqual([made.prefix, []])
    expect(secret).toMatch(/^[A-Za-z0-9_-]{22,}$/)
    expect([...headers.values()].join()).not.toContain(secret)

    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret))
    const hash = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
    const rows = JSON.stringify(await everything())
    expect(rows).toContain(hash)
    expect(rows).not.toContain(secret)
    for (const { name } of (await env.KEYS.list()).keys) {
      expect(name + (await env.KEYS.get(name))).not.toContain(secret)
    }
  })

  it('[K1] no two of 100 keys made at once share a prefix, an id or a body', async () => {
    const tenant = await newTenant()
    const items = Array.from({ length: 100 }, (_, n) => ({ userId: `user-${n % 3}` }))
    const { status, body } = await tenant.admin('POST', '/application-api-keys', items)
    expect(status).toBe(201)
    const made = pick(at(body, 'created'), 'key').map(String)
    expect(made).toHaveLength(100)
    expect(new Set(made.flatMap((one) => one.split('.'))).size).toBe(200)
    expect((await tenant.as(made[99] ?? '', 'PUT', '/users/user-0', {})).status).toBe(200)
  })

  it('[K2] a new key works in the very next request, here and in another isolate; for a user who does not exist yet', async () => {
    const tenant = await newTenantWith('words')
    const other = newApp()
    const event = { user: { id: 'new' }, value: 1 }
    // An earlier request with the then unknown prefix must not hide the key later.
    await call(other, 'GET', '/v1/users/new', { headers: { 'x-api-key': 'app_AAAAAAAAAAAA.x' } })
    const own = await tenant.key('new')
    const first = await tenant.through(other).as(own, 'POST', '/metrics/words/event', event)
    expect(first.body).toMatchObject({ total: 1 })
    expect((await tenant.as(own, 'POST', '/metrics/words/event', event)).body).toMatchObject({ total: 2 })
    const third = await tenant.key('new')
    expect((await tenant.through(newApp()).as(third, 'GET', '/users/new')).status).toBe(200)
  })

  it('[K2, G2] a deleted key is refused at once, before an unknown tenant, also if an isolate has cached it and KV still has it', async () => {
    const tenant = await newTenantWith('words')
    await tenant.app('PUT', '/users/ada', {})
    const { id, key: own, prefix } = await tenant.made('/application-api-keys', { userId: 'ada' })
    const remembering = tenant.through(newApp())
    expect((await remembering.as(own, 'GET', '/users/ada')).status).toBe(200)
    const { keys } = await env.KEYS.list()
    const [name = '', ...more] = keys.map(({ name }) => name).filter((name) => name.includes(prefix))
    expect(more).toEqual([])
    const held = (await env.KEYS.get(name)) ?? ''

    const deleted = await tenant.admin('DELETE', `/application-api-keys?ids=${id}`)
    expect(deleted).toMatchObject({ status: 200, body: { deleted: [{ id }], issues: [] } })
    await env.KEYS.put(name, held)
    const event = { user: { id: 'ada' }, value: 1 }
    for (const where of [remembering, tenant, tenant.through(newApp())]) {
      expect((await where.as(own, 'GET', '/users/ada')).status).toBe(401)
      expect((await where.as(own, 'PUT', '/users/ada', { name: 'X' })).status).toBe(401)
      expect((await where.as(own, 'GET', '/points/none')).status).toBe(401)
      const elsewhere = { 'tenant-id': 'nobody' }
      expect((await where.as(own, 'GET', '/users/ada', undefined, elsewhere)).status).toBe(401)
      expect((await where.as(own, 'POST', '/metrics/words/event', event, elsewhere)).status).toBe(401)
      for (const body of [event, { ...event, value: 'x' }, { ...event, user: { id: 'bob' } }]) {
        expect((await where.as(own, 'POST', '/metrics/words/event', body)).status).toBe(401)
        expect((await where.as(own, 'POST', '/metrics/none/event', body)).status).toBe(401)
      }
      for (const raw of ['{', 'x'.repeat(1_048_577)]) {
        const asked = { raw, headers: { 'x-api-key': own } }
        expect((await call(where.send, 'POST', '/v1/metrics/words/event', asked)).status).toBe(401)
      }
    }
    expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 0 })
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({ name: null })
  })

  it('[K2] an unreachable KV, or an invalid record in it, only costs a round trip', async () => {
    const tenant = await newTenantWith('words')
    const own = await tenant.key('ada')
    await tenant.as(own, 'PUT', '/users/ada', {})
    const costOf = async (overrides: Parameters<typeof newApp>[0]) => {
      const { DB, count } = countedD1()
      const where = tenant.through(newApp({ ...overrides, DB }))
      expect((await where.as(own, 'GET', '/users/ada')).status).toBe(200)
      return count
    }
    const { batches: usual } = await costOf({})
    expect(await costOf({ KEYS: kvDown() })).toMatchObject({ batches: usual + 1 })
    const name = `key:${own.split('.')[0]}`
    for (const rubbish of ['null', '{}', '[]', '{"hash":1}', 'no JSON']) {
      await env.KEYS.put(name, rubbish)
      const count = await costOf({})
      // Once the record is back in KV, the Worker asks D1 after the response whether the key still exists.
      await untilHeld(() => expect(count.batches).toBe(usual + 2))
    }
    const down = tenant.through(newApp({ KEYS: kvDown() }))
    expect((await down.as(tampered(own), 'GET', '/users/ada')).status).toBe(401)
    const another = await down.key('ada')
    expect((await down.as(another, 'GET', '/users/ada')).status).toBe(200)
    expect((await tenant.as(another, 'GET', '/users/ada')).status).toBe(200)
    const event = { user: { id: 'ada' }, value: 1 }
    expect((await down.as(another, 'POST', '/metrics/words/event', event)).status).toBe(201)
    const listed = await tenant.admin('GET', '/application-api-keys?limit=100')
    const ids = pick(listed.body, 'id').join()
    expect((await down.admin('DELETE', `/application-api-keys?ids=${ids}`)).status).toBe(200)
    expect((await down.as(another, 'GET', '/users/ada')).status).toBe(401)
    expect((await tenant.as(another, 'GET', '/users/ada')).status).toBe(401)
  })

  it('[G7] the list is paged, oldest first, filtered by userId, and never shows a secret', async () => {
    const tenant = await newTenant()
    const users = ['a', 'b', 'a', 'c', 'a', "'; --"]
    const items = users.map((userId) => ({ userId }))
    const made = list(at((await tenant.admin('POST', '/application-api-keys', items)).body, 'created'))
    const listed = async (query: string) =>
      list((await tenant.admin('GET', `/application-api-keys${query}`)).body)
    const all = await listed('')
    expect(all.map((one) => Object.keys(Object(one)).sort())).toEqual(
      Array(6).fill(['created', 'expires', 'id', 'prefix', 'scope', 'userId']),
    )
    expect(pick(all, 'id')).toEqual(pick(made, 'id'))
    const secrets = pick(made, 'key').map((whole) => String(whole).split('.')[1])
    for (const secret of secrets) expect(JSON.stringify(all)).not.toContain(secret)
    expect(pick(await listed('?limit=2&skip=3'), 'userId')).toEqual(['c', 'a'])
    expect(pick(await listed('?userId=a&limit=2&skip=1'), 'userId')).toEqual(['a', 'a'])
    expect(pick(await listed(`?userId=${encodeURIComponent("'; --")}`), 'userId')).toEqual(["'; --"])
    expect(await listed('?userId=nobody')).toEqual([])
    expect(await listed('?skip=6')).toEqual([])
    for (const query of ['?limit=0', '?limit=101', '?skip=-1', '?userId=', '?userId=a&userId=b'])
      expect((await tenant.admin('GET', `/application-api-keys${query}`)).status).toBe(422)
  })

  it('[G7] a deletion names ids that are unknown, of another tenant or of another kind', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    const [first, second] = [
      await one.made('/application-api-keys', { userId: 'a' }),
      await one.made('/application-api-keys', { userId: 'b' }),
    ]
    const theirs = await two.made('/application-api-keys', { userId: 'a' })
    const admin = await one.made('/admin-api-keys', { name: 'kept' })
    const ids = `ids=${first.id},${theirs.id}&ids=${second.id}&ids=${admin.id}&ids=${NOBODY}`
    const issue = (id: string) => expect.objectContaining({ id, severity: 'error' })
    const { status, body } = await one.admin('DELETE', `/application-api-keys?${ids}`)
    const issues = [theirs.id, admin.id, NOBODY].map(issue)
    expect([status, body]).toEqual([200, { deleted: [{ id: first.id }, { id: second.id }], issues }])
    expect((await two.as(theirs.key, 'PUT', '/users/a', {})).status).toBe(200)
    expect((await asKey(one, admin.key)).status).toBe(200)
  })

  it('[G3] a wrong item prevents the creation of all, and is named with all its field errors', async () => {
    const tenant = await newTenant()
    const before = await tenant.stored()
    const wrong = ['', '.', 'x'.repeat(256), 'a\u0000', 5].map((userId) => [{ userId }])
    for (const body of [...wrong, {}, [], null, 'x', [{ userId: 'a' }, {}], Array(101).fill({ userId: 'a' })])
      expect((await tenant.admin('POST', '/application-api-keys', body)).status).toBe(422)
    const items = ['', 'a', 7].map((userId) => ({ userId }))
    const { body } = await tenant.admin('POST', '/application-api-keys', items)
    expect(String(at(body, 'error'))).toMatch(/0\.userId.*2\.userId/)
    expect(await tenant.stored()).toEqual(before)
  })
})

describe('[K4] admin keys', () => {
  it('[K4] a created key is shown once, works at once on both interfaces, and is listed', async () => {
    const tenant = await newTenant()
    const { status, body } = await tenant.admin('POST', '/admin-api-keys', [{ name: 'CI' }, { name: 'Ops' }])
    expect(status).toBe(201)
    const [ci, ops] = [Object(at(body, 'created', 0)), Object(at(body, 'created', 1))]
    expect(Object.keys(ci).sort()).toEqual(['created', 'id', 'key', 'name', 'prefix'])
    expect(ci).toMatchObject({ name: 'CI', prefix: expect.stringMatching(/^adm_/) })
    expect((await asKey(tenant, ci.key)).status).toBe(200)
    expect((await asKey(tenant.through(newApp()), ops.key)).status).toBe(200)
    const headers = { 'x-api-key': ci.key, 'tenant-id': tenant.id }
    expect((await call(toApp, 'PUT', '/v1/users/ada', { body: {}, headers })).status).toBe(200)
    const all = await tenant.admin('GET', '/admin-api-keys?limit=100')
    const own = list(all.body).filter((one) => [ci.id, ops.id].includes(at(one, 'id')))
    expect(own).toEqual([ci, ops].map(({ id, name, prefix, created }) => ({ id, name, prefix, created })))
    for (const { key: whole } of [ci, ops]) {
      const secret = String(whole).split('.')[1] ?? ''
      for (const shown of [all.body, await everything()]) expect(JSON.stringify(shown)).not.toContain(secret)
    }
    expect((await asKey(tenant, tampered(ci.key))).status).toBe(401)
  })

  it('[K4] rotation shows a new key, and the old one is refused in the next request everywhere', async () => {
    const tenant = await newTenant()
    const old = await tenant.made('/admin-api-keys', { name: 'CI' })
    const other = tenant.through(newApp())
    expect((await asKey(other, old.key)).status).toBe(200)
    const rotated = await tenant.admin('POST', `/admin-api-keys/${old.id.toUpperCase()}/rotate`)
    expect(rotated.status).toBe(200)
    expect(rotated.body).toMatchObject({ id: old.id, name: 'CI', created: old.created })
    const next = String(at(rotated.body, 'key'))
    expect(next).not.toBe(old.key)
    expect(next.split('.')[0]).toBe(at(rotated.body, 'prefix'))
    for (const where of [tenant, other, tenant.through(newApp())]) {
      expect((await asKey(where, old.key)).status).toBe(401)
      expect((await asKey(where, next)).status).toBe(200)
      expect((await asKey(where, `${old.prefix}.${next.split('.')[1]}`)).status).toBe(401)
      expect((await asKey(where, `${next.split('.')[0]}.${old.key.split('.')[1]}`)).status).toBe(401)
    }
    expect((await tenant.admin('POST', `/admin-api-keys/${NOBODY}/rotate`)).status).toBe(404)
    const { id } = await tenant.made('/application-api-keys', { userId: 'ada' })
    expect((await tenant.admin('POST', `/admin-api-keys/${id}/rotate`)).status).toBe(404)
  })

  it('[K4] a rotation whose answer from D1 is lost shows the new key, since the old one has ended', async () => {
    const tenant = await newTenant()
    const old = await tenant.made('/admin-api-keys', { name: 'CI' })
    const rotate = ({ texts }: Call) => texts.some((text) => /^update "api_keys"/.test(text))
    for (const isStored of [true, false]) {
      const { bindings } = only(rotate, losing(0, isStored))
      const send = newApp(bindings)
      const path = `/admin-api-keys/${old.id}/rotate`
      const rotated = await account('POST', path, undefined, send)
      expect([isStored, rotated.status]).toEqual([isStored, isStored ? 200 : 503])
      if (!isStored) continue
      expect((await asKey(tenant, old.key)).status).toBe(401)
      old.key = String(at(rotated.body, 'key'))
    }
    expect((await asKey(tenant, old.key)).status).toBe(200)
  })

  it('[K4] a deleted key is refused in the next request; the key of the variable stays', async () => {
    const tenant = await newTenant()
    const made = await tenant.made('/admin-api-keys', { name: 'CI' })
    const other = tenant.through(newApp())
    expect((await asKey(other, made.key)).status).toBe(200)
    const deleted = await tenant.admin('DELETE', `/admin-api-keys?ids=${made.id}`)
    expect(deleted.body).toEqual({ deleted: [{ id: made.id }], issues: [] })
    for (const where of [tenant, other]) expect((await asKey(where, made.key)).status).toBe(401)
    const again = await tenant.admin('DELETE', `/admin-api-keys?ids=${made.id}`)
    expect(again.body).toMatchObject({ deleted: [], issues: [{ id: made.id, severity: 'error' }] })
    expect((await tenant.admin('POST', `/admin-api-keys/${made.id}/rotate`)).status).toBe(404)
    expect((await asKey(tenant, ADMIN_KEY)).status).toBe(200)
    for (const items of [[], [{}], [{ name: '' }], [{ name: null }], [{ name: 'x'.repeat(256) }]]) {
      expect((await tenant.admin('POST', '/admin-api-keys', items)).status).toBe(422)
    }
  })

  it('[K4] the first key is the whole value of the variable, and nothing else', async () => {
    const tenant = await newTenant()
    const whole = 'adm_other.a-key-of-thirty-two-ch'
    const other = tenant.through(newApp({ ADMIN_API_KEY: whole }))
    const wrong = [ADMIN_KEY, 'adm_other', 'adm_other.', whole.slice(0, -1), `${whole}s`, 'undefined', '']
    for (const text of wrong) expect((await asKey(other, text)).status, text).toBe(401)
    expect((await asKey(other, whole)).status).toBe(200)
  })

  it('[K4] a first key of fewer than 32 characters is ignored, and the log says so without the key', async () => {
    const tenant = await newTenant()
    const short = 'adm_other.a-key-of-thirty-one-c'
    forgetLines()
    expect((await asKey(tenant.through(newApp({ ADMIN_API_KEY: short })), short)).status).toBe(401)
    expect(linesSoFar().filter((line) => line.includes('"level":"error"'))).toEqual([
      expect.stringContaining('ADMIN_API_KEY must have at least 32 characters'),
    ])
    expect(linesSoFar().join()).not.toContain(short)
  })
})
