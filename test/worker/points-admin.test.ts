import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import { words } from '../helpers/words'
import { intercepted } from '../helpers/worker/faulty'
import { at, list, NOBODY, newApp, pick, type TestTenant, UUID } from '../helpers/worker/harness'
import { filter, type World, world } from '../helpers/worker/world'

/* What is special about points systems and their parts. The rest is in resources.test.ts. */

const PATH = '/points/xp'
const MESSAGE = expect.stringMatching(/.{10}/)
const created = (body: unknown) => list(at(body, 'created'))
const issues = (body: unknown) => list(at(body, 'issues'))
const errorsAt = (...indices: number[]) =>
  indices.map((index) => ({ index, severity: 'error', message: MESSAGE }))

let s: World
let tenant: TestTenant
beforeEach(async () => {
  s = await world()
  tenant = s.tenant
})

const metric = (more: object = {}) => ({
  ...{ type: 'metric', points: 5, metricId: s.words, metricThreshold: 1, ...more },
})
const boost = (more: object = {}) => ({ name: 'B', start: '2026-01-01', multiplier: 2, ...more })
const get = async (path: string) => (await tenant.admin('GET', path)).body

describe('points systems', () => {
  it('[G7] show a stored badge of another scheme than https and http as null', async () => {
    const id = await tenant.create('/points', { key: 'w', name: 'W', badge: { url: 'HTTP://b.example' } })
    const change = "UPDATE points_systems SET badge_url = 'javascript:alert(1)' WHERE id = ?1"
    await env.DB.prepare(change).bind(id).run()
    const other = tenant.through(newApp())
    expect((await other.admin('GET', `/points/${id}`)).body).toMatchObject({ badge: null })
    expect((await other.app('GET', '/users/ada/points/w')).body).toMatchObject({ badgeUrl: null })
  })

  it('[G7] are created with levels, boosts and triggers, each whole or not at all', async () => {
    const levels = [
      { key: 'two', name: 'Two', points: 20, description: 'Second', badge: { url: 'https://b.example/u' } },
      { key: 'one', name: 'One', points: 0 },
    ]
    const boosts = [
      boost({ name: 'all', start: '2020-01-01' }),
      boost({ name: 'own', end: '2026-01-01', multiplier: 0.5, rounding: 'up', userId: 'ada' }),
    ]
    const newcomers = { type: 'user_creation', points: -7, status: 'active' }
    const triggers = [metric(), { ...newcomers, userAttributes: filter(s.plan) }]
    const whole = { key: 'w', name: 'W', levels, boosts, triggers }
    const { body, status } = await tenant.admin('POST', '/points', [
      { ...whole, key: 'bad1', triggers: [metric({ metricId: NOBODY })] },
      { ...whole, key: 'bad2', levels: [...levels, { key: 'three', name: 'x', points: 20 }] },
      { ...whole, key: 'bad3', boosts: [{ ...boosts[1], userId: 'nobody' }] },
      whole,
    ])
    expect([status, issues(body)]).toEqual([201, errorsAt(0, 1, 2)])
    expect(pick(created(body), 'key')).toEqual(['w'])
    expect(at(body, 'created', 0)).toMatchObject({
      levels: [levels[0], { ...levels[1], description: '', badge: null }],
      boosts: [
        { ...boosts[0], status: 'active', end: null, rounding: 'down', userId: null, userAttributes: [] },
        { ...boosts[1], status: 'finished' },
      ],
      triggers: [
        { ...triggers[0], status: 'inactive', userAttributes: [], eventAttributes: [] },
        { ...triggers[1], blockIfOutOfPoints: false },
      ],
    })
    expect(pick(await get('/points'), 'key')).toEqual(['xp', 'gems', 'w'])
    for (const nested of ['levels', 'triggers', 'boosts']) {
      const shown = await get(`/points/w/${nested}`)
      expect(shown).toEqual(at(body, 'created', 0, nested))
      expect(pick(shown, 'id')).toEqual([UUID, UUID])
    }
    // By points on the application interface.
    expect(pick((await tenant.app('GET', '/points/w/levels')).body, 'key')).toEqual(['one', 'two'])
  })

  it('[G9] a deleted system disappears and stops at once, with all its parts; the history stays', async () => {
    await tenant.create(`${PATH}/triggers`, metric({ status: 'active' }))
    await tenant.create(`${PATH}/levels`, { key: 'one', name: 'One', points: 1 })
    await tenant.create(`${PATH}/boosts`, boost())
    expect((await tenant.event('words', 'ada', 1)).body).toMatchObject({ points: { xp: { total: 10 } } })
    const awards = (await tenant.stored()).awards
    const deleted = { deleted: [{ id: s.xp }], issues: [] }
    expect((await tenant.admin('DELETE', `/points?ids=${s.xp}`)).body).toEqual(deleted)
    expect(at((await tenant.event('words', 'ada', 1)).body, 'points')).toEqual({})
    expect((await tenant.stored()).awards).toEqual(awards)
    const parts = ['', '/levels', '/boosts', '/summary', '/level-summary'].map((part) => PATH + part)
    for (const where of [...parts, '/users/ada/points/xp', '/users/ada/points/xp/boosts'])
      expect((await tenant.app('GET', where)).status, where).toBe(404)
    for (const nested of ['', '/levels', '/triggers', '/boosts'])
      expect((await tenant.admin('GET', `/points/${s.xp}${nested}`)).status).toBe(404)
    const anew = await tenant.create('/points', { key: 'xp', name: 'XP' })
    expect(anew).not.toBe(s.xp)
    const none = { id: anew, total: 0, awards: [], level: null }
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject(none)
  })

  it('[G3] wrong fields of their parts are 422, each named', async () => {
    const before = await tenant.stored()
    const parts = {
      levels: [{ key: 'x', name: 'x', points: -1 }],
      boosts: [{ name: 'b', start: '2020-02-30', multiplier: 1 }],
      triggers: [{ type: 'metric', points: 0 }],
    }
    const { status, body } = await tenant.admin('POST', '/points', [{ key: 'k', name: 'K', ...parts }])
    const paths = words`
      levels.0.points boosts.0.start boosts.0.multiplier triggers.0.points triggers.0.metricId
      triggers.0.metricThreshold
    `
    expect([status, pick(issues(body), 'path')]).toEqual([422, paths.map((path) => `0.${path}`)])
    expect(await tenant.stored()).toEqual(before)
  })

  it('[G7] their parts are unknown in another system', async () => {
    for (const [nested, item] of [
      ['levels', { key: 'a', name: 'A', points: 1 }],
      ['triggers', metric()],
      ['boosts', boost()],
      ['boosts', boost({ userId: 'ada' })],
    ] as const) {
      const id = await tenant.create(`${PATH}/${nested}`, item)
      const other = `/points/gems/${nested}`
      expect((await tenant.admin('GET', `${other}/${id}`)).status).toBe(404)
      const unknown = { issues: [{ id, severity: 'error' }] }
      const patched = await tenant.admin('PATCH', other, [{ id }])
      expect(patched.body).toMatchObject({ updated: [], ...unknown })
      const deleted = await tenant.admin('DELETE', `${other}?ids=${id}`)
      expect(deleted.body).toMatchObject({ deleted: [], ...unknown })
      // It has its own keys, and its own points of levels.
      expect((await tenant.admin('POST', other, [item])).status).toBe(201)
    }
  })
})

