import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DAY, dateAt, forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { intercepted } from '../helpers/worker/faulty'
import { at, list, newApp, newTenant, pick, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { LARGEST_TOTAL, rangesOf } from '../oracle/points.oracle'

type Item = { points: number; metricThreshold?: number; [field: string]: unknown }

/** A tenant whose metric `words` has these triggers in the system `xp`, with the further fields given. */
async function setup(triggers: Item[] = [], system: object = {}) {
  const tenant = await newTenant()
  const metric = await tenant.metric('words')
  const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const page = await tenant.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
  const active = { type: 'metric', status: 'active', metricId: metric, metricThreshold: 1 }
  const trigger = (item: Item) => ({ ...active, ...item })
  const { id, triggers: shown } = await tenant.made('/points', {
    ...{ key: 'xp', name: 'XP', triggers: triggers.map(trigger), ...system },
  })
  const ids = pick(shown, 'id').map(String)
  return { tenant, metric, plan, page, id, ids, path: `/points/${id}`, trigger }
}

/** The result of an event in xp: the total and the added points, both null if the event changed none. */
async function send(
  tenant: TestTenant,
  value: number,
  user: string | Record<string, unknown> = 'ada',
  attributes?: Record<string, string>,
) {
  const { status, body } = await tenant.event('words', user, value, attributes ? { attributes } : {})
  if (status !== 201) return status
  const xp = at(body, 'points', 'xp')
  return xp === undefined ? null : [at(xp, 'total'), at(xp, 'added')]
}

const read = async (tenant: TestTenant, user = 'ada', query = '') =>
  Object((await tenant.app('GET', `/users/${user}/points/xp${query}`)).body)

/** How many users the parts of a summary have together. */
const usersIn = (body: unknown) => pick(body, 'users').reduce((sum: number, count) => sum + Number(count), 0)

// At noon, the local dates in all zones stay the same for the whole run of these tests.
beforeAll(() => moveTo(NOON))
afterAll(forgetTime)

const today = dateAt(NOON)
const daysFrom = (days: number) => dateAt(NOON + days * DAY)

describe('[P1] metric triggers', () => {
  it('[P1, P3] one award per trigger and event, in order of creation; active ones only', async () => {
    const { tenant, path, ids, trigger } = await setup([
      { points: 2, metricThreshold: 1 },
      { points: 5, metricThreshold: 3 },
      { points: 100, status: 'inactive' },
    ])
    const { body } = await tenant.event('words', 'ada', 7)
    expect(at(body, 'points', 'xp')).toMatchObject({
      ...{ total: 24, added: 24 },
      awards: [
        { awarded: 14, total: 14, trigger: { id: ids[0] } },
        { awarded: 10, total: 24, trigger: { id: ids[1] } },
      ],
    })
    await tenant.admin('PATCH', `${path}/triggers`, [
      { id: ids[0], status: 'inactive' },
      { id: ids[2], status: 'active' },
    ])
    expect(await send(tenant, 1)).toEqual([124, 100])
    await tenant.admin('DELETE', `${path}/triggers?ids=${ids[2]}`)
    await tenant.create(`${path}/triggers`, trigger({ points: -4 }))
    expect(await send(tenant, 1)).toEqual([125, 1])
    expect(pick((await read(tenant)).awards, 'awarded')).toEqual([-4, 5, 100, 10, 14])
  })
})

describe('[P5] boosts', () => {
  const boost = (fields: object) => ({ name: 'B', start: '2020-01-01', ...fields })

  it('[P5] boosts for all users, for attributes and of the user multiply together, for positive awards only', async () => {
    const { tenant, path, plan } = await setup([{ points: 10 }])
    await tenant.app('PUT', '/users/ada', {})
    expect(await send(tenant, 1)).toEqual([10, 10])
    const all = await tenant.create(`${path}/boosts`, boost({ name: 'all', multiplier: 1.5 }))
    expect(await send(tenant, 1)).toEqual([25, 15])
    const userAttributes = [{ attributeId: plan, attributeValue: 'pro' }]
    const forPro = boost({ name: 'pro', multiplier: 2, userAttributes })
    const pro = await tenant.create(`${path}/boosts`, forPro)
    expect(await send(tenant, 1)).toEqual([40, 15])
    expect(await send(tenant, 1, { id: 'ada', attributes: { plan: 'pro' } })).toEqual([70, 30])
    const forAda = boost({ name: 'own', multiplier: 3, userId: 'ada', end: daysFrom(5) })
    const own = await tenant.create(`${path}/boosts`, forAda)
    expect(await send(tenant, 1)).toEqual([160, 90])
    expect(await send(tenant, 1, 'bob')).toEqual([15, 15])
    const { awards } = await read(tenant)
    const shown = { start: '2020-01-01', rounding: 'down', status: 'active' }
    expect(awards[0].boosts).toEqual([
      { id: all, name: 'all', multiplier: 1.5, end: null, ...shown },
      { id: pro, name: 'pro', multiplier: 2, end: null, ...shown },
      { id: own, name: 'own', multiplier: 3, end: daysFrom(5), ...shown },
    ])
    expect(awards.map((award: unknown) => list(at(award, 'boosts')).length)).toEqual([3, 2, 1, 1, 0])
    const listed = await tenant.app('GET', '/users/ada/points/xp/boosts')
    expect(listed.body).toEqual(awards[0].boosts)
    expect(pick((await tenant.app('GET', '/users/bob/points/xp/boosts')).body, 'id')).toEqual([all])
    expect(pick((await tenant.app('GET', '/points/xp/boosts')).body, 'id')).toEqual([all, pro])
    // Stored awards stay as they were. Deleted and changed boosts no longer count.
    await tenant.admin('DELETE', `${path}/boosts?ids=${own},${all}`)
    await tenant.admin('PATCH', `${path}/boosts`, [{ id: pro, multiplier: 1.1, name: 'renamed' }])
    expect(await send(tenant, 1)).toEqual([171, 11])
    expect((await read(tenant)).awards[1]).toEqual(awards[0])
    expect(pick((await tenant.app('GET', '/users/ada/points/xp/boosts')).body, 'id')).toEqual([pro])
  })

  it('[P5] a new boost of a user counts in the next event of an app that has cached the configuration', async () => {
    const { tenant, path } = await setup([{ points: 10 }])
    const other = tenant.through(newApp())
    expect(await send(other, 1)).toEqual([10, 10])
    const own = await tenant.create(`${path}/boosts`, boost({ multiplier: 2, userId: 'ada' }))
    expect(await send(other, 1)).toEqual([30, 20])
    await tenant.admin('PATCH', `${path}/boosts`, [{ id: own, multiplier: 3 }])
    expect(await send(other, 1)).toEqual([60, 30])
    await tenant.admin('DELETE', `${path}/boosts?ids=${own}`)
    expect(await send(other, 1)).toEqual([70, 10])
  })
})

describe('[P7] blocks', () => {
  it('[P7, G2] the error of a block says 1 point and 2 points', async () => {
    for (const [points, said] of Object.entries({ '-1': '1 point', '-2': '2 points' })) {
      const { tenant } = await setup([{ points: Number(points), blockIfOutOfPoints: true }])
      expect(at((await tenant.event('words', 'ada', 1)).body, 'error')).toMatch(`would take ${said} from `)
    }
  })
})

describe('[P9] levels', () => {
  const level = (key: string, points: number) => ({ key, name: key.toUpperCase(), points })

  it('[P9] the highest that the total reaches; in a response only if it changed, null if lost', async () => {
    const { tenant, path } = await setup([{ points: 10 }, { points: -95, metricThreshold: 11 }], {
      levels: [level('two', 50), level('one', 20), level('three', 100)],
    })
    const outcome = async (value: number) => {
      const xp = Object(at((await tenant.event('words', 'ada', value)).body, 'points', 'xp'))
      return [xp.total, 'level' in xp ? (xp.level?.key ?? null) : 'unchanged']
    }
    expect(await outcome(1)).toEqual([10, 'unchanged'])
    expect(await read(tenant)).toMatchObject({ level: null })
    expect(await outcome(1)).toEqual([20, 'one'])
    expect(await outcome(1)).toEqual([30, 'unchanged'])
    expect(await outcome(7)).toEqual([100, 'three'])
    expect((await read(tenant)).level).toEqual({
      ...{
        id: expect.any(String),
        key: 'three',
        name: 'THREE',
        description: '',
        badgeUrl: null,
        points: 100,
      },
    })
    expect(await outcome(1)).toEqual([15, null])
    expect(await read(tenant)).toMatchObject({ level: null, total: 15 })
    // A level that changes because levels were edited is shown in reads, and in no response to an event.
    await tenant.create(`${path}/levels`, level('zero', 0))
    expect(await read(tenant)).toMatchObject({ level: { key: 'zero' } })
    expect(await outcome(1)).toEqual([25, 'one'])
    const { body } = await tenant.app('GET', '/points/xp/levels')
    expect(pick(body, 'key')).toEqual(['zero', 'one', 'two', 'three'])
    await tenant.app('PUT', '/users/new', {})
    expect(await read(tenant, 'new')).toMatchObject({ total: 0, level: { key: 'zero' }, awards: [] })
  })
})

describe('[P10] reading awards', () => {
  it('[P10] newest first, 10 by default, at most 100; each with its trigger at the time it fired', async () => {
    const { tenant, metric, path, ids, plan, page } = await setup([{ points: 1 }])
    for (let n = 0; n < 12; n += 1) await send(tenant, 1)
    const first = (await read(tenant)).awards
    expect(first).toHaveLength(10)
    expect(pick(first, 'total')).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3])
    expect(first[0].trigger).toEqual({
      ...{ id: ids[0], type: 'metric', points: 1, status: 'active', userAttributes: [] },
      ...{ metricId: metric, metricName: 'Metric words', metricThreshold: 1 },
      ...{ created: expect.stringMatching(/Z$/), updated: expect.stringMatching(/Z$/) },
    })
    expect((await read(tenant, 'ada', '?awards=1')).awards).toEqual(first.slice(0, 1))
    expect((await read(tenant, 'ada', '?awards=100')).awards).toHaveLength(12)
    for (const awards of ['0', '101', '-1', '1.5', 'x', '', '5&awards=6'])
      expect((await tenant.app('GET', `/users/ada/points/xp?awards=${awards}`)).status, awards).toBe(422)
    await tenant.admin('PATCH', '/metrics', [{ id: metric, name: 'Renamed' }])
    await send(tenant, 1)
    const userAttributes = [{ attributeId: plan, attributeValue: 'pro' }]
    const eventAttributes = [{ attributeId: page, attributeValue: 'home' }]
    const changed = { id: ids[0], points: 2, userAttributes, eventAttributes }
    await tenant.admin('PATCH', `${path}/triggers`, [changed])
    await send(tenant, 1, { id: 'ada', attributes: { plan: 'pro' } }, { page: 'home' })
    await tenant.admin('PATCH', `${path}/triggers`, [{ id: ids[0], status: 'inactive' }])
    await tenant.admin('DELETE', `/attributes?ids=${plan},${page}`)
    await tenant.admin('DELETE', `/metrics?ids=${metric}`)
    const { awards, total } = await read(tenant)
    expect(total).toBe(15)
    expect(awards[0]).toMatchObject({
      awarded: 2,
      trigger: {
        ...{ id: ids[0], points: 2, status: 'active', metricName: 'Renamed' },
        userAttributes: [{ key: 'plan', value: 'pro' }],
        eventAttribute: { key: 'page', value: 'home' },
        eventAttributes: [{ key: 'page', value: 'home' }],
      },
    })
    const trigger = { points: 1, metricName: 'Renamed', userAttributes: [] }
    expect(awards[1]).toMatchObject({ awarded: 1, trigger })
    expect(awards[2]).toEqual(first[0])
    expect(Object.keys(awards[1].trigger)).not.toContain('eventAttributes')
  })

  it('[P10] a user without awards is 200 with total 0; an unknown user or system is 404', async () => {
    const { tenant } = await setup([{ points: 1 }])
    await tenant.app('PUT', '/users/ada', {})
    const none = { key: 'xp', maxPoints: null, total: 0, level: null, awards: [] }
    expect(await read(tenant)).toMatchObject(none)
    for (const path of ['/users/nobody/points/xp', '/users/ada/points/none', '/users/ada/points/xp/x'])
      expect((await tenant.app('GET', path)).status).toBe(404)
  })
})

