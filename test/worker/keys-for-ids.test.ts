import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { at, newTenant, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'

const NOBODY = '018f0000-0000-7000-8000-000000000000'

let tenant: TestTenant
let words: string
let xp: string

beforeEach(async () => {
  tenant = await newTenant()
  words = await tenant.metric('words')
  xp = await tenant.create('/points', { key: 'xp', name: 'XP' })
  await tenant.app('PUT', '/users/ada', {})
})

afterEach(forgetTime)

/** Each kind of resource with a key: its list, its list by the key of its system, and items. */
type Kind = { path: () => string; byKey: string; item: (key: string) => object; isFixed: boolean }

const kind = (byKey: string, item: (key: string) => object, isFixed: boolean): Kind => ({
  path: () => byKey.replace('/points/xp/', `/points/${xp}/`),
  byKey,
  item,
  isFixed,
})
const pointsOf = (key: string) => [...key].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)
const boost = { name: 'B', start: '2026-01-01', multiplier: 2 }
const KINDS: [string, Kind][] = [
  ['metric', kind('/metrics', (key) => ({ key, name: 'M' }), true)],
  ['attribute', kind('/attributes', (key) => ({ key, name: 'A', type: 'user' }), true)],
  ['points system', kind('/points', (key) => ({ key, name: 'P' }), true)],
  ['level', kind('/points/xp/levels', (key) => ({ key, name: 'L', points: pointsOf(key) }), true)],
  ['trigger', kind('/points/xp/triggers', (key) => ({ key, type: 'user_creation', points: 1 }), false)],
  ['boost', kind('/points/xp/boosts', (key) => ({ key, ...boost }), false)],
  ['own boost', kind('/points/xp/boosts', (key) => ({ key, ...boost, userId: 'ada' }), false)],
  ['achievement', kind('/achievements', (key) => ({ key, name: 'A', trigger: 'api' }), true)],
  ['leaderboard', kind('/leaderboards', (key) => ({ key, name: 'L', rankBy: 'streak' }), false)],
  ['webhook', kind('/webhooks', (key) => ({ key, url: 'https://example.com', events: ['*'] }), false)],
  [
    'template',
    kind(
      '/notifications/templates',
      (key) => ({ key, type: 'recap', channel: 'push', title: 'T', body: 'B' }),
      false,
    ),
  ],
]

const ask = (method: string, path: string, body?: unknown) => tenant.admin(method, path, body)
const keysIn = (body: unknown) => [body].flat().map((one) => at(one, 'key'))

/** Numbers that each write of a tenant's configuration, or of a user's own boosts, raises. */
const writesOf = ({ id }: TestTenant) =>
  rowsEverywhere(
    `SELECT config_version, (SELECT count(*) FROM audit_log WHERE tenant_id = t.id) AS entries,
      (SELECT total(seq) FROM users WHERE tenant_id = t.id) AS seqs FROM tenants t WHERE id = ?1`,
    id,
  )

