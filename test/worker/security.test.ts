import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { sameInConstantTime, sha256 } from '../../src/access/credentials'
import { newInstance } from '../../src/configuration/configuration'
import { createApp } from '../../src/worker/app'
import { words } from '../helpers/words'
import { ADMIN_KEY, call, newApp, newTenant, type TestTenant, toApp } from '../helpers/worker/harness'

/** Attempts of an attacker, by topic. SECURITY.md has the rules. Other test files have the simple cases. */
let tenant: TestTenant
let other: TestTenant
let key: string
beforeAll(async () => {
  ;[tenant, other] = [await newTenant(), await newTenant()]
  for (const one of [tenant, other]) {
    await one.metric('words')
    await one.app('PUT', '/users/ada', { name: 'Ada', email: 'ada@b.example' })
  }
  await tenant.app('PUT', '/users/bob', { name: 'Bob' })
  key = await tenant.key('ada')
})

const status = async (path: string, headers: Record<string, string>, method = 'GET', send = toApp) =>
  (await send(new Request(path.startsWith('http') ? path : `http://laurel.test${path}`, { method, headers })))
    .status
const asAdmin = (tenantId: string) => ({ 'x-api-key': ADMIN_KEY, 'tenant-id': tenantId })

describe('timing-safe comparison', () => {
  it('[K1] compares whole texts of any length, with the same result as ===', () => {
    const texts = ['', 'a', 'b', 'ab', 'a\u0000', 'ä', 'a\u0308', '\ufffd', 'x'.repeat(99_999)]
    for (const one of texts)
      for (const two of texts)
        expect([one, two, sameInConstantTime(one, two)]).toEqual([one, two, one === two])
  })

  it('[K1, N3] is used for the first admin key, for the hash of the body of other keys, and for links', async () => {
    const compare = vi.spyOn(crypto.subtle, 'timingSafeEqual')
    const compared = () =>
      compare.mock.calls.splice(0).map((pair) => pair.map((one) => new TextDecoder().decode(one)))
    try {
      const wrong = `${ADMIN_KEY.slice(0, -1)}!`
      expect(await status('/v1/users/ada', { 'x-api-key': wrong })).toBe(401)
      expect(compared()).toContainEqual([wrong, ADMIN_KEY])
      const [prefix = '', body = ''] = key.split('.')
      const tampered = `${body.slice(0, -1)}${body.endsWith('A') ? 'B' : 'A'}`
      expect(await status('/v1/users/ada', { 'x-api-key': `${prefix}.${tampered}` })).toBe(401)
      expect(compared()).toContainEqual([await sha256(tampered), await sha256(body)])
      await tenant.create('/notifications/templates', EMAIL)
      const claim = btoa(JSON.stringify([tenant.id, 'x', 'ada'])).replaceAll('=', '')
      compared()
      expect(await status(`/unsubscribe/${claim}.${'A'.repeat(43)}`, {})).toBe(404)
      expect(compared()).toContainEqual([`${claim}.${'A'.repeat(43)}`, expect.stringContaining(`${claim}.`)])
    } finally {
      compare.mockRestore()
    }
  })
})

const EMAIL = { type: 'recap', channel: 'email', subject: 'S', body: '{{ unsubscribeUrl }}' }

