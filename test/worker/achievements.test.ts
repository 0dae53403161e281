import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgetTime, MINUTE, moveTo, NOON } from '../helpers/worker/boards'
import { at, list, newTenant, pick, type TestTenant, UUID } from '../helpers/worker/harness'

/** A moment of the tests, some minutes after they begin. */
const moment = (minute: number) => new Date(NOON + minute * MINUTE).toISOString()
const move = (minute: number) => moveTo(NOON + minute * MINUTE)

type Setup = { tenant: TestTenant; metric: string; system: string; plan: string; page: string }

async function setup(): Promise<Setup> {
  const tenant = await newTenant()
  const attribute = (key: string, type: string) => tenant.create('/attributes', { key, name: key, type })
  const [metric, system] = [
    await tenant.metric('words'),
    await tenant.create('/points', { key: 'xp', name: 'XP' }),
  ]
  return {
    tenant,
    metric,
    system,
    plan: await attribute('plan', 'user'),
    page: await attribute('page', 'event'),
  }
}

let s: Setup
beforeEach(async () => {
  s = await setup()
  await move(0)
})
afterEach(forgetTime)

const create = (key: string, more: object = {}) =>
  s.tenant.create('/achievements', { key, name: `The ${key}`, trigger: 'api', status: 'active', ...more })
const words = (key: string, metricValue: number, more: object = {}) =>
  create(key, { trigger: 'metric', metricId: s.metric, metricValue, ...more })
const all = (key: string, achievementIds: string[], more: object = {}) =>
  create(key, { trigger: 'achievement', achievementIds, ...more })
const patch = (id: string, change: object) => s.tenant.admin('PATCH', '/achievements', [{ id, ...change }])
const pro = () => [{ attributeId: s.plan, attributeValue: 'pro' }]
const onPage = (attributeValue: string) => [{ attributeId: s.page, attributeValue }]
const trigger = (achievementId: string, points: number) =>
  s.tenant.create(`/points/${s.system}/triggers`, {
    ...{ type: 'achievement', achievementId, points, status: 'active' },
  })

const complete = (key: string, user: string | object = 'ada') => {
  const body = { user: typeof user === 'string' ? { id: user } : user }
  return s.tenant.app('POST', `/achievements/${key}/complete`, body)
}
const open = async (query = '') => (await s.tenant.app('GET', `/achievements${query}`)).body
const ofUser = async (user: string, query = '') =>
  (await s.tenant.app('GET', `/users/${user}/achievements${query}`)).body
const had = async (user: string) => pick(await ofUser(user), 'key')
const visible = async (user: string) => pick(await ofUser(user, '?includeIncomplete=true'), 'key')
/** Sends an event, and returns the keys of the achievements that it completed. */
const send = async (user: string | Record<string, unknown>, value: number, page?: string) => {
  const { status, body } = await s.tenant.event('words', user, value, page ? { attributes: { page } } : {})
  expect(status).toBe(201)
  return pick(at(body, 'achievements'), 'key')
}
const shown = (key: string, more: object = {}) => ({
  ...{ id: UUID, key, name: `The ${key}`, description: null, badgeUrl: null, trigger: 'api' },
  ...{ userAttributes: [], ...more },
})
/** The fields of one that is completed by the metric. */
const byWords = (metricValue: number) => ({
  ...{ trigger: 'metric', metricId: s.metric, metricValue, metricName: 'Metric words' },
})