describe('levels', () => {
  it('[P9] equal points in a system are issues, also within one request and after a change', async () => {
    const level = (key: string, points: number) => ({ key, name: key, points })
    const levels = [level('a', 0), level('b', 100), level('c', 100), level('d', 2_147_483_647)]
    const { status, body } = await tenant.admin('POST', `${PATH}/levels`, levels)
    expect([status, pick(created(body), 'key')]).toEqual([201, ['a', 'b', 'd']])
    expect(issues(body)).toEqual(errorsAt(2))
    const [a, b] = pick(created(body), 'id')
    const patched = await tenant.admin('PATCH', `${PATH}/levels`, [
      { id: a, points: 100 },
      { id: b, points: 200 },
      { id: a, points: 100 },
    ])
    expect(issues(patched.body)).toEqual([{ id: a, severity: 'error', message: MESSAGE }])
    expect(at(patched.body, 'updated')).toMatchObject([
      { id: b, points: 200 },
      { id: a, points: 100 },
    ])
    await tenant.admin('DELETE', `${PATH}/levels?ids=${a}`)
    expect((await tenant.admin('POST', `${PATH}/levels`, [level('a', 100)])).status).toBe(201)
  })
})

describe('triggers', () => {
  const triggers = async () => list(await get(`${PATH}/triggers`))

  it('[P3, P13, G10] of every type have the fields of the type, and are shown to users once active', async () => {
    const user = filter(s.plan, 'pro')
    const event = filter(s.page, '')
    const full = {
      ...{ metricThreshold: 7, userAttributes: user, eventAttributes: event, blockIfOutOfPoints: true },
    }
    const streak = { type: 'streak', points: -1, streakLength: 7, status: 'active' }
    const { status, body } = await tenant.admin('POST', `${PATH}/triggers`, [
      metric({ ...full, metricId: s.words.toUpperCase(), streakLength: 4 }),
      { ...streak, metricId: s.words, metricThreshold: 3 },
      { type: 'time', points: 1, timeUnit: 'hours', timeInterval: 1, userAttributes: null },
      { type: 'time', points: 1, timeUnit: 'days', timeInterval: 30 },
      { type: 'user_creation', points: 10, status: 'active', eventAttributes: null },
    ])
    const common = { id: UUID, userAttributes: [], status: 'inactive', blockIfOutOfPoints: false }
    expect([status, created(body)]).toEqual([
      201,
      [
        { ...common, key: 'metric-words-7', ...metric(full) },
        { ...common, key: 'streak-7', ...streak },
        { ...common, key: 'time-1-hours', type: 'time', points: 1, timeUnit: 'hours', timeInterval: 1 },
        { ...common, key: 'time-30-days', type: 'time', points: 1, timeUnit: 'days', timeInterval: 30 },
        { ...common, key: 'user_creation', type: 'user_creation', points: 10, status: 'active' },
      ],
    ])
    expect(await triggers()).toEqual(created(body))
    const shown = async () => list(at((await tenant.app('GET', PATH)).body, 'triggers'))
    expect((await shown()).map((one) => [at(one, 'type'), at(one, 'streakLengthThreshold')])).toEqual([
      ['streak', 7],
      ['user_creation', undefined],
    ])
    const activated = pick(created(body), 'id').map((id) => ({ id, status: 'active' }))
    expect(issues((await tenant.admin('PATCH', `${PATH}/triggers`, activated)).body)).toEqual([])
    const all = await shown()
    expect(pick(all, 'id')).toEqual(pick(created(body), 'id'))
    const stamp = expect.stringMatching(/Z$/)
    const { blockIfOutOfPoints: _, ...visible } = full
    expect(all[0]).toEqual({
      ...{ id: at(body, 'created', 0, 'id'), status: 'active', ...metric(visible) },
      metricName: 'Metric words',
      userAttributes: [{ key: 'plan', value: 'pro' }],
      eventAttribute: { key: 'page', value: '' },
      eventAttributes: [{ key: 'page', value: '' }],
      ...{ created: stamp, updated: stamp },
    })
    // Hours and days on the admin interface are hour and day here.
    expect(pick(all, 'timeUnit')).toEqual([undefined, undefined, 'hour', 'day', undefined])
  })

  it('[P3] each type needs its fields', async () => {
    const before = await tenant.stored()
    for (const [wrong, ...fields] of [
      [{ type: 'metric' }, 'metricId', 'metricThreshold'],
      [{ type: 'streak' }, 'streakLength'],
      [{ type: 'streak', streakLength: 0 }, 'streakLength'],
      [{ type: 'time' }, 'timeUnit', 'timeInterval'],
      [{ type: 'time', timeUnit: 'hours' }, 'timeInterval'],
      [{ type: 'time', timeInterval: 1 }, 'timeUnit'],
      [{ type: 'time', timeUnit: 'days', timeInterval: 0 }, 'timeInterval'],
      [{ type: 'achievement' }, 'achievementId'],
      [{}, 'type'],
    ] as const) {
      const items = [metric(), { points: 1, ...wrong }]
      const { status, body } = await tenant.admin('POST', `${PATH}/triggers`, items)
      const paths = fields.map((field) => `1.${field}`)
      expect([wrong, status, pick(issues(body), 'path')]).toEqual([wrong, 422, paths])
    }
    expect(await tenant.stored()).toEqual(before)
    const unknown = { type: 'achievement', points: 1, achievementId: NOBODY }
    const { status, body } = await tenant.admin('POST', `${PATH}/triggers`, [unknown])
    expect([status, issues(body)]).toEqual([200, errorsAt(0)])
  })

  it('[G7] a change that leaves a type without its fields is an issue', async () => {
    const id = await tenant.create(`${PATH}/triggers`, metric())
    const before = await triggers()
    const patch = async (change: object) =>
      (await tenant.admin('PATCH', `${PATH}/triggers`, [{ id, ...change }])).body
    for (const change of [{ type: 'time' }, { type: 'streak' }, { type: 'time', timeUnit: 'days' }]) {
      const issue = { id, severity: 'error', message: MESSAGE }
      expect(await patch(change)).toEqual({ updated: [], issues: [issue] })
    }
    expect(await triggers()).toEqual(before)
    await patch({ type: 'streak', streakLength: 3 })
    const [changed] = await triggers()
    expect(changed).toMatchObject({ type: 'streak', streakLength: 3 })
    expect(Object.keys(Object(changed))).not.toContain('metricId')
  })
})

