import { beforeEach, describe, expect, it } from 'vitest'
import { newLinkSecret, unsubscribeToken } from '../../src/features/notifications/unsubscribe.routes'
import type { Bindings } from '../../src/platform/env'
import { words } from '../helpers/words'
import { account, at, newApp, newTenant, type TestTenant, toApp } from '../helpers/worker/harness'
import { linkSecretOf } from '../helpers/worker/stored-tenants'

const EMAIL = { type: 'recap', channel: 'email', subject: 'S', body: '{{ unsubscribeUrl }}' }

let tenant: TestTenant
let template: string
beforeEach(async () => {
  tenant = await newTenant()
  template = await tenant.create('/notifications/templates', EMAIL)
  await tenant.app('PUT', '/users/ada', { email: 'ada@b.example', name: '<script>alert(1)</script>' })
})

/** The path of the link in a user's emails. */
async function linkOf(userId: string, of = tenant, id = template): Promise<string> {
  const { body } = await of.admin('POST', `/notifications/templates/${id}/preview`, { userId })
  return new URL(String(at(body, 'body'))).pathname
}

const open = (path: string, init: RequestInit = {}, send = toApp) =>
  send(new Request(`http://laurel.test${path}`, init))
const post = (path: string, body: BodyInit | null = null, headers: Record<string, string> = {}) =>
  open(path, { method: 'POST', body, headers })
const isSubscribed = async (userId: string, of = tenant) =>
  at((await of.app('GET', `/users/${userId}`)).body, 'subscribeToEmails')