describe.each(KINDS)('[O1] a %s', (_name, { path, byKey, item, isFixed }) => {
  it('is found in a path by its id and by its key, and an id wins', async () => {
    const id = await tenant.create(path(), item('a'))
    const byId = await ask('GET', `${path()}/${id}`)
    expect([byId.status, at(byId.body, 'key')]).toEqual([200, 'a'])
    for (const address of [`${path()}/a`, `${byKey}/a`, `${byKey}/${id.toUpperCase()}`]) {
      const { status, body } = await ask('GET', address)
      expect([address, status, body]).toEqual([address, 200, byId.body])
    }
    // A key may look like a UUID, even like the id of another one.
    await tenant.create(path(), item(NOBODY))
    const like = await tenant.create(path(), item(id))
    expect(at((await ask('GET', `${path()}/${NOBODY}`)).body, 'key')).toBe(NOBODY)
    expect(at((await ask('GET', `${path()}/${id}`)).body, 'id')).toBe(id)
    expect(at((await ask('GET', `${path()}/${like}`)).body, 'key')).toBe(id)
    for (const none of ['A', 'b', 'a%20', '__proto__', 'constructor', '%00', 'x'.repeat(300)]) {
      expect([none, (await ask('GET', `${path()}/${none}`)).status]).toEqual([none, 404])
    }
    const other = await newTenant()
    await other.create('/points', { key: 'xp', name: 'XP' })
    expect((await other.admin('GET', `${byKey}/a`)).status).toBe(404)
    expect((await other.admin('GET', `${byKey}?key=a`)).body).toEqual([])
  })

  it('is changed and deleted by its key, and listed by keys', async () => {
    const ids = new Map<string, string>()
    for (const key of ['a', 'b', 'c', 'd']) ids.set(key, await tenant.create(path(), item(key)))
    expect(keysIn((await ask('GET', `${path()}?key=d&key=a&key=none`)).body)).toEqual(['a', 'd'])
    expect(keysIn((await ask('GET', `${byKey}?key=a,b,c&limit=1&skip=1`)).body)).toEqual(['b'])
    const before = (await ask('GET', `${path()}/b`)).body
    const change = 'name' in item('b') ? { name: 'Other' } : {}
    const patched = await ask('PATCH', byKey, [
      { key: 'b', ...change },
      { key: 'none', ...change },
    ])
    expect([patched.status, at(patched.body, 'updated')]).toEqual([200, [{ ...Object(before), ...change }]])
    expect(at(patched.body, 'issues')).toEqual([
      { key: 'none', severity: 'error', message: expect.stringContaining('"none" is not the key of') },
    ])
    const gone = await ask('DELETE', `${byKey}?keys=a,none&keys=b&ids=${ids.get('a')},${ids.get('c')}`)
    expect(at(gone.body, 'deleted')).toEqual(['a', 'c', 'b'].map((key) => ({ id: ids.get(key) })))
    expect(at(gone.body, 'issues')).toMatchObject([{ key: 'none', severity: 'error' }])
    expect(keysIn((await ask('GET', path())).body).filter((key) => key !== 'xp' && key !== 'words')).toEqual([
      'd',
    ])
    // The key of a deleted one names nothing, and then its successor.
    expect((await ask('GET', `${path()}/a`)).status).toBe(404)
    const again = await tenant.create(path(), item('a'))
    expect(at((await ask('GET', `${path()}/a`)).body, 'id')).toBe(again)
  })

  it(`has a key that ${isFixed ? 'never changes' : 'changes by id and new key'}`, async () => {
    const id = await tenant.create(path(), item('a'))
    await tenant.create(path(), item('b'))
    const { status, body } = await ask('PATCH', path(), [{ id, key: 'new' }])
    expect([status, at(body, 'updated', 0, 'key')]).toEqual([200, isFixed ? 'a' : 'new'])
    expect(at(body, 'issues')).toMatchObject(
      isFixed ? [{ id, severity: 'warning', message: expect.stringContaining('never changes') }] : [],
    )
    if (isFixed) return
    const taken = await ask('PATCH', path(), [{ id, key: 'b' }])
    expect(at(taken.body, 'issues', 0)).toMatchObject({ id, message: expect.stringContaining('is taken') })
    expect((await ask('GET', `${path()}/new`)).status).toBe(200)
  })

  it('[G7] writes nothing if a change of the same request takes the one before back', async () => {
    await moveTo(NOON)
    const id = await tenant.create(path(), item('a'))
    const before = (await ask('GET', `${path()}/a`)).body
    const [field, other] = 'name' in item('a') ? ['name', 'Other'] : ['status', 'inactive']
    const stored = await writesOf(tenant)
    const { status, body } = await ask('PATCH', path(), [
      { id, [field]: other === at(before, field) ? 'active' : other },
      { id, [field]: at(before, field) },
    ])
    expect([status, at(body, 'updated', 1), at(body, 'issues')]).toEqual([200, before, []])
    // The version of a trigger counts both changes.
    if (!path().endsWith('/triggers')) expect(await writesOf(tenant)).toEqual(stored)
  })

  it('needs one name at least, of the right form', async () => {
    for (const [query, error] of [
      ['', 'ids: must be UUIDs, and is missing'],
      ['?keys=', 'keys: must be keys'],
      ['?keys=a%20b', 'keys: must be keys'],
      [`?keys=${Array.from({ length: 101 }, (_, n) => `k${n}`)}`, 'keys: must be at most 100'],
    ]) {
      const { status, body } = await ask('DELETE', `${path()}${query}`)
      expect([query, status, at(body, 'error')]).toEqual([query, 422, expect.stringContaining(String(error))])
    }
    for (const nameless of [{}, { id: null }, { id: null, key: null }]) {
      const { status, body } = await ask('PATCH', path(), [nameless])
      expect([status, at(body, 'error')]).toEqual([
        422,
        expect.stringContaining('0.id: must be a UUID, and is missing'),
      ])
    }
    expect((await ask('PATCH', path(), [{ key: 'a b' }])).status).toBe(422)
    expect((await ask('GET', `${path()}?key=a%20b`)).status).toBe(422)
  })
})