describe('key and tenant confusion', () => {
  it('[T2] a key of one tenant opens no other, under any name of that tenant', async () => {
    const named = `customer-${other.id}`
    const read = (name: string) => status('/v1/users/ada', { 'x-api-key': key, 'tenant-id': name })
    for (const name of [other.id, other.id.toUpperCase(), ` ${other.id} `, named, ` ${named}\t`])
      expect(await read(name), name).toBe(403)
    for (const name of [
      ...[`${tenant.id}, ${other.id}`, `${tenant.id},${tenant.id}`, named.toUpperCase(), `{${other.id}}`],
      ...[other.id.replaceAll('-', ''), `${other.id}%20`, '*', '%', '_', "' OR '1'='1"],
    ]) {
      // The same as for an existing tenant, so that a key does not reveal the names of other tenants.
      expect(await read(name), name).toBe(403)
      expect(await status('/v1/metrics/words', asAdmin(name)), name).toBe(404)
    }
    for (const [name, value, expected] of [
      ['tenant-id', other.id, 403],
      ['x-api-key', ADMIN_KEY, 401],
    ] as const) {
      const headers = new Headers({ 'x-api-key': key, 'tenant-id': tenant.id })
      headers.append(name, value)
      const request = new Request('http://laurel.test/v1/users/ada', { headers })
      expect((await toApp(request)).status).toBe(expected)
    }
    // An empty header counts as absent, and the key's own tenant is used.
    for (const name of ['', tenant.id, `customer-${tenant.id}`]) expect(await read(name), name).toBe(200)
    // Keys of tenants open nothing when multi-tenancy is off.
    const off = newApp({ MULTI_TENANCY: 'off' })
    expect(await status('/v1/users/ada', { 'x-api-key': key }, 'GET', off)).toBe(401)
  })

  it('[K3] a key opens exactly one user id: other cases, spaces, normal forms and encodings are other users', async () => {
    const [composed, decomposed] = ['\u00e9', 'e\u0301']
    for (const id of [composed, decomposed]) await tenant.app('PUT', `/users/${encodeURIComponent(id)}`, {})
    const own = await tenant.key(composed)
    expect((await tenant.as(own, 'GET', '/users/%C3%A9')).body).toMatchObject({ id: composed })
    for (const id of words`
      e%CC%81 %C3%89 %25C3%25A9 %C3%A9%20 %20%C3%A9 %C3%A9%2F..%2Fbob %C3%A9/../bob %C3%A9/%2e%2e/bob
      %C3%A9,bob b%6Fb %C3%A9%E2%80%8B
    `) {
      expect((await tenant.as(own, 'GET', `/users/${id}`)).status, id).toBe(403)
      expect((await tenant.as(own, 'PATCH', `/users/${id}`, { name: 'Eve' })).status, id).toBe(403)
    }
    const stored = () => Promise.all([tenant.stored(), other.stored()])
    const before = await stored()
    for (const user of [decomposed, '\u00c9', `${composed} `, 'bob']) {
      const body = { user: { id: user }, value: 1 }
      for (const more of [{}, { id: composed, userId: composed }]) {
        const event = await tenant.as(own, 'POST', '/metrics/words/event', { ...body, ...more })
        expect(event.status).toBe(403)
      }
      expect((await tenant.as(own, 'POST', '/users', { id: user })).status).toBe(403)
      expect((await tenant.as(own, 'POST', '/achievements/x/complete', body)).status).toBe(403)
      for (const ids of [[user], [composed, user]]) {
        const query = ids.map((id) => `userIds=${encodeURIComponent(id)}`).join('&')
        expect((await tenant.as(own, 'GET', `/streaks?${query}`)).status).toBe(403)
      }
    }
    // If JSON has a field twice, the check and the action read the same one.
    const twice = '{"user":{"id":"\u00e9"},"value":1,"user":{"id":"bob"}}'
    const hidden = '{"value":1,"__proto__":{"user":{"id":"bob"}}}'
    for (const [raw, expected] of Object.entries({ [twice]: 403, [hidden]: 422 })) {
      const headers = { 'x-api-key': own }
      const answer = await call(toApp, 'POST', '/v1/metrics/words/event', { raw, headers })
      expect(answer.status).toBe(expected)
    }
    expect(await stored()).toEqual(before)
  })

  it('[K3, K4] a record that is neither an admin key nor one of a user opens nothing', async () => {
    const kinds = [
      ['application', null, null],
      ['application', tenant.id, null],
      ['admin', tenant.id, null],
      ['admin', null, 'ada'],
    ]
    for (const [kind, tenantId, userId] of kinds) {
      const made = await tenant.key('ada')
      const [prefix] = made.split('.')
      await env.DB.prepare('UPDATE api_keys SET kind = ?2, tenant_id = ?3, user_id = ?4 WHERE prefix = ?1')
        .bind(prefix, kind, tenantId, userId)
        .run()
      await env.KEYS.delete(`key:${prefix}`)
      const headers = { 'x-api-key': made, 'tenant-id': tenant.id }
      for (const path of ['/admin/v1/metrics', '/v1/users/ada'])
        expect(await status(path, headers, 'GET', newApp()), `${kind} ${path}`).toBe(401)
    }
  })
})

