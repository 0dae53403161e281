import { describe, expect, it } from 'vitest'
import { at, list, newApp, newTenant, pick } from '../helpers/worker/harness'
import { filter } from '../helpers/worker/world'

describe('attributes', () => {
  it('[G9] refuses to delete one that an active resource uses, and deletes one that none uses', async () => {
    const tenant = await newTenant()
    const metric = await tenant.metric('words')
    const make = (key: string, type: string) => tenant.create('/attributes', { key, name: key, type })
    const keys = { plan: 'user', page: 'event', boosted: 'user', finished: 'user', idle: 'user' }
    const made = Object.entries(keys).map(([key, type]) => make(key, type))
    const [plan = '', page = '', boosted = '', finished = '', idle = ''] = await Promise.all(made)
    const trigger = { type: 'metric', points: 1, metricId: metric, metricThreshold: 1 }
    const boost = { start: '2020-01-01', multiplier: 2 }
    const system = await tenant.create('/points', {
      ...{ key: 'xp', name: 'XP' },
      triggers: [
        { ...trigger, status: 'active', userAttributes: filter(plan), eventAttributes: filter(page) },
        { ...trigger, status: 'inactive', userAttributes: filter(idle) },
      ],
      boosts: [
        { ...boost, name: 'open', userAttributes: filter(boosted) },
        { ...boost, name: 'over', end: '2020-02-01', userAttributes: filter(finished) },
      ],
    })
    const remove = async (id: string) => (await tenant.admin('DELETE', `/attributes?ids=${id}`)).body
    for (const id of [plan, page, boosted]) {
      const issue = { id, severity: 'error', message: expect.any(String) }
      expect(await remove(id)).toEqual({ deleted: [], issues: [issue] })
    }
    for (const id of [finished, idle]) expect(await remove(id)).toEqual({ deleted: [{ id }], issues: [] })
    // A trigger with a deleted attribute can't be activated.
    const triggers = list((await tenant.admin('GET', `/points/${system}/triggers`)).body)
    const inactive = triggers.find((one) => at(one, 'status') === 'inactive')
    const change = { id: at(inactive, 'id'), status: 'active' }
    const activated = await tenant.admin('PATCH', `/points/${system}/triggers`, [change])
    expect(activated.body).toMatchObject({ updated: [], issues: [{ id: change.id }] })
    // The attribute can be deleted after the resources that use it.
    await tenant.admin('DELETE', `/points?ids=${system}`)
    for (const id of [plan, page, boosted])
      expect(await remove(id)).toEqual({ deleted: [{ id }], issues: [] })
  })

  it('[G5] starts without values if it is deleted and created again with the same key', async () => {
    const tenant = await newTenant()
    const attribute = { key: 'plan', name: 'Plan', type: 'user' }
    const first = await tenant.create('/attributes', attribute)
    await tenant.app('PUT', '/users/ada', { attributes: { plan: 'pro' } })
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({ attributes: { plan: 'pro' } })
    await tenant.admin('DELETE', `/attributes?ids=${first}`)
    expect(at((await tenant.app('GET', '/users/ada')).body, 'attributes')).toEqual({})
    expect((await tenant.app('PUT', '/users/ada', { attributes: { plan: 'x' } })).status).toBe(422)
    const second = await tenant.create('/attributes', attribute)
    expect(second).not.toBe(first)
    expect(at((await tenant.app('GET', '/users/ada')).body, 'attributes')).toEqual({})
    await tenant.app('PUT', '/users/ada', { attributes: { plan: 'basic' } })
    expect(at((await tenant.app('GET', '/users/ada')).body, 'attributes')).toEqual({ plan: 'basic' })
  })
})

describe('metrics', () => {
  it('[G9] a deleted metric stops at once in all isolates, with its triggers, and its events stay', async () => {
    const tenant = await newTenant()
    const other = tenant.through(newApp())
    const words = await tenant.metric('words')
    await tenant.metric('pages')
    const trigger = { type: 'metric', points: 5, status: 'active', metricId: words, metricThreshold: 1 }
    const system = await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
    await tenant.event('words', 'ada', 3)
    const event = await other.event('words', 'ada', 1)
    expect(event.body).toMatchObject({ total: 4, points: { xp: { total: 20 } } })
    const { body } = await tenant.admin('DELETE', `/metrics?ids=${words}`)
    expect(body).toEqual({ deleted: [{ id: words }], issues: [] })
    for (const where of [tenant, other]) {
      expect((await where.event('words', 'ada', 1)).status).toBe(404)
      expect((await where.app('GET', '/users/ada/metrics/words')).status).toBe(404)
      expect(pick((await where.app('GET', '/users/ada/metrics')).body, 'key')).toEqual(['pages'])
      expect(at((await where.app('GET', '/points/xp')).body, 'triggers')).toEqual([])
      expect((await where.admin('GET', `/points/${system}/triggers`)).body).toEqual([])
    }
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({
      total: 20,
      awards: [{ trigger: { metricName: 'Metric words' } }, { trigger: { metricName: 'Metric words' } }],
    })
    // The key is free again. Old events still have the old id.
    const anew = await tenant.metric('words')
    expect(anew).not.toBe(words)
    const { body: first } = await tenant.event('words', 'ada', 1)
    expect(first).toMatchObject({ total: 1, metricId: anew, points: {} })
  })
})

