import { beforeEach, describe, expect, it } from 'vitest'
import { sumsOf } from '../../src/features/achievements/backdate'
import { contextOfUsers } from '../helpers/worker/contexts'
import { at, list, NOBODY, newTenantInLast, pick, rowsEverywhere, UUID } from '../helpers/worker/harness'
import { filter, type World, world } from '../helpers/worker/world'

const PATH = '/achievements'
const MESSAGE = expect.stringMatching(/.{10}.*\. .{10}/)

const messages = (body: unknown) => pick(at(body, 'issues'), 'message')

let s: World
beforeEach(async () => {
  s = await world()
})

const api = (key: string, more: object = {}) => ({ key, name: `The ${key}`, trigger: 'api', ...more })
const words = (key: string, more: object = {}) => ({
  ...{ ...api(key), trigger: 'metric', metricId: s.words, metricValue: 10, ...more },
})
const all = (key: string, achievementIds: string[], more: object = {}) => ({
  ...{ ...api(key), trigger: 'achievement', achievementIds, ...more },
})
const shown = (key: string, more: object = {}) => ({
  ...{ id: UUID, key, name: `The ${key}`, description: '', badge: null, status: 'inactive' },
  ...{ trigger: 'api', userAttributes: [], ...more },
})

const post = (...items: object[]) => s.tenant.admin('POST', PATH, items)
const create = (item: object) => s.tenant.create(PATH, item)
const get = async (id: string) => (await s.tenant.admin('GET', `${PATH}/${id}`)).body
const patch = async (...changes: object[]) => (await s.tenant.admin('PATCH', PATH, changes)).body
const remove = async (...ids: string[]) =>
  (await s.tenant.admin('DELETE', `${PATH}?ids=${ids.join(',')}`)).body
const refused = (id: string) => ({ updated: [], issues: [{ id, severity: 'error', message: MESSAGE }] })

/** The keys of the achievements that a user has completed. */
const had = async (user: string) =>
  pick((await s.tenant.app('GET', `/users/${user}/achievements`)).body, 'key')

describe('creation', () => {
  it('[A1] with a field of another trigger is an issue, as is a change to one, and stores nothing', async () => {
    const first = await create(api('first'))
    const own = {
      api: {},
      streak: { streakLength: 3 },
      achievement: { achievementIds: [first] },
      metric: { metricId: s.words, metricValue: 5, eventAttributes: filter(s.page) },
    }
    const keys = { achievement: { achievementKeys: ['first'] }, metric: { metricKey: 'words' } }
    for (const [trigger, fields] of Object.entries(own)) {
      const id = await create({ ...api(trigger), ...fields, trigger })
      const stored = shown(trigger, { trigger, ...fields })
      expect(await get(id)).toEqual(stored)
      const foreign = [...Object.entries(own), ...Object.entries(keys)].flatMap(([other, others]) =>
        other === trigger ? [] : Object.entries(others),
      )
      for (const [name, value] of foreign) {
        const { body } = await post({ ...api('new'), ...fields, trigger, [name]: value })
        const message = `the trigger ${trigger} has no ${name}. Leave`
        expect(messages(body)).toEqual([expect.stringContaining(message)])
        expect(messages(await patch({ id, name: 'New', [name]: value }))).toEqual(messages(body))
      }
      expect([await get(id), at(await get('new'), 'error')]).toEqual([stored, expect.any(String)])
      const nulls = Object.fromEntries(foreign.map(([name]) => [name, null]))
      expect(at(await patch({ id, ...nulls, description: 'D' }), 'issues')).toEqual([])
      expect(await patch({ id, description: null })).toEqual({ updated: [stored], issues: [] })
    }
  })

  it.each([
    ['First lesson!', 'first-lesson'],
    ['  --Über 10,000 Wörter_x--', 'ber-10-000-w-rter_x'],
    ['第一课', 'streak'],
    [`${'a'.repeat(79)} b`, 'a'.repeat(79)],
    ['x'.repeat(255), 'x'.repeat(80)],
  ])('[A1] without a key gets one that is made from the name: %j gets %j', async (name, made) => {
    const item = { name, trigger: 'streak', streakLength: 3 }
    const { body } = await post(item, item, { ...item, key: `${made}-4` }, item, item)
    const keys = [made, `${made}-2`, `${made}-4`, `${made}-3`, `${made}-5`]
    expect(pick(at(body, 'created'), 'key')).toEqual(keys)
  })

  it('[A1, O1] with the trigger api needs a key, which an update by id can change', async () => {
    expect(messages((await post({ name: 'A', trigger: 'api' })).body)).toEqual([
      'An achievement with the trigger api needs key. Pass it too.',
    ])
    const [a, streak] = [await create(api('a', { status: 'active' })), { trigger: 'streak', streakLength: 3 }]
    const id = await create({ ...api('b'), ...streak })
    expect(at(await patch({ id: a, key: 'b' }), 'issues')).toEqual([
      { id: a, severity: 'error', message: expect.stringContaining('"b" is taken') },
    ])
    const moved = shown('c', { name: 'The a', status: 'active' })
    expect(await patch({ id: a, key: 'c' })).toEqual({ updated: [moved], issues: [] })
    // The key in the item counts by the trigger that the item asks for.
    const warned = await patch({ id, key: 'd' })
    expect([at(warned, 'updated', 0, 'key'), at(warned, 'issues', 0, 'severity')]).toEqual(['b', 'warning'])
    expect(at(await patch({ id, key: 'd', trigger: 'api' }), 'updated', 0, 'key')).toBe('d')
    const back = await patch({ id, key: 'e', ...streak })
    expect([at(back, 'updated', 0, 'key'), at(back, 'issues', 0, 'severity')]).toEqual(['d', 'warning'])
  })

  it('[A1, A2] needs the fields of its trigger, and is locked later: else it is an issue', async () => {
    const first = await create(api('first'))
    const cases = [
      [api('locked', { status: 'locked' }), 'locked'],
      [words('a', { metricId: undefined }), 'metricId'],
      [words('b', { metricValue: undefined }), 'metricValue'],
      [{ ...api('c'), trigger: 'streak' }, 'streakLength'],
      [{ ...api('d'), trigger: 'achievement' }, 'achievementIds'],
      [{ name: 'No key', trigger: 'api' }, 'key'],
      [all('e', [NOBODY]), NOBODY],
      [all('f', [first, first]), 'more than once'],
      [api('g', { userAttributes: filter(NOBODY) }), NOBODY],
    ] as const
    const { status, body } = await post(...cases.map(([item]) => item), api('one'))
    expect([status, pick(at(body, 'created'), 'key')]).toEqual([201, ['one']])
    const issues = cases.map((_, index) => ({ index, severity: 'error', message: MESSAGE }))
    expect(at(body, 'issues')).toEqual(issues)
    for (const [n, [, part]] of cases.entries()) expect(messages(body)[n]).toContain(part)
  })
})