describe('GET /achievements', () => {
  it('[A6] lists the active ones in order of creation, each with the fields of its trigger', async () => {
    const first = await create('first', { description: 'Well done', badge: { url: 'https://x.test/b.png' } })
    await words('some', 2.5, { userAttributes: pro(), eventAttributes: onPage('a') })
    await create('idle', { status: 'inactive' })
    await patch(await create('locked'), { status: 'locked' })
    await create('seven', { trigger: 'streak', streakLength: 7 })
    await all('both', [first])
    const stats = { completions: 0, rarity: 0 }
    const [page, plan] = [
      { key: 'page', value: 'a' },
      { key: 'plan', value: 'pro' },
    ]
    expect(await open()).toEqual([
      shown('first', { description: 'Well done', badgeUrl: 'https://x.test/b.png', ...stats }),
      shown('some', {
        ...{ ...byWords(2.5), userAttributes: [plan], eventAttribute: page, eventAttributes: [page] },
        ...stats,
      }),
      shown('seven', { trigger: 'streak', streakLength: 7, ...stats }),
      shown('both', { trigger: 'achievement', achievementIds: [first], ...stats }),
    ])
  })

  it('[A6] with userAttributes, lists the ones with user filters that all match', async () => {
    const team = await s.tenant.create('/attributes', { key: 'team', name: 'Team', type: 'user' })
    await create('everyone')
    await create('pro', { userAttributes: pro() })
    await create('red', { userAttributes: [...pro(), { attributeId: team, attributeValue: 'red' }] })
    for (const [query, keys] of Object.entries({
      '': 'everyone pro red',
      '?userAttributes=plan:free': 'everyone',
      '?userAttributes=team:red': 'everyone',
      '?userAttributes=plan:pro': 'everyone pro',
      '?userAttributes=team:red,plan:pro': 'everyone pro red',
      '?userAttributes=plan:pro, team:red': 'everyone pro red',
      '?userAttributes=team:red, green&userAttributes=plan:pro': 'everyone pro',
    }))
      expect(pick(await open(query), 'key'), query).toEqual(keys.split(' '))
    for (const [wrong, named] of Object.entries({
      'plan:pro,nope:1': 'Invalid attribute keys: nope.',
      'page:a': 'Invalid attribute keys: page.',
      plan: 'userAttributes',
    })) {
      const { status, body } = await s.tenant.app('GET', `/achievements?userAttributes=${wrong}`)
      expect(status, wrong).toBe(422)
      expect(at(body, 'error')).toContain(named)
    }
  })

  it('[G9] hides one of a deleted metric, except from users who have it', async () => {
    await words('some', 1)
    await words('more', 2)
    await send('ada', 1)
    await s.tenant.admin('DELETE', `/metrics?ids=${s.metric}`)
    expect(await open()).toEqual([])
    expect(await visible('ada')).toEqual(['some'])
  })

  it('[A5] rarity is completions ÷ users × 100 with two decimals', async () => {
    const id = await create('first')
    const stats = async () => [at(await open(), 0, 'completions'), at(await open(), 0, 'rarity')]
    expect(await stats()).toEqual([0, 0])
    await complete('first', 'u0')
    expect(await stats()).toEqual([1, 100])
    for (const user of ['u1', 'u2']) await s.tenant.app('PUT', `/users/${user}`, {})
    expect(await stats()).toEqual([1, 33.33])
    await complete('first', 'u1')
    await complete('first', 'u1')
    expect(await stats()).toEqual([2, 66.67])
    const first = shown('first', { id, achievedAt: moment(0), completions: 2, rarity: 66.67 })
    expect(await ofUser('u1')).toEqual([first])
    // The first of several databases may have none of these users.
    const grow = env.DB.prepare(
      `INSERT INTO tenant_counters (tenant_id, name, count) VALUES (?1, ?2, ?3)
       ON CONFLICT DO UPDATE SET count = count + ?3`,
    )
    for (const [name, count] of Object.entries({ users: 797, [id]: 55 }))
      await grow.bind(s.tenant.id, name, count).run()
    expect(await stats()).toEqual([57, 7.13])
  })
})

