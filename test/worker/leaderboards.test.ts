import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { forgetTime } from '../helpers/worker/boards'
import { at, list, newTenant, pick, type TestTenant } from '../helpers/worker/harness'
import { beginningOf, plusDays, runNear } from '../oracle/calendar.oracle'

const DAY = 86_400_000
/** Each test begins on this day, at noon UTC. */
const BASE = Date.UTC(2027, 3, 11)
const date = (days: number) => new Date(BASE + days * DAY).toISOString().slice(0, 10)
const moment = (days: number, time: string) => `${date(days)}T${time}:00.000Z`

let tenant: TestTenant
let metricId: string

const setClock = async (days: number, time: string) => {
  const { status } = await tenant.admin('PUT', '/test-clock', { now: moment(days, time) })
  expect(status).toBe(200)
}

beforeEach(async () => {
  tenant = await newTenant()
  await forgetTime()
  await setClock(0, '12:00')
  metricId = await tenant.metric('steps')
})

const create = (more: Record<string, unknown> = {}) =>
  tenant.create('/leaderboards', {
    ...{ name: 'Steps', key: 'board', rankBy: 'metric', metricId, status: 'active', ...more },
  })
const attribute = (key: string) => tenant.create('/attributes', { key, name: key, type: 'user' })

const get = (query = '') => tenant.app('GET', `/leaderboards/board${query}`)

/** The ranking, with a line for each user: the id, the rank and the value. */
async function ranked(query = ''): Promise<string[]> {
  const rankings = at((await get(query)).body, 'rankings')
  expect(rankings).toBeInstanceOf(Array)
  return list(rankings).map((one) => `${at(one, 'userId')} ${at(one, 'rank')} ${at(one, 'value')}`)
}

const step = async (user: string | Record<string, unknown>, value: number) =>
  at((await tenant.event('steps', user, value)).body, 'leaderboards', 'board')

describe('groups', () => {
  test('[L6] by the values of the breakdown attributes, which move the score when they change', async () => {
    const breakdownAttributes = [await attribute('plan'), await attribute('team')]
    await create({ breakdownAttributes })
    const user = (id: string, plan: string, team: string) => ({ id, attributes: { plan, team } })
    const group = Object.entries({ plan: 'pro', team: 'red' }).map(([key, value]) => ({ key, value }))
    expect(await step(user('ada', 'pro', 'red'), 5)).toMatchObject({
      ...{ rank: 1, breakdownAttribute: 'plan', breakdownAttributeValue: 'pro' },
      breakdownAttributeValues: group,
    })
    await step(user('bob', 'pro', 'blue'), 7)
    await step(user('eve', 'free', 'red'), 9)
    expect(await step({ id: 'nobody', attributes: { plan: 'pro' } }, 99)).toMatchObject({ rank: null })
    expect((await get()).status).toBe(422)
    expect((await get('?userAttributes=plan:pro,size:xl')).status).toBe(422)
    expect(await ranked('?userAttributes=plan:pro,team:red')).toEqual(['ada 1 5'])
    expect((await get('?userAttributes=team:red,plan:pro')).body).toMatchObject({ group, userAttributes: [] })
    expect(at((await get('?userAttributes=team:red')).body, 'group')).toBeUndefined()
    expect(await ranked('?userAttributes=team:red')).toEqual(['eve 1 9', 'ada 2 5'])
    await tenant.app('PATCH', '/users/eve', { attributes: { plan: 'pro' } })
    await tenant.app('PATCH', '/users/bob', { attributes: { team: null } })
    expect(await ranked('?userAttributes=plan:pro,team:red')).toEqual(['eve 1 9', 'ada 2 5'])
    expect(await ranked('?userAttributes=team:blue')).toEqual([])
  })

  test('[L13] only users who match all filters take part, appear in answers, and are counted', async () => {
    const [plan, team] = [await attribute('plan'), await attribute('team')]
    const filters = [
      { attributeKey: 'plan', attributeValue: 'pro' },
      { attributeId: team, attributeValue: 'red' },
    ]
    await create({ userAttributes: filters, maxParticipants: 2 })
    const [yes, no] = [{ plan: 'pro', team: 'red' }, { plan: 'pro' }]
    const shown = Object.entries(yes).map(([key, value]) => ({ key, value }))
    const first = await step({ id: 'ada', attributes: yes }, 5)
    expect(first).toMatchObject({ rank: 1, userAttributes: shown })
    expect(await step({ id: 'bob', attributes: no }, 9)).toBeUndefined()
    expect(await step({ id: 'eve', attributes: yes }, 3)).toMatchObject({ rank: 2, threshold: 3 })
    const bob = await tenant.app('GET', '/users/bob/leaderboards/board')
    expect(bob.body).toMatchObject({ rank: null, value: null, history: [] })
    const best = async (id: string) => {
      const { body } = await tenant.app('GET', `/users/${id}/wrapped`)
      return at(body, 'activity', 'entireYear', 'leaderboards', 'board', 'rank') ?? null
    }
    expect([await best('ada'), await best('bob')]).toEqual([1, null])
    // An event that changes the attributes counts by the new ones.
    expect(await step({ id: 'bob', attributes: yes }, 1)).toMatchObject({ rank: 1, previousRank: null })
    expect(await step({ id: 'ada', attributes: { team: 'blue' } }, 1)).toBeUndefined()
    expect(await ranked()).toEqual(['bob 1 10', 'eve 2 3'])
    const { body } = await tenant.admin('GET', '/leaderboards/board/analytics')
    const series = expect.arrayContaining([{ date: date(0), participants: 2 }])
    expect(body).toMatchObject({ series })
    const listed = await tenant.admin('GET', '/leaderboards/board')
    expect(at(listed.body, 'userAttributes')).toEqual([
      { attributeId: plan, attributeValue: 'pro' },
      { attributeId: team, attributeValue: 'red' },
    ])
  })

  test('[L13, L6] groups are of those who match', async () => {
    for (const key of ['plan', 'team']) await attribute(key)
    const filters = [{ attributeKey: 'plan', attributeValue: 'pro' }]
    await create({ breakdownAttributeKeys: ['team'], userAttributes: filters })
    const user = (id: string, plan: string, team: string) => ({ id, attributes: { plan, team } })
    await step(user('ada', 'pro', 'red'), 5)
    await step(user('bob', 'free', 'red'), 7)
    await step(user('eve', 'free', 'blue'), 9)
    const groups = async () => {
      const { body } = await tenant.app('GET', '/leaderboards/board/groups')
      return list(body).map((one) => `${at(one, 'group', '0', 'value')} ${at(one, 'users')}`)
    }
    expect(await groups()).toEqual(['red 1'])
    expect(await ranked('?userAttributes=team:red')).toEqual(['ada 1 5'])
    expect((await get('?userAttributes=plan:pro')).status).toBe(422)
    for (const id of ['bob', 'eve'])
      await tenant.app('PATCH', `/users/${id}`, { attributes: { plan: 'pro' } })
    expect(await groups()).toEqual(['red 2', 'blue 1'])
  })
})