describe('changes', () => {
  it('[A1] allows only the moves inactive → active ↔ locked', async () => {
    const id = await create(api('a'))
    for (const [status, isLegal] of [
      ['locked', false],
      ['inactive', true],
      ['active', true],
      ['inactive', false],
      ['active', true],
      ['locked', true],
      ['inactive', false],
      ['locked', true],
      ['active', true],
    ] as const) {
      const before = await get(id)
      const body = await patch({ id, status, name: 'A' })
      if (!isLegal) expect(body).toEqual(refused(id))
      const after = isLegal ? shown('a', { id, name: 'A', status }) : before
      expect([status, await get(id)]).toEqual([status, after])
    }
  })

  it('[A1] changes the trigger only while inactive, and requires the fields of the new one', async () => {
    const id = await create(words('w', { eventAttributes: filter(s.page) }))
    expect(await patch({ id, trigger: 'streak' })).toEqual(refused(id))
    const turned = { id, trigger: 'streak', streakLength: 3 }
    expect(await patch(turned)).toEqual({ updated: [shown('w', turned)], issues: [] })
    expect(await patch({ id, trigger: 'metric', metricId: s.words })).toEqual(refused(id))
    expect(at(await patch({ id, trigger: 'api', status: 'active' }), 'issues')).toEqual([])
    expect(await patch({ id, trigger: 'streak', streakLength: 3 })).toEqual(refused(id))
    expect(at(await patch({ id, trigger: 'api', name: 'W' }), 'issues')).toEqual([])
    await patch({ id, status: 'locked' })
    expect(await patch({ id, trigger: 'streak', streakLength: 3 })).toEqual(refused(id))
  })

  it('[A1] composites make no cycles, not even with themselves, and each item sees the items before it', async () => {
    const [a, b, c] = [await create(api('a')), await create(api('b')), await create(api('c'))]
    const of = (id: string, ...achievementIds: string[]) => ({ id, trigger: 'achievement', achievementIds })
    expect(await patch(of(a, a))).toEqual(refused(a))
    expect(await patch(of(a, b), of(b, c), of(c, a))).toEqual({
      updated: [
        shown('a', { trigger: 'achievement', achievementIds: [b] }),
        shown('b', { trigger: 'achievement', achievementIds: [c] }),
      ],
      issues: [{ id: c, severity: 'error', message: expect.stringContaining(a) }],
    })
    expect(await patch(of(c, b))).toEqual(refused(c))
    // These are no cycles: two ways to one achievement, and the opposite order after the first way is
    // removed.
    expect(at(await patch(of(a, b, c)), 'issues')).toEqual([])
    expect(at(await patch({ id: a, trigger: 'api' }, of(c, a)), 'issues')).toEqual([])
  })

  it('[G9] if the metric or attribute is deleted, allows a new name and a lock, but no activation and no change that uses it', async () => {
    const active = await create(words('active', { status: 'active' }))
    const idle = await create(words('idle'))
    const filtered = await create(api('filtered', { userAttributes: filter(s.plan) }))
    await s.tenant.admin('DELETE', `/metrics?ids=${s.words}`)
    await s.tenant.admin('DELETE', `/attributes?ids=${s.plan}`)
    for (const change of [
      { id: active, name: 'Renamed' },
      { id: active, status: 'locked' },
      { id: idle, description: 'Still there' },
    ])
      expect(at(await patch(change), 'issues')).toEqual([])
    for (const id of [active, idle, filtered])
      expect(await patch({ id, status: 'active' })).toEqual(refused(id))
    expect(await patch({ id: active, metricValue: 11 })).toEqual(refused(active))
    const freed = await patch({ id: filtered, status: 'active', userAttributes: null })
    expect(at(freed, 'updated')).toHaveLength(1)
  })
})