it.each([
  ['/settings', { aggregationPeriod: 'monthly' }],
  ['/streaks/settings', { frequency: 'weekly' }],
])('[G15] %s change with If-Match only as they were read', async (path, change) => {
  const tenant = await newTenant()
  const patchIf = (etag: string) => tenant.admin('PATCH', path, change, { 'if-match': etag })
  const before = await tenant.admin('GET', path)
  const etag = before.headers.get('etag') ?? ''
  const answers = await Promise.all([patchIf(etag), patchIf(etag)])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
  const { body: current, headers } = await tenant.admin('GET', path)
  expect(current).toEqual({ ...Object(before.body), ...change })
  const [done, refused] = answers.toSorted((one, other) => one.status - other.status)
  expect(done?.headers.get('etag')).toBe(headers.get('etag'))
  expect(refused?.body).toEqual({ error: expect.stringContaining('has changed'), current })
  expect((await patchIf('*')).status).toBe(200)
  const now = (await tenant.admin('GET', path)).headers.get('etag') ?? ''
  const bare = now.slice(1, -1)
  for (const tags of [',', '""', 'W/', 'W/*', '"*"', bare, `"${now}"`, `${now} "a"`, '"a", "b"', `w/${now}`])
    expect((await patchIf(tags)).status, tags).toBe(412)
  for (const tags of [`"a", ${now}`, `"a",,W/${now} `, '"a", *', '', ' '])
    expect((await patchIf(tags)).status, tags).toBe(200)
})

describe('[T4] settings', () => {
  type Fields = Readonly<Record<string, unknown>>
  const UNSET: { branding: Fields; experimentation: Fields; aggregationPeriod: string } = {
    branding: {
      ...{ appName: 'My app', appUrl: '', brandColor: '#2563EB', font: 'MODERN_SANS' },
      ...{ logo: null, appIcon: null },
    },
    experimentation: { controlRatio: 0, userActivationWindow: 7 },
    aggregationPeriod: 'weekly',
  }

  it('[T4] change field by field, with an entry in the audit log if anything changes', async () => {
    const tenant = await newTenant()
    const settings = async () => (await tenant.admin('GET', '/settings')).body
    expect(await settings()).toEqual(UNSET)
    let { branding, experimentation, aggregationPeriod } = UNSET
    const logo = { url: 'HTTPS://u:p@example.com/l.png?v=1' }
    for (const change of [
      {},
      { branding: { appName: 'Ä'.repeat(100), appUrl: 'http://localhost:3000' } },
      { branding: { logo, appIcon: { url: 'https://example.com/i' } }, experimentation: {} },
      { experimentation: { controlRatio: 100 }, aggregationPeriod: 'monthly' },
      {
        branding: { appUrl: '', logo: null, font: 'MONOSPACE' },
        experimentation: { userActivationWindow: 30 },
      },
      { branding: { brandColor: '#abc' } },
    ]) {
      branding = { ...branding, ...change.branding }
      experimentation = { ...experimentation, ...change.experimentation }
      aggregationPeriod = change.aggregationPeriod ?? aggregationPeriod
      const after = { branding, experimentation, aggregationPeriod }
      const { status, body } = await tenant.admin('PATCH', '/settings', change)
      expect([status, body]).toEqual([200, after])
      expect(await settings()).toEqual(after)
    }
    // Null is absent, except for a picture.
    const nulls = { appName: null, appUrl: null, brandColor: null, font: null, appIcon: null }
    const without = { branding: nulls, experimentation: null, aggregationPeriod: null }
    await tenant.admin('PATCH', '/settings', without)
    expect(await settings()).toMatchObject({ branding: { ...branding, appIcon: null }, experimentation })
    const { body } = await tenant.admin('GET', '/audit-log?kind=settings')
    expect(body).toHaveLength(6)
    expect(at(body, 4, 'fields', 'branding', 'after', 'logo')).toEqual({ url: 'HTTPS://example.com/l.png' })
  })

  it('[T4, G3] refuse what no mail program or browser shows, all fields at once, and store nothing of it', async () => {
    const tenant = await newTenant()
    const wrong: Record<string, readonly unknown[]> = {
      'branding.appName': ['', 'x'.repeat(101), 5],
      'branding.appUrl': [
        ...['javascript:alert(1)', 'example.com', 'https://', 'ftp://a.example', ' https://a.example'],
      ],
      'branding.brandColor': [
        ...['', 'red', '#12', '#1234', '#12345g', '#2563EB;x:y', '#fff\n', 'rgb(300,0,0)', 'rgb(256, 0, 0)'],
        ...['rgb(1,2)', 'rgb(1,2,3,0.5)', 'rgba(1,2,3)', 'rgba(1,2,3,1.1)', 'rgb(-1,0,0)', 'rgb(1.5,0,0)'],
        'url(javascript:x)',
      ],
      'branding.font': ['Arial', 'modern_sans'],
      'branding.logo.url': [
        ...['data:image/png;base64,AA', '//example.com/l.png', `https://a.example/${'x'.repeat(2048)}`],
      ],
      'branding.appIcon': ['https://example.com/i', []],
      'experimentation.controlRatio': [-1, 101, 12.5, '5'],
      'experimentation.userActivationWindow': [2, 31, 7.5],
      aggregationPeriod: ['daily', 'none'],
    }
    for (const [path, values] of Object.entries(wrong)) {
      for (const value of values) {
        const change = path.split('.').reduceRight((inner, field) => ({ [field]: inner }), value)
        const { status, body } = await tenant.admin('PATCH', '/settings', change)
        expect([value, status, at(body, 'issues', 0, 'path')]).toEqual([value, 422, path])
        expect(at(body, 'issues')).toHaveLength(1)
      }
    }
    const several = { branding: { font: 'x', logo: { url: 1 } }, experimentation: { controlRatio: 101 } }
    const { body } = await tenant.admin('PATCH', '/settings', several)
    expect(String(at(body, 'error'))).toMatch(/font.*logo\.url.*controlRatio/)
    for (const shape of [[], null, 'x', { branding: [] }, { controlRatio: 5, branding: { name: 'x' } }])
      expect((await tenant.admin('PATCH', '/settings', shape)).status).toBe(422)
    expect((await tenant.admin('GET', '/settings')).body).toEqual(UNSET)
  })

  it.each(['#FFF', '#09afAF', 'rgb(0,128,255)', 'rgb( 1 , 02, 255 )', 'rgba(1,2,3,0)', 'rgba(9, 9, 9, .25)'])(
    '[T4] take the colour %s',
    async (brandColor) => {
      const tenant = await newTenant()
      const { body } = await tenant.admin('PATCH', '/settings', { branding: { brandColor } })
      expect(at(body, 'branding', 'brandColor')).toBe(brandColor)
    },
  )
})

