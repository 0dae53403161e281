import { describe, expect, it } from 'vitest'
import { inTurn } from '../helpers/runs'
import { basesOf, operations } from '../helpers/walk'
import { words } from '../helpers/words'
import {
  ADMIN_KEY,
  type Answer,
  call,
  countedD1,
  newApp,
  newTenant,
  type Send,
} from '../helpers/worker/harness'

/** With limits on. The other tests run without limits, as `npm start` does. */
const limited = newApp({ RATE_LIMITS: 'on' })

/**
 * The most requests that are sent to reach a limit. Counters restart every 10 s, on a slow machine before
 * they are full.
 */
const MOST = 2_000
const WAVE = 20

/** Sends waves of requests, with the headers in turn, until one is refused. Returns all responses. */
async function untilRefused(
  send: Send,
  headers: readonly Record<string, string>[],
  path: string,
): Promise<Answer[]> {
  const responses: Answer[] = []
  while (responses.length < MOST && counted(responses, 429) === 0) {
    const wave = Array.from({ length: WAVE }, (_, n) =>
      call(send, 'GET', path, { headers: { ...headers[n % headers.length] } }),
    )
    responses.push(...(await Promise.all(wave)))
  }
  return responses
}

const counted = (responses: readonly Answer[], status: number) =>
  responses.filter((answer) => answer.status === status).length

function refusing() {
  const asked: string[] = []
  const limit = async ({ key }: { key: string }) => {
    asked.push(key)
    return { success: false }
  }
  return { asked, limiter: { limit } }
}

const FAILING: RateLimit = { limit: () => Promise.reject(new Error('the limiter is unreachable')) }
/** A missing binding of an older wrangler.toml throws at the call, not in the promise. */
const ABSENT: RateLimit = {
  get limit(): never {
    throw new TypeError('the binding is missing')
  },
}
const ALLOWING: RateLimit = { limit: async () => ({ success: true }) }

