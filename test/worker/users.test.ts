import { describe, expect, it } from 'vitest'
import { instant } from '../../src/lib/clock'
import { canonicalZone, isZone, offsetMinutes, spelledZone } from '../../src/lib/zone'
import { present, START } from '../helpers/time'
import { words } from '../helpers/words'
import {
  ADMIN_KEY,
  at,
  call,
  expectBetween,
  newApp,
  newTenant,
  newTenantWith,
  pick,
  type TestTenant,
  toApp,
  untilTheClockMoves,
} from '../helpers/worker/harness'

const ODD = [
  ...words`a/b 100% %2F %252F 😀 __proto__ constructor ?#&=+ ümläut "quoted" ... % :id * null`,
  ...["'; --", 'ada lovelace', '\\', 'x'.repeat(255)],
]

const pathOf = (id: string) => `/users/${encodeURIComponent(id)}`

const put = (tenant: TestTenant, id: string, body: unknown) => tenant.app('PUT', pathOf(id), body)
const get = async (tenant: TestTenant, id: string) => Object((await tenant.app('GET', pathOf(id))).body)

/** The ways to pass fields of a user. */
const WAYS = {
  PUT: put,
  PATCH: (tenant: TestTenant, id: string, fields: object) => tenant.app('PATCH', pathOf(id), fields),
  POST: (tenant: TestTenant, id: string, fields: object) => tenant.app('POST', '/users', { id, ...fields }),
  event: (tenant: TestTenant, id: string, fields: object) => tenant.event('words', { id, ...fields }, 1),
}
const EVERY_WAY = Object.entries(WAYS)

async function withPlan(): Promise<TestTenant> {
  const tenant = await newTenantWith('words')
  for (const key of ['plan', 'team']) await tenant.create('/attributes', { key, name: key, type: 'user' })
  return tenant
}

describe('[U1] the id of a user', () => {
  it('[U1] is any text, percent-decoded once in a path', async () => {
    const tenant = await newTenantWith('words')
    for (const [n, id] of ODD.entries()) {
      expect((await put(tenant, id, { name: `user ${n}` })).body).toMatchObject({ id, name: `user ${n}` })
    }
    for (const [n, id] of ODD.entries()) {
      expect(await get(tenant, id)).toMatchObject({ id, name: `user ${n}` })
      expect((await tenant.event('words', id, n)).body).toMatchObject({ total: n })
      const { body } = await tenant.app('GET', `${pathOf(id)}/metrics/words`)
      expect(body).toMatchObject({ current: n })
      const own = await tenant.key(id)
      expect((await tenant.as(own, 'PATCH', pathOf(id), {})).body).toMatchObject({ id })
      const event = { user: { id }, value: 0 }
      expect((await tenant.as(own, 'POST', '/metrics/words/event', event)).status).toBe(201)
      const other = ODD[(n + 1) % ODD.length] ?? ''
      expect((await tenant.as(own, 'GET', pathOf(other))).status).toBe(403)
    }
    const { body: listed } = await tenant.admin('GET', '/users?limit=100')
    expect(pick(listed, 'id').toSorted()).toEqual(ODD.toSorted())
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const older = await call(tenant.send, 'PUT', `/api${pathOf('a/b')}`, { body: {}, headers })
    expect(older.body).toMatchObject({ id: 'a/b', name: 'user 0' })
  })

  it('[U1] has no control characters, is not . or .., and has 1–255 characters', async () => {
    const tenant = await newTenantWith('words')
    const before = await tenant.stored()
    for (const id of [
      ...['', '.', '..', 'a\u0000', '\n', 'a\u001f', '\u007f', '\u0085', '\ud800', 'x\udc00y'],
      ...['x'.repeat(256), 5, null, undefined, {}, ['ada']],
    ]) {
      const what = JSON.stringify(id)
      expect((await tenant.app('POST', '/users', { id })).status, what).toBe(422)
      const event = { user: { id }, value: 1 }
      expect((await tenant.app('POST', '/metrics/words/event', event)).status, what).toBe(422)
    }
    for (const id of ['%00', '%0A', '%7F', '%C2%85', 'x'.repeat(256)]) {
      expect([id, (await tenant.app('PUT', `/users/${id}`, {})).status]).toEqual([id, 422])
    }
    expect(await tenant.stored()).toEqual(before)
  })
})

