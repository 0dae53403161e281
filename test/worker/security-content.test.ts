import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseLiquid, renderLiquid } from '../../src/features/notifications/templates/liquid'
import { unsubscribeToken } from '../../src/features/notifications/unsubscribe.routes'
import { awayAfter } from '../helpers/worker/faulty'
import {
  account,
  at,
  call,
  everything,
  newApp,
  newTenant,
  type TestTenant,
  toApp,
} from '../helpers/worker/harness'
import { KINDS } from '../helpers/worker/kinds'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'
import { linkSecretOf } from '../helpers/worker/stored-tenants'
import { world } from '../helpers/worker/world'

/**
 * Attempts of an attacker with bodies, templates and links, by topic. `security.test.ts` has keys, hosts and
 * targets.
 */
let tenant: TestTenant
let key: string
beforeAll(async () => {
  tenant = await newTenant()
  await tenant.metric('words')
  await tenant.create('/points', { key: 'xp', name: 'XP' })
  await tenant.app('PUT', '/users/ada', { name: 'Ada', email: 'ada@b.example' })
  key = await tenant.key('ada')
})

describe('template injection and render bombs', () => {
  const render = (text: string) => {
    const parsed = parseLiquid('html', text)
    if ('fault' in parsed) throw new Error(parsed.fault)
    return renderLiquid(parsed, { user: { name: 'x' } })
  }
  const often = (inside: string) => `{% for i in (1..2000) %}${inside}{% endfor %}`
  const long = `{% assign x = "${'a'.repeat(50_000)}" %}`
  const wide = '{% assign a = (1..100000) %}'
  const nested = `{% assign b = "y" | split: "" %}{% assign a = b %}${'{% assign a = b | push: a | push: a %}'.repeat(60)}`
  const [TOO_MUCH, TOO_FAR] = ['it renders too much', 'too far']
  const unchanged = '{% for i in (9007199254740992..9007199254740994) %}x{% endfor %}'
  const text =
    '{% assign n = "9007199254740992" %}{% assign m = n | plus: 2 %}{% for i in (n..m) %}{% endfor %}'
  const compared = `${wide}{% assign b = a %}${often('{% case a %}{% when b %}{% endcase %}')}`

  // Each of these ran for seconds to minutes, or until memory was full.
  it.each([
    ['a range where adding 1 changes nothing', unchanged, TOO_FAR],
    ['the same with negative numbers', '{{ (-9007199254740994..-9007199254740992) | size }}', TOO_FAR],
    ['the same with a text', text, TOO_FAR],
    ['lists in lists, written', `${nested}{{ a }}`, TOO_MUCH],
    ['lists in lists, as JSON', `${nested}{{ a | json }}`, TOO_MUCH],
    ['lists in lists, compared', `${nested}{% if a < b %}{% endif %}`, TOO_MUCH],
    ['texts that are encoded', long + often('{% assign y = x | cgi_escape %}'), TOO_MUCH],
    ['texts that are read as dates', long + often('{% assign y = x | date_to_string %}'), TOO_MUCH],
    ['a list as a number', wide + often('{% assign y = a | abs %}'), TOO_MUCH],
    ['a list as a key', wide + often('{{ user[a] }}'), TOO_MUCH],
    ['a list as a group', wide + often('{% cycle a: "x" %}'), TOO_MUCH],
    ['a list that is compared', compared, TOO_MUCH],
    ['a list smaller than another', wide + often('{% if a < "x" %}{% endif %}'), TOO_MUCH],
    ['many filters', often(`{{ 1${' | abs'.repeat(9_000)} }}`), TOO_MUCH],
    ['many conditions', often(`{% if 1 == 1${' and 1 == 1'.repeat(5_000)} %}{% endif %}`), TOO_MUCH],
    ['many cases', often(`{% case 1 %}{% when 2${', 2'.repeat(20_000)} %}{% endcase %}`), TOO_MUCH],
    ['many turns', often(`{% cycle 1${', 1'.repeat(20_000)} %}`), TOO_MUCH],
    ['a long path', often(`{{ user${'.a'.repeat(30_000)} }}`), TOO_MUCH],
  ])('[N3] %s is too much', (_name, text, fault) => {
    expect(text.length).toBeLessThan(70_000)
    expect(() => render(text)).toThrow(fault)
  })

  it('[N3] a user’s name is never read as Liquid, as HTML or as a header', async () => {
    const name =
      '{{ user.email }}{% for i in (1..9) %}x{% endfor %}<img src=x onerror=alert(1)>\r\nBcc: eve@b.example'
    await tenant.app('PUT', '/users/eve', { name, email: 'eve@b.example' })
    const text = '<a title="{{ user.name }}">{{ user.name | upcase | downcase }}</a>{{ unsubscribeUrl }}'
    const item = { type: 'recap', channel: 'email', subject: 'Hi {{ user.name }}', body: text }
    const id = await tenant.create('/notifications/templates', item)
    const { body } = await tenant.admin('POST', `/notifications/templates/${id}/preview`, { userId: 'eve' })
    const parts = ['subject', 'body', 'headers']
    const [subject, html, headers] = parts.map((one) => JSON.stringify(at(body, one)))
    expect(subject).toContain('{{ user.email }}{% for')
    expect(subject).not.toMatch(/\\r|\\n/)
    expect(html).toContain('{{ user.email }}{% for')
    expect(html).not.toMatch(/<img|eve@b\.example"/)
    expect(headers).not.toMatch(/Bcc[":]/)
  })
})

describe('mass assignment', () => {
  const SECRET_FIELDS = {
    ...{ id: '018f0000-0000-7000-8000-00000000beef', iid: 'forged', seq: 99, no: 1, userId2: 'x' },
    ...{ tenantId: 'forged', tenant_id: 'forged', kind: 'admin', admin: true, control: true },
    ...{ created: '2000-01-01T00:00:00.000Z', updated: '2000-01-01T00:00:00.000Z', date: '2000-01-01' },
    ...{ at: 0, deleted: 1, changed: 1, version: 9, config_version: 9, total: 9, awarded: 5 },
    ...{ points: { xp: 9 }, metrics: { words: 9 }, streak: { length: 9 }, achievements: ['x'] },
    ...{ counters: { x: 1 }, __proto__2: {}, eventId: 'forged', idempotencyKey: 'forged' },
    ...{ hash: 'forged', prefix: 'adm_forged', key2: 'forged', secret: 'whsec_forged' },
    ...{ link_secret: 'forged', origin: 'https://evil.example' },
  }
  /** The forged values that are stored anywhere, or null. */
  const forged = async () =>
    JSON.stringify(await everything()).match(/forged|evil\.example|00000000beef|946684800000/g)

  it('[U5] users, events and preferences accept their own fields and no others', async () => {
    const { id: _id, metrics: _metrics, ...more } = SECRET_FIELDS
    const own = await tenant.key('mass')
    const [first, second] = ['M', 'N'].map((name) => ({ ...more, name }))
    await tenant.as(own, 'POST', '/users', { id: 'mass', ...first })
    for (const method of ['PUT', 'PATCH']) await tenant.as(own, method, '/users/mass', second)
    const event = { ...SECRET_FIELDS, user: { ...more, id: 'mass' }, value: 1 }
    const { body } = await tenant.as(own, 'POST', '/metrics/words/event', event)
    expect(body).toMatchObject({ total: 1, points: {}, achievements: [], currentStreak: { length: 1 } })
    const preferences = { ...SECRET_FIELDS, streak: { enabled: true, length: 9 } }
    await tenant.as(own, 'PATCH', '/users/mass/preferences', preferences)
    const user = (await tenant.app('GET', '/users/mass')).body
    expect(user).toMatchObject({ id: 'mass', name: 'N', control: false, attributes: {} })
    expect(String(at(user, 'created'))).not.toMatch(/^2000/)
    expect((await tenant.app('GET', '/users/mass/points/xp')).body).toMatchObject({ total: 0 })
    expect((await tenant.app('GET', '/users/mass/streak')).body).toMatchObject({ length: 1 })
    expect(await forged()).toBeNull()
  })

  it('[G3] created configuration has ids, times, tenants and secrets that Laurel chose', async () => {
    const things = await world()
    const items: [string, object][] = [
      ...Object.values(KINDS).map(({ path, least }, n): [string, object] => [path, least(`k${n}`, things)]),
      ['/application-api-keys', { userId: 'mass' }],
      ['/admin-api-keys', { name: 'K' }],
    ]
    const { metrics: _metrics, points: _points, ...more } = SECRET_FIELDS
    for (const [path, item] of items) {
      const { status, body } = await things.tenant.admin('POST', path, [{ ...more, ...item }])
      const clean = expect.not.stringMatching(/forged|00000000beef|evil\.example|2000-01-01/)
      expect([path, status, JSON.stringify(at(body, 'created'))]).toEqual([path, 201, clean])
    }
    const forgedItem = { ...more, userId: 'mass', kind: 'admin' }
    const headers = { 'x-api-key': (await tenant.made('/application-api-keys', forgedItem)).key }
    expect((await call(toApp, 'GET', '/admin/v1/metrics', { headers })).status).toBe(403)
    const item = { ...more, status: 'archived', customerId: `c-${tenant.id}`, name: 'T' }
    const answer = await account('POST', '/tenants', [item])
    expect(at(answer.body, 'created', 0)).toMatchObject({ status: 'active', customerId: `c-${tenant.id}` })
    expect(await forged()).toBeNull()
  })
})

describe('secrets in logs and errors', () => {
  const SECRETS = {
    ...{ ADMIN_API_KEY: 'adm_hushed1.hushed-of-admin-that-is-long-enough', RESEND_API_KEY: 're_hushed2' },
    ...{ EXPO_ACCESS_TOKEN: 'hushed3', APNS_KEY: 'hushed4', APNS_KEY_ID: 'hushed5', APNS_TEAM_ID: 'hushed6' },
    ...{ APNS_TOPIC: 'hushed7', FCM_SERVICE_ACCOUNT: '{"private_key":"hushed8"}' },
  }
  /** Fields of a user, which answers may show. */
  const VEILED = {
    name: 'Veiled',
    email: 'veiled@b.example',
    deviceTokens: ['veiled'],
    attributes: { plan: 'veiled' },
  }

  it('[G2] no log line has data of a user, and none has variables, keys, links or secrets, nor has a response, however a request ends', async () => {
    const responses: string[] = []
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    // The first template gives the tenant its secret for links.
    const template = { type: 'recap', channel: 'push', title: 'T', body: 'B' }
    await tenant.create('/notifications/templates', template)
    const failing = awayAfter(0, () => new Error('D1_ERROR: broken'))
    const KEYS = new Proxy(env.KEYS, { get: () => () => Promise.reject(new Error('KV broken')) })
    const limiter = { limit: () => Promise.reject(new Error('no limiter')) }
    const limits = { ADDRESS_LIMIT: limiter, ADMIN_LIMIT: limiter, APPLICATION_LIMIT: limiter }
    const wrong = { RESEND_URL: 'hushed11', PUBLIC_URL: 'https://hushed12:hushed13@[/' }
    const secret = await linkSecretOf(tenant)
    const [prefix = '', body = ''] = key.split('.')
    const token = await unsubscribeToken(secret ?? '', {
      tenantId: tenant.id,
      iid: 'x',
      userId: 'hushed-user',
    })
    const apps = [
      newApp(SECRETS),
      newApp({ ...SECRETS, DB: failing }),
      newApp({ ...SECRETS, ...limits, DB: failing, KEYS, RATE_LIMITS: 'on' }),
      newApp({ ...SECRETS, MULTI_TENANCY: 'hushed9' }),
      newApp({ ...SECRETS, WEBHOOK_TIMEOUT: 'hushed10', ...wrong }),
    ]
    const admin = SECRETS.ADMIN_API_KEY
    const keys = [admin, `${admin}x`, key, `${prefix}.${body.slice(1)}x`, 'hushed14']
    const statuses: number[] = []
    const earlier = linesSoFar()
    const logged: string[] = []
    for (const send of apps) {
      forgetLines()
      for (const given of keys) {
        for (const [method, path, raw] of [
          ['GET', '/v1/users/hushed-user?x=hushed15', undefined],
          ['POST', '/v1/metrics/words/event', '{"user":"hushed16"'],
          ['PUT', '/v1/users/ada', '{"email":"hushed17"}'],
          ['GET', `/unsubscribe/${token}`, undefined],
          ['POST', `/unsubscribe/${token}x`, ''],
          ['POST', `/unsubscribe/${token}/x`, ''],
          ['GET', '/hushed18', undefined],
          ['POST', '/admin/v1/webhooks', '[{"url":"https://hushed19@x/"}]'],
          ['GET', '/v1/points/xp/summary?userAttributes=plan:veiled', undefined],
          ['POST', '/v1/metrics/words/event', JSON.stringify({ user: { id: 'ada', ...VEILED }, value: 1 })],
          ['PUT', '/v1/users/ada', JSON.stringify(VEILED)],
          ['PUT', '/v1/users/veiled', JSON.stringify(VEILED)],
          ['POST', '/admin/v1/application-api-keys', '[{"userId":"veiled"}]'],
          ['POST', '/admin/v1/admin-api-keys', '[{"name":"veiled"}]'],
        ] as const) {
          // The answer to an event shows the key of the event.
          const idempotencyKey = raw?.includes('Veiled') ? 'veiled' : 'hushed20'
          const headers = {
            ...{ 'x-api-key': given, 'tenant-id': tenant.id, 'idempotency-key': idempotencyKey },
            'cf-connecting-ip': '192.0.2.9',
          }
          const init = { method, headers, ...(raw !== undefined && { body: raw }) }
          const response = await send(new Request(`http://laurel.test${path}`, init))
          statuses.push(response.status)
          responses.push(await response.text(), [...response.headers].join())
        }
      }
      logged.push(...linesSoFar())
    }
    expect([...new Set(statuses)].sort()).toEqual([200, 201, 202, 400, 401, 403, 404, 422, 500, 503])
    // One line of each request, and one of each failure. With wrong variables, there is only the failure.
    const of = (wanted: (status: number) => boolean) => statuses.filter(wanted).length
    const requests = logged.filter((line) => line.includes('"route":'))
    expect(requests).toHaveLength(of((status) => status !== 500))
    const failures = logged.filter((line) => /"level":"error","requestId":/.test(line))
    expect(failures).toHaveLength(of((status) => status >= 500))
    expect(logged.join('\n')).not.toMatch(/veiled/i)
    const texts = [body.slice(1), prefix, token, token.split('.')[1] ?? '', secret ?? '', '192.0.2.9']
    for (const told of [[...earlier, ...logged].join('\n'), responses.join('\n')]) {
      expect(told).not.toMatch(/hushed/i)
      for (const one of texts) expect(told).not.toContain(one)
    }
    for (const text of responses)
      expect(text).not.toMatch(/D1_\w*ERROR|KV broken|at \w+ \(|\.ts:|Zod\w*Error/)
  })
})
