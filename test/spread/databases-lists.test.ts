import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/lib/ids'
import { utf8Bytes } from '../../src/lib/packed'
import { anotherUuid } from '../helpers/readable'
import { DAY, forgetTime, HOUR, MINUTE, moveTo } from '../helpers/worker/boards'
import { usersByDatabase } from '../helpers/worker/databases-moves'
import { away, behind } from '../helpers/worker/faulty'
import {
  account,
  at,
  d1Of,
  databases,
  firstBucket,
  newApp,
  newTenant,
  newTenantInFirst,
  pagesFrom,
  pick,
  type Send,
  type TestTenant,
  toApp,
} from '../helpers/worker/harness'

/* Questions about several or all users, of a tenant in three databases (B5). */

const BASE = Date.UTC(2027, 2, 3, 10)

/** The evening of the last day on which something happens. */
const END = BASE + 5 * DAY + 9 * HOUR

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** A body without random ids, which differ between two tenants with the same history. */
const withoutIds = (body: unknown): unknown => JSON.parse(JSON.stringify(body ?? null).replace(UUID, 'id'))

afterAll(() => account('DELETE', '/test-clock'))

/** Users with ids in each order of bytes, and of UTF-16. */
const USERS = Array.from({ length: 40 }, (_, n) =>
  n % 8 === 0 ? `\u{1F600}${n}` : n % 8 === 1 ? `\uFF21${n}` : `${n % 2 === 0 ? 'B' : 'a'}${n}`,
)
const PLANS = ['free', 'pro', 'team']

/** The configuration of a tenant with everything that is counted over all users. */
async function configure(tenant: TestTenant): Promise<void> {
  const attributeId = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const metricId = await tenant.metric('steps')
  await tenant.admin('PATCH', '/streaks/settings', { frequency: 'daily' })
  const systemId = await tenant.create('/points', {
    key: 'xp',
    name: 'XP',
    levels: [1, 10, 100].map((points) => ({ key: `l${points}`, name: 'L', points })),
    triggers: [{ type: 'metric', metricId, metricThreshold: 2, points: 3, status: 'active' }],
  })
  for (const metricValue of [3, 30])
    await tenant.create('/achievements', {
      key: `steps-${metricValue}`,
      name: 'Steps',
      trigger: 'metric',
      metricId,
      metricValue,
      status: 'active',
    })
  const board = { name: 'Board', status: 'active', start: '2027-03-01' }
  await tenant.create('/leaderboards', { ...board, key: 'all', rankBy: 'metric', metricId })
  await tenant.create('/leaderboards', {
    ...board,
    ...{ key: 'plans', rankBy: 'points', pointsSystemId: systemId, maxParticipants: 5 },
    ...{ breakdownAttributes: [attributeId], runUnit: 'day', runInterval: 2 },
  })
  await tenant.create('/leaderboards', { ...board, key: 'streaks', rankBy: 'streak' })
}

/** The events of a day: some of the users, each with a value and a plan of its own. */
async function playDay(tenant: TestTenant, day: number): Promise<void> {
  for (const [n, id] of USERS.entries()) {
    if ((n * 7 + day * 3) % 5 > 2) continue
    const user = {
      id,
      name: n % 3 === 0 ? null : `Name ${n % 4}`,
      tz: n % 2 === 0 ? 'UTC' : 'Pacific/Auckland',
      attributes: { plan: PLANS[(n + (day > 2 ? n : 0)) % 3] ?? '' },
    }
    const { status } = await tenant.event('steps', user, 1 + ((n * n + day) % 9) * (n % 4 === 0 ? 5 : 1))
    expect(status).toBe(201)
  }
}

const encoded = USERS.map((id) => encodeURIComponent(id))

