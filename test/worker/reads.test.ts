import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DAY, dateAt, forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { intercepted } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  type Answer,
  at,
  call,
  countedD1,
  databases,
  newApp,
  newTenant,
  rowsEverywhere,
  type TestTenant,
  toApp,
} from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'

/** Reads that combine several single reads: each of their items equals the single read. */

const list = (body: unknown): unknown[] => (Array.isArray(body) ? body : [])
const keysOf = (body: unknown) => list(body).map((one) => at(one, 'key'))
const date = (days: number) => dateAt(now + days * DAY)

// The clock moves only by `pass`, so that no midnight comes in between.
let now = NOON
const pass = async (ms: number) => {
  now += ms
  await moveTo(now)
}
beforeAll(() => moveTo(NOON), 60_000)
afterAll(forgetTime, 60_000)

let tenant: TestTenant
beforeEach(async () => {
  tenant = await newTenant()
})

/** Makes a test read a tenant that is set up once for all tests of a day. */
let settled: { day: string; setUp: Promise<TestTenant> } | null = null
async function settle(): Promise<void> {
  if (settled?.day !== date(0)) settled = { day: date(0), setUp: setUp() }
  tenant = await settled.setUp
}

const read = async (path: string): Promise<unknown> => {
  const { status, body } = await tenant.app('GET', path)
  expect([path, status]).toEqual([path, 200])
  return body
}

/**
 * Two metrics, three points systems, boards of all kinds and statuses, achievements, streaks with freezes and
 * a pause, and four users.
 */
async function setUp(): Promise<TestTenant> {
  const metric = await tenant.metric('words')
  await tenant.metric('unused')
  const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const active = { type: 'metric', status: 'active', metricId: metric }
  const trigger = (points: number, metricThreshold: number) => ({ ...active, points, metricThreshold })
  const levels = [
    { key: 'low', name: 'Low', points: 1 },
    { key: 'high', name: 'High', points: 1_000 },
  ]
  const boosts = [{ name: 'Twice', start: date(-1), multiplier: 2 }]
  const system = await tenant.create('/points', {
    ...{ key: 'xp', name: 'XP', levels, boosts, triggers: [trigger(5, 1), trigger(7, 10)] },
  })
  await tenant.create('/points', { key: 'gems', name: 'Gems', maxPoints: 9, triggers: [trigger(1, 2)] })
  await tenant.create('/points', { key: 'bare', name: 'Bare' })
  const board = (key: string, more: object) =>
    tenant.create('/leaderboards', { key, name: key, status: 'active', start: date(-30), ...more })
  await board('words', { rankBy: 'metric', metricId: metric, maxParticipants: 2 })
  await board('daily', { rankBy: 'points', pointsSystemId: system, runUnit: 'day', runInterval: 1 })
  await board('streaks', { rankBy: 'streak' })
  await board('plans', { rankBy: 'metric', metricId: metric, breakdownAttributes: [plan] })
  await board('over', { rankBy: 'metric', metricId: metric, end: date(-10) })
  await board('hidden', { rankBy: 'metric', metricId: metric, status: 'inactive' })
  await board('later', { rankBy: 'metric', metricId: metric, status: 'scheduled', start: date(9) })
  const byWords = { status: 'active', trigger: 'metric', metricId: metric }
  await tenant.admin('POST', '/achievements', [
    { key: 'ten', name: 'Ten', ...byWords, metricValue: 10 },
    { key: 'million', name: 'Million', ...byWords, metricValue: 1e6 },
    { key: 'secret', name: 'Secret', trigger: 'api' },
  ])
  await tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 1, maxCount: 3 } })
  for (const text of ['ada 12', 'bob 40', 'ada 3', 'cai 20']) {
    const [id, value] = text.split(' ')
    const user = { id, tz: 'Asia/Tokyo', attributes: { plan: id === 'bob' ? 'pro' : 'free' } }
    expect((await tenant.event('words', user, Number(value))).status).toBe(201)
  }
  await tenant.app('PUT', '/users/dov', {})
  const pauses = [{ userId: 'ada', start: date(3), end: date(5) }]
  expect((await tenant.admin('POST', '/streaks/pauses', { pauses })).status).toBe(201)
  return tenant
}