describe('POST /achievements/{key}/complete', () => {
  it('[A3] upserts the user and returns every award, with the awards of composites', async () => {
    const first = await create('first')
    const both = await all('both', [first])
    await trigger(first, 5)
    await trigger(both, 7)
    const welcome = { type: 'user_creation', points: 1, status: 'active' }
    await s.tenant.create(`/points/${s.system}/triggers`, welcome)
    const { status, body } = await complete('first', { id: 'ada', name: 'Ada', attributes: { plan: 'pro' } })
    expect(status).toBe(201)
    expect(body).toEqual({
      completionId: UUID,
      achievement: shown('first', { id: first, achievedAt: moment(0) }),
      points: { xp: expect.objectContaining({ key: 'xp', total: 13, added: 13 }) },
    })
    const awards = list(at(body, 'points', 'xp', 'awards'))
    expect(pick(awards, 'awarded')).toEqual([5, 7, 1])
    const shownTrigger = { type: 'achievement', achievementId: first, achievementName: 'The first' }
    expect(awards[0]).toMatchObject({ trigger: shownTrigger })
    const ada = await s.tenant.app('GET', '/users/ada')
    expect(ada.body).toMatchObject({ name: 'Ada', attributes: { plan: 'pro' } })
    expect(await had('ada')).toEqual(['first', 'both'])
    expect(at((await s.tenant.app('GET', '/users/ada/points/xp')).body, 'total')).toBe(13)
  })

  it('[A3] a second call returns the first completion without points, and changes nothing', async () => {
    await trigger(await create('first'), 5)
    const first = await complete('first')
    await move(1)
    const before = await s.tenant.stored()
    const again = await complete('first', { id: 'ada', name: 'Ada' })
    expect(again.status).toBe(201)
    expect(again.body).toEqual({ ...Object(first.body), points: {} })
    expect(await s.tenant.stored()).toEqual(before)
    // The user in the body is still validated.
    expect((await complete('first', { id: 'ada', attributes: { nope: '1' } })).status).toBe(422)
  })

  it('[A3] answers 422 and stores nothing if it is locked and not completed, a user filter does not match, or the trigger is another one', async () => {
    await patch(await create('locked'), { status: 'locked' })
    await create('pro', { userAttributes: pro() })
    await words('some', 1)
    await create('seven', { trigger: 'streak', streakLength: 7 })
    await all('both', [await create('first')])
    const before = await s.tenant.stored()
    for (const key of ['locked', 'pro', 'some', 'seven', 'both'])
      expect((await complete(key, { id: 'ada', name: 'Ada' })).status, key).toBe(422)
    expect(await s.tenant.stored()).toEqual(before)
    expect((await complete('pro', { id: 'ada', attributes: { plan: 'pro' } })).status).toBe(201)
  })

  it('[A1] users keep a locked achievement and can complete it again; other users cannot until it is active again', async () => {
    const id = await create('first')
    const first = await complete('first')
    await patch(id, { status: 'locked' })
    expect((await complete('first')).body).toEqual({ ...Object(first.body), points: {} })
    expect((await complete('first', 'ben')).status).toBe(422)
    expect(await open()).toEqual([])
    expect(await had('ada')).toEqual(['first'])
    await patch(id, { status: 'active' })
    expect((await complete('first', 'ben')).status).toBe(201)
    await s.tenant.admin('DELETE', `/achievements?ids=${id}`)
    expect(await had('ada')).toEqual([])
    expect((await complete('first')).status).toBe(404)
  })

  it("[G2] answers 403 to another user's key, then 404 for an unknown or inactive key, then 422 for a wrong body", async () => {
    await create('idle', { status: 'inactive' })
    await create('first')
    const key = await s.tenant.key('ada')
    const as = (path: string, body: unknown) =>
      s.tenant.as(key, 'POST', `/achievements/${path}/complete`, body)
    const bad = { user: { id: 'ada', email: 5 } }
    for (const [path, body, status] of [
      ['nope', { user: { id: 'ben', email: 5 } }, 403],
      ['first', { user: { id: 'ben' } }, 403],
      ['nope', bad, 404],
      ['idle', bad, 404],
      ['idle', { user: { id: 'ada' } }, 404],
      ['first', bad, 422],
      ['first', {}, 422],
      ['first', { user: { id: 'ada', attributes: { nope: '1' } } }, 422],
      ['first', { user: { id: 'ada' } }, 201],
    ] as const)
      expect([path, body, (await as(path, body)).status]).toEqual([path, body, status])
  })
})

describe('events', () => {
  it('[A2] the event that reaches the value completes a metric achievement, once', async () => {
    const id = await words('ten', 10)
    await trigger(id, 5)
    expect(await send('ada', 9.999999)).toEqual([])
    await move(1)
    const { body } = await s.tenant.event('words', 'ada', 0.000001)
    expect(at(body, 'achievements')).toEqual([shown('ten', { id, ...byWords(10), achievedAt: moment(1) })])
    expect(at(body, 'points', 'xp', 'added')).toBe(5)
    expect(await send('ada', -5)).toEqual([])
    expect(await send('ada', 50)).toEqual([])
    expect(await ofUser('ada')).toMatchObject([{ key: 'ten', achievedAt: moment(1) }])
  })

  it('[E5] completes composites of composites in the same change, in any order of creation', async () => {
    const [some, api] = [await words('some', 1), await create('api')]
    const top = await create('top', { trigger: 'achievement', achievementIds: [some], status: 'inactive' })
    const middle = await all('middle', [some, api])
    const side = await all('side', [some])
    await patch(top, { achievementIds: [middle, side], status: 'active' })
    await trigger(top, 3)
    expect(await send('ada', 1)).toEqual(['some', 'side'])
    const { body } = await complete('api')
    expect(await had('ada')).toEqual(['some', 'api', 'top', 'middle', 'side'])
    expect(at(body, 'points', 'xp', 'added')).toBe(3)
  })

  it('[A2] matches user filters after the upsert; a change of attributes alone completes nothing', async () => {
    await words('some', 1, { userAttributes: pro() })
    expect(await send('ada', 1)).toEqual([])
    expect(await send({ id: 'ben', attributes: { plan: 'pro' } }, 1)).toEqual(['some'])
    await s.tenant.app('PUT', '/users/ada', { attributes: { plan: 'pro' } })
    expect(await had('ada')).toEqual([])
    expect(await send('ada', 0)).toEqual(['some'])
  })

  it('[A2] with event filters, counts only matching events, also the first one of a new user', async () => {
    await words('some', 10, { eventAttributes: onPage('a') })
    expect(await send('ada', 9, 'a')).toEqual([])
    expect(await send('ada', 50, 'b')).toEqual([])
    expect(await send('ada', 50)).toEqual([])
    expect(await send('ada', 1, 'a')).toEqual(['some'])
  })

  it('[P10] shows a trigger with the new name of its achievement, and old awards with the old name', async () => {
    const id = await create('first')
    await trigger(id, 5)
    await complete('first', 'ada')
    await patch(id, { name: 'Renamed' })
    await complete('first', 'ben')
    const name = async (user: string) => {
      const { body } = await s.tenant.app('GET', `/users/${user}/points/xp`)
      return at(body, 'awards', 0, 'trigger', 'achievementName')
    }
    expect(await name('ada')).toBe('The first')
    expect(await name('ben')).toBe('Renamed')
    const { body } = await s.tenant.app('GET', '/points/xp')
    expect(at(body, 'triggers', 0, 'achievementName')).toBe('Renamed')
  })
})