describe('[N3] the link in an email', () => {
  it('[N3] asks on GET, and changes nothing; the page shows nothing of the user and loads nothing', async () => {
    const path = await linkOf('ada')
    const before = await tenant.stored()
    for (const method of ['GET', 'HEAD']) {
      const response = await open(path, { method, headers: { origin: 'https://evil.example' } })
      expect(response.status).toBe(200)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
      })
      expect(response.headers.get('content-security-policy')).toContain("form-action 'self'")
      expect(response.headers.has('access-control-allow-origin')).toBe(false)
      const page = await response.text()
      if (method === 'GET') expect(page).toContain('<form method="post"><button>')
      expect(page).not.toMatch(/<script|ada|src=|href=|http/)
    }
    expect(await tenant.stored()).toEqual(before)
    expect(await isSubscribed('ada')).toBe(true)
  })

  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  it.each([
    ['an empty body', null, {}],
    ['a body of a mail client', 'List-Unsubscribe=One-Click', FORM],
    ['another body', '{"a":', { 'content-type': 'application/json' }],
    ['bytes', new Uint8Array([0, 255, 1]), { 'content-type': 'multipart/form-data' }],
  ])('[N3] acts at once on POST with %s, and a second time is 200 too', async (_name, body, headers) => {
    const path = await linkOf('ada')
    for (const _time of [1, 2]) {
      const response = await post(path, body, headers)
      expect(response.status).toBe(200)
      expect(await response.text()).toContain('You are unsubscribed')
      expect(await isSubscribed('ada')).toBe(false)
    }
    const before = await tenant.stored()
    await post(path)
    expect(await tenant.stored()).toEqual(before)
  })

  it('[N3] belongs to one user of one tenant, for any ids', async () => {
    const ids = ['ädä/😀 ?#%.', 'a'.repeat(255), '😀'.repeat(63), '["x"]', '../x']
    for (const id of ids) {
      await tenant.app('PUT', `/users/${encodeURIComponent(id)}`, { email: 'x@b.example' })
      expect((await post(await linkOf(id))).status).toBe(200)
      expect(await isSubscribed(encodeURIComponent(id))).toBe(false)
    }
    expect(await isSubscribed('ada')).toBe(true)
  })

  it('[T3] a token that is forged, cut or of another or an archived tenant is 404, and changes nothing', async () => {
    const other = await newTenant()
    const otherTemplate = await other.create('/notifications/templates', EMAIL)
    await other.app('PUT', '/users/ada', { email: 'ada@b.example' })
    const path = await linkOf('ada')
    const token = path.slice('/unsubscribe/'.length)
    const [payload = '', signature = ''] = token.split('.')
    const otherPath = await linkOf('ada', other, otherTemplate)
    const [otherPayload = '', otherSignature = ''] = otherPath.slice('/unsubscribe/'.length).split('.')
    const claimOf = (text: string) => JSON.parse(atob(text.replaceAll('-', '+').replaceAll('_', '/')))
    const claimed = (...parts: unknown[]) => btoa(JSON.stringify(parts)).replaceAll('=', '')
    const [tenantId, iid] = claimOf(payload)
    const forged = await unsubscribeToken(newLinkSecret(), { tenantId, iid, userId: 'ada' })
    const empty = await unsubscribeToken(' ', { tenantId, iid, userId: 'ada' })
    const nobody = await unsubscribeToken(' ', { tenantId: crypto.randomUUID(), iid, userId: 'ada' })
    const last = (text: string) =>
      [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123_-'].map((c) => text.slice(0, -1) + c)
    const claims = [claimed(tenantId, iid, 'bob'), claimed(tenantId, iid, 'ada', 'x')]
    const payloads = [...claims, claimed([tenantId], iid, 'ada'), otherPayload, `${payload}=`, '']
    const bad = [
      ...words`x . ..x %00 %F0%9F%98%80 %ff%fe W10.x bnVsbA e30.e30`,
      ...[forged, empty, nobody, payload, `${token}.`, `${token}=`, `${token}%20`, 'x'.repeat(5_000)],
      ...['', otherSignature, signature.toLowerCase()].map((one) => `${payload}.${one}`),
      ...[...payloads, ...last(payload)].map((one) => `${one}.${signature}`),
      ...Array.from({ length: 20 }, (_, n) => token.slice(0, n * 7)),
      ...last(token),
    ].filter((one) => one !== '' && one !== token)
    const stored = () => Promise.all([tenant.stored(), other.stored()])
    const before = await stored()
    for (const one of bad) {
      for (const method of ['GET', 'POST']) {
        expect((await open(`/unsubscribe/${one}`, { method })).status, one).toBe(404)
      }
    }
    expect(await stored()).toEqual(before)
    expect([await isSubscribed('ada'), await isSubscribed('ada', other)]).toEqual([true, true])
    for (const method of ['PUT', 'DELETE', 'PATCH']) expect((await open(path, { method })).status).toBe(405)
    for (const wrong of ['/unsubscribe', '/unsubscribe/', `${path}/x`])
      expect((await open(wrong)).status).toBe(404)
    expect((await post(path)).status).toBe(200)
    await account('DELETE', `/tenants?ids=${tenant.id}`)
    expect((await post(path)).status).toBe(404)
  })

  it('[U8] the link of an erased user is 200 and does nothing, also for a new user with the same id', async () => {
    const path = await linkOf('ada')
    await tenant.admin('DELETE', '/users/ada')
    expect((await post(path)).status).toBe(200)
    expect((await tenant.app('GET', '/users/ada')).status).toBe(404)
    await tenant.app('PUT', '/users/ada', { email: 'ada@b.example' })
    expect((await post(path)).status).toBe(200)
    expect(await isSubscribed('ada')).toBe(true)
    expect((await post(await linkOf('ada'))).status).toBe(200)
    expect(await isSubscribed('ada')).toBe(false)
  })

  it('[N3] a signed link whose id is not that of its user does nothing', async () => {
    await tenant.app('PUT', '/users/bob', { email: 'bob@b.example' })
    const [payload = ''] = (await linkOf('ada')).slice('/unsubscribe/'.length).split('.')
    const [tenantId, iid] = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
    const bob = { tenantId, iid, userId: 'bob' }
    const token = await unsubscribeToken(String(await linkSecretOf(tenant)), bob)
    expect((await post(`/unsubscribe/${token}`)).status).toBe(200)
    expect([await isSubscribed('ada'), await isSubscribed('bob')]).toEqual([true, true])
  })

  it('[N3] many at once are all 200, and other changes at the same time stay', async () => {
    const path = await linkOf('ada')
    const responses = await Promise.all([
      ...Array.from({ length: 5 }, () => open(path, { method: 'POST' }, newApp())),
      tenant.through(newApp()).app('PUT', '/users/ada', { name: 'Ada' }),
    ])
    expect(responses.map(({ status }) => status)).toEqual(Array(6).fill(200))
    const ada = { name: 'Ada', subscribeToEmails: false }
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject(ada)
  })

  it('[G2] is counted by address, and 429 beyond the limit', async () => {
    const path = await linkOf('ada')
    const keys: string[] = []
    const ADDRESS_LIMIT: Bindings['ADDRESS_LIMIT'] = {
      limit: async ({ key }) => ({ success: keys.push(key) < 2 }),
    }
    const limited = newApp({ RATE_LIMITS: 'on', ADDRESS_LIMIT })
    const headers = { 'cf-connecting-ip': '192.0.2.7' }
    expect((await open(path, { headers }, limited)).status).toBe(200)
    const refused = await open(path, { method: 'POST', headers }, limited)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    expect(keys).toEqual(['192.0.2.7', '192.0.2.7'])
    expect(await isSubscribed('ada')).toBe(true)
  })
})