describe('GET /points', () => {
  it('[P13] lists the systems in order of creation, each equal to its single read, and with its key', async () => {
    await settle()
    const systems = list(await read('/points'))
    expect(keysOf(systems)).toEqual(['xp', 'gems', 'bare'])
    for (const system of systems) {
      const key = at(system, 'key')
      expect(system).toEqual({ key, ...Object(await read(`/points/${key}`)) })
    }
  })

  it('[G9] is empty without systems, and without deleted ones', async () => {
    expect(await read('/points')).toEqual([])
    const id = await tenant.create('/points', { key: 'xp', name: 'XP' })
    expect(keysOf(await read('/points'))).toEqual(['xp'])
    await tenant.admin('DELETE', `/points?ids=${id}`)
    expect(await read('/points')).toEqual([])
  })
})

describe('GET /users/{id}/points', () => {
  it.each(['', '?awards=1', '?awards=2', '?awards=100'])(
    '[P9, P10] has every system, equal to its single read: %s',
    async (query) => {
      await settle()
      for (const user of ['ada', 'bob']) {
        const points = list(await read(`/users/${user}/points${query}`))
        const single = ['xp', 'gems', 'bare'].map((key) => read(`/users/${user}/points/${key}${query}`))
        expect(points).toEqual(await Promise.all(single))
      }
      const [xp] = list(await read(`/users/ada/points${query}`))
      expect(at(xp, 'level', 'key')).toBe('low')
      expect(list(at(xp, 'awards')).length).toBe(query.endsWith('1') ? 1 : query.endsWith('2') ? 2 : 3)
    },
  )

  it('[P10] a user without awards has totals of 0; an unknown one is 404, an invalid number of awards 422', async () => {
    await settle()
    for (const none of list(await read('/users/dov/points')))
      expect(none).toMatchObject({ total: 0, awards: [] })
    expect(await read('/users/dov/points')).toHaveLength(3)
    expect((await tenant.app('GET', '/users/nobody/points')).status).toBe(404)
    for (const awards of ['0', '101', 'x', ''])
      expect((await tenant.app('GET', `/users/ada/points?awards=${awards}`)).status).toBe(422)
  })

  it('has fewer awards of each system if there are so many systems that the response would be long', async () => {
    const metric = await tenant.metric('words')
    const triggers = [{ type: 'metric', status: 'active', metricId: metric, points: 1, metricThreshold: 1 }]
    for (const from of [0, 100, 200]) {
      const systems = Array.from({ length: 100 }, (_, n) => ({ key: `s${from + n}`, name: 'S', triggers }))
      expect((await tenant.admin('POST', '/points', systems)).status).toBe(201)
    }
    for (let n = 0; n < 4; n += 1) await tenant.event('words', 'ada', 1)
    const points = list(await read('/users/ada/points?awards=100'))
    expect(points).toHaveLength(300)
    expect(new Set(points.map((one) => list(at(one, 'awards')).length))).toEqual(new Set([3]))
    const awards = [{ total: 4 }, { total: 3 }, { total: 2 }]
    expect(points.at(-1)).toMatchObject({ key: 's299', total: 4, awards })
  })

  it('reads no more of a long ledger than it shows', async () => {
    const metricId = await tenant.metric('words')
    const triggers = [{ type: 'metric', status: 'active', metricId, points: 1, metricThreshold: 1 }]
    await tenant.create('/points', { key: 'xp', name: 'XP', triggers })
    for (let n = 0; n < 5; n += 1) await tenant.event('words', 'ada', 1)
    const rowsOf = async () => {
      const before = counted.rows
      expect((await tenant.through(counted.send).app('GET', '/users/ada/points?awards=1')).status).toBe(200)
      return counted.rows - before
    }
    const counted = countedRows()
    await rowsOf()
    const few = await rowsOf()
    for (let n = 0; n < 30; n += 1) await tenant.event('words', 'ada', 1)
    expect(await rowsOf()).toBe(few)
  })
})

/** An app that counts the rows that D1 reads for it. */
function countedRows() {
  const counted = { rows: 0, send: newApp() }
  const DB = intercepted(env.DB, async ({ run }) => {
    const results = await run()
    for (const { meta } of results) counted.rows += meta.rows_read
    return results
  })
  counted.send = newApp({ DB })
  return counted
}

