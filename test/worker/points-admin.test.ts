import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { at, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'

const NOBODY = '018f0000-0000-7000-8000-000000000000'
const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
const MESSAGE = expect.stringMatching(/.{10}/)

const list = (body: unknown): unknown[] => [body].flat()
const created = (body: unknown) => list(at(body, 'created'))
const issues = (body: unknown) => list(at(body, 'issues'))
const pick = (rows: unknown[], field: string) => rows.map((row) => at(row, field))
const error = (body: unknown) => String(at(body, 'error'))

type Setup = { tenant: TestTenant; metric: string; plan: string; page: string; system: string; path: string }

/** A tenant with a metric, a user attribute, an event attribute and an empty points system. */
async function setup(): Promise<Setup> {
  const tenant = await newTenant()
  const metric = await tenant.metric('words')
  const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const page = await tenant.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
  const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  return { tenant, metric, plan, page, system, path: `/points/${system}` }
}

let one: Setup
beforeAll(async () => {
  one = await setup()
})

describe('points systems', () => {
  it('[G10] have their defaults, and all given fields', async () => {
    const { tenant } = await setup()
    const { status, body } = await tenant.admin('POST', '/points', [
      { key: 'a', name: 'A' },
      {
        key: 'b',
        name: 'B',
        description: 'Of B',
        badge: { url: 'https://x.test/b.png' },
        maxPoints: 30,
        levels: [],
        triggers: [],
      },
      {
        key: 'c',
        name: 'C',
        badge: null,
        maxPoints: null,
        description: null,
        levels: null,
        boosts: null,
        triggers: null,
      },
    ])
    expect(status).toBe(201)
    const fields = { id: UUID, status: 'active', badge: null, maxPoints: null, description: '' }
    expect(body).toEqual({
      created: [
        { ...fields, key: 'a', name: 'A' },
        {
          ...fields,
          key: 'b',
          name: 'B',
          description: 'Of B',
          badge: { url: 'https://x.test/b.png' },
          maxPoints: 30,
          levels: [],
          triggers: [],
        },
        { ...fields, key: 'c', name: 'C' },
      ],
      issues: [],
    })
    const b = String(at(body, 'created', 1, 'id'))
    const plain = { id: b, status: 'active', key: 'b' }
    const as = { name: 'B', description: 'Of B', badge: { url: 'https://x.test/b.png' }, maxPoints: 30 }
    expect((await tenant.admin('GET', `/points/${b}`)).body).toEqual({ ...plain, ...as })
    for (const [change, after] of [
      [
        { name: 'BB', key: 'zzz', status: 'archived' },
        { ...as, name: 'BB' },
      ],
      [
        { name: null, description: null },
        { ...as, name: 'BB' },
      ],
      [
        { badge: null, description: '' },
        { ...as, name: 'BB', badge: null, description: '' },
      ],
      [{ maxPoints: null }, { ...as, name: 'BB', badge: null, description: '', maxPoints: null }],
      [
        { maxPoints: 2_147_483_647 },
        { ...as, name: 'BB', badge: null, description: '', maxPoints: 2_147_483_647 },
      ],
    ] as const) {
      const answer = await tenant.admin('PATCH', '/points', [{ id: b, ...change }])
      expect(at(answer.body, 'updated')).toEqual([{ ...plain, ...after }])
      const warned =
        'key' in change
          ? [
              expect.stringContaining('The key of a points system never changes'),
              expect.stringContaining('"status"'),
            ]
          : []
      expect(pick(issues(answer.body), 'message')).toEqual(warned)
      expect((await tenant.admin('GET', `/points/${b}`)).body).toEqual({ ...plain, ...after })
    }
    const shown = await tenant.app('GET', '/points/b')
    expect(shown.body).toEqual({
      id: b,
      name: 'BB',
      description: null,
      badgeUrl: null,
      maxPoints: 2_147_483_647,
      triggers: [],
    })
  })

  it('[G7] are created with levels, boosts and triggers, each whole or not at all', async () => {
    const { tenant, metric, plan } = await setup()
    await tenant.app('PUT', '/users/ada', {})
    const trigger = { type: 'metric', points: 5, metricId: metric, metricThreshold: 10 }
    const whole = {
      key: 'w',
      name: 'W',
      levels: [
        { key: 'two', name: 'Two', points: 20, description: 'Second', badge: { url: 'u' } },
        { key: 'one', name: 'One', points: 0 },
      ],
      boosts: [
        { name: 'all', start: '2020-01-01', multiplier: 2 },
        {
          name: 'own',
          start: '2020-01-01',
          end: '2020-01-01',
          multiplier: 0.5,
          rounding: 'up',
          userId: 'ada',
        },
      ],
      triggers: [
        trigger,
        {
          type: 'user_creation',
          points: -7,
          status: 'active',
          userAttributes: [{ attributeId: plan, attributeValue: 'pro' }],
        },
      ],
    }
    const { body, status } = await tenant.admin('POST', '/points', [
      { ...whole, key: 'bad1', triggers: [{ ...trigger, metricId: NOBODY }] },
      { ...whole, key: 'bad2', levels: [...whole.levels, { key: 'three', name: 'x', points: 20 }] },
      { ...whole, key: 'bad3', boosts: [{ ...whole.boosts[1], userId: 'nobody' }] },
      whole,
    ])
    expect(status).toBe(201)
    expect(issues(body)).toEqual([0, 1, 2].map((index) => ({ index, severity: 'error', message: MESSAGE })))
    expect(pick(created(body), 'key')).toEqual(['w'])
    expect(at(body, 'created', 0)).toMatchObject({
      levels: [
        { id: UUID, key: 'two', points: 20, description: 'Second', badge: { url: 'u' } },
        { id: UUID, key: 'one', points: 0, description: '', badge: null },
      ],
      boosts: [
        {
          id: UUID,
          name: 'all',
          status: 'active',
          start: '2020-01-01',
          end: null,
          multiplier: 2,
          rounding: 'down',
          userId: null,
          userAttributes: [],
        },
        {
          id: UUID,
          name: 'own',
          status: 'finished',
          start: '2020-01-01',
          end: '2020-01-01',
          multiplier: 0.5,
          rounding: 'up',
          userId: 'ada',
        },
      ],
      triggers: [
        {
          id: UUID,
          type: 'metric',
          points: 5,
          status: 'inactive',
          metricId: metric,
          metricThreshold: 10,
          userAttributes: [],
          eventAttributes: [],
          blockIfOutOfPoints: false,
        },
        {
          id: UUID,
          type: 'user_creation',
          points: -7,
          status: 'active',
          userAttributes: [{ attributeId: plan, attributeValue: 'pro' }],
          blockIfOutOfPoints: false,
        },
      ],
    })
    expect(pick(list((await tenant.admin('GET', '/points')).body), 'key')).toEqual(['xp', 'w'])
    const path = `/points/${at(body, 'created', 0, 'id')}`
    for (const nested of ['levels', 'triggers', 'boosts'] as const) {
      const shown = await tenant.admin('GET', `${path}/${nested}`)
      expect(list(shown.body)).toEqual(at(body, 'created', 0, nested))
      const id = at(shown.body, 0, 'id')
      expect((await tenant.admin('GET', `${path}/${nested}/${id}`)).body).toEqual(at(shown.body, 0))
      // Objects of one system are not found in another.
      expect(
        (
          await tenant.admin(
            'GET',
            `/points/${at((await tenant.admin('GET', '/points')).body, 0, 'id')}/${nested}/${id}`,
          )
        ).status,
      ).toBe(404)
    }
    // By points on the application interface.
    expect(pick(list((await tenant.app('GET', '/points/w/levels')).body), 'key')).toEqual(['one', 'two'])
  })

  it('[G9] a deleted system disappears and stops at once, with all its parts; the history stays', async () => {
    const { tenant, metric, system, path } = await setup()
    await tenant.create(`${path}/triggers`, {
      type: 'metric',
      points: 5,
      status: 'active',
      metricId: metric,
      metricThreshold: 1,
    })
    await tenant.create(`${path}/levels`, { key: 'one', name: 'One', points: 1 })
    await tenant.create(`${path}/boosts`, { name: 'all', start: '2020-01-01', multiplier: 2 })
    expect((await tenant.event('words', 'ada', 1)).body).toMatchObject({ points: { xp: { total: 10 } } })
    const awards = (await tenant.stored()).awards
    expect((await tenant.admin('DELETE', `/points?ids=${system}`)).body).toEqual({
      deleted: [{ id: system }],
      issues: [],
    })
    expect(at((await tenant.event('words', 'ada', 1)).body, 'points')).toEqual({})
    expect((await tenant.stored()).awards).toEqual(awards)
    for (const where of [
      '/points/xp',
      '/points/xp/levels',
      '/points/xp/boosts',
      '/points/xp/summary',
      '/points/xp/level-summary',
      '/users/ada/points/xp',
      '/users/ada/points/xp/boosts',
    ]) {
      expect([where, (await tenant.app('GET', where)).status]).toEqual([where, 404])
    }
    for (const nested of ['', '/levels', '/triggers', '/boosts']) {
      expect((await tenant.admin('GET', path + nested)).status).toBe(404)
    }
    const anew = await tenant.create('/points', { key: 'xp', name: 'XP' })
    expect(anew).not.toBe(system)
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({
      id: anew,
      total: 0,
      awards: [],
      level: null,
    })
  })

  it('[G3] wrong fields are 422, each named, nested ones too', async () => {
    const { tenant } = one
    const before = await tenant.stored()
    const { status, body } = await tenant.admin('POST', '/points', [
      {
        key: 'k k',
        name: '',
        maxPoints: 0,
        badge: {},
        levels: [{ key: 'x', name: 'x', points: -1 }],
        boosts: [{ name: 'b', start: '2020-02-30', multiplier: 1 }],
        triggers: [{ type: 'metric', points: 0 }],
      },
    ])
    expect(status).toBe(422)
    for (const field of [
      '0.key',
      '0.name',
      '0.maxPoints',
      '0.badge.url',
      '0.levels.0.points',
      '0.boosts.0.start',
      '0.boosts.0.multiplier',
      '0.triggers.0.points',
      '0.triggers.0.metricId',
      '0.triggers.0.metricThreshold',
    ]) {
      expect(error(body)).toContain(`${field}:`)
    }
    for (const maxPoints of [0, -1, 1.5, 2_147_483_648, 1e308, '5', []]) {
      expect((await tenant.admin('POST', '/points', [{ key: 'k', name: 'K', maxPoints }])).status).toBe(422)
      expect((await tenant.admin('PATCH', '/points', [{ id: one.system, maxPoints }])).status).toBe(422)
    }
    expect(await tenant.stored()).toEqual(before)
  })
})

describe('levels', () => {
  it('[P9, G5] equal keys or equal points in a system are issues, also within one request and after a change', async () => {
    const { tenant, path } = await setup()
    const { status, body } = await tenant.admin('POST', `${path}/levels`, [
      { key: 'a', name: 'A', points: 0 },
      { key: 'b', name: 'B', points: 100 },
      { key: 'a', name: 'A again', points: 5 },
      { key: 'c', name: 'C', points: 100 },
      { key: 'd', name: 'D', points: 2_147_483_647 },
    ])
    expect(status).toBe(201)
    expect(pick(created(body), 'key')).toEqual(['a', 'b', 'd'])
    expect(issues(body)).toEqual([2, 3].map((index) => ({ index, severity: 'error', message: MESSAGE })))
    const [a, b] = pick(created(body), 'id')
    const patched = await tenant.admin('PATCH', `${path}/levels`, [
      { id: a, points: 100 },
      { id: b, points: 200, description: 'Bee', badge: { url: 'u' }, key: 'zzz' },
      { id: a, points: 100 },
      { id: NOBODY, name: 'x' },
      { id: b, badge: null, name: null, points: null },
    ])
    const errors = issues(patched.body).filter((one) => at(one, 'severity') === 'error')
    expect(pick(errors, 'id')).toEqual([a, NOBODY])
    expect(at(patched.body, 'updated')).toEqual([
      { id: b, key: 'b', name: 'B', points: 200, description: 'Bee', badge: { url: 'u' } },
      { id: a, key: 'a', name: 'A', points: 100, description: '', badge: null },
      { id: b, key: 'b', name: 'B', points: 200, description: 'Bee', badge: null },
    ])
    expect((await tenant.admin('GET', `${path}/levels/${b}`)).body).toEqual(at(patched.body, 'updated', 2))
    expect((await tenant.admin('DELETE', `${path}/levels?ids=${a},${NOBODY}`)).body).toMatchObject({
      deleted: [{ id: a }],
      issues: [{ id: NOBODY }],
    })
    expect(
      (await tenant.admin('POST', `${path}/levels`, [{ key: 'a', name: 'A', points: 100 }])).status,
    ).toBe(201)
    for (const points of [-1, 0.5, 2_147_483_648, '1', null]) {
      expect((await tenant.admin('POST', `${path}/levels`, [{ key: 'x', name: 'X', points }])).status).toBe(
        422,
      )
    }
    // Another system has its own keys and points.
    const other = await tenant.create('/points', { key: 'other', name: 'Other' })
    expect(
      (await tenant.admin('POST', `/points/${other}/levels`, [{ key: 'a', name: 'A', points: 100 }])).status,
    ).toBe(201)
    expect(
      (await tenant.admin('PATCH', `/points/${other}/levels`, [{ id: b, name: 'stolen' }])).body,
    ).toMatchObject({ updated: [], issues: [{ id: b }] })
    expect((await tenant.admin('DELETE', `/points/${other}/levels?ids=${b}`)).body).toMatchObject({
      deleted: [],
      issues: [{ id: b }],
    })
  })
})

describe('triggers', () => {
  it('[P3] of every type are stored with the fields of the type, inactive by default', async () => {
    const { tenant, metric, plan, page, path } = await setup()
    const user = [{ attributeId: plan, attributeValue: 'pro' }]
    const event = [{ attributeId: page, attributeValue: '' }]
    const { status, body } = await tenant.admin('POST', `${path}/triggers`, [
      {
        type: 'metric',
        points: 1_000_000,
        metricId: metric.toUpperCase(),
        metricThreshold: 2_147_483_647,
        userAttributes: user,
        eventAttributes: event,
        blockIfOutOfPoints: true,
        streakLength: 4,
      },
      {
        type: 'streak',
        points: -1_000_000,
        streakLength: 7,
        status: 'active',
        metricId: metric,
        metricThreshold: 3,
      },
      { type: 'time', points: 1, timeUnit: 'hours', timeInterval: 1, status: null, userAttributes: null },
      { type: 'time', points: 1, timeUnit: 'days', timeInterval: 30, status: 'inactive' },
      { type: 'user_creation', points: 10, status: 'active', eventAttributes: null },
    ])
    expect(status).toBe(201)
    const common = { id: UUID, userAttributes: [], status: 'inactive', blockIfOutOfPoints: false }
    expect(created(body)).toEqual([
      {
        ...common,
        key: 'metric-words-2147483647',
        type: 'metric',
        points: 1_000_000,
        metricId: metric,
        metricThreshold: 2_147_483_647,
        userAttributes: user,
        eventAttributes: event,
        blockIfOutOfPoints: true,
      },
      { ...common, key: 'streak-7', type: 'streak', points: -1_000_000, streakLength: 7, status: 'active' },
      { ...common, key: 'time-1-hours', type: 'time', points: 1, timeUnit: 'hours', timeInterval: 1 },
      { ...common, key: 'time-30-days', type: 'time', points: 1, timeUnit: 'days', timeInterval: 30 },
      { ...common, key: 'user_creation', type: 'user_creation', points: 10, status: 'active' },
    ])
    expect((await tenant.admin('GET', `${path}/triggers`)).body).toEqual(at(body, 'created'))
    // P13: the application interface lists the active ones, in order of creation.
    const shown = await tenant.app('GET', '/points/xp')
    expect(
      list(at(shown.body, 'triggers')).map((one) => [at(one, 'type'), at(one, 'streakLengthThreshold')]),
    ).toEqual([
      ['streak', 7],
      ['user_creation', undefined],
    ])
    const activated = await tenant.admin(
      'PATCH',
      `${path}/triggers`,
      pick(created(body), 'id').map((id) => ({ id, status: 'active' })),
    )
    expect(issues(activated.body)).toEqual([])
    const all = list(at((await tenant.app('GET', '/points/xp')).body, 'triggers'))
    expect(pick(all, 'id')).toEqual(pick(created(body), 'id'))
    expect(all[0]).toEqual({
      id: at(body, 'created', 0, 'id'),
      type: 'metric',
      points: 1_000_000,
      status: 'active',
      metricId: metric,
      metricName: 'Metric words',
      metricThreshold: 2_147_483_647,
      userAttributes: [{ key: 'plan', value: 'pro' }],
      eventAttribute: { key: 'page', value: '' },
      eventAttributes: [{ key: 'page', value: '' }],
      created: expect.stringMatching(/Z$/),
      updated: expect.stringMatching(/Z$/),
    })
    // G10: hours and days on the admin interface, hour and day here.
    expect(pick(all, 'timeUnit')).toEqual([undefined, undefined, 'hour', 'day', undefined])
    expect(pick(list((await tenant.admin('GET', `${path}/triggers`)).body), 'timeUnit')).toEqual([
      undefined,
      undefined,
      'hours',
      'days',
      undefined,
    ])
  })

  it('[P3] points are whole, not 0 and within ±1,000,000; each type needs its fields', async () => {
    const { tenant, metric, path } = one
    const before = await tenant.stored()
    const good = { type: 'metric', points: 1, metricId: metric, metricThreshold: 1 }
    for (const wrong of [
      ...[0, -0, 0.5, 1_000_001, -1_000_001, 1e308, '1', null, undefined, true, [1]].map((points) => ({
        ...good,
        points,
      })),
      ...[0, -1, 1.5, 2_147_483_648, '1'].map((metricThreshold) => ({ ...good, metricThreshold })),
      { ...good, metricId: undefined },
      { ...good, metricThreshold: null },
      { ...good, metricId: 'words' },
      { ...good, status: 'archived' },
      { ...good, blockIfOutOfPoints: 'yes' },
      { ...good, userAttributes: {} },
      { ...good, userAttributes: [{ attributeId: 'x', attributeValue: 'y' }] },
      { ...good, eventAttributes: [{ attributeId: NOBODY, attributeValue: null }] },
      { type: 'metrics', points: 1 },
      { type: 'streak', points: 1 },
      { type: 'streak', points: 1, streakLength: 0 },
      { type: 'time', points: 1, timeUnit: 'hours' },
      { type: 'time', points: 1, timeInterval: 1 },
      { type: 'time', points: 1, timeUnit: 'hour', timeInterval: 1 },
      { type: 'time', points: 1, timeUnit: 'days', timeInterval: 0 },
      { type: 'achievement', points: 1 },
      {},
    ]) {
      const { status } = await tenant.admin('POST', `${path}/triggers`, [good, wrong])
      expect([JSON.stringify(wrong), status]).toEqual([JSON.stringify(wrong), 422])
    }
    const { body } = await tenant.admin('POST', `${path}/triggers`, [
      { type: 'time', points: 0.5, status: 'x' },
    ])
    for (const field of ['points', 'status', 'timeUnit', 'timeInterval'])
      expect(error(body)).toContain(`0.${field}:`)
    expect(await tenant.stored()).toEqual(before)
  })

  it('[G7] an unknown reference is an issue, and so is a change that leaves a type without its fields', async () => {
    const { tenant, metric, plan, page, path } = await setup()
    const good = { type: 'metric', points: 1, metricId: metric, metricThreshold: 1 }
    const filter = (attributeId: string) => [{ attributeId, attributeValue: 'x' }]
    const { status, body } = await tenant.admin('POST', `${path}/triggers`, [
      good,
      { ...good, metricId: NOBODY },
      { ...good, userAttributes: filter(page) },
      { ...good, eventAttributes: filter(plan) },
      { ...good, userAttributes: filter(NOBODY) },
      { type: 'achievement', points: 1, achievementId: NOBODY },
    ])
    expect(status).toBe(201)
    expect(created(body)).toHaveLength(1)
    expect(issues(body)).toEqual(
      [1, 2, 3, 4, 5].map((index) => ({ index, severity: 'error', message: MESSAGE })),
    )
    const id = at(body, 'created', 0, 'id')
    const patch = async (change: object) =>
      (await tenant.admin('PATCH', `${path}/triggers`, [{ id, ...change }])).body
    for (const change of [
      { type: 'time' },
      { type: 'streak' },
      { type: 'time', timeUnit: 'days' },
      { metricId: NOBODY },
      { userAttributes: filter(page) },
    ]) {
      expect(await patch(change)).toEqual({
        updated: [],
        issues: [{ id, severity: 'error', message: MESSAGE }],
      })
    }
    const plain = {
      id,
      key: 'metric-words-1',
      type: 'metric',
      points: 1,
      status: 'inactive',
      metricId: metric,
      metricThreshold: 1,
      userAttributes: [],
      eventAttributes: [],
      blockIfOutOfPoints: false,
    }
    expect((await tenant.admin('GET', `${path}/triggers/${id}`)).body).toEqual(plain)
    for (const [change, after] of [
      [
        {
          points: -5,
          status: 'active',
          metricThreshold: 2,
          blockIfOutOfPoints: true,
          userAttributes: filter(plan),
          eventAttributes: filter(page),
        },
        {
          points: -5,
          status: 'active',
          metricThreshold: 2,
          blockIfOutOfPoints: true,
          userAttributes: filter(plan),
          eventAttributes: filter(page),
        },
      ],
      [
        {
          points: null,
          status: null,
          type: null,
          metricId: null,
          metricThreshold: null,
          blockIfOutOfPoints: null,
        },
        {},
      ],
      [
        { userAttributes: null, eventAttributes: [] },
        { userAttributes: [], eventAttributes: [] },
      ],
    ] as const) {
      Object.assign(plain, after)
      expect(await patch(change)).toEqual({ updated: [plain], issues: [] })
    }
    expect(await patch({ type: 'streak', streakLength: 3 })).toMatchObject({
      updated: [{ type: 'streak', streakLength: 3 }],
    })
    expect(Object.keys(Object((await tenant.admin('GET', `${path}/triggers/${id}`)).body))).not.toContain(
      'metricId',
    )
  })
})

describe('boosts', () => {
  it('[P5] multiplier above 0, not 1, below 100; start and end are dates in order; userId or userAttributes, not both', async () => {
    const { tenant, plan, path } = one
    await tenant.app('PUT', '/users/ada', {})
    const before = await tenant.stored()
    const good = { name: 'B', start: '2026-01-01', multiplier: 2 }
    const filter = [{ attributeId: plan, attributeValue: 'pro' }]
    for (const wrong of [
      ...[0, 1, 100, -1, 1e308, '2', null, undefined].map((multiplier) => ({ ...good, multiplier })),
      ...[
        '2026-02-29',
        '2026-1-1',
        '20260101',
        '2026-01-01T00:00:00Z',
        '',
        '0000-01-01',
        '10000-01-01',
        5,
        null,
        undefined,
      ].map((start) => ({ ...good, start })),
      { ...good, end: '2025-12-31' },
      { ...good, end: 'never' },
      { ...good, rounding: 'half' },
      { ...good, name: '' },
      { ...good, name: 'x'.repeat(256) },
      { ...good, userId: 'ada', userAttributes: filter },
      { ...good, userId: '' },
      { ...good, userAttributes: filter[0] },
    ]) {
      const { status } = await tenant.admin('POST', `${path}/boosts`, [good, wrong])
      expect([JSON.stringify(wrong), status]).toEqual([JSON.stringify(wrong), 422])
    }
    const { body } = await tenant.admin('POST', `${path}/boosts`, [
      { start: '2026-01-02', end: '2026-01-01', multiplier: 1, userId: 'ada', userAttributes: filter },
    ])
    for (const field of ['name', 'end', 'multiplier', 'userAttributes'])
      expect(error(body)).toContain(`0.${field}:`)
    expect(await tenant.stored()).toEqual(before)
  })

  it('[G7] issues name the boost twice, as id and boostId; on create by index', async () => {
    const { tenant, plan, page, path } = await setup()
    await tenant.app('PUT', '/users/ada', {})
    const good = { name: 'B', start: '2026-01-01', multiplier: 2 }
    const { status, body } = await tenant.admin('POST', `${path}/boosts`, [
      {
        ...good,
        end: '2026-01-01',
        multiplier: 99.999,
        rounding: 'nearest',
        userAttributes: [{ attributeId: plan, attributeValue: 'x' }],
      },
      { ...good, userId: 'nobody' },
      { ...good, userAttributes: [{ attributeId: page, attributeValue: 'x' }] },
      { ...good, userId: 'ada', userAttributes: [] },
      { ...good, userId: null, userAttributes: null, end: null, rounding: null },
    ])
    expect(status).toBe(201)
    expect(issues(body)).toEqual([1, 2].map((index) => ({ index, severity: 'error', message: MESSAGE })))
    expect(pick(created(body), 'userId')).toEqual([null, 'ada', null])
    expect(at(body, 'created', 0)).toEqual({
      id: UUID,
      key: 'boost-2026-01-01',
      name: 'B',
      status: 'finished',
      start: '2026-01-01',
      end: '2026-01-01',
      multiplier: 99.999,
      rounding: 'nearest',
      userId: null,
      userAttributes: [{ attributeId: plan, attributeValue: 'x' }],
    })
    const [all, own, open] = pick(created(body), 'id').map(String)
    const filter = [{ attributeId: plan, attributeValue: 'y' }]
    const patched = await tenant.admin('PATCH', `${path}/boosts`, [
      { id: all, start: '2026-01-02' },
      { id: own, userAttributes: filter },
      { id: NOBODY, name: 'x' },
      { id: open, name: 'Open', end: '2027-01-01', multiplier: 0.1, rounding: 'up', userAttributes: filter },
      { id: open, end: null, userAttributes: null, start: null, multiplier: null },
    ])
    expect(issues(patched.body)).toEqual(
      [all, own, NOBODY].map((id) => ({ id, boostId: id, severity: 'error', message: MESSAGE })),
    )
    expect(at(patched.body, 'updated', 1)).toMatchObject({
      id: open,
      name: 'Open',
      start: '2026-01-01',
      end: null,
      multiplier: 0.1,
      rounding: 'up',
      userAttributes: [],
    })
    expect((await tenant.admin('GET', `${path}/boosts/${open}`)).body).toEqual(at(patched.body, 'updated', 1))
    expect(pick(list((await tenant.admin('GET', `${path}/boosts?skip=1&limit=1`)).body), 'id')).toEqual([own])
    // The application interface lists boosts without a user, finished ones only on request.
    expect(pick(list((await tenant.app('GET', '/points/xp/boosts')).body), 'id')).toEqual([open])
    expect(
      pick(list((await tenant.app('GET', '/points/xp/boosts?includeFinished=true')).body), 'id'),
    ).toEqual([all, open])
    expect((await tenant.app('GET', '/points/xp/boosts?includeFinished=yes')).status).toBe(422)
    const gone = await tenant.admin('DELETE', `${path}/boosts?ids=${own},${NOBODY}&ids=${all}`)
    expect(pick(list(at(gone.body, 'deleted')), 'id').sort()).toEqual([own, all].sort())
    expect(issues(gone.body)).toEqual([{ id: NOBODY, boostId: NOBODY, severity: 'error', message: MESSAGE }])
    expect(pick(list((await tenant.admin('GET', `${path}/boosts`)).body), 'id')).toEqual([open])
    const other = await tenant.create('/points', { key: 'other', name: 'Other' })
    expect((await tenant.admin('DELETE', `/points/${other}/boosts?ids=${open}`)).body).toMatchObject({
      deleted: [],
      issues: [{ id: open, boostId: open }],
    })
    expect((await tenant.admin('GET', `/points/${other}/boosts/${open}`)).status).toBe(404)
  })

  it('[G7] a change of an own boost decides again if another request changes the boost meanwhile', async () => {
    const { tenant, path } = await setup()
    await tenant.app('PUT', '/users/ada', {})
    const item = { name: 'B', start: '2026-06-01', multiplier: 2, userId: 'ada' }
    const id = await tenant.create(`${path}/boosts`, item)
    const change = (through: TestTenant, boost: object) =>
      through.admin('PATCH', `${path}/boosts`, [{ id, ...boost }])
    let isFirst = true
    const DB = new Proxy(env.DB, {
      get(target, name) {
        if (name !== 'batch') return Reflect.get(target, name, target).bind(target)
        return async (statements: D1PreparedStatement[]) => {
          const read = await target.batch<object>(statements)
          const hasBoost = read.some(({ results }) => results.some((row) => 'multiplier' in row))
          if (isFirst && hasBoost) {
            isFirst = false
            await change(tenant, { end: '2026-06-30' })
          }
          return read
        }
      },
    })
    const { body } = await change(tenant.through(newApp({ DB })), { start: '2026-07-31' })
    expect([isFirst, at(body, 'updated')]).toEqual([false, []])
    expect(at(body, 'issues', 0, 'message')).toContain('The end would be before the start')
  })

  it('[G7] at most 1,000 are not of users, in all points systems together; users may have others', async () => {
    const { tenant, path } = await setup()
    await tenant.app('PUT', '/users/ada', {})
    const boost = { name: 'B', start: '2026-01-01', multiplier: 2 }
    const own = { ...boost, userId: 'ada' }
    const post = async (...items: object[]) => (await tenant.admin('POST', `${path}/boosts`, items)).body
    for (let group = 0; group < 10; group += 1) {
      const keys = Array.from({ length: group === 9 ? 99 : 100 }, (_, n) => `b${group}-${n}`)
      await post(...keys.map((key) => ({ ...boost, key })))
    }
    const body = await post(own, boost, boost, own)
    expect(pick(created(body), 'userId')).toEqual(['ada', null, 'ada'])
    expect(issues(body)).toEqual([
      { index: 2, severity: 'error', message: expect.stringContaining('at most 1000 boosts') },
    ])
    const system = { key: 'other', name: 'Other', boosts: [own] }
    expect((await tenant.admin('POST', '/points', [system])).status).toBe(201)
    const full = await tenant.admin('POST', '/points', [{ ...system, key: 'full', boosts: [own, boost] }])
    expect([full.status, issues(full.body)]).toEqual([
      200,
      [{ index: 0, severity: 'error', message: expect.stringContaining('at most 1000 boosts') }],
    ])
  })
})