describe('the fields of a user', () => {
  it('[U1] a user created with only an id has the defaults', async () => {
    const tenant = await newTenant()
    const began = present()
    const { status, body } = await put(tenant, 'ada', {})
    const user = Object(body)
    expect(status).toBe(200)
    expect(user).toEqual({
      id: 'ada',
      ...{ email: null, name: null, tz: null, deviceTokens: null, signUpDate: null },
      ...{ subscribeToEmails: true, attributes: {}, control: false },
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated: user.created,
    })
    expectBetween(began, Date.parse(user.created), present())
    expect(await get(tenant, 'ada')).toEqual(user)
    expect((await tenant.app('GET', '/users/nobody')).status).toBe(404)
    expect((await tenant.app('PATCH', '/users/nobody', { name: 'x' })).status).toBe(404)
    expect((await tenant.app('GET', '/users/nobody')).status).toBe(404)
  })

  it('[U2] passed fields overwrite, absent ones stay, null clears tz, deviceTokens and signUpDate and counts as absent elsewhere', async () => {
    const cleared = { tz: null, deviceTokens: null, signUpDate: null }
    const nulls = { ...cleared, email: null, name: null, subscribeToEmails: null, attributes: null }
    const all = {
      ...{ email: 'ada@example.com', name: 'Ada', tz: 'Europe/Paris', deviceTokens: ['t1', 't2'] },
      ...{ subscribeToEmails: false, attributes: { plan: 'pro', team: 'red' }, signUpDate: '2020-02-29' },
    }
    const other = { subscribeToEmails: true, email: 'other@example.com' }
    // What is passed, and what has changed since all was passed.
    const steps: [object, object][] = [
      [all, {}],
      [{}, {}],
      [{ name: 'A. L.' }, { name: 'A. L.' }],
      [{ name: 'Ada', tz: 'UTC' }, { tz: 'UTC' }],
      [{ tz: 'Europe/Paris', deviceTokens: ['t3'] }, { deviceTokens: ['t3'] }],
      [{ deviceTokens: [] }, { deviceTokens: [] }],
      [{ attributes: { plan: 'free' } }, { deviceTokens: [], attributes: { plan: 'free', team: 'red' } }],
      [{ attributes: { team: null } }, { deviceTokens: [], attributes: { plan: 'free' } }],
      [{ attributes: {} }, { deviceTokens: [], attributes: { plan: 'free' } }],
      [{ attributes: { plan: '', team: null } }, { deviceTokens: [], attributes: { plan: '' } }],
      [nulls, { ...cleared, attributes: { plan: '' } }],
      [other, { ...cleared, ...other, attributes: { plan: '' } }],
      [
        { control: true, created: '2000-01-01T00:00:00.000Z', updated: 'x', id2: 1 },
        { ...cleared, ...other, attributes: { plan: '' }, control: false },
      ],
    ]
    for (const [name, pass] of EVERY_WAY) {
      const tenant = await withPlan()
      if (name === 'PATCH') await put(tenant, 'ada', {})
      for (const [fields, changed] of steps) {
        const what = `${name} ${JSON.stringify(fields)}`
        const answer = await pass(tenant, 'ada', fields)
        const user = await get(tenant, 'ada')
        expect(answer.status, what).toBe(name === 'POST' || name === 'event' ? 201 : 200)
        const { attributes, ...rest } = { ...all, ...changed }
        expect(user, what).toMatchObject(rest)
        expect(user.attributes, what).toEqual(attributes)
        if (name !== 'event') expect(answer.body, what).toEqual(user)
      }
    }
  })

  it('[U1] email must look like an address, tz be an IANA zone, and all field errors are named', async () => {
    const tenant = await withPlan()
    await put(tenant, 'ada', {})
    const before = await tenant.stored()
    const wrong = [
      ...['x', 5, {}].map((email) => ({ email })),
      // The runtime knows the last three, but they are no zones of IANA.
      ...['Nowhere/Else', '+02:00', ' ', 'x'.repeat(300), 5, 'PST', 'IST', 'ACT'].map((tz) => ({ tz })),
      ...['yes', 0, 1, []].map((subscribeToEmails) => ({ subscribeToEmails })),
      ...['t', {}, [5], [null]].map((deviceTokens) => ({ deviceTokens })),
      ...['x', [], 5].map((attributes) => ({ attributes })),
      ...[{}, ['x'], 'x'.repeat(1_001), '😀'.repeat(1_001)].map((plan) => ({ attributes: { plan } })),
      ...[5, {}, [], true].map((name) => ({ name })),
    ]
    for (const fields of wrong) {
      for (const [name, pass] of EVERY_WAY) {
        const { status } = await pass(tenant, 'ada', fields)
        expect(status, `${name} ${JSON.stringify(fields)}`).toBe(422)
      }
    }
    const { body } = await tenant.app('POST', '/metrics/words/event', {
      user: {
        ...{ id: '', email: 'x', tz: 'x', name: 5, subscribeToEmails: 'x', deviceTokens: 'x' },
        attributes: { plan: {} },
      },
      value: 'x',
      attributes: 5,
    })
    for (const field of words`
      user.id user.email user.tz user.name user.subscribeToEmails user.deviceTokens user.attributes.plan
      value attributes
    `)
      expect(String(at(body, 'error'))).toContain(`${field}:`)
    for (const body of [null, [], 'x', 5]) {
      expect((await put(tenant, 'ada', body)).status).toBe(422)
      expect((await tenant.app('POST', '/users', body)).status).toBe(422)
    }
    expect(await tenant.stored()).toEqual(before)
  })

  it('[U1, G7] a text that is as long as it may be counts its characters, not their halves', async () => {
    const tenant = await withPlan()
    const longest = { name: '😀'.repeat(255), attributes: { plan: '😀'.repeat(1_000) } }
    expect((await put(tenant, 'ada', longest)).body).toMatchObject(longest)
    expect((await tenant.admin('GET', '/users/ada/export')).body).toMatchObject({ user: longest })
  })

  it('[U1] an email address has no empty label, comma or invisible character, and may be of any script', async () => {
    const tenant = await newTenant()
    const wrong = [
      ...words`a@example..com a@example.com. a@.example.com a@-example.com a,b@example.com a，b@example.com`,
      ...['a;b@example.com', 'Ada <a@example.com>', '"a"@example.com', 'a@example.com\n', '@', 'a@', '@b'],
      ...['a b@c', 'a@b@c', ' '],
      // Zero width space, soft hyphen, byte order mark, Hangul filler, variation selector, no-break space.
      ...['\u200b', '\u00ad', '\ufeff', '\u3164', '\ufe0f', '\u00a0', '\u202e'].flatMap((sign) => [
        `${sign}a@example.com`,
        `a@example.com${sign}`,
        `a${sign}b@example.com`,
        `a@exam${sign}ple.com`,
      ]),
      // Blank Braille, object replacement, replacement character, null note head.
      ...['\u2800', '\ufffc', '\ufffd', '\u{1d159}'].flatMap((sign) => [
        `${sign}@example.com`,
        `a${sign}b@example.com`,
        `a@exam${sign}ple.com`,
      ]),
      // A combining acute accent, which would change the sign before it.
      ...['\u0301a@example.com', 'a@\u0301example.com', 'a@example.\u0301com'],
    ]
    for (const email of wrong) {
      const answer = await put(tenant, 'ada', { email })
      expect([answer.status, at(answer.body, 'error')], JSON.stringify(email)).toEqual([
        422,
        'email: must be an email address, such as ada@example.com, without spaces and invisible characters.',
      ])
    }
    for (const email of [
      ...["o'brien+news@sub.example.co.uk", "!#$%&'*/=?^_`{|}~-@example.com"],
      ...['ju\u0308rgen@mu\u0308nchen.example', 'संपर्क@डाटामेल.भारत'],
      ...words`
        a..b.@docomo.example root@localhost ada@xn--mnchen-3ya.example jürgen@münchen.example
        дмитрий@пример.рф 用户@例え.テスト info@col·legi.example 😀@example.com
      `,
    ])
      expect(await put(tenant, 'ada', { email })).toMatchObject({ status: 200, body: { email } })
  })

  it('[U1] the error of a zone shows the value that came', async () => {
    const tenant = await newTenant()
    const errorOf = async (tz: string) => at((await put(tenant, 'ada', { tz })).body, 'error')
    const wanted = 'tz: must be an IANA time zone, such as Europe/Paris, not'
    expect(await errorOf('Mars/Olympus "1"')).toBe(`${wanted} "Mars/Olympus \\"1\\"".`)
    expect(await errorOf(`x${'y'.repeat(300)}`)).toBe(`${wanted} "x${'y'.repeat(63)}".`)
  })

  it('[U1] an empty email or tz counts as absent, and numbers and booleans become the text of an attribute', async () => {
    const tenant = await withPlan()
    const first = { email: 'ada@example.com', tz: 'Europe/Paris' }
    await tenant.create('/achievements', { key: 'profile', name: 'P', status: 'active', trigger: 'api' })
    await put(tenant, 'ada', first)
    for (const [name, pass] of EVERY_WAY) {
      for (const plan of [12.5, true, -0, false, 1e21, name]) {
        const fields = { email: '', tz: plan === true ? 'Etc/Unknown' : '', attributes: { plan } }
        expect((await pass(tenant, 'ada', fields)).status, `${name} ${plan}`).toBeLessThan(300)
        expect(await get(tenant, 'ada')).toMatchObject({ ...first, attributes: { plan: String(plan) } })
      }
      // No user is subscribed without an address.
      const subscribed = { email: '', subscribeToEmails: true }
      expect((await pass(tenant, 'ada', subscribed)).status, name).toBeLessThan(300)
      if (name === 'PATCH') await put(tenant, name, {})
      expect((await pass(tenant, name, subscribed)).status, name).toBe(422)
    }
    const bob = { id: 'bob', email: '', tz: '', attributes: { plan: 5 } }
    expect((await tenant.app('POST', '/achievements/profile/complete', { user: bob })).status).toBe(201)
    expect(await get(tenant, 'bob')).toMatchObject({ email: null, tz: null, attributes: { plan: '5' } })
    // JSON can have a number that is too large for a number.
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const raw = '{"attributes": {"plan": 1e400}}'
    expect(await call(tenant.send, 'PUT', '/v1/users/ada', { raw, headers })).toMatchObject({
      status: 422,
      body: { error: expect.stringContaining('attributes.plan: must be a string') },
    })
  })

  it('[U1] the OpenAPI document says so', async () => {
    const { body } = await call(toApp, 'GET', '/v1/openapi.json')
    const schemas = at(body, 'components', 'schemas')
    for (const name of ['UpdatedUser', 'UpsertedUser']) {
      const fields = at(schemas, name, 'properties')
      const pattern = new RegExp(String(at(fields, 'email', 'anyOf', 0, 'pattern')), 'u')
      expect(['', 'ada@example.com', 'ada'].map((email) => pattern.test(email))).toEqual([true, true, false])
      expect(at(fields, 'attributes', 'anyOf', 0, 'additionalProperties', 'type')).toEqual([
        ...['string', 'number', 'boolean', 'null'],
      ])
    }
    const ofEvent = at(schemas, 'EventRequest', 'properties', 'attributes', 'anyOf', 0)
    expect(at(ofEvent, 'additionalProperties', 'type')).toEqual(['string', 'number', 'boolean'])
  })

  it('[U1] every zone that the platform lists works, also older names, and is answered in the case of IANA', async () => {
    const tenant = await newTenantWith('words')
    const older = words`
      US/Pacific Asia/Calcutta EST5EDT Europe/Kyiv Zulu NZ-CHAT Mexico/BajaNorte Etc/GMT+12 Etc/GMT-14 GMT
    `
    const now = instant(START)
    for (const tz of [...Intl.supportedValuesOf('timeZone'), ...older]) {
      expect([tz, isZone(tz), Number.isInteger(offsetMinutes(tz, now))]).toEqual([tz, true, true])
      for (const written of [tz, tz.toLowerCase(), tz.toUpperCase()]) expect(spelledZone(written)).toBe(tz)
      expect([tz, isZone(canonicalZone(tz))]).toEqual([tz, true])
    }
    for (const tz of [...older, 'Asia/Kathmandu', 'Pacific/Kiritimati']) {
      expect([tz, (await tenant.event('words', { id: 'ada', tz: tz.toLowerCase() }, 1)).status]).toEqual([
        tz,
        201,
      ])
      expect(await get(tenant, 'ada')).toMatchObject({ tz })
      expect(at((await put(tenant, 'bob', { tz: tz.toUpperCase() })).body, 'tz')).toBe(tz)
    }
  })
})