describe('header and host tricks', () => {
  const onHost = newApp({ ADMIN_HOST: 'admin.laurel.test' })
  const there = (path: string, headers: Record<string, string>) => status(path, headers, 'GET', onHost)

  it('[G1] no header or host spelling makes an application key an admin key, or /v1 the admin interface', async () => {
    const tricks = {
      ...{ 'x-forwarded-host': 'admin.laurel.test', 'x-forwarded-for': '127.0.0.1' },
      ...{ forwarded: 'host=admin.laurel.test', host: 'admin.laurel.test' },
      ...{ 'x-original-url': '/admin/v1/metrics', 'x-rewrite-url': '/admin/v1/metrics' },
      ...{ 'x-http-method-override': 'DELETE', 'x-original-host': 'admin.laurel.test' },
      ...{ authorization: `Bearer ${ADMIN_KEY}`, cookie: `X-API-KEY=${ADMIN_KEY}`, constructor: 'x' },
    }
    for (const [name, value] of Object.entries(tricks)) {
      const headers = { 'x-api-key': key, [name]: value }
      expect(await there('/v1/users/ada', headers), name).toBe(200)
      expect(await there('/v1/attributes', headers), name).toBe(404)
      expect(await there('/v1/users/ada', { [name]: value }), name).toBe(401)
      expect(await there('/admin/v1/metrics', headers), name).toBe(403)
    }
    expect(await there(`/v1/users/ada?X-API-KEY=${ADMIN_KEY}&api_key=${ADMIN_KEY}`, {})).toBe(401)
    for (const host of words`
      admin.laurel.test. admin.laurel.test:8080 xadmin.laurel.test admin.laurel.test.evil.example laurel.test
      admin.laurel.test@laurel.test
    `)
      expect(await there(`http://${host}/v1/users/ada`, { 'x-api-key': key }), host).toBe(200)
  })

  it('[G1, G2] a Host header that names no host is 400, and never a part of the path', async () => {
    for (const host of ['[', 'a b', 'a:b', 'a:99999', 'a, b', '<>', 'a/admin', 'a?b', 'a#b', 'b@a', 'a\\b']) {
      const request = new Request('http://laurel.test', { headers: { ...asAdmin(tenant.id), host } })
      // A server makes the URL from the header. The constructor would refuse or change it.
      Object.defineProperty(request, 'url', { value: `http://${host}/v1/attributes` })
      for (const variables of [{}, { ADMIN_HOST: '' }, { ADMIN_HOST: 'admin.laurel.test' }]) {
        const context = createExecutionContext()
        const response = await createApp(newInstance).fetch(request, { ...env, ...variables }, context)
        expect([host, response.status]).toEqual([host, 400])
        expect(await response.json()).toEqual({ error: expect.stringContaining('Host') })
        expect(response.headers.get('x-request-id')).not.toBeNull()
      }
    }
  })

  it('[G1, G2] on the admin host every spelling of a path leads to the admin interface, or nowhere', async () => {
    for (const path of words`
      /v1/attributes /v1/./attributes /x/../v1/attributes /v1/x/%2e%2e/attributes /admin/v1/attributes
      /admin/../v1/attributes /api/../v1/attributes \\v1\\attributes
    `) {
      const url = `http://ADMIN.laurel.test${path}`
      expect(await there(url, { 'x-api-key': key }), path).toBe(403)
      expect(await there(url, {}), path).toBe(401)
      expect(await there(url, asAdmin(tenant.id)), path).toBe(200)
    }
    for (const path of words`
      //v1/attributes /v1//attributes /%761/attributes /%61dmin/v1/attributes /v1/%61ttributes
      /v1%2fattributes /V1/attributes /v1/..%2fv1/attributes /v1/attributes/ /v1/attributes%00
      /v1;x/attributes /v1/users/ada/streak /./admin/admin/v1/attributes
    `)
      expect(await there(`http://admin.laurel.test${path}`, asAdmin(tenant.id)), path).toBe(404)
  })
})