describe('[O1] references by key', () => {
  const created = async (path: string, item: object) => {
    const { body } = await ask('POST', path, [item])
    const [issue] = [at(body, 'issues')].flat()
    return issue === undefined ? at(body, 'created', 0) : at(issue, 'message')
  }
  const unknown = (field: string) => expect.stringMatching(new RegExp(`^${field}: no .* has the key "none"`))
  const differ = (fields: string) => expect.stringMatching(new RegExp(`^${fields} name different resources`))

  it('of a trigger', async () => {
    const path = '/points/xp/triggers'
    const first = await tenant.create('/achievements', { key: 'first', name: 'F', trigger: 'api' })
    const metric = { type: 'metric', metricThreshold: 1, points: 1 }
    expect(await created(path, { ...metric, metricKey: 'words' })).toMatchObject({ metricId: words })
    expect(await created(path, { ...metric, metricKey: 'words', metricId: words })).toMatchObject({
      metricId: words,
    })
    expect(await created(path, { ...metric, metricKey: 'none' })).toEqual(unknown('metricKey'))
    expect(await created(path, { ...metric, metricKey: 'words', metricId: NOBODY })).toEqual(
      differ('metricId and metricKey'),
    )
    expect(await created(path, { type: 'achievement', achievementKey: 'first', points: 1 })).toMatchObject({
      achievementId: first,
    })
    expect((await ask('POST', path, [metric])).status).toBe(422)
    const pages = await tenant.metric('pages')
    const changed = await ask('PATCH', path, [{ key: 'metric-words-1', metricKey: 'pages' }])
    expect(at(changed.body, 'updated', 0)).toMatchObject({ key: 'metric-words-1', metricId: pages })
    const nested = { key: 'coins', name: 'C', triggers: [{ ...metric, metricKey: 'none' }] }
    expect(await created('/points', nested)).toMatch(/^triggers\.0: metricKey: no metric/)
  })

  it('of filters, each by attributes of its type', async () => {
    const user = await tenant.create('/attributes', { key: 'plan', name: 'P', type: 'user' })
    const event = await tenant.create('/attributes', { key: 'plan', name: 'P', type: 'event' })
    const filter = [{ attributeKey: 'plan', attributeValue: 'pro' }]
    const stored = (attributeId: string) => [{ attributeId, attributeValue: 'pro' }]
    const both = { userAttributes: filter, eventAttributes: filter }
    const trigger = { type: 'metric', metricId: words, metricThreshold: 1, points: 1 }
    const own = { userAttributes: stored(user), eventAttributes: stored(event) }
    expect(await created('/points/xp/triggers', { ...trigger, ...both })).toMatchObject(own)
    const achievement = { key: 'a', name: 'A', trigger: 'metric', metricKey: 'words', metricValue: 1 }
    expect(await created('/achievements', { ...achievement, ...both })).toMatchObject({
      metricId: words,
      ...own,
    })
    expect(await created('/points/xp/boosts', { ...boost, userAttributes: filter })).toMatchObject({
      userAttributes: stored(user),
    })
    const template = { type: 'recap', channel: 'push', title: 'T', body: 'B' }
    expect(await created('/notifications/templates', { ...template, userAttributes: filter })).toMatchObject({
      userAttributes: stored(user),
    })
    for (const [wrong, message] of [
      [{ attributeKey: 'none' }, unknown('attributeKey')],
      [{ attributeKey: 'plan', attributeId: event }, differ('attributeId and attributeKey')],
    ] as const) {
      const userAttributes = [{ attributeValue: 'x', ...wrong }]
      expect(await created('/points/xp/triggers', { ...trigger, userAttributes })).toEqual(message)
    }
    const nameless = { ...trigger, userAttributes: [{ attributeValue: 'x' }] }
    const { status, body } = await ask('POST', '/points/xp/triggers', [nameless])
    expect([status, at(body, 'error')]).toEqual([422, expect.stringContaining('attributeId: must be a UUID')])
    // The filters work: the trigger and the boost apply to the user and the event with these values.
    await ask('PATCH', '/points/xp/triggers', [{ key: 'metric-words-1', status: 'active' }])
    const pro = { id: 'bob', attributes: { plan: 'pro' } }
    const answer = await tenant.event('words', pro, 1, { attributes: { plan: 'pro' } })
    expect(at(answer.body, 'points', 'xp', 'added')).toBe(2)
  })

  it('of a composite, also to achievements of the same request', async () => {
    const { body } = await ask('POST', '/achievements', [
      { key: 'one', name: 'One', trigger: 'api' },
      { key: 'two', name: 'Two', trigger: 'api' },
      { key: 'both', name: 'Both', trigger: 'achievement', achievementKeys: ['two', 'one'] },
      { key: 'odd', name: 'Odd', trigger: 'achievement', achievementKeys: ['none'] },
    ])
    expect(at(body, 'created', 2, 'achievementIds')).toEqual([1, 0].map((n) => at(body, 'created', n, 'id')))
    expect(at(body, 'issues', 0)).toMatchObject({ index: 3, message: unknown('achievementKeys') })
    const change = { key: 'both', achievementKeys: ['one'], achievementIds: [NOBODY] }
    const changed = await ask('PATCH', '/achievements', [change])
    expect(at(changed.body, 'issues', 0, 'message')).toEqual(differ('achievementIds and achievementKeys'))
  })

  it('of a leaderboard', async () => {
    const plan = await tenant.create('/attributes', { key: 'plan', name: 'P', type: 'user' })
    await tenant.create('/attributes', { key: 'page', name: 'P', type: 'event' })
    const board = (key: string, more: object) => ({ key, name: 'B', ...more })
    expect(
      await created(
        '/leaderboards',
        board('a', { rankBy: 'metric', metricKey: 'words', breakdownAttributeKeys: ['plan'] }),
      ),
    ).toMatchObject({ metricId: words, breakdownAttributes: [plan] })
    expect(
      await created('/leaderboards', board('b', { rankBy: 'points', pointsSystemKey: 'xp' })),
    ).toMatchObject({
      pointsSystemId: xp,
    })
    const streak = { rankBy: 'streak' }
    expect(
      await created('/leaderboards', board('c', { ...streak, breakdownAttributeKeys: ['page'] })),
    ).toMatch(/^breakdownAttributeKeys: no user attribute has the key "page"/)
    const { body } = await ask('PATCH', '/leaderboards', [{ key: 'b', rankBy: 'metric', metricKey: 'words' }])
    expect(at(body, 'updated', 0)).toMatchObject({ key: 'b', metricId: words })
  })

  it('never name a resource of another tenant, nor a deleted one', async () => {
    const other = await newTenant()
    await other.metric('theirs')
    await tenant.metric('gone')
    await ask('DELETE', '/metrics?keys=gone')
    for (const metricKey of ['theirs', 'gone', '__proto__', 'constructor', 'toString']) {
      const item = { type: 'metric', metricKey, metricThreshold: 1, points: 1 }
      const { status, body } = await ask('POST', '/points/xp/triggers', [item])
      expect([metricKey, status, at(body, 'issues', 0, 'message')]).toEqual([
        metricKey,
        200,
        expect.stringContaining(`no metric has the key "${metricKey}"`),
      ])
    }
  })
})