describe('[G2] rate limits', () => {
  it('an application key gets 100 requests in 10 s, and other keys are not affected', async () => {
    const tenant = await newTenant()
    const [one, two] = [await tenant.key('ada'), await tenant.key('bob')]
    const responses = await untilRefused(limited, [{ 'x-api-key': one }], '/v1/points/none')
    expect(counted(responses, 404)).toBeGreaterThanOrEqual(100)
    expect(counted(responses, 404) + counted(responses, 429)).toBe(responses.length)
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.headers.get('retry-after')).toBe('10')
    expect(refused?.headers.get('x-request-id')).toMatch(/.+/)
    expect(refused?.body).toEqual({ error: 'Too many requests. Send fewer, and try again in 10 seconds.' })
    const other = { headers: { 'x-api-key': two } }
    expect((await call(limited, 'GET', '/v1/achievements', other)).status).toBe(200)
  })

  it('an address gets 60 requests in 10 s whose key is missing, malformed or unknown', async () => {
    const keys = [{}, { 'x-api-key': 'nonsense' }, { 'x-api-key': 'app_unknown.secret' }]
    const headers = keys.map((key) => ({ ...key, 'cf-connecting-ip': '192.0.2.1' }))
    const responses = await untilRefused(limited, headers, '/v1/achievements')
    expect(counted(responses, 401)).toBeGreaterThanOrEqual(60)
    expect(counted(responses, 429)).toBeGreaterThan(0)
    expect(counted(responses, 401) + counted(responses, 429)).toBe(responses.length)
    const elsewhere = { 'cf-connecting-ip': '192.0.2.2' }
    expect((await call(limited, 'GET', '/v1/achievements', { headers: elsewhere })).status).toBe(401)
  })

  it('each key and each address is counted by its own limiter', async () => {
    const tenant = await newTenant()
    const key = await tenant.key('ada')
    const [admin, application, address] = [refusing(), refusing(), refusing()]
    const limits = { ADMIN_LIMIT: admin.limiter, APPLICATION_LIMIT: application.limiter }
    const send = newApp({ RATE_LIMITS: 'on', ...limits, ADDRESS_LIMIT: address.limiter })
    const { key: created } = await tenant.made('/admin-api-keys', { name: 'Another' })
    for (const given of [ADMIN_KEY, created, key]) {
      const headers = { 'x-api-key': given }
      expect((await call(send, 'GET', '/v1/achievements', { headers })).status).toBe(429)
    }
    const prefix = (given: string) => given.split('.')[0]
    expect(admin.asked).toEqual(['', prefix(created)])
    expect(application.asked).toEqual([prefix(key)])
    const tampered = { 'x-api-key': `${key}x`, 'cf-connecting-ip': '192.0.2.3' }
    expect((await call(send, 'GET', '/v1/achievements', { headers: tampered })).status).toBe(429)
    expect(address.asked).toEqual(['192.0.2.3'])
  })

  it('an IPv6 address counts with its /64 network, and an IPv4 address by itself, in any notation', async () => {
    const address = refusing()
    const send = newApp({ RATE_LIMITS: 'on', ADDRESS_LIMIT: address.limiter })
    const countedAs = async (given: string) => {
      const headers = { 'cf-connecting-ip': given }
      expect((await call(send, 'GET', '/v1/achievements', { headers })).status).toBe(429)
      return address.asked.pop()
    }
    const network = await countedAs('2001:db8:1:2::1')
    const same = words`2001:db8:1:2:ffff:ffff:ffff:ffff 2001:0DB8:0001:0002:: 2001:db8:1:2::192.0.2.1`
    for (const one of same) expect(await countedAs(one)).toBe(network)
    const others = [
      ...['2001:db8:1:3::1', '2001:db8:1::1', '2001:db8::2:0:0:0:1', '::1', '192.0.2.1', '192.0.2.2', ''],
    ]
    const counts = new Set([network])
    for (const other of others) counts.add(await countedAs(other))
    expect(counts.size).toBe(others.length + 1)
    for (const mapped of ['::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1'])
      expect(await countedAs(mapped)).toBe('192.0.2.1')
  })

  it('429 comes before every other error, on every path of an operation', async () => {
    const { asked, limiter } = refusing()
    const limits = { ADMIN_LIMIT: limiter, APPLICATION_LIMIT: limiter, ADDRESS_LIMIT: limiter }
    const send = newApp({ RATE_LIMITS: 'on', ...limits, ADMIN_HOST: 'admin.laurel.test' })
    const admin = { 'x-api-key': ADMIN_KEY }
    const application = { 'x-api-key': await (await newTenant()).key('ada') }
    const holders: Record<string, string>[] = [{}, admin, { ...admin, 'tenant-id': 'nobody' }, application]
    const bodies = [{ body: {} }, { raw: '{' }, { raw: 'x'.repeat(1_048_577) }]
    const paths = operations.flatMap((spec) =>
      basesOf(spec).map((base) => ({ spec, path: base + spec.path.replaceAll(/[{}]/g, '') })),
    )
    let sent = 0
    for (const [nth, { spec, path }] of paths.entries()) {
      const [body] = spec.body ? inTurn(1, bodies, nth) : [{}]
      for (const headers of inTurn(2, holders, nth)) {
        sent += 1
        const { status, headers: told } = await call(send, spec.method.toUpperCase(), path, {
          headers,
          ...body,
        })
        expect([spec.method, path, status, told.get('retry-after')]).toEqual([spec.method, path, 429, '10'])
      }
    }
    const byHost = new Request('http://admin.laurel.test/v1/metrics', { headers: admin })
    expect((await send(byHost)).status).toBe(429)
    expect(asked).toHaveLength(sent + 1)
  })

  it('a key of the wrong form is refused without a read', async () => {
    const { DB, count } = countedD1()
    const send = newApp({ RATE_LIMITS: 'on', ADDRESS_LIMIT: ALLOWING, DB })
    for (const key of [
      ...['x', 'app_short.secret', `app_${'a'.repeat(12)}.${'b'.repeat(42)}`],
      `key_${'a'.repeat(12)}.${'b'.repeat(43)}`,
    ]) {
      const headers = { 'x-api-key': key }
      expect((await call(send, 'GET', '/v1/achievements', { headers })).status).toBe(401)
    }
    expect(count.batches).toBe(0)
  })

  it('a limiter that fails or is off stops no requests', async () => {
    const tenant = await newTenant()
    const headers = { 'x-api-key': await tenant.key('ada') }
    for (const limiter of [FAILING, ABSENT]) {
      const failing = newApp({ RATE_LIMITS: 'on', APPLICATION_LIMIT: limiter })
      expect((await call(failing, 'GET', '/v1/achievements', { headers })).status).toBe(200)
    }
    const off = newApp({ RATE_LIMITS: 'off', APPLICATION_LIMIT: refusing().limiter })
    expect((await call(off, 'GET', '/v1/achievements', { headers })).status).toBe(200)
  })

  it('health and documents are open, and preflights are not counted', async () => {
    const send = newApp({ RATE_LIMITS: 'on', ADDRESS_LIMIT: refusing().limiter, ADMIN_LIMIT: ALLOWING })
    expect((await call(send, 'GET', '/health')).status).toBe(200)
    expect((await call(send, 'GET', '/v1/openapi.json')).status).toBe(200)
    const preflight = new Request('http://laurel.test/v1/achievements', {
      method: 'OPTIONS',
      headers: { origin: 'https://example.com', 'access-control-request-method': 'GET' },
    })
    expect((await send(preflight)).status).toBe(204)
  })
})