describe('the achievements of a user', () => {
  it('[A6] lists completed ones by time, also locked ones; then, if asked for, the active ones that match the user', async () => {
    await create('c')
    await create('never')
    await create('pro', { userAttributes: pro() })
    await create('idle', { status: 'inactive' })
    const b = await create('b')
    await create('a')
    await complete('a')
    await move(1)
    await complete('b')
    await complete('c')
    await patch(b, { status: 'locked' })
    await patch(await create('locked'), { status: 'locked' })
    expect(await had('ada')).toEqual(['a', 'c', 'b'])
    expect(await ofUser('ada', '?includeIncomplete=true')).toMatchObject([
      { key: 'a', achievedAt: moment(0) },
      { key: 'c', achievedAt: moment(1) },
      { key: 'b', achievedAt: moment(1) },
      { key: 'never', achievedAt: null, completions: 0 },
    ])
    await s.tenant.app('PUT', '/users/ada', { attributes: { plan: 'pro' } })
    expect(await visible('ada')).toEqual(['a', 'c', 'b', 'never', 'pro'])
    for (const wrong of ['false', '', 'TRUE']) {
      const { status } = await s.tenant.app('GET', `/users/ada/achievements?includeIncomplete=${wrong}`)
      expect(status, wrong).toBe(422)
    }
    expect((await s.tenant.app('GET', '/users/nobody/achievements?includeIncomplete=x')).status).toBe(404)
  })

  it('[A6] shows a metric with the achievements that the user sees', async () => {
    const pages = await s.tenant.metric('pages')
    await words('hundred', 100)
    const one = await words('one', 1)
    await words('pro', 1, { userAttributes: pro() })
    await words('idle', 1, { status: 'inactive' })
    await create('page', { trigger: 'metric', metricId: pages, metricValue: 1 })
    await create('api')
    await send('ada', 1)
    await patch(one, { status: 'locked' })
    const { body } = await s.tenant.app('GET', '/users/ada/metrics')
    const seen = list(body).map((metric) => {
      const achievements = at(metric, 'achievements')
      const fields = [pick(achievements, 'key'), pick(achievements, 'achievedAt')]
      return [at(metric, 'key'), at(metric, 'current'), ...fields]
    })
    expect(seen).toEqual([
      ['words', 1, ['one', 'hundred'], [moment(0), null]],
      ['pages', 0, ['page'], [null]],
    ])
    expect((await s.tenant.app('GET', '/users/ada/metrics/words')).body).toEqual(at(body, 0))
    const hundred = shown('hundred', { ...byWords(100), achievedAt: null })
    expect(at(body, 0)).toEqual({
      ...{ id: s.metric, key: 'words', name: 'Metric words', status: 'active', current: 1 },
      achievements: [expect.objectContaining({ key: 'one' }), hundred],
    })
    for (const path of ['/users/ada/metrics/none', '/users/nobody/metrics', '/users/nobody/metrics/words'])
      expect((await s.tenant.app('GET', path)).status).toBe(404)
  })
})