/** The questions about several users. */
const QUESTIONS: readonly (readonly ['admin' | 'app', string])[] = [
  ...['from=2027-03-01&to=2027-03-12', 'from=2027-03-04&to=2027-03-06'].flatMap((range) => [
    ['admin', `/analytics/overview?${range}`] as const,
    ['admin', `/metrics/steps/analytics?${range}`] as const,
    ['admin', `/points/xp/analytics?${range}`] as const,
    ['admin', `/achievements/steps-30/analytics?${range}`] as const,
    ['admin', `/leaderboards/all/analytics?${range}`] as const,
  ]),
  ...['', '?userAttributes=plan:pro', '?userAttributes=plan:free'].flatMap((query) => [
    ['app', `/points/xp/summary${query}`] as const,
    ['app', `/points/xp/level-summary${query}`] as const,
  ]),
  ['app', `/streaks?${encoded.map((id) => `userIds=${id}`).join('&')}`],
  ...['active', 'longest'].flatMap((type) =>
    [1, 7, 100].map((limit) => ['app', `/streaks/rankings?type=${type}&limit=${limit}`] as const),
  ),
  ['app', '/achievements'],
  ['app', '/achievements?userAttributes=plan:team'],
  ...['limit=100', 'limit=7&offset=3', 'limit=9&offset=30', `userId=${encoded[4]}`].flatMap((query) => [
    ['app', `/leaderboards/all?${query}`] as const,
    ['app', `/leaderboards/streaks?${query}`] as const,
  ]),
  ...['2027-03-03', '2027-03-05', '2027-03-07'].flatMap((run) => [
    ['app', `/leaderboards/plans/groups?run=${run}`] as const,
    ...PLANS.map((plan) => ['app', `/leaderboards/plans?run=${run}&userAttributes=plan:${plan}`] as const),
  ]),
  // The user with the index 5 is erased.
  ...encoded
    .filter((_, n) => n < 9 && n !== 5)
    .flatMap((id) =>
      ['overview', 'achievements?includeIncomplete=true', 'leaderboards', 'wrapped?year=2027'].map(
        (what) => ['app', `/users/${id}/${what}`] as const,
      ),
    ),
]

/** The users on each page of a list. */
const pagesOf = async (tenant: TestTenant, query: string) =>
  (await pagesFrom(tenant, `/users?${query}`)).map(withoutIds)

// In order, because the last tests move the clock.
describe('[B1, B5] a tenant in three databases and one in a single database', { shuffle: false }, () => {
  let spreadOver: TestTenant
  let whole: TestTenant

  beforeAll(async () => {
    await forgetTime()
    await moveTo(BASE)
    spreadOver = await newTenant()
    whole = await newTenantInFirst()
    const both = [spreadOver, whole]
    for (const tenant of both) await configure(tenant)
    for (let day = 0; day < 6; day += 1) {
      await moveTo(BASE + day * DAY + day * HOUR)
      for (const tenant of both) await playDay(tenant, day)
    }
    for (const tenant of both) {
      await tenant.admin('DELETE', `/users/${encoded[5]}`)
      // Requests the distributions of the year.
      await tenant.app('GET', `/users/${encoded[0]}/wrapped?year=2027`)
    }
    await moveTo(END)
  }, 240_000)

  test('the users of one are in three databases', async () => {
    expect(Math.min(...Object.values(await usersByDatabase(spreadOver)))).toBeGreaterThan(3)
  })

  test('there is something to count', async () => {
    const size = async (path: string, ...steps: string[]) => {
      const list = at((await whole.app('GET', path)).body, ...steps)
      return Array.isArray(list) ? list.length : 0
    }
    expect(await size('/leaderboards/all?limit=100', 'rankings')).toBeGreaterThan(30)
    expect(await size('/leaderboards/streaks?limit=100', 'rankings')).toBeGreaterThan(10)
    expect(await size('/leaderboards/plans/groups?run=2027-03-03')).toBe(3)
    expect(await size('/streaks/rankings?type=active&limit=100')).toBeGreaterThan(10)
    const { body } = await whole.app('GET', `/users/${encoded[0]}/wrapped?year=2027`)
    expect(JSON.stringify(body)).toMatch(/"percentileThisYear":\d|"percentile[A-Za-z]*":\d/)
    const analytics = await whole.admin('GET', '/analytics/overview?from=2027-03-01&to=2027-03-08')
    expect(at(analytics.body, 'updated')).toBe(new Date(END).toISOString())
    expect(at(analytics.body, 'active', 'week')).toBeGreaterThan(30)
  })

  test.each(QUESTIONS)('answer the same to %s %s', async (side, path) => {
    const answers = [await whole[side]('GET', path), await spreadOver[side]('GET', path)]
    const [expected, found] = answers.map(({ status, body }) => [status, withoutIds(body)])
    expect(found?.[0]).toBe(200)
    expect(found).toEqual(expected)
  })

  test.each([
    'limit=7',
    'limit=100',
    'limit=1',
    'limit=5&search=a1',
    'limit=3&search=NAME',
    'limit=4&userAttributes=plan:pro',
    'limit=2&search=b&userAttributes=plan:free',
    'limit=10&search=nobody',
    ...[1, 6, 38, 39, 100].map((skip) => `limit=4&skip=${skip}`),
    'limit=2&skip=3&search=a',
  ])('list the same users for %s', async (query) => {
    expect(await pagesOf(spreadOver, query)).toEqual(await pagesOf(whole, query))
  })

  test('compare a board with all databases, and find a change that it has missed in each', async () => {
    for (const tenant of [spreadOver, whole]) {
      for (const { d1 } of databases()) {
        await d1
          .prepare(
            `UPDATE users SET attributes = replace(attributes, '"free"', '"team"'), seq = seq + 1,
               changed = ?2 WHERE tenant_id = ?1`,
          )
          .bind(tenant.id, END)
          .run()
      }
    }
    await moveTo(END + 2 * HOUR)
    const ranking = async (tenant: TestTenant, plan: string) =>
      withoutIds((await tenant.app('GET', `/leaderboards/plans?userAttributes=plan:${plan}`)).body)
    for (const plan of PLANS) expect(await ranking(spreadOver, plan)).toEqual(await ranking(whole, plan))
  })
})

