import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { EVENT_TYPES } from '../../src/configuration/enumerations'
import { targetOf } from '../../src/lib/net'
import { ALLOWED, HOSTS_REFUSED, LOOPBACK, REFUSED } from '../helpers/targets'
import { dueWork, forgetDueWork } from '../helpers/worker/due-work'
import { intercepted } from '../helpers/worker/faulty'
import { ADMIN_KEY, at, NOBODY, newApp, newTenant, pick, type TestTenant } from '../helpers/worker/harness'
import { linesSoFar } from '../helpers/worker/lines'
import { ASLEEP } from '../helpers/worker/objects'

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/
const HOOK = { url: 'https://example.com/hooks', events: ['*'] }

/** Creates one webhook. Returns it as in the response. */
async function make(tenant: TestTenant, more: object = {}): Promise<Record<string, string>> {
  const { status, body } = await tenant.admin('POST', '/webhooks', [{ ...HOOK, ...more }])
  expect([status, at(body, 'issues')]).toEqual([201, []])
  return Object(at(body, 'created', 0))
}

const rowsOf = async (tenant: TestTenant) =>
  (await env.DB.prepare('SELECT * FROM webhooks WHERE tenant_id = ?').bind(tenant.id).all()).results

describe('[W1] the resource', () => {
  it('[W1, G7] only its creation shows the secret, its events count once, and its URL has no fragment', async () => {
    const tenant = await newTenant()
    const { body } = await tenant.admin('POST', '/webhooks', [
      { url: 'https://example.com', events: ['streak.lost', 'points.changed', 'streak.lost'] },
      { url: 'https://example.com/a#b', events: ['points.changed', '*'] },
      HOOK,
    ])
    expect(at(body, 'created')).toMatchObject([
      { key: 'example-com', url: 'https://example.com/', events: ['streak.lost', 'points.changed'] },
      { key: 'example-com-2', url: 'https://example.com/a', events: ['*'] },
      { key: 'example-com-3', ...HOOK },
    ])
    const [first, second] = pick(at(body, 'created'), 'id')
    const secrets = pick(at(body, 'created'), 'secret')
    expect(secrets).toEqual(Array(3).fill(expect.stringMatching(SECRET)))
    const change = { id: second, events: [...EVENT_TYPES], secret: 'whsec_bWluZQ==', created: 'x' }
    const update = await tenant.admin('PATCH', '/webhooks', [change])
    expect(at(update.body, 'updated')).toMatchObject([{ events: EVENT_TYPES }])
    expect(pick(at(update.body, 'issues'), 'message')).toEqual(
      ['secret', 'created'].map((name) => `Unknown field "${name}". It is ignored.`),
    )
    await tenant.admin('DELETE', `/webhooks?ids=${first}`)
    expect((await tenant.admin('POST', `/webhooks/${first}/rotate-secret`)).status).toBe(404)
    // The secrets of existing webhooks have not changed. The secret of the deleted one is gone.
    expect(pick(await rowsOf(tenant), 'secret')).toEqual(['', secrets[1], secrets[2]])
  })

  it('[G3] events are known names, 1 or more; each unknown one is named', async () => {
    const tenant = await newTenant()
    const post = async (events: unknown) => tenant.admin('POST', '/webhooks', [{ ...HOOK, events }])
    const { status, body } = await post(['streak.lost', 'streak.won', '*', 'points.lost'])
    const unknown = (nth: number, name: string) =>
      `0.events.${nth}: must be the name of an event or *, and "${name}" is none`
    const error = `${unknown(1, 'streak.won')}; ${unknown(3, 'points.lost')}.`
    expect([status, body]).toMatchObject([422, { error }])
    const long = await post(['x'.repeat(10_000)])
    expect([long.status, String(at(long.body, 'error')).length < 300]).toEqual([422, true])
    expect((await tenant.admin('GET', '/webhooks')).body).toEqual([])
  })
})