describe('[P11] summaries of a system', () => {
  it('[P11, G11] holds each user in one of its ranges, up to the largest total', async () => {
    const { tenant, id } = await setup([{ points: 1 }])
    const users = ['a', 'b', 'c', 'd', 'e']
    for (const user of users) await tenant.app('PUT', `/users/${user}`, {})
    const edges = Array.from({ length: 10 }, (_, power) => 10 ** power)
    const total = fc.oneof(
      fc.constantFrom(0, LARGEST_TOTAL - 1, LARGEST_TOTAL),
      fc.nat(LARGEST_TOTAL),
      fc
        .tuple(fc.constantFrom(...edges), fc.integer({ min: 1, max: 10 }), fc.integer({ min: -1, max: 1 }))
        .map(([power, times, beside]) => Math.max(0, Math.min(power * times + beside, LARGEST_TOTAL))),
    )
    const holds = async (totals: number[]) => {
      for (const [nth, points] of totals.entries())
        await rowsEverywhere(
          'UPDATE users SET points = ?3 WHERE tenant_id = ?1 AND id = ?2',
          ...[tenant.id, users[nth] ?? '', JSON.stringify({ [id]: points })],
        )
      const { body } = await tenant.app('GET', '/points/xp/summary')
      expect(body).toEqual(rangesOf(totals))
      expect(usersIn(body)).toBe(totals.length)
    }
    const totals = fc.array(total, { minLength: users.length, maxLength: users.length })
    const examples = edges.flatMap((edge): [number[]][] => [
      [[0, 1, 1, edge - 1, edge]],
      [[1, edge - 1, edge, edge + 1, LARGEST_TOTAL]],
      [[0, 1, edge - 1, edge, edge + 1]],
    ])
    await fc.assert(fc.asyncProperty(totals, holds), { examples })
  })

  it('[P11] level summary counts users by their level, in order of points; without levels it is 422', async () => {
    const { tenant, path } = await setup([{ points: 10 }])
    const summary = async (query = '') => {
      const { status, body } = await tenant.app('GET', `/points/xp/level-summary${query}`)
      if (status !== 200) return status
      return list(body).map((row) => `${at(row, 'level', 'key')}: ${at(row, 'users')}`)
    }
    expect(await summary()).toBe(422)
    const level = (key: string, points: number) => ({ key, name: key, points })
    const levels = [level('gold', 100), level('bronze', 10), level('silver', 50)]
    const { body } = await tenant.admin('POST', `${path}/levels`, levels)
    expect(await summary()).toEqual(['bronze: 0', 'silver: 0', 'gold: 0'])
    await tenant.app('PUT', '/users/none', {})
    for (const [id, value] of Object.entries({ a: 1, b: 4, c: 5, d: 10, e: 99 }))
      await send(tenant, value, { id, attributes: { plan: id < 'd' ? 'pro' : 'free' } })
    expect(await summary()).toEqual(['bronze: 2', 'silver: 1', 'gold: 2'])
    expect(await summary('?userAttributes=plan:pro')).toEqual(['bronze: 2', 'silver: 1', 'gold: 0'])
    const full = await tenant.app('GET', '/points/xp/level-summary')
    const bronze = { id: at(body, 'created', 1, 'id'), ...level('bronze', 10) }
    expect(at(full.body, 0, 'level')).toEqual({ ...bronze, description: '', badgeUrl: null })
    await tenant.admin('DELETE', `${path}/levels?ids=${at(body, 'created', 2, 'id')}`)
    expect(await summary()).toEqual(['bronze: 3', 'gold: 2'])
    await tenant.create(`${path}/levels`, level('zero', 0))
    expect(await summary()).toEqual(['zero: 1', 'bronze: 3', 'gold: 2'])
  })

  it.each(['summary', 'level-summary'])('[P11] %s reads each user once', async (kind) => {
    const { tenant, path } = await setup([{ points: 1 }])
    await tenant.create(`${path}/levels`, { key: 'l', name: 'L', points: 0 })
    await manyUsers(tenant, 500, {}, env.DB)
    let read = 0
    const DB = intercepted(env.DB, async ({ run }) => {
      const results = await run()
      for (const { meta } of results) read += meta.rows_read
      return results
    })
    const counting = tenant.through(newApp({ DB }))
    const users = async (query: string) =>
      usersIn((await counting.app('GET', `/points/xp/${kind}${query}`)).body)
    expect(await users('')).toBe(500)
    read = 0
    expect(await users('')).toBe(500)
    // Once by the key, and once more for the sort, which D1 counts too.
    expect(read).toBeLessThan(2 * 500 + 100)
    read = 0
    expect(await users('?userAttributes=plan:pro')).toBe(0)
    // The list of filters is read for each user as well.
    expect(read).toBeLessThan(3 * 500 + 100)
  })

  it('[K3] with an application key userAttributes may only name values that the key’s own user has', async () => {
    const { tenant, path } = await setup([{ points: 1 }])
    await tenant.create('/attributes', { key: 'city', name: 'City', type: 'user' })
    await tenant.create(`${path}/levels`, { key: 'l', name: 'L', points: 0 })
    await tenant.app('PUT', '/users/ada', { attributes: { plan: 'pro', city: 'Rome' } })
    await tenant.app('PUT', '/users/bob', { attributes: { plan: 'free' } })
    const [ada, nobody] = [await tenant.key('ada'), await tenant.key('nobody')]
    for (const kind of ['summary', 'level-summary']) {
      const status = async (key: string, query: string) =>
        (await tenant.as(key, 'GET', `/points/xp/${kind}${query}`)).status
      for (const query of ['', '?userAttributes=plan:pro', '?userAttributes=plan:pro,city:Rome'])
        expect([query, await status(ada, query)]).toEqual([query, 200])
      for (const values of ['plan:free', 'plan:nothing', 'city:', 'plan:pro,city:Paris'])
        expect([values, await status(ada, `?userAttributes=${values}`)]).toEqual([values, 403])
      // A user who does not exist has no values.
      expect(await status(nobody, '')).toBe(200)
      expect(await status(nobody, '?userAttributes=plan:pro')).toBe(403)
      expect(await status(ada, '?userAttributes=nope:x')).toBe(422)
      expect((await tenant.app('GET', `/points/xp/${kind}?userAttributes=plan:free`)).status).toBe(200)
    }
    const { body } = await tenant.as(ada, 'GET', '/points/xp/summary?userAttributes=plan:free')
    expect(at(body, 'error')).toContain("may only name values that the key's own user has")
    // Values of other users are 403 also for a system without levels (G2).
    await tenant.create('/points', { key: 'flat', name: 'Flat' })
    const flat = (query: string) => tenant.as(ada, 'GET', `/points/flat/level-summary${query}`)
    expect((await flat('?userAttributes=plan:free')).status).toBe(403)
    expect((await flat('?userAttributes=plan:pro')).status).toBe(422)
  })

  it('[P11, K7] a user can take a value and then count its users, unless only admins may set the attribute', async () => {
    const { tenant, plan } = await setup([{ points: 1 }])
    await tenant.admin('PATCH', '/attributes', [{ id: plan, writableBy: 'user' }])
    await send(tenant, 1, { id: 'bob', attributes: { plan: 'pro' } })
    const ada = await tenant.key('ada')
    const take = async (value: string) =>
      (await tenant.as(ada, 'PUT', '/users/ada', { attributes: { plan: value } })).status
    const ask = (value: string) => tenant.as(ada, 'GET', `/points/xp/summary?userAttributes=plan:${value}`)
    expect([(await ask('pro')).status, await take('pro')]).toEqual([403, 200])
    expect(pick((await ask('pro')).body, 'users').slice(0, 2)).toEqual([1, 1])
    expect(await take('free')).toBe(200)
    await tenant.admin('PATCH', '/attributes', [{ id: plan, writableBy: 'admin' }])
    expect([await take('pro'), (await ask('pro')).status]).toEqual([403, 403])
  })

  it('[P11] userAttributes are key:value pairs that must all match; unknown keys are 422, all of them named', async () => {
    const { tenant, path } = await setup([{ points: 1 }])
    await tenant.create('/attributes', { key: 'team', name: 'Team', type: 'user' })
    await tenant.create(`${path}/levels`, { key: 'l', name: 'L', points: 0 })
    const people = [
      ['pro', 'red'],
      ['pro', 'blue'],
      ['', 'red'],
      ['pro', null],
      ['a, team:red', 'blue'],
    ] as const
    for (const [n, [plan, team]] of people.entries())
      await send(tenant, 1, { id: `u${n}`, attributes: { plan, team } })
    for (const kind of ['summary', 'level-summary']) {
      const users = async (filter: string) => {
        const { status, body } = await tenant.app('GET', `/points/xp/${kind}?userAttributes=${filter}`)
        return status === 200 ? usersIn(body) : [status, at(body, 'error')]
      }
      const error = (keys: string) =>
        `Invalid attribute keys: ${keys}. Attribute keys must match those configured for users.`
      expect(await users('plan:pro')).toBe(3)
      expect(await users('plan:pro,team:red')).toBe(1)
      expect(await users('plan:')).toBe(1)
      expect(await users('plan:Pro')).toBe(0)
      // A repeated parameter is one pair each time (G6).
      expect(await users('plan:pro&userAttributes=team:red')).toBe(1)
      expect(await users('plan:a, team:red')).toBe(0)
      expect(await users('plan:a, team:red&userAttributes=plan:a, team:red')).toBe(1)
      expect(await users(`plan:${encodeURIComponent("' OR 1=1 --")}`)).toBe(0)
      for (const wrong of ['', 'plan', 'plan:pro&userAttributes=plan:free'])
        expect([await users(wrong)].flat()[0], wrong).toBe(422)
      expect(await users('pln:x,plan:pro,tm:y')).toEqual([422, error('pln, tm')])
      expect(await users('page:x')).toEqual([422, error('page')])
    }
  })
})