describe('reading', () => {
  test('[L9] a page by offset and limit, or from the rank of a user on', async () => {
    await create({ maxParticipants: 12 })
    for (let i = 1; i <= 14; i += 1) await step({ id: `u${i}`, name: `User ${i}` }, i)
    expect(await ranked()).toHaveLength(10)
    expect(await ranked('?limit=12')).toHaveLength(12)
    expect(await ranked('?limit=0')).toEqual([])
    expect((await get('?limit=13')).status).toBe(422)
    const { body: negative } = await get('?offset=-1&limit=x')
    for (const field of ['offset: must not be negative without userId', 'limit'])
      expect(at(negative, 'error')).toContain(field)
    expect(await ranked('?offset=11')).toEqual(['u3 12 3'])
    expect(await ranked('?offset=12')).toEqual([])
    expect(await ranked('?userId=u10&limit=2')).toEqual(['u10 5 10', 'u9 6 9'])
    expect(await ranked('?userId=u10&offset=2&limit=1')).toEqual(['u8 7 8'])
    // With a user, a negative offset starts the page before the user, at rank 1 at the earliest.
    const around = ['u12 3 12', 'u11 4 11', 'u10 5 10', 'u9 6 9']
    expect(await ranked('?userId=u10&offset=-2&limit=4')).toEqual(around)
    expect(await ranked('?userId=u10&offset=-4&limit=5')).toEqual(await ranked('?limit=5'))
    for (const offset of [-5, -2_147_483_647])
      expect(await ranked(`?userId=u10&offset=${offset}`)).toEqual(await ranked())
    expect(await ranked('?userId=u1&offset=-3')).toEqual([])
    expect((await get('?userId=u10&offset=-2147483648')).status).toBe(422)
    expect(await ranked('?userId=u1')).toEqual([])
    expect(await ranked('?userId=nobody')).toEqual([])
    const best = { userId: 'u14', userName: 'User 14', rank: 1, value: 14 }
    expect(at((await get('?limit=1')).body, 'rankings')).toEqual([best])
    expect((await tenant.app('GET', '/leaderboards/nothing')).status).toBe(404)
    expect((await get('?run=2027-02-30')).status).toBe(422)
    const { body } = await get('?limit=13&userAttributes=plan:pro')
    for (const field of ['limit', 'userAttributes']) expect(at(body, 'error')).toContain(field)
  })

  test('[L9, G9] a finished leaderboard stays readable after an attribute of its breakdown is deleted', async () => {
    const [plan, team] = [await attribute('plan'), await attribute('team')]
    const id = await create({ breakdownAttributes: [plan, team] })
    await step({ id: 'ada', attributes: { plan: 'pro', team: 'red' } }, 5)
    await step({ id: 'bob', attributes: { plan: 'free', team: 'red' } }, 7)
    const deleted = async (attributeId: string) =>
      at((await tenant.admin('DELETE', `/attributes?ids=${attributeId}`)).body, 'deleted')
    expect(await deleted(plan)).toEqual([])
    await tenant.admin('PATCH', '/leaderboards', [{ id, status: 'finished' }])
    expect((await tenant.app('GET', '/leaderboards')).body).toEqual([])
    const all = await tenant.app('GET', '/leaderboards?includeFinished=true')
    expect(all.body).toMatchObject([{ key: 'board', status: 'finished' }])
    expect(await deleted(plan)).toEqual([{ id: plan }])
    const both = ['bob 1 7', 'ada 2 5']
    expect(await ranked('?userAttributes=team:red')).toEqual(both)
    expect(await deleted(team)).toEqual([{ id: team }])
    expect(await ranked()).toEqual(both)
  })

  test('[L10] the last days of a user’s history, and nothing of an unknown user', async () => {
    await create()
    const place = (query = '') => tenant.app('GET', `/users/ada/leaderboards/board${query}`)
    expect((await place()).status).toBe(404)
    await tenant.app('PUT', '/users/ada', {})
    expect((await place()).body).toMatchObject({ rank: null, value: null, history: [] })
    await step('ada', 5)
    await setClock(1, '12:00')
    await step('bob', 50)
    await setClock(2, '12:00')
    await step('ada', 1)
    const days = async (query: string) => pick(at((await place(query)).body, 'history'), 'timestamp')
    const all = [0, 1, 2].map((count) => moment(count, '00:00'))
    for (const [query, shown] of Object.entries({ '': 3, '?numEvents=2': 2, '?numEvents=0': 0 }))
      expect(await days(query)).toEqual(all.slice(3 - shown))
    expect((await place('?numEvents=101')).status).toBe(422)
  })

  describe('[L14, E8] the run of a page, by the local days of the user who asks', () => {
    /** Their clocks change on dates at which runs begin or end, one of them at midnight. */
    const ZONES = {
      kiri: 'Pacific/Kiritimati',
      lord: 'Australia/Lord_Howe',
      cairo: 'Africa/Cairo',
      kat: 'Asia/Kathmandu',
      york: 'America/New_York',
      pago: 'Pacific/Pago_Pago',
      none: undefined,
    }

    test.each([
      ['a week, in which clocks change', date(-20), null, 'day', 7, [undefined, '2027-03-27', '2027-04-02']],
      ['a month from the 31st', '2026-10-31', null, 'month', 1, [undefined, '2026-11-01', '2027-02-28']],
      ['a year from a leap day', '2024-02-29', null, 'year', 1, [undefined, '2024-03-01']],
      ['a run that the end cuts short', '2027-04-09', '2027-04-29', 'day', 10, ['2027-04-29', undefined]],
      ['a leaderboard without runs', '2027-04-01', '2027-04-22', null, null, [undefined]],
      ['a leaderboard without runs and end', '2027-04-01', null, null, null, [undefined]],
    ] as const)('%s', async (_, start, end, runUnit, runInterval, days) => {
      await create({ start, end, runUnit, runInterval })
      for (const [id, tz] of Object.entries(ZONES)) {
        await tenant.app('PUT', `/users/${id}`, { ...(tz && { tz }) })
        const key = await tenant.key(id)
        const zone = tz ?? 'UTC'
        for (const day of days) {
          const schedule = { start, end, unit: runUnit, interval: runInterval ?? 1 }
          const run = runNear(schedule, day ?? date(0))
          const moment = (of: string) => new Date(beginningOf(zone, of)).toISOString()
          const wanted = {
            key: run.start,
            startsAt: moment(run.start),
            endsAt: run.end === null ? null : moment(plusDays(run.end, 1)),
          }
          const { body } = await tenant.as(key, 'GET', `/leaderboards/board${day ? `?run=${day}` : ''}`)
          expect([id, day, at(body, 'run')]).toEqual([id, day, wanted])
          // The key names the run.
          const again = await tenant.as(key, 'GET', `/leaderboards/board?run=${run.start}`)
          expect(at(again.body, 'run')).toEqual(wanted)
        }
      }
    })

    test('is in UTC with an admin key, unless the query names a user', async () => {
      await create({ start: date(0), runUnit: 'day', runInterval: 1 })
      await tenant.app('PUT', '/users/pago', { tz: 'Pacific/Pago_Pago' })
      await tenant.app('PUT', '/users/cairo', { tz: 'Africa/Cairo' })
      const startsAt = async (query: string) => at((await get(query)).body, 'run', 'startsAt')
      expect(await startsAt('')).toBe(moment(0, '00:00'))
      expect(await startsAt('?userId=pago')).toBe(moment(0, '11:00'))
      expect(await startsAt('?userId=nobody')).toBe(moment(0, '00:00'))
      // The user of a key asks, whoever is named.
      const { body } = await tenant.as(await tenant.key('cairo'), 'GET', '/leaderboards/board?userId=pago')
      expect(at(body, 'run', 'startsAt')).toBe(moment(-1, '22:00'))
    })

    test('has no end if the calendar has none for it', async () => {
      await create({ start: '0001-01-01', runUnit: 'year', runInterval: 9_999 })
      const [key, startsAt] = ['0001-01-01', '0001-01-01T00:00:00.000Z']
      expect(at((await get()).body, 'run')).toEqual({ key, startsAt, endsAt: null })
    })
  })

  test('[K3, L6] with breakdown it sees all groups and their users, also by values that its own user lacks', async () => {
    const plan = await attribute('plan')
    await create({ breakdownAttributes: [plan] })
    await step({ id: 'ada', attributes: { plan: 'free' } }, 5)
    await step({ id: 'bob', name: 'Bob', attributes: { plan: 'pro' } }, 3)
    const key = await tenant.key('ada')
    const group = (value: string) => {
      const values = [{ key: 'plan', value }]
      return { group: values, userAttributes: values, users: 1 }
    }
    const groups = await tenant.as(key, 'GET', '/leaderboards/board/groups')
    expect(groups.body).toEqual([group('free'), group('pro')])
    const page = await tenant.as(key, 'GET', '/leaderboards/board?userAttributes=plan:pro')
    expect(at(page.body, 'rankings')).toEqual([{ userId: 'bob', userName: 'Bob', rank: 1, value: 3 }])
  })
})