describe('[W1] targets', () => {
  it('[G3] every item with a forbidden URL is named with the reason, together with all other field errors', async () => {
    const tenant = await newTenant()
    const { status, body } = await tenant.admin('POST', '/webhooks', [
      HOOK,
      { ...HOOK, url: 'https://[::ffff:169.254.169.254]/' },
      { ...HOOK, url: 5 },
      { url: 'http://example.com/', events: [] },
      { ...HOOK, url: `https://example.com/${'a'.repeat(2_048)}` },
    ])
    const permit = 'The variable WEBHOOK_ALLOW can permit it'
    const faults = [
      ...['2.url: must be a string', '3.events: must have at least 1 item'],
      '4.url: must have at most 2048 characters',
      `1.url: must lead to a public address, and [::ffff:a9fe:a9fe] is a link-local one. ${permit}`,
      '3.url: must be an https URL, such as https://example.com/hooks.',
    ]
    expect([status, body]).toMatchObject([422, { error: faults.join('; ') }])
    const far = await tenant.admin('POST', '/webhooks', Array(20_000).fill({ ...HOOK, url: 'http://10.1/' }))
    expect([far.status, String(at(far.body, 'error')).length < 1_000]).toEqual([422, true])
    expect((await tenant.admin('GET', '/webhooks')).body).toEqual([])
    const { id } = await make(tenant)
    const before = await rowsOf(tenant)
    const update = await tenant.admin('PATCH', '/webhooks', [
      { id, status: 'inactive' },
      { id, url: 'https://db.internal./' },
      { id: NOBODY, url: 'https://user:pass@example.com/' },
    ])
    const errors = [
      `1.url: must lead to a public host, and db.internal. is not public. ${permit}`,
      '2.url: must hold no user name and no password.',
    ]
    expect(update).toMatchObject({ status: 422, body: { error: errors.join('; ') } })
    expect(await rowsOf(tenant)).toEqual(before)
  })

  it('loopback is allowed with the test clock only, also by http', async () => {
    const tenant = await newTenant()
    const production = tenant.through(newApp({ TEST_CLOCK: 'off' }))
    for (const url of ['http://127.0.0.1:9999/hook', 'https://[::1]/', 'http://localhost:1/']) {
      const made = await make(tenant, { url })
      expect(made.url).toBe(url)
      const items = [
        { ...HOOK, url },
        { url, events: ['x'] },
      ]
      const refused = await production.admin('POST', '/webhooks', items)
      expect(refused.status).toBe(422)
      for (const fault of ['0.url: must lead', '1.url: must lead', '1.events.0: must be'])
        expect(at(refused.body, 'error')).toContain(fault)
      const moved = await production.admin('PATCH', '/webhooks', [{ id: made.id, url }])
      expect(moved.status).toBe(422)
      const stopped = await production.admin('PATCH', '/webhooks', [{ id: made.id, status: 'inactive' }])
      expect(stopped.status).toBe(200)
      expect(at(stopped.body, 'updated', 0)).toMatchObject({ url, status: 'inactive' })
    }
    expect((await production.admin('POST', '/webhooks', [HOOK])).status).toBe(201)
  })

  it('[W1] hosts in WEBHOOK_ALLOW may be set, also by http, and no other private hosts', async () => {
    const tenant = await newTenant()
    const WEBHOOK_ALLOW = 'nas.lan:8080,[fd00::1]:443'
    const production = tenant.through(newApp({ TEST_CLOCK: 'off', WEBHOOK_ALLOW }))
    for (const url of ['http://nas.lan:8080/hook', 'https://[fd00::1]/hook']) {
      const made = await make(production, { url })
      expect(made.url).toBe(url)
      expect((await production.admin('PATCH', '/webhooks', [{ id: made.id, url }])).status).toBe(200)
    }
    for (const url of ['http://nas.lan/hook', 'https://nas.lan/hook', 'http://[fd00::1]/hook']) {
      const refused = await production.admin('POST', '/webhooks', [{ ...HOOK, url }])
      const error = expect.stringContaining('0.url: must lead to a public')
      expect([refused.status, at(refused.body, 'error')]).toEqual([422, error])
    }
  })

  it('every spelling of a target is allowed, refused, or allowed for development alone', () => {
    const [refused, notPublic] = [/./, /public/].map((why) => ({ refused: expect.stringMatching(why) }))
    for (const loopbackAllowed of [true, false]) {
      const judge = (url: string) => targetOf(url, { loopbackAllowed })
      for (const [given, url] of ALLOWED) {
        // A stored URL may be checked again.
        for (const one of [given, url]) expect([one, judge(one)]).toEqual([one, { url }])
      }
      for (const url of REFUSED) expect([url, judge(url)]).toEqual([url, refused])
      for (const scheme of ['https', 'http']) {
        for (const rest of ['/', ':8443/a?b']) {
          for (const host of HOSTS_REFUSED) {
            const url = `${scheme}://${host}${rest}`
            expect([url, judge(url)]).toEqual([url, notPublic])
          }
          for (const host of LOOPBACK) {
            const url = `${scheme}://${host}${rest}`
            const isFine = loopbackAllowed ? { url: new URL(url).href } : notPublic
            expect([url, judge(url)]).toEqual([url, isFine])
          }
        }
      }
    }
  })
})