describe('[P12] event summaries', () => {
  it('[P12, G6] today in daily, weekly and monthly buckets of both kinds, in either spelling of the dates', async () => {
    const { tenant } = await setup([{ points: 2 }])
    await send(tenant, 3)
    await send(tenant, -1.5)
    const monday = daysFrom(-((new Date(NOON).getUTCDay() + 6) % 7))
    for (const [path, total, change] of [
      ['metrics/words', 1.5, 1.5],
      ['points/xp', 6, 6],
    ] as const) {
      for (const names of ['startDate endDate', 'start_date end_date', 'startDate end_date']) {
        const [from, to] = names.split(' ')
        const read = async (aggregation: string, start = today, end = today) => {
          const query = `aggregation=${aggregation}&${from}=${start}&${to}=${end}`
          return (await tenant.app('GET', `/users/ada/${path}/event-summary?${query}`)).body
        }
        expect(await read('daily')).toEqual([{ date: today, total, change }])
        expect(await read('weekly')).toEqual([{ date: monday, total, change }])
        expect(await read('monthly')).toEqual([{ date: `${today.slice(0, 7)}-01`, total, change }])
        expect(await read('daily', daysFrom(-2), daysFrom(1))).toEqual([
          { date: daysFrom(-2), total: 0, change: 0 },
          { date: daysFrom(-1), total: 0, change: 0 },
          { date: today, total, change },
          { date: daysFrom(1), total, change: 0 },
        ])
        const long = list(await read('daily', daysFrom(-400), today))
        expect(long).toHaveLength(401)
        expect([at(long[0], 'date'), at(long[400], 'total')]).toEqual([daysFrom(-400), total])
        expect(list(await read('daily', '0001-01-01', '0001-01-02'))).toHaveLength(2)
        for (const aggregation of ['daily', 'weekly', 'monthly'])
          expect(at(await read(aggregation, '9999-12-31', '9999-12-31'), 0, 'change')).toBe(0)
      }
    }
  })

  it('[P12] wrong ranges are 422, and all field errors are named', async () => {
    const { tenant } = await setup([{ points: 2 }])
    await send(tenant, 3)
    for (const path of ['metrics/words', 'points/xp']) {
      const asked = (query: string) => tenant.app('GET', `/users/ada/${path}/event-summary?${query}`)
      const error = async (query: string) => String(at((await asked(query)).body, 'error'))
      const range = (start: string, end = today) => `startDate=${start}&endDate=${end}`
      for (const query of [
        ...['', 'aggregation=daily', `aggregation=daily&startDate=${today}`, range(today)],
        `aggregation=hourly&${range(today)}`,
        `aggregation=daily&${range(daysFrom(1))}`,
        `aggregation=monthly&${range(daysFrom(-401))}`,
        `aggregation=daily&${range('2026-02-29', '2026-03-01')}`,
        `aggregation=daily&${range('2026-1-1', '2026-01-02')}`,
        `aggregation=daily&${range('2026-01-01T00:00:00Z', '2026-01-02')}`,
        `aggregation=daily&startDate=${today}&${range(today)}`,
        `aggregation=daily&aggregation=weekly&${range(today)}`,
      ])
        expect((await asked(query)).status, query).toBe(422)
      expect(await error('')).toMatch(/aggregation.*startDate.*endDate/)
      const both = await error(`aggregation=hourly&${range(today, daysFrom(-1))}`)
      expect(both).toContain('aggregation')
      expect(both).toContain('endDate')
    }
  })
})