describe('boosts', () => {
  it('[P5] start and end are in order, and a boost has one audience', async () => {
    const before = await tenant.stored()
    const userAttributes = filter(s.plan)
    const wrong = { start: '2026-01-02', end: '2026-01-01', userId: 'ada', userAttributes }
    const { status, body } = await tenant.admin('POST', `${PATH}/boosts`, [boost(), boost(wrong)])
    expect([status, pick(issues(body), 'path')]).toEqual([422, ['1.end', '1.userAttributes']])
    expect(await tenant.stored()).toEqual(before)
    const made = await tenant.admin('POST', `${PATH}/boosts`, [
      boost({ end: '2026-01-01' }),
      boost({ userId: 'ada', userAttributes: [] }),
      boost({ userId: 'nobody' }),
    ])
    expect(issues(made.body)).toEqual(errorsAt(2))
    const [all, own] = pick(created(made.body), 'id').map(String)
    const patched = await tenant.admin('PATCH', `${PATH}/boosts`, [
      { id: all, start: '2026-01-02' },
      { id: own, userAttributes },
    ])
    expect(patched.body).toEqual({
      updated: [],
      issues: [all, own].map((id) => ({ id, boostId: id, severity: 'error', message: MESSAGE })),
    })
  })

  it('[P5] those without a user are listed to users, finished ones on request', async () => {
    for (const item of [{ key: 'over', end: '2026-01-01' }, { key: 'own', userId: 'ada' }, { key: 'open' }])
      await tenant.create(`${PATH}/boosts`, boost({ ...item, name: item.key }))
    const shown = async (query = '') => pick((await tenant.app('GET', `${PATH}/boosts${query}`)).body, 'name')
    expect(await shown()).toEqual(['open'])
    expect(await shown('?includeFinished=true')).toEqual(['over', 'open'])
    expect((await tenant.app('GET', `${PATH}/boosts?includeFinished=yes`)).status).toBe(422)
  })

  it('[G7] a change of an own boost decides again if another request changes the boost meanwhile', async () => {
    const id = await tenant.create(`${PATH}/boosts`, boost({ start: '2026-06-01', userId: 'ada' }))
    const change = (through: TestTenant, item: object) =>
      through.admin('PATCH', `${PATH}/boosts`, [{ id, ...item }])
    let isFirst = true
    const DB = intercepted(env.DB, async ({ run }) => {
      const read = await run()
      if (isFirst && read.some(({ results }) => results.some((row) => 'multiplier' in Object(row)))) {
        isFirst = false
        await change(tenant, { end: '2026-06-30' })
      }
      return read
    })
    const { body } = await change(tenant.through(newApp({ DB })), { start: '2026-07-31' })
    expect([isFirst, at(body, 'updated')]).toEqual([false, []])
    expect(at(body, 'issues', 0, 'message')).toContain('The end would be before the start')
  })

  it('[G7] if there are 1,000 that are not of users, users may have others, in new systems too', async () => {
    const own = boost({ userId: 'ada' })
    const items = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => boost({ key: `b${from + n}` }))
    for (let from = 0; from < 1_000; from += 100)
      await tenant.admin('POST', `${PATH}/boosts`, items(from, 100))
    const { body } = await tenant.admin('POST', `${PATH}/boosts`, [own, boost(), own])
    expect(pick(created(body), 'userId')).toEqual(['ada', 'ada'])
    const full = { severity: 'error', message: expect.stringContaining('at most 1000 boosts') }
    expect(issues(body)).toEqual([{ index: 1, ...full }])
    const system = { key: 'other', name: 'Other', boosts: [own] }
    const systems = [system, { ...system, key: 'full', boosts: [own, boost()] }]
    const made = await tenant.admin('POST', '/points', systems)
    expect([made.status, issues(made.body)]).toEqual([201, [{ index: 1, ...full }]])
  })
})