describe('changes of a user', () => {
  it('[U3] updated moves only with a real change; an upsert that changes nothing writes no row', async () => {
    const tenant = await withPlan()
    const fields = {
      ...{ email: 'a@b.c', name: 'Ada', tz: 'Europe/Paris', deviceTokens: ['t'] },
      ...{ subscribeToEmails: true, attributes: { plan: 'pro' } },
    }
    await put(tenant, 'ada', fields)
    const user = await get(tenant, 'ada')
    const before = await tenant.stored()
    for (const same of [
      ...[fields, {}, { name: 'Ada' }, { name: null }, { attributes: { team: null } }, { attributes: {} }],
      { deviceTokens: ['t'] },
    ]) {
      await untilTheClockMoves()
      for (const pass of [WAYS.PUT, WAYS.PATCH, WAYS.POST])
        expect((await pass(tenant, 'ada', same)).body).toEqual(user)
    }
    expect(await tenant.stored()).toEqual(before)
    await WAYS.event(tenant, 'ada', fields)
    expect(await get(tenant, 'ada')).toEqual(user)
    let last = user
    for (const change of [
      ...[{ name: 'B' }, { email: 'b@b.c' }, { tz: null }, { deviceTokens: ['t', 't'] }],
      ...[{ deviceTokens: null }, { subscribeToEmails: false }],
      ...[{ attributes: { plan: 'x' } }, { attributes: { plan: null } }],
    ]) {
      await untilTheClockMoves()
      const next = Object((await put(tenant, 'ada', change)).body)
      expect(Date.parse(next.updated)).toBeGreaterThan(Date.parse(last.updated))
      expect(next.created).toBe(user.created)
      last = next
    }
    await untilTheClockMoves()
    await tenant.event('words', { id: 'ada', name: 'C' }, 1)
    expect(Date.parse((await get(tenant, 'ada')).updated)).toBeGreaterThan(Date.parse(last.updated))
  })

  it('[U2] an unusual text is stored as in the response', async () => {
    const tenant = await withPlan()
    for (const text of [
      ...['', "'; DROP TABLE users; --", '😀', '\u0000', 'a\u0000b', '"\\', '<script>', '\u202e'],
    ]) {
      const fields = { name: text, deviceTokens: [text], attributes: { plan: text } }
      const { status, body } = await put(tenant, 'ada', fields)
      if (status === 422) continue
      expect(status).toBe(200)
      // As JSON, since an unpaired surrogate would break the runner's own report.
      expect(JSON.stringify(await get(tenant, 'ada'))).toBe(JSON.stringify(body))
      expect(JSON.stringify((await put(tenant, 'ada', fields)).body)).toBe(JSON.stringify(body))
    }
  })

  it('[U5] the control group has no users at 0, all users at 100, is stable, and applies only to users created later', async () => {
    const tenant = await newTenantWith('words')
    const ids = Array.from({ length: 12 }, (_, n) => `user-${n}`)
    const controls = async () =>
      (await Promise.all(ids.map((id) => get(tenant, id)))).map(({ control }) => control)
    const ratio = (controlRatio: number) =>
      tenant.admin('PATCH', '/settings', { experimentation: { controlRatio } })
    await Promise.all(ids.map((id) => put(tenant, id, { control: true })))
    expect(await controls()).toEqual(Array(12).fill(false))
    await ratio(100)
    await Promise.all(ids.map((id) => put(tenant, id, { name: 'x' })))
    expect(await controls()).toEqual(Array(12).fill(false))
    expect((await put(tenant, 'late', {})).body).toMatchObject({ control: true })
    const posted = await WAYS.POST(tenant, 'posted', { control: false })
    expect(posted.body).toMatchObject({ control: true })
    await tenant.event('words', 'evented', 1)
    expect(await get(tenant, 'evented')).toMatchObject({ control: true })
    await ratio(0)
    expect(await get(tenant, 'late')).toMatchObject({ control: true })
    expect((await put(tenant, 'later', {})).body).toMatchObject({ control: false })
  })
})