describe('an event', () => {
  test('[L11] has in its response the leaderboards by key, each with what it is', async () => {
    await create()
    const { body } = await tenant.event('steps', 'ada', 4)
    expect(at(body, 'leaderboards', 'board')).toMatchObject({
      ...{ name: 'Steps', key: 'board', status: 'active', rankBy: 'metric', metricKey: 'steps' },
      ...{ start: date(0), end: null },
    })
  })

  test('[E4] that is a replay names no leaderboards, and changes no ranks', async () => {
    await create()
    const send = () => tenant.event('steps', 'ada', 4, { idempotencyKey: 'k' })
    expect(at((await send()).body, 'leaderboards', 'board', 'rank')).toBe(1)
    expect(at((await send()).body, 'leaderboards')).toEqual({})
    expect(await ranked()).toEqual(['ada 1 4'])
  })
})

// This test is the last one, since it ends the test clock for all.
describe('in real time', () => {
  test('[C1, C2] due work that ran ahead of the clock is due again, and a start in the far future delays nothing', async () => {
    await create({ key: 'far', start: '9999-12-30', status: 'scheduled' })
    await create({ start: '2026-01-01', runUnit: 'day', runInterval: 1 })
    await step('ada', 5)
    const systemId = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const hourly = { type: 'time', status: 'active', points: 1, timeUnit: 'hours', timeInterval: 1 }
    const id = await tenant.create(`/points/${systemId}/triggers`, hourly)
    const change = async (points: number) =>
      (await tenant.admin('PATCH', `/points/${systemId}/triggers`, [{ id, points }])).status
    expect(await change(2)).toBe(200)
    await tenant.app('PUT', '/users/ada', {})
    await setClock(0, '13:00')
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({ total: 2 })
    expect((await tenant.admin('DELETE', '/test-clock')).status).toBe(200)
    expect(await change(3)).toBe(200)
    // The alarm has started. This waits until it is done.
    await env.TIMEKEEPER.getByName(tenant.id).wake(tenant.id, 20)
    expect(await step('bob', 3)).toMatchObject({ rank: 1, previousRank: null })
    expect(await ranked()).toEqual(['bob 1 3'])
  })
})