/** Stores users of a tenant in the databases that hold them. They are spread evenly over three. */
async function fill(tenant: TestTenant, systemId: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => {
    const id = `u${String((n * 7919) % count).padStart(6, '0')}`
    return { bucket: bucketOf(tenant.id, id), row: [id, n % 120, Math.floor(n / 3), n, n % 977] }
  })
  const list = databases()
  for (const [nth, { d1 }] of list.entries()) {
    const own = rows.filter(({ bucket }) => bucket >= firstBucket(nth) && bucket < firstBucket(nth + 1))
    await d1
      .prepare(
        `INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control,
           created,
           updated, metrics, points, counters, streak, streak_due, bucket)
         SELECT ?1, value ->> '$.row[0]', ${anotherUuid('?1', "value ->> '$.row[3]'")}, 1, 0, 1, '{}', 0,
           value ->> '$.row[2]', 0, '[]', json_object(?2, value ->> '$.row[1]'), '[]',
           json_object('frequency', 'daily', 'run', json_object('started', 1, 'first', 1, 'last', 1, 'length',
             value ->> '$.row[4]', 'history', '1e', 'extended', 0)), 8000000000000000, value ->> '$.bucket'
         FROM json_each(?3)`,
      )
      .bind(tenant.id, systemId, JSON.stringify(own))
      .run()
    await d1
      .prepare(
        `INSERT INTO tenant_counters (tenant_id, name, count) VALUES (?1, 'users', ?2)
         ON CONFLICT DO UPDATE SET count = excluded.count`,
      )
      .bind(tenant.id, own.length)
      .run()
  }
}