describe('[W1] secrets', () => {
  it('rotate-secret shows a new one, and only once', async () => {
    const tenant = await newTenant()
    const { secret: old, ...webhook } = await make(tenant, { status: 'inactive' })
    const other = await make(tenant)
    await env.DB.prepare('UPDATE webhooks SET updated = 1 WHERE tenant_id = ?').bind(tenant.id).run()
    const path = `/webhooks/${webhook.id}/rotate-secret`
    const { status, body } = await tenant.admin('POST', path)
    const [secret, updated] = [at(body, 'secret'), at(body, 'updated')]
    expect(status).toBe(200)
    const changed = { updated: expect.any(String), previousSecretEnds: expect.any(String) }
    expect(body).toEqual({ ...webhook, ...changed, secret: expect.stringMatching(SECRET) })
    expect(secret).not.toBe(old)
    expect(updated).not.toBe('1970-01-01T00:00:00.001Z')
    expect((await rowsOf(tenant)).map((row) => [row.id, row.secret])).toEqual([
      [webhook.id, secret],
      [other.id, other.secret],
    ])
    // Only GET has the health, which is null for an inactive webhook.
    const read = await tenant.admin('GET', `/webhooks/${webhook.id}`)
    expect(read.body).toEqual({ ...webhook, ...changed, updated, health: null })
    expect(at((await tenant.admin('POST', path)).body, 'secret')).not.toBe(secret)
    expect((await tenant.admin('POST', `/webhooks/${NOBODY}/rotate-secret`)).status).toBe(404)
    expect((await tenant.admin('POST', '/webhooks/rubbish/rotate-secret')).status).toBe(404)
  })

  it('[W4] makes deliveries due if the address or the status changes, not if the secret does', async () => {
    const tenant = (await newTenant()).through(newApp({ TIMEKEEPER: ASLEEP }))
    const { id } = await make(tenant)
    const calls = async () => {
      const due = await dueWork({ tenant, kind: 'delivery' })
      await forgetDueWork({ tenant })
      return due.length
    }
    const patch = (change: object) => tenant.admin('PATCH', '/webhooks', [{ id, ...change }])
    await tenant.admin('POST', `/webhooks/${id}/rotate-secret`)
    await patch({ key: 'other', events: ['streak.lost'] })
    expect(await calls()).toBe(0)
    await patch({ url: 'https://example.com/other' })
    expect(await calls()).toBe(1)
    await patch({ status: 'inactive' })
    expect(await calls()).toBe(0)
    await patch({ status: 'active' })
    expect(await calls()).toBe(1)
  })

  it('rotations at once, through several isolates: the stored secret is one of the shown ones', async () => {
    const tenant = await newTenant()
    const { id } = await make(tenant)
    const rotate = () => tenant.through(newApp()).admin('POST', `/webhooks/${id}/rotate-secret`)
    const responses = await Promise.all(Array.from({ length: 8 }, rotate))
    const secrets = responses.map(({ body }) => at(body, 'secret'))
    expect(new Set(secrets).size).toBe(8)
    expect(secrets).toContain((await rowsOf(tenant))[0]?.secret)
  })

  it('a secret is in no other response, and in no log', async () => {
    const tenant = await newTenant()
    const one = await make(tenant)
    const responses: unknown[] = []
    const ask = async (method: string, path: string, body?: unknown) =>
      responses.push((await tenant.admin(method, path, body)).body)
    const rotated = await tenant.admin('POST', `/webhooks/${one.id}/rotate-secret`)
    await ask('GET', '/webhooks')
    await ask('GET', `/webhooks/${one.id}`)
    await ask('PATCH', '/webhooks', [{ id: one.id, status: 'inactive' }])
    await ask('PATCH', '/webhooks', [{ id: one.id, url: 'http://10.0.0.1/' }])
    await ask('GET', '/settings')
    // A database that fails while it receives the secret.
    const DB = intercepted(env.DB, ({ texts, run }) =>
      texts.length > 1 ? run('SELECT x FROM nowhere') : run(),
    )
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const init = { method: 'POST', headers, body: JSON.stringify([HOOK]) }
    const failed = await newApp({ DB })(new Request('http://laurel.test/admin/v1/webhooks', init))
    expect(failed.status).toBe(500)
    responses.push(await failed.text())
    await ask('DELETE', `/webhooks?ids=${one.id}`)
    expect(at(rotated.body, 'secret')).toMatch(SECRET)
    expect(JSON.stringify(responses)).not.toContain('whsec_')
    const logged = linesSoFar()
    expect(logged.length).toBeGreaterThan(8)
    expect(logged.join('\n')).not.toContain('whsec_')
    expect(logged.join('\n')).not.toContain(one.secret?.slice(6))
  })
})