describe('[U6] the creation of a user', () => {
  const withWelcome = async () => {
    const tenant = await withPlan()
    const plan = String(at((await tenant.admin('GET', '/attributes')).body, 0, 'id'))
    const userAttributes = [{ attributeId: plan, attributeValue: 'pro' }]
    const triggers = [
      { type: 'user_creation', points: 50, status: 'active' },
      { type: 'user_creation', points: 7, status: 'active', userAttributes },
      { type: 'user_creation', points: 1000 },
    ]
    const levels = [{ key: 'new', name: 'New', points: 50 }]
    await tenant.create('/points', { key: 'xp', name: 'XP', triggers, levels })
    return tenant
  }
  const points = async (tenant: TestTenant, id: string) =>
    (await tenant.app('GET', `/users/${id}/points/xp`)).body

  it('[U6] fires user_creation triggers once, for any call that created the user', async () => {
    const tenant = await withWelcome()
    await put(tenant, 'put', { attributes: { plan: 'pro' } })
    await tenant.app('POST', '/users', { id: 'post' })
    const event = await tenant.event('words', { id: 'event', attributes: { plan: 'pro' } }, 0)
    expect(at(event.body, 'points', 'xp')).toMatchObject({
      ...{ total: 57, added: 57, level: { key: 'new' } },
      awards: [
        { awarded: 50, total: 50, trigger: { type: 'user_creation', points: 50 }, boosts: [] },
        { awarded: 7, total: 57, trigger: { userAttributes: [{ key: 'plan', value: 'pro' }] } },
      ],
    })
    for (const [id, total] of Object.entries({ put: 57, post: 50, event: 57 })) {
      expect(await points(tenant, id)).toMatchObject({ total, level: { key: 'new' } })
      await put(tenant, id, { attributes: { plan: 'pro' } })
      await tenant.app('POST', '/users', { id })
      expect(at((await tenant.event('words', id, 5)).body, 'points')).toEqual({})
      expect(await points(tenant, id)).toMatchObject({ total })
    }
  })

  it('[U6] once also in 20 parallel calls of every sort, through two apps', async () => {
    const tenant = await withWelcome()
    const other = tenant.through(newApp())
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const [where, pass] = [n % 2 ? tenant : other, [WAYS.event, put, WAYS.POST][n % 3] ?? put]
        return (await pass(where, 'ada', n % 3 === 1 ? { name: `n${n}` } : {})).status
      }),
    )
    expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([])
    expect(await points(tenant, 'ada')).toMatchObject({ total: 50, awards: [{ awarded: 50 }] })
    expect((await tenant.admin('GET', '/users')).body).toMatchObject([{ id: 'ada' }])
    expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 7 })
  })
})