/** Moves all users of a tenant from one database to another, as far as the tables of users go. */
async function moveAll(tenant: TestTenant, from: string, to: string): Promise<void> {
  const [source, target] = [d1Of(from), d1Of(to)]
  const { results } = await source.prepare("SELECT name FROM pragma_table_info('users')").all()
  const columns = results.map(({ name }) => String(name))
  const next = 'UPDATE tenants SET placement = placement + 1 WHERE id = ?1'
  const { results: rows } = await source
    .prepare(`SELECT json_array(${columns.map((name) => `"${name}"`).join(', ')}) AS row FROM users
      WHERE tenant_id = ?1`)
    .bind(tenant.id)
    .all()
  await source.batch([
    source.prepare('DELETE FROM users WHERE tenant_id = ?1').bind(tenant.id),
    source.prepare(next).bind(tenant.id),
  ])
  await target.batch([
    target
      .prepare(
        `INSERT INTO users (${columns.map((name) => `"${name}"`).join(', ')})
         SELECT ${columns.map((_, nth) => `value ->> ${nth}`).join(', ')} FROM json_each(?1)`,
      )
      .bind(`[${rows.map(({ row }) => String(row)).join(',')}]`),
    target.prepare(next).bind(tenant.id),
  ])
  await env.DB.prepare(
    `UPDATE directory SET version = version + 1,
       places = (SELECT json_group_array(json_array(value ->> 0, iif(value ->> 1 = ?2, ?3, value ->> 1)))
         FROM json_each(places)),
       placements = json_set(placements,
         '$.' || ?2, coalesce(placements ->> ('$.' || ?2), 0) + 1,
         '$.' || ?3, coalesce(placements ->> ('$.' || ?3), 0) + 1)
     WHERE tenant_id = ?1`,
  )
    .bind(tenant.id, from, to)
    .run()
}

/**
 * The databases, with a look at each batch over users: the rows that it reads, the bytes of its answer, and
 * its turn from 1 on.
 */
function watched(onScan: (turn: number) => Promise<void> = async () => undefined) {
  const seen = { turn: 0, most: 0, bytes: 0 }
  const bindings = behind(async ({ run }) => {
    const results = await run()
    const rows = Math.max(...results.map(({ meta }) => meta.rows_read))
    seen.most = Math.max(seen.most, rows)
    const answer = JSON.stringify(results.map(({ results: found }) => found))
    seen.bytes = Math.max(seen.bytes, utf8Bytes(answer))
    if (rows > 1_000) {
      seen.turn += 1
      await onScan(seen.turn)
    }
    return results
  })
  return { seen, app: newApp(bindings) }
}

const COUNT = 21_000

describe('[B5] a database that is away', () => {
  test('makes questions about all users 503, and is named by the state of the service', async () => {
    const tenant = await newTenant()
    await tenant.create('/points', { key: 'xp', name: 'XP' })
    expect((await tenant.app('GET', '/points/xp/summary')).status).toBe(200)
    const through = tenant.through(newApp(away('DB_2')))
    for (const [side, path] of [
      ['app', '/points/xp/summary'],
      ['app', '/streaks/rankings'],
      ['app', '/achievements'],
      ['admin', '/users'],
      ['admin', '/users?search=a'],
      ['admin', '/analytics/overview'],
    ] as const) {
      const { status, headers } = await through[side]('GET', path)
      expect([path, status, Number(headers.get('retry-after'))]).toEqual([path, 503, expect.any(Number)])
    }
    const status = await account('GET', '/status', undefined, through.send)
    expect([status.status, at(status.body, 'databases')]).toEqual([
      200,
      [
        { name: 'DB', bytes: expect.any(Number) },
        { name: 'DB_2', bytes: null },
        { name: 'DB_3', bytes: expect.any(Number) },
      ],
    ])
  })
})