describe('[O1] a user attribute and an event attribute with the same key', () => {
  it('are told apart by type', async () => {
    const [user, event] = [
      await tenant.create('/attributes', { key: 'plan', name: 'U', type: 'user' }),
      await tenant.create('/attributes', { key: 'plan', name: 'E', type: 'event' }),
    ]
    const both = await ask('GET', '/attributes/plan')
    expect([both.status, at(both.body, 'error')]).toEqual([
      422,
      expect.stringContaining('?type=user or ?type=event'),
    ])
    for (const [type, id] of [
      ['user', user],
      ['event', event],
    ]) {
      expect(at((await ask('GET', `/attributes/plan?type=${type}`)).body, 'id')).toBe(id)
      expect((await ask('GET', `/attributes/${id}`)).status).toBe(200)
    }
    expect((await ask('GET', '/attributes/plan?type=x')).status).toBe(422)
    expect(keysIn((await ask('GET', '/attributes?key=plan')).body)).toEqual(['plan', 'plan'])
    const patched = await ask('PATCH', '/attributes', [
      { key: 'plan', name: 'Any' },
      { key: 'plan', type: 'event', name: 'Of events' },
      { id: user, type: 'event', name: 'Of users' },
    ])
    expect(at(patched.body, 'updated')).toMatchObject([
      { id: event, name: 'Of events' },
      { id: user, type: 'user', name: 'Of users' },
    ])
    expect(at(patched.body, 'issues')).toMatchObject([
      { key: 'plan', severity: 'error', message: expect.stringContaining('Pass type too') },
      {
        id: user,
        severity: 'warning',
        message: expect.stringContaining('The type of an attribute never changes'),
      },
    ])
    const unclear = await ask('DELETE', '/attributes?keys=plan')
    expect([at(unclear.body, 'deleted'), at(unclear.body, 'issues', 0, 'key')]).toEqual([[], 'plan'])
    expect(at((await ask('DELETE', '/attributes?keys=plan&type=user')).body, 'deleted')).toEqual([
      { id: user },
    ])
    expect(at((await ask('GET', '/attributes/plan')).body, 'id')).toBe(event)
  })
})

it('[O1] operations on a webhook and a template take its key', async () => {
  const hook = { key: 'hook', url: 'https://example.com', events: ['*'], status: 'inactive' }
  await tenant.create('/webhooks', hook)
  await tenant.create('/notifications/templates', {
    ...{ key: 'recap', type: 'recap', channel: 'push', title: 'T', body: 'B' },
  })
  expect((await ask('GET', '/webhooks/hook/deliveries')).status).toBe(200)
  expect(at((await ask('POST', '/webhooks/hook/rotate-secret')).body, 'key')).toBe('hook')
  expect((await ask('POST', '/webhooks/hook/test', { type: 'streak.lost' })).status).toBe(422)
  const preview = await ask('POST', '/notifications/templates/recap/preview', { userId: 'ada' })
  expect([preview.status, at(preview.body, 'title')]).toEqual([200, 'T'])
  for (const path of ['/webhooks/none/deliveries', '/points/none/levels', '/points/none/boosts/x'])
    expect([path, (await ask('GET', path)).status]).toEqual([path, 404])
})