describe('GET /users/{id}/leaderboards', () => {
  it('[L9, L10] has every active leaderboard, equal to its single read, finished ones on request', async () => {
    await settle()
    const keys = ['words', 'daily', 'streaks', 'plans']
    const reads = { '?numEvents=3': keys, '?includeFinished=true&numEvents=3': [...keys, 'over'] }
    for (const [query, keys] of Object.entries(reads)) {
      for (const user of ['ada', 'bob', 'cai']) {
        const boards = list(await read(`/users/${user}/leaderboards${query}`))
        expect(keysOf(boards)).toEqual(keys)
        const single = keys.map((key) => read(`/users/${user}/leaderboards/${key}?numEvents=3`))
        expect(boards).toEqual(await Promise.all(single))
      }
    }
    const ranks = list(await read('/users/ada/leaderboards')).map((one) => at(one, 'rank'))
    expect(ranks).toEqual([null, 3, 1, 2])
  })

  it('[G3] unknown users are 404, wrong queries 422', async () => {
    await settle()
    expect((await tenant.app('GET', '/users/nobody/leaderboards')).status).toBe(404)
    const query = '?numEvents=101&includeFinished=1'
    const { status, body } = await tenant.app('GET', `/users/ada/leaderboards${query}`)
    expect(status).toBe(422)
    expect(at(body, 'error')).toMatch(/includeFinished: .*numEvents: /)
  })

  it('[L11] a leaderboard that can’t be reached is left out', async () => {
    await settle()
    const lost = await tenant.admin('GET', '/leaderboards')
    const id = at(lost.body, '1', 'id')
    const LEADERBOARD = stubbed(env.LEADERBOARD, (wanted) => {
      if (wanted === id) throw new Error('unreachable')
      return env.LEADERBOARD.getByName(wanted)
    })
    const cut = tenant.through(newApp({ LEADERBOARD }))
    const { status, body } = await cut.app('GET', '/users/ada/leaderboards')
    expect([status, keysOf(body)]).toEqual([200, ['words', 'streaks', 'plans']])
    expect(keysOf(at((await cut.app('GET', '/users/ada/overview')).body, 'leaderboards'))).toHaveLength(3)
  })
})