// In order, because the last test moves the users.
describe('[P11, B5] many users in three databases', { shuffle: false }, () => {
  let tenant: TestTenant
  let systemId: string

  beforeAll(async () => {
    await forgetTime()
    await moveTo(BASE + 20 * DAY)
    tenant = await newTenant()
    systemId = await tenant.create('/points', {
      key: 'xp',
      name: 'XP',
      levels: [50, 100].map((points) => ({ key: `l${points}`, name: 'L', points })),
    })
    // Makes the copies of the configuration.
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => tenant.app('GET', `/users/${id}`)))
    await tenant.app('GET', '/points/xp/summary')
    await fill(tenant, systemId, COUNT)
  }, 240_000)

  const levels = async (send: Send = toApp) => {
    const { status, body } = await tenant.through(send).app('GET', '/points/xp/level-summary')
    expect(status).toBe(200)
    return pick(body, 'users')
  }
  const usersWith = (from: number, to: number) =>
    Array.from({ length: COUNT }, (_, n) => n % 120).filter((points) => points >= from && points <= to).length

  test('a summary is exact, is kept for a minute, and reads at most 20,000 users in a statement', async () => {
    const exact = [usersWith(50, 99), usersWith(100, 119)]
    const { seen, app } = watched()
    expect(await levels(app)).toEqual(exact)
    expect(seen.most).toBeGreaterThan(1_000)
    expect(seen.most).toBeLessThanOrEqual(20_000)
    const before = seen.turn
    for (const { d1 } of databases())
      await d1
        .prepare('UPDATE users SET points = json_object(?2, 100) WHERE tenant_id = ?1')
        .bind(tenant.id, systemId)
        .run()
    expect(await levels(app)).toEqual(exact)
    expect(seen.turn).toBe(before)
    await moveTo(BASE + 20 * DAY + MINUTE + 1_000)
    // Several readers share the renewal.
    expect(await Promise.all([levels(app), levels(app), levels(app)])).toEqual(
      Array.from({ length: 3 }, () => [0, COUNT]),
    )
  })

  test('deep pages and searches find each user in order', async () => {
    const order = Array.from({ length: COUNT }, (_, n) => ({
      id: `u${String((n * 7919) % COUNT).padStart(6, '0')}`,
      created: Math.floor(n / 3),
    })).sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1))
    const { seen, app } = watched()
    const ids = async (query: string) => {
      const { body } = await tenant.through(app).admin('GET', `/users?${query}`)
      return pick(body, 'id')
    }
    for (const skip of [0, 999, 1_000, 7_000, 20_500, COUNT - 1, COUNT, COUNT + 5_000])
      expect([skip, await ids(`limit=3&skip=${skip}`)]).toEqual([
        skip,
        order.slice(skip, skip + 3).map(({ id }) => id),
      ])
    const fitting = order.filter(({ id }) => id.includes('77')).map(({ id }) => id)
    expect(await ids('limit=100&search=77')).toEqual(fitting.slice(0, 100))
    expect(await ids('limit=5&skip=1000&search=77')).toEqual(fitting.slice(1_000, 1_005))
    expect(seen.most).toBeLessThanOrEqual(20_000)
  })

  test('[U8] a search reads a few megabytes from all databases together, however long the texts are', async () => {
    const name = async (sql: string, ...values: string[]) => {
      for (const { d1 } of databases())
        await d1
          .prepare(`UPDATE users SET ${sql} WHERE tenant_id = ?1 AND created < 2000`)
          .bind(tenant.id, ...values)
          .run()
    }
    await name(
      "name = ?2 || iif(id GLOB '*77', 'Ж', '国'), email = ?3",
      '中'.repeat(254),
      `${'中'.repeat(306)}@example.co.jp`,
    )
    const fitting = Array.from({ length: 6_000 }, (_, n) => ({
      id: `u${String((n * 7919) % COUNT).padStart(6, '0')}`,
      created: Math.floor(n / 3),
    }))
      .filter(({ id }) => id.endsWith('77'))
      .sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id)
    const { seen, app } = watched()
    const { body } = await tenant.through(app).admin('GET', '/users?search=ж&limit=100')
    expect(pick(body, 'id')).toEqual(fitting)
    // Three databases are asked at once.
    expect(seen.bytes).toBeGreaterThan(1_000_000)
    expect(seen.bytes).toBeLessThan(1_500_000)
    await name('name = NULL, email = NULL')
  })

  test('rankings of streaks have the longest of all databases', async () => {
    const { body } = await tenant.app('GET', '/streaks/rankings?type=longest&limit=5')
    expect(pick(body, 'streakLength')).toEqual(Array.from({ length: 5 }, () => 976))
  })

  test('[B3] users who move between two steps of a summary count once', async () => {
    await moveTo(BASE + 20 * DAY + HOUR)
    const moves: Record<number, [string, string]> = { 4: ['DB_2', 'DB_3'], 11: ['DB_3', 'DB'] }
    const { seen, app } = watched(async (turn) => {
      const move = moves[turn]
      if (move !== undefined) await moveAll(tenant, ...move)
    })
    expect(await levels(app)).toEqual([0, COUNT])
    expect(seen.turn).toBeGreaterThan(11)
    expect(await usersByDatabase(tenant)).toMatchObject({ DB: COUNT })
  })
})