describe('backdating', () => {
  it('[A4] completes it for qualified users when it becomes active: by creation, by a move, or after a lock', async () => {
    await s.tenant.event('words', 'ada', 10)
    await post(words('made', { status: 'active' }), words('not', { status: 'active', metricValue: 11 }))
    expect(await had('ada')).toEqual(['made'])
    const moved = await create(words('moved'))
    expect(await had('ada')).toEqual(['made'])
    await patch({ id: moved, status: 'active' })
    expect(await had('ada')).toEqual(['made', 'moved'])
    await patch({ id: moved, status: 'locked' })
    await s.tenant.event('words', 'ben', 10)
    expect(await had('ben')).toEqual(['made'])
    await patch({ id: moved, status: 'active' })
    expect(await had('ben')).toEqual(['made', 'moved'])
  })

  it('[A4] counts users with very many events in small groups, so that no statement takes too long', async () => {
    s = await world({ tenant: await newTenantInLast() })
    for (const [user, value] of Object.entries({ ada: 4, ben: 10, cai: 12 }))
      await s.tenant.event('words', user, value, { attributes: { page: 'x' } })
    const sql = 'SELECT iid, seq FROM users WHERE tenant_id = ? ORDER BY id'
    const stored = await rowsEverywhere<{ iid: string; seq: number }>(sql, s.tenant.id)
    const eventAttributes = filter(s.page)
    const sumsBy = async (more: number) => {
      const { db, databases, cost } = contextOfUsers(s.tenant.id)
      await databases.usersOf(s.tenant.id).holders()
      const before = cost.roundTrips
      const users = stored.map(({ iid, seq }) => ({ iid, seq: seq + more }))
      const sums = await sumsOf(db, { metricId: s.words, eventAttributes }, users)
      return [stored.map(({ iid }) => sums.get(iid)), cost.roundTrips - before]
    }
    const counted = [4_000_000, 10_000_000, 12_000_000]
    expect(await sumsBy(0)).toEqual([counted, 1])
    expect(await sumsBy(400_000)).toEqual([counted, 2])
    expect(await sumsBy(4_000_000)).toEqual([counted, 3])
  })

  it('[A4] if an active one changes its conditions, completes it for users who now qualify', async () => {
    await s.tenant.event('words', { id: 'ada', attributes: { plan: 'x' } }, 10, { attributes: { page: 'x' } })
    const first = await create(api('first', { status: 'active' }))
    await s.tenant.app('POST', '/achievements/first/complete', { user: { id: 'ada' } })
    const open = { status: 'active' }
    const ids = {
      value: await create(words('value', { ...open, metricValue: 11 })),
      metric: await create(words('metric', { ...open, metricId: s.pages })),
      user: await create(words('user', { ...open, userAttributes: filter(s.plan, 'y') })),
      event: await create(words('event', { ...open, eventAttributes: filter(s.page, 'y') })),
      all: await create(all('all', [await create(api('never'))], open)),
    }
    expect(await had('ada')).toEqual(['first'])
    await patch(
      { id: ids.value, metricValue: 10 },
      { id: ids.metric, metricId: s.words },
      { id: ids.user, userAttributes: filter(s.plan) },
      { id: ids.event, eventAttributes: filter(s.page) },
      { id: ids.all, achievementIds: [first] },
    )
    expect((await had('ada')).toSorted()).toEqual(['all', 'event', 'first', 'metric', 'user', 'value'])
  })

  it('[A2] counts again with another filter, and continues the count if the first filter returns', async () => {
    const id = await create(words('w', { status: 'active', eventAttributes: filter(s.page) }))
    const send = (page: string) => s.tenant.event('words', 'ada', 4, { attributes: { page } })
    await send('x')
    await send('x')
    await patch({ id, eventAttributes: filter(s.page, 'y') })
    await send('y')
    expect(await had('ada')).toEqual([])
    await patch({ id, eventAttributes: filter(s.page) })
    await send('y')
    expect(await had('ada')).toEqual([])
    await send('x')
    expect(await had('ada')).toEqual(['w'])
  })

  it('[A2] counts the whole log if changes of one request take each other back', async () => {
    const id = await create(words('w', { status: 'active', eventAttributes: filter(s.page) }))
    const send = (user: string, value: number) =>
      s.tenant.event('words', user, value, { attributes: { page: 'x' } })
    await send('ada', 9)
    await s.tenant.app('PUT', '/users/bob', {})
    await patch({ id, metricValue: 20 }, { id, metricValue: 10 })
    await send('bob', 10)
    expect(await had('bob')).toEqual(['w'])
    await patch({ id, metricId: s.pages }, { id, metricId: s.words })
    await send('ada', 1)
    expect(await had('ada')).toEqual(['w'])
  })

  it('[A2] if the filter changes while locked, counts the whole log after the unlock', async () => {
    const id = await create(words('w', { status: 'active', eventAttributes: filter(s.page) }))
    const send = (page: string, value: number) =>
      s.tenant.event('words', 'ada', value, { attributes: { page } })
    await send('y', 6)
    await patch({ id, status: 'locked' })
    await patch({ id, eventAttributes: filter(s.page, 'y') })
    await send('y', 3)
    await patch({ id, status: 'active' })
    expect(await had('ada')).toEqual([])
    await send('y', 1)
    expect(await had('ada')).toEqual(['w'])
  })
})