describe('[U9] `signUpDate`', () => {
  // In Auckland it is the next day.
  const [east, west] = ['Pacific/Auckland', 'America/Los_Angeles']

  it.each([
    ['1900-01-01', {}, '1900-01-01'],
    ['2026-06-03', {}, '2026-06-03'],
    ['2026-06-03', { tz: west }, '2026-06-03'],
    ['2026-06-04', { tz: east }, '2026-06-04'],
    ['2020-01-01T00:30:00+02:00', {}, '2019-12-31'],
    ['2020-01-01t23:59:59.123456z', {}, '2020-01-01'],
    ['1899-12-31', {}, null],
    ['1900-01-01T00:30:00+02:00', {}, null],
    ['2026-06-04', {}, null],
    ['2026-06-04', { tz: west }, null],
    ['2026-06-05', { tz: east }, null],
    ['2026-06-03T23:00:00-02:00', {}, null],
    ['2020-02-30', {}, null],
    ['2020-01-01T00:00:00', {}, null],
    ['2020-1-1', {}, null],
    ['', {}, null],
    [20_200_101, {}, null],
  ])('%j with %j is stored as %j in each way to pass a user', async (signUpDate, more, stored) => {
    const tenant = await newTenantWith('words')
    await tenant.create('/achievements', { key: 'done', name: 'Done', trigger: 'api', status: 'active' })
    const user = { ...more, signUpDate }
    const complete = (tenant: TestTenant, id: string, fields: object) =>
      tenant.app('POST', '/achievements/done/complete', { user: { id, ...fields } })
    for (const [name, pass] of Object.entries({ ...WAYS, complete })) {
      if (name === 'PATCH') await put(tenant, name, {})
      const { status, body } = await pass(tenant, name, user)
      expect(status < 300, name).toBe(stored !== null)
      if (stored === null) expect(JSON.stringify(body)).toContain('signUpDate')
      else expect(await get(tenant, name)).toMatchObject({ signUpDate: stored })
    }
    const batch = [{ key: 'words', user: { id: 'b', ...user }, value: 1 }]
    const answer = await tenant.admin('POST', '/metrics/events', batch)
    expect(answer.status).toBe(stored === null ? 422 : 202)
  })

  it("today is that of the zone in the call, else of the stored zone, or an earlier event's in a batch", async () => {
    const tenant = await newTenantWith('words')
    await put(tenant, 'ada', { tz: east, email: 'ada@example.com' })
    const later = { signUpDate: '2026-06-04' }
    const statusOf = async (fields: object) => (await put(tenant, 'ada', fields)).status
    expect(await statusOf({ ...later, tz: west })).toBe(422)
    expect(await statusOf({ ...later, tz: null })).toBe(422)
    // Other errors are named beside it, by the stored zone.
    const both = await put(tenant, 'ada', { name: 5, signUpDate: '2026-06-05' })
    expect(Object(both.body).issues).toEqual([
      { path: 'name', message: expect.any(String) },
      { path: 'signUpDate', message: "must not be after the user's today, 2026-06-04" },
    ])
    expect(await statusOf(later)).toBe(200)
    const event = (id: string, fields: object) => ({ key: 'words', user: { id, ...fields }, value: 1 })
    const batch = (...events: object[]) => tenant.admin('POST', '/metrics/events', events)
    const accepted = await batch(event('ada', later), event('bob', { tz: east }), event('bob', later))
    expect(accepted.status).toBe(202)
    const latest = { signUpDate: '2026-06-05' }
    const refused = await batch(event('bob', { tz: west }), event('bob', latest), event('eve', later))
    expect(pick(at(refused.body, 'issues'), 'path')).toEqual(['1.user.signUpDate', '2.user.signUpDate'])
  })

  it('is never refused again after a journey to the west', async () => {
    const tenant = await newTenantWith('words')
    await put(tenant, 'ada', { tz: east, signUpDate: '2026-06-04' })
    const user = { id: 'ada', tz: west, signUpDate: '2026-06-04' }
    const answers = [
      await tenant.app('POST', '/metrics/words/event', { user, value: 1 }),
      await tenant.admin('POST', '/metrics/events', [{ key: 'words', user, value: 1 }]),
      await put(tenant, 'ada', { signUpDate: '2026-06-04' }),
      await put(tenant, 'ada', { signUpDate: '2026-06-05' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([201, 202, 200, 422])
  })

  it('is in the list of users, the export, the timeline and every webhook about a user', async () => {
    const tenant = await newTenant()
    await put(tenant, 'ada', { signUpDate: '2020-05-17' })
    const signUpDate = '2020-05-17'
    expect((await tenant.admin('GET', '/users?search=ada')).body).toMatchObject([{ signUpDate }])
    expect((await tenant.admin('GET', '/users/ada/export')).body).toMatchObject({ user: { signUpDate } })
    const { body } = await tenant.admin('GET', '/users/ada/timeline')
    expect(JSON.stringify(body)).toContain('"signUpDate"')
    const { updated } = await get(tenant, 'ada')
    await untilTheClockMoves()
    expect((await put(tenant, 'ada', { signUpDate })).body).toMatchObject({ updated })
  })
})