describe('[G5] keys', () => {
  it('[G5] __proto__ and constructor are keys like any other, in every response', async () => {
    const tenant = await newTenant()
    for (const key of ['__proto__', 'constructor']) {
      const metric = await tenant.metric(key)
      await tenant.create('/attributes', { key, name: key, type: 'user' })
      const page = await tenant.create('/attributes', { key, name: key, type: 'event' })
      const eventAttributes = [{ attributeId: page, attributeValue: 'x' }]
      const trigger = { type: 'metric', points: 3, status: 'active', metricId: metric, metricThreshold: 1 }
      const levels = [{ key, name: key, points: 1 }]
      await tenant.create('/points', { key, name: key, triggers: [{ ...trigger, eventAttributes }], levels })
    }
    const attributes = JSON.parse('{"__proto__":"p","constructor":"c"}')
    for (const key of ['__proto__', 'constructor']) {
      // The event with both attributes does not match the filters for x. The next event does.
      const path = `/metrics/${key}/event`
      const nothing = await tenant.app('POST', path, { user: { id: key, attributes }, value: 2, attributes })
      expect(nothing).toMatchObject({ status: 201, body: { total: 2 } })
      expect(at(nothing.body, 'points')).toEqual({})
      const x = JSON.parse('{"__proto__":"x","constructor":"x"}')
      const some = await tenant.app('POST', path, { user: { id: key }, value: 1, attributes: x })
      expect(Object.keys(Object(at(some.body, 'points')))).toEqual([key])
      expect(at(some.body, 'points', key)).toMatchObject({ key, total: 3, added: 3, level: { key } })
      const fired = at(some.body, 'points', key, 'awards', 0, 'trigger', 'eventAttribute')
      expect(fired).toEqual({ key, value: 'x' })
      const user = await tenant.app('GET', `/users/${key}`)
      expect(Object.entries(Object(at(user.body, 'attributes'))).sort()).toEqual([
        ['__proto__', 'p'],
        ['constructor', 'c'],
      ])
      const { body } = await tenant.app('GET', `/users/${key}/metrics/${key}`)
      expect(body).toMatchObject({ key, current: 3 })
      expect((await tenant.app('GET', `/users/${key}/points/${key}`)).body).toMatchObject({ key, total: 3 })
      const both = '__proto__:p,constructor:c'
      const summary = await tenant.app('GET', `/points/${key}/summary?userAttributes=${both}`)
      expect(at(summary.body, 3)).toEqual({ from: 3, to: 3, users: 1 })
      expect((await tenant.app('GET', `/points/${key}/summary?userAttributes=toString:c`)).status).toBe(422)
    }
    const inherited = { toString: 'x', valueOf: 'y' }
    const unknown = await tenant.app('PUT', '/users/bob', { attributes: inherited })
    const error =
      'Invalid attribute keys: toString, valueOf. Attribute keys must match those configured for users.'
    expect(unknown).toMatchObject({ status: 422, body: { error } })
    for (const key of ['toString', 'hasOwnProperty', 'valueOf']) {
      expect((await tenant.event(key, 'ada', 1)).status).toBe(404)
      expect((await tenant.app('GET', `/points/${key}`)).status).toBe(404)
    }
  })
})