describe('deletion', () => {
  it('[G9] refuses to delete one that an active or locked composite or an active trigger uses, and names the resource that uses it', async () => {
    const first = await create(api('first'))
    const composite = await create(all('composite', [first]))
    const trigger = (status: string) => ({ type: 'achievement', points: 5, achievementId: first, status })
    const triggerId = await s.tenant.create(`/points/${s.xp}/triggers`, trigger('active'))
    const usedBy = async (name: string) =>
      expect(await remove(first)).toEqual({
        deleted: [],
        issues: [{ id: first, severity: 'error', message: expect.stringContaining(name) }],
      })
    await usedBy(triggerId)
    await s.tenant.admin('PATCH', `/points/${s.xp}/triggers`, [{ id: triggerId, status: 'inactive' }])
    await patch({ id: composite, status: 'active' })
    await usedBy('achievement composite')
    await patch({ id: composite, status: 'locked' })
    await usedBy('achievement composite')
    expect(await remove(composite, first, NOBODY)).toEqual({
      deleted: [{ id: composite }, { id: first }],
      issues: [{ id: NOBODY, severity: 'error', message: MESSAGE }],
    })
    expect((await s.tenant.admin('GET', PATH)).body).toEqual([])
    // The remaining trigger cannot be activated, because its achievement is deleted.
    const again = [{ id: triggerId, status: 'active' }]
    const { body } = await s.tenant.admin('PATCH', `/points/${s.xp}/triggers`, again)
    expect(at(body, 'issues')).toHaveLength(1)
  })

  it('[G9] allows deleting a member of an inactive composite, which then cannot be made active', async () => {
    const first = await create(api('first'))
    const composite = await create(all('composite', [first]))
    expect(at(await remove(first), 'deleted')).toEqual([{ id: first }])
    expect(await patch({ id: composite, status: 'active' })).toEqual(refused(composite))
  })

  it('[G9] refuses to delete an attribute that an active or locked achievement uses', async () => {
    const user = await create(api('user', { userAttributes: filter(s.plan) }))
    const event = await create(words('event', { eventAttributes: filter(s.page) }))
    const removed = async () => {
      const { body } = await s.tenant.admin('DELETE', `/attributes?ids=${s.plan},${s.page}`)
      return { deleted: list(at(body, 'deleted')).length, messages: messages(body) }
    }
    const inUse = (status: string) => {
      const uses = ['user', 'event'].map((key) => `the achievement ${key}, which is ${status}`)
      return { deleted: 0, messages: uses.map((use) => expect.stringContaining(use)) }
    }
    await patch({ id: user, status: 'active' }, { id: event, status: 'active' })
    expect(await removed()).toEqual(inUse('active'))
    await patch({ id: user, status: 'locked' }, { id: event, status: 'locked' })
    expect(await removed()).toEqual(inUse('locked'))
    await patch({ id: user, userAttributes: [] })
    expect(at(await removed(), 'deleted')).toBe(1)
    await remove(event)
    expect(at((await s.tenant.admin('DELETE', `/attributes?ids=${s.page}`)).body, 'deleted')).toHaveLength(1)
  })
})