describe('GET /users/{id}/overview', () => {
  const PARTS = {
    ...{ user: '', metrics: '/metrics', points: '/points', streak: '/streak' },
    ...{ achievements: '/achievements', leaderboards: '/leaderboards' },
  }

  it('each part equals the read of that part alone', async () => {
    await settle()
    for (const user of ['ada', 'bob', 'cai']) {
      const overview = await read(`/users/${user}/overview`)
      expect(Object.keys(Object(overview))).toEqual(Object.keys(PARTS))
      for (const [part, path] of Object.entries(PARTS))
        expect([part, at(overview, part)]).toEqual([part, await read(`/users/${user}${path}`)])
    }
    const overview = await read('/users/ada/overview')
    expect(at(overview, 'streak')).toMatchObject({ length: 1, freezes: 1, pauses: [{ start: date(3) }] })
    expect(keysOf(at(overview, 'achievements'))).toEqual(['ten'])
  })

  it('of a user without data, and of a tenant without configuration', async () => {
    await tenant.app('PUT', '/users/ada', {})
    expect(await read('/users/ada/overview')).toMatchObject({
      ...{ user: { id: 'ada' }, metrics: [], points: [], achievements: [], leaderboards: [] },
      streak: { length: 0, streakHistory: Array.from({ length: 7 }, () => ({ length: 0 })) },
    })
    expect((await tenant.app('GET', '/users/nobody/overview')).status).toBe(404)
  })

  it.each(['daily', 'weekly', 'monthly'])(
    '[S6] has the past of a %s streak, in any time zone',
    async (frequency) => {
      await tenant.metric('words')
      await tenant.admin('PATCH', '/streaks/settings', { frequency })
      for (const [id, tz] of Object.entries({ west: 'Etc/GMT+12', east: 'Pacific/Kiritimati' })) {
        await tenant.event('words', { id, tz }, 1)
        // A streak that is over, as long ago as the history reaches, and one before that.
        const first = String(at(await read(`/users/${id}/streak`), 'streakHistory', 0, 'periodStart'))
        const start = Date.parse(first) / DAY
        for (const day of [start, start - 40])
          await rowsEverywhere(
            `INSERT INTO streak_runs (user_iid, first, last, started, history, length)
           SELECT iid, ?3, ?3, ?3, '1e', 1 FROM users WHERE tenant_id = ?1 AND id = ?2`,
            ...[tenant.id, id, day],
          )
        const streak = await read(`/users/${id}/streak`)
        expect(at(streak, 'streakHistory', 0, 'length')).toBe(1)
        expect(at(await read(`/users/${id}/overview`), 'streak')).toEqual(streak)
      }
    },
  )

  it.skipIf(databases().length > 1)(
    'costs two round trips of D1, and one wave of calls of leaderboards',
    async () => {
      await settle()
      const { DB, count } = countedD1()
      const waves: number[] = []
      let open = 0
      const LEADERBOARD = stubbed(env.LEADERBOARD, (id) => ({
        place: async (request: never) => {
          open += 1
          waves.push(open)
          const reply = await env.LEADERBOARD.getByName(id).place(request)
          open -= 1
          return reply
        },
      }))
      const warm = tenant.through(newApp({ DB, LEADERBOARD }))
      await warm.app('GET', '/users/ada/overview')
      const before = count.batches
      waves.length = 0
      expect((await warm.app('GET', '/users/ada/overview')).status).toBe(200)
      expect(count.batches - before).toBe(2)
      // All four had begun before the first one answered.
      expect(waves).toEqual([1, 2, 3, 4])
    },
  )

  it.skipIf(databases().length > 1)(
    '[A6, S9] costs two while the streak awaits a recount by another frequency, if one read can take the log',
    async () => {
      await tenant.metric('words')
      for (const id of ['ada', 'busy']) await tenant.event('words', id, 1)
      const pauses = [{ userId: 'ada', start: dateAt(now + DAY), end: dateAt(now + 2 * DAY) }]
      await tenant.admin('POST', '/streaks/pauses', { pauses })
      await pass(4 * DAY)
      for (const id of ['ada', 'busy']) await tenant.event('words', id, 1)
      // A log that is longer than one read.
      await env.DB.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 15000)
       INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset, attributes, counter_ids)
       SELECT user_iid, metric_no, at - i, seq, randomblob(16), value, utc_offset,
         attributes, counter_ids FROM n
       CROSS JOIN events WHERE user_iid = (SELECT unhex(iid, '-') FROM users WHERE tenant_id = ?1
         AND id = 'busy')`,
      )
        .bind(tenant.id)
        .run()
      const stored = () =>
        env.DB.prepare('SELECT streak, id FROM users WHERE tenant_id = ?1').bind(tenant.id).all()
      const { results: daily } = await stored()
      await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
      // All streaks are counted now. Restore the old rows, to get the state before the recount.
      await pass(1_000)
      const putBack = env.DB.prepare('UPDATE users SET streak = ?3 WHERE tenant_id = ?1 AND id = ?2')
      await env.DB.batch(daily.map(({ id, streak }) => putBack.bind(tenant.id, id, streak)))
      const { DB, count } = countedD1()
      const warm = tenant.through(newApp({ DB }))
      await warm.app('GET', '/users/ada/overview')
      const overview = async (id: string) => {
        const before = count.batches
        const { body } = await warm.app('GET', `/users/${id}/overview`)
        return { streak: at(body, 'streak'), batches: count.batches - before }
      }
      const ada = await overview('ada')
      expect(ada.batches).toBe(2)
      expect(ada.streak).toMatchObject({ frequency: 'weekly', pauses: [expect.anything()] })
      expect(ada.streak).toEqual(await read('/users/ada/streak'))
      const busy = await overview('busy')
      expect(busy.batches).toBeGreaterThan(2)
      expect(busy.streak).toEqual(await read('/users/busy/streak'))
      // Reads store nothing.
      expect((await stored()).results).toEqual(daily)
    },
  )
})

describe('GET /leaderboards/{key}/groups', () => {
  const attribute = (key: string) => tenant.create('/attributes', { key, name: key, type: 'user' })
  /** A board by words, broken down by these attributes. */
  async function grouped(keys: string[], more: object = {}): Promise<string> {
    const metricId = await tenant.metric('words')
    const breakdownAttributes: string[] = []
    for (const key of keys) breakdownAttributes.push(await attribute(key))
    const item = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricId }
    return tenant.create('/leaderboards', { ...item, breakdownAttributes, ...more })
  }
  /** Makes several users of each group score. */
  async function score(groups: Record<string, string>[], value = 1): Promise<void> {
    const batch = groups.map((attributes, n) => ({
      ...{ key: 'words', value, user: { id: `u${n}-${Object.values(attributes).join()}`, attributes } },
    }))
    expect((await tenant.admin('POST', '/metrics/events', batch)).status).toBe(202)
    await pass(1_000)
  }
  const sizes = (body: unknown) =>
    list(body).map((one) => {
      const pairs = list(at(one, 'group')).map((each) => `${at(each, 'key')}:${at(each, 'value')}`)
      return [...pairs, at(one, 'users')].join(' ')
    })
  const linkIn = (headers: Headers) => /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]

  it('[L6] the largest first, equals in order of their values; only ranked users count', async () => {
    await grouped(['city', 'plan'], { maxParticipants: 2 })
    const inCity = (city: string, plan = 'pro') => ({ city, plan })
    const [free, pro] = [inCity('Washington, DC', 'free'), inCity('Washington, DC')]
    const [rome, oslo] = [inCity('Rome'), inCity('Oslo')]
    await score([rome, rome, rome, pro, free, oslo, oslo])
    await score([inCity('Nowhere')], -1)
    await tenant.event('words', { id: 'no-plan', attributes: { city: 'Rome' } }, 1)
    expect(sizes(await read('/leaderboards/board/groups'))).toEqual([
      'city:Oslo plan:pro 2',
      'city:Rome plan:pro 2',
      'city:Washington, DC plan:free 1',
      'city:Washington, DC plan:pro 1',
    ])
    // A user who moves counts in the new group.
    await tenant.app('PATCH', '/users/u3-Washington, DC,pro', { attributes: { city: 'Bonn' } })
    expect(sizes(await read('/leaderboards/board/groups'))).toContain('city:Bonn plan:pro 1')
  })

  it('[L6] pages by the Link header, to the end, each group once', async () => {
    await grouped(['city'])
    const names = Array.from({ length: 7 }, (_, n) => `"c ${n}é`)
    await score([...names, names[4] ?? ''].map((city) => ({ city })))
    for (const limit of [1, 2, 3, 7]) {
      const seen: string[] = []
      let path: string | undefined = `/leaderboards/board/groups?limit=${limit}`
      for (let pages = 1; path !== undefined; pages += 1) {
        const { status, headers, body }: Answer = await tenant.app('GET', path)
        expect(status).toBe(200)
        seen.push(...sizes(body))
        const next: string | undefined = linkIn(headers)
        expect(next === undefined).toBe(pages === Math.ceil(7 / limit))
        expect(next ?? 'http://laurel.test/v1').toMatch(/^http:\/\/laurel\.test\/v1/)
        path = next?.slice('http://laurel.test/v1'.length)
      }
      const others = names.filter((_, n) => n !== 4).map((name) => `city:${name} 1`)
      expect(seen).toEqual([`city:${names[4]} 2`, ...others])
    }
    const error = 'after: must be the cursor in the Link header of the page before.'
    for (const after of ['', 'x', '!', btoa('[1]'), btoa('["a","b"]'), btoa('[-1,"b"]')]) {
      const path = `/leaderboards/board/groups?after=${encodeURIComponent(after)}`
      expect(await tenant.app('GET', path)).toMatchObject({ status: 422, body: { error } })
    }
  })

  it('[G1, L6] the Link keeps the base of the request, and leads to the next page on every host', async () => {
    await grouped(['city'])
    await score([{ city: 'Rome' }, { city: 'Oslo' }])
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const onAdminHost = newApp({ ADMIN_HOST: 'laurel.test' })
    for (const [send, base] of [
      [toApp, '/v1'],
      [toApp, '/api'],
      [onAdminHost, '/api'],
    ] as const) {
      const first = await call(send, 'GET', `${base}/leaderboards/board/groups?limit=1`, { headers })
      const address = `http://laurel.test${base}/leaderboards/board/groups?`
      const next = linkIn(first.headers) ?? ''
      expect(next.slice(0, address.length)).toBe(address)
      const second = await call(send, 'GET', next.slice('http://laurel.test'.length), { headers })
      expect([base, second.status, sizes(second.body)]).toEqual([base, 200, ['city:Rome 1']])
    }
  })

  it('[L2, L8] of a run, also a final one, in which an erased user no longer counts', async () => {
    await grouped(['city'], { runUnit: 'day', runInterval: 1 })
    await score([{ city: 'Rome' }, { city: 'Rome' }, { city: 'Oslo' }])
    const [today, before] = [dateAt(now), dateAt(now - DAY)]
    await pass(3 * DAY)
    expect(await read('/leaderboards/board/groups')).toEqual([])
    const path = `/leaderboards/board/groups?run=${today}`
    expect(sizes(await read(path))).toEqual(['city:Rome 2', 'city:Oslo 1'])
    await tenant.admin('DELETE', '/users/u0-Rome')
    await tenant.admin('DELETE', '/users/u2-Oslo')
    expect(sizes(await read(path))).toEqual(['city:Rome 1'])
    expect((await tenant.app('GET', `/leaderboards/board/groups?run=${before}`)).status).toBe(404)
  })

  it('[S10] none on a streak board while streaks are off', async () => {
    await tenant.metric('words')
    const city = await attribute('city')
    const item = { key: 'board', name: 'B', status: 'active', rankBy: 'streak', breakdownAttributes: [city] }
    await tenant.create('/leaderboards', item)
    await tenant.event('words', { id: 'ada', attributes: { city: 'Rome' } }, 1)
    expect(sizes(await read('/leaderboards/board/groups'))).toEqual(['city:Rome 1'])
    await tenant.admin('PATCH', '/streaks/settings', { enabled: false })
    expect(await read('/leaderboards/board/groups')).toEqual([])
  })

  it('[L6, L9, G3] 422 without a breakdown, 404 for a hidden board, 422 for wrong queries', async () => {
    await settle()
    expect(await tenant.app('GET', '/leaderboards/words/groups')).toMatchObject({
      status: 422,
      body: { error: 'This leaderboard has no breakdown, so it has no groups. Read its rankings instead.' },
    })
    for (const key of ['hidden', 'later', 'nothing'])
      expect((await tenant.app('GET', `/leaderboards/${key}/groups`)).status).toBe(404)
    const { status, body } = await tenant.app('GET', '/leaderboards/plans/groups?limit=0&run=x&after=y')
    expect(status).toBe(422)
    expect(at(body, 'error')).toMatch(/run: .*limit: .*after: /)
    expect((await tenant.app('GET', '/leaderboards/plans/groups?limit=101')).status).toBe(422)
  })

  it('[L5] a group counts at most as many users as can be ranked in it', async () => {
    const board = await grouped(['city'])
    await score([{ city: 'Rome' }])
    const object = env.LEADERBOARD.getByName(board)
    await runInDurableObject(object, (_, { storage: { sql } }) => {
      sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
         INSERT INTO scores SELECT 'x' || i, 'x' || i, (SELECT min(run) FROM scores), '["Oslo"]', 1, 0, 0, 0
           FROM n`,
      )
    })
    expect(sizes(await read('/leaderboards/board/groups'))).toEqual(['city:Oslo 1000', 'city:Rome 1'])
  })
})

describe('GET /streaks/pauses', () => {
  const day = (days: number) => dateAt(now + days * DAY)
  const pause = (userId: string, start: number, end: number) => ({ userId, start: day(start), end: day(end) })
  const create = async (...pauses: object[]) => {
    const { status, body } = await tenant.admin('POST', '/streaks/pauses', { pauses })
    expect([status, at(body, 'issues')]).toEqual([201, []])
    return list(at(body, 'created'))
  }
  const pauses = (query: string) => tenant.admin('GET', `/streaks/pauses${query}`)

  it('[G7] the pauses of a user in the order of creation, oldest first, without deleted ones', async () => {
    for (const id of ['ada', 'bob']) await tenant.app('PUT', `/users/${id}`, {})
    const made: unknown[] = []
    for (const start of [9, 3, 6]) made.push(...(await create(pause('ada', start, start + 1))))
    const others = await create(pause('bob', 1, 1))
    expect((await pauses('?userId=ada')).body).toEqual(made)
    expect((await pauses('?userId=bob')).body).toEqual(others)
    expect((await pauses('?userId=ada&limit=1&skip=1')).body).toEqual([made[1]])
    await tenant.admin('DELETE', `/streaks/pauses?ids=${at(made[1], 'id')}`)
    expect((await pauses('?userId=ada')).body).toEqual([made[0], made[2]])
    expect((await pauses('?userId=nobody')).body).toEqual([])
  })

  it('[G3] needs a user, and names every field error', async () => {
    const { status, body } = await pauses('?limit=0')
    expect(status).toBe(422)
    expect(at(body, 'error')).toMatch(/userId: /)
    expect(at(body, 'error')).toMatch(/limit: /)
    expect((await pauses('?userId=a&userId=b')).status).toBe(422)
  })
})
