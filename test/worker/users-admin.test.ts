import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it } from 'vitest'
import { newInstance } from '../../src/configuration/configuration'
import { createApp } from '../../src/worker/app'
import { bytes, number, numbered } from '../helpers/readable'
import { DAY, dateAt, forgetTime, HOUR, moveTo, NOON, withBoard } from '../helpers/worker/boards'
import { intercepted } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  lastDatabase,
  newApp,
  newTenant,
  newTenantInLast,
  newTenantWith,
  nextPath,
  pagesFrom,
  pick,
  type TestTenant,
} from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { UNREACHED } from '../helpers/worker/objects'

afterEach(forgetTime)

/* Lists */

/** The ids on a page of users, in order. */
async function listed(tenant: TestTenant, query: Record<string, string> = {}) {
  const { status, body } = await tenant.admin('GET', `/users?${new URLSearchParams(query)}`)
  expect([status, Array.isArray(body)]).toEqual([200, true])
  return pick(body, 'id').map(String)
}

async function finds(tenant: TestTenant, searches: Record<string, string>) {
  for (const [search, ids] of Object.entries(searches))
    expect(await listed(tenant, { search }), search).toEqual(ids === '' ? [] : ids.split(' '))
}

/** The ids on the pages of a list, from this path on. */
const pagesOf = async (tenant: TestTenant, query: string, between?: () => Promise<unknown>) =>
  (await pagesFrom(tenant, `/users?${query}`, between)).map((page) => pick(page, 'id'))

const expectRefused = async (tenant: TestTenant, queries: string[]) => {
  for (const query of queries) expect((await tenant.admin('GET', `/users?${query}`)).status, query).toBe(422)
}

describe('GET /admin/v1/users', () => {
  it('[G7] serves users, oldest first, page by page', async () => {
    const tenant = await newTenant()
    expect(await listed(tenant)).toEqual([])
    await moveTo(NOON)
    // Users of the same moment are in the order of their ids.
    for (const id of ['m2', 'm1']) await tenant.app('PUT', `/users/${id}`, {})
    await moveTo(NOON + HOUR)
    for (let n = 0; n < 10; n += 1) await tenant.app('PUT', `/users/a${n}`, { name: `N${n}` })
    const all = ['m1', 'm2', ...Array.from({ length: 10 }, (_, n) => `a${n}`)]
    expect(await listed(tenant)).toEqual(all.slice(0, 10))
    expect(await listed(tenant, { limit: '100' })).toEqual(all)
    expect(await listed(tenant, { limit: '3', skip: '1' })).toEqual(['m2', 'a0', 'a1'])
    expect(await listed(tenant, { skip: '11' })).toEqual(['a9'])
    expect(await listed(tenant, { skip: '12' })).toEqual([])
    const { body } = await tenant.admin('GET', '/users?skip=2&limit=1')
    expect(at(body, 0)).toEqual((await tenant.app('GET', '/users/a0')).body)
    expect(await listed(await newTenant())).toEqual([])
  })

  it('[O3] serves users by a cursor, also of a search, while users come and go', async () => {
    const tenant = await newTenant()
    await moveTo(NOON)
    for (let n = 0; n < 12; n += 1) await tenant.app('PUT', `/users/${n % 2 ? 'odd' : 'even'}-${n}`, {})
    const pages = (query: string, between?: () => Promise<unknown>) => pagesOf(tenant, query, between)
    const all = await listed(tenant, { limit: '100' })
    for (const limit of [1, 5, 6, 12, 100]) {
      const seen = await pages(`limit=${limit}`)
      expect([limit, seen.flat(), seen.length]).toEqual([limit, all, Math.ceil(12 / limit)])
    }
    const odd = all.filter((id) => id.startsWith('odd'))
    for (const limit of [2, 4]) {
      expect((await pages(`search=ODD&limit=${limit}`)).flat()).toEqual(odd)
    }
    expect((await pages('limit=3&skip=4')).flat()).toEqual(all.slice(4))
    expect(await pages('search=nobody')).toEqual([[]])
    // The cursor is a place, so it stays exact if users before it are erased, also the last one of the page.
    const gone = [...all]
    const erase = async () => {
      const id = gone.splice(2, 1)[0]
      if (id !== undefined) await tenant.admin('DELETE', `/users/${id}`)
    }
    expect((await pages('limit=3', erase)).flat()).toEqual(all)
    const { headers } = await tenant.admin('GET', '/users?limit=1&search=even')
    expect(nextPath(headers)).toMatch(/^\/users\?limit=1&search=even&after=/)
  })

  it('searches id, name and email, and takes every character literally', async () => {
    const tenant = await newTenant()
    const people = {
      Ada: { name: 'Countess 100%', email: 'LOVE@example.com' },
      b_b: { name: `O'Neil "x"` },
      bxb: { name: 'Ünal ÜNAL', email: 'u@love.example' },
      'c%c': { name: 'a\\b' },
      d: {},
    }
    for (const [n, [id, fields]] of Object.entries(people).entries()) {
      await moveTo(NOON + n * HOUR)
      await tenant.app('PUT', `/users/${encodeURIComponent(id)}`, fields)
    }
    await finds(tenant, {
      ...{ ADA: 'Ada', ada: 'Ada', love: 'Ada bxb', '%': 'Ada c%c', _: 'b_b', b_b: 'b_b' },
      ...{ 'o\'neil "X"': 'b_b', '\\': 'c%c', Ünal: 'bxb', ünal: 'bxb', '@': 'Ada bxb', nobody: '' },
      ...{ ' ': 'Ada b_b bxb', ['a'.repeat(255)]: '' },
    })
    expect(await listed(tenant, { search: 'b', skip: '1', limit: '1' })).toEqual(['bxb'])
    for (const [query, error] of [
      ['search=', 'must not be empty'],
      ['search=a&search=b', 'must be given once'],
      [`search=${'é'.repeat(256)}`, 'must have at most 255 characters'],
    ]) {
      const { status, body } = await tenant.admin('GET', `/users?${query}`)
      expect([status, at(body, 'error')]).toEqual([422, `search: ${error}.`])
    }
    await expectRefused(tenant, ['limit=0', 'limit=101'])
  })

  it('[U8] searches in upper or lower case of all scripts, composed or not, page by page', async () => {
    const tenant = await newTenant()
    await moveTo(NOON)
    // test/unit/search.test.ts has all characters.
    const people: Record<string, Record<string, string>> = {
      u1: { name: 'Дмитрий' },
      u2: { name: 'Jürgen', email: 'Jürgen@example.com' },
      u3: { name: 'Straße Rene\u0301' },
      u4: { name: 'STRASSE' },
      u5: { name: 'Iğdır İstanbul' },
      u6: { name: 'ascii' },
      u7: { name: 'nul\u0000Ж' },
      Ж8: {},
    }
    for (const [id, fields] of Object.entries(people))
      await tenant.app('PUT', `/users/${encodeURIComponent(id)}`, fields)
    await finds(tenant, {
      ...{ дмитрий: 'u1', 'ДМИТРИИ\u0306': 'u1', 'JÜRGEN@': 'u2', 'ju\u0308rgen': 'u2', RENÉ: 'u3' },
      ...{ strasse: 'u3 u4', STRAẞE: 'u3 u4', ıĞDIR: 'u5', istanbul: 'u5', ａｓｃｉｉ: 'u6', ж: 'u7 Ж8' },
      // Other letters stay other letters.
      ...{ jurgen: '', ё: '' },
    })
    expect(await pagesOf(tenant, 'limit=1&search=STRAẞE')).toEqual([['u3'], ['u4']])
    expect(await listed(tenant, { search: 'ж', skip: '1', limit: '1' })).toEqual(['Ж8'])
  })

  it('[U8] filters by values of attributes, also together with a search, page by page', async () => {
    const tenant = await newTenant()
    await tenant.admin('POST', '/attributes', [
      { name: 'Plan', key: 'plan', type: 'user' },
      { name: 'City', key: 'city', type: 'user' },
      { name: 'Device', key: 'device', type: 'event' },
    ])
    await moveTo(NOON)
    const people = {
      a1: { plan: 'pro', city: 'Rome, plan:b' },
      a2: { plan: 'pro' },
      a3: { plan: 'free', city: 'Rome, plan:b' },
      b4: { plan: 'pro' },
      b5: {},
    }
    for (const [id, attributes] of Object.entries(people))
      await tenant.app('PUT', `/users/${id}`, { attributes })
    expect(await listed(tenant, { userAttributes: 'plan:pro' })).toEqual(['a1', 'a2', 'b4'])
    expect(await listed(tenant, { userAttributes: 'plan:pro', search: 'A' })).toEqual(['a1', 'a2'])
    expect(await listed(tenant, { userAttributes: 'plan:Pro' })).toEqual([])
    // The link to the next page keeps the values, also one with a comma.
    const city = 'userAttributes=city:Rome, plan:b'
    expect(await pagesOf(tenant, `limit=1&${city}&${city}`)).toEqual([['a1'], ['a3']])
    const unknown = ['userAttributes=nothing:1', 'userAttributes=device:ios', 'userAttributes=plan']
    await expectRefused(tenant, unknown)
  })

  it('reads a page by the index: no more rows than it passes, and without a sort', async () => {
    const tenant = await newTenantInLast()
    const { name: last, d1 } = lastDatabase()
    await manyUsers(tenant, 3_000, { created: '10000 - n' })
    const rows: number[] = []
    const counted = intercepted(d1, async ({ run }) => {
      const results = await run()
      rows.push(...results.map(({ meta }) => meta.rows_read))
      return results
    })
    const where = tenant.through(newApp({ [last]: counted }))
    expect(await listed(where, { skip: '5', limit: '2' })).toEqual(['user02995', 'user02994'])
    expect(rows.at(-1)).toBeLessThan(15)
  })
})

/* Exports */

const exported = (tenant: TestTenant, id: string) =>
  tenant.admin('GET', `/users/${encodeURIComponent(id)}/export`)

/**
 * Adds `count` rows to a user's log and idempotency keys, one event of the metric for each millisecond. The
 * user is in the last database.
 */
async function grow(tenant: TestTenant, id: string, metric: string, count: number): Promise<void> {
  const rows = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?4)'
  const iid = `(SELECT ${bytes('iid')} FROM users WHERE tenant_id = ?1 AND id = ?2)`
  const metricNo = number('metrics', '?3')
  for (const sql of [
    `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
     ${rows} SELECT ${iid}, ${metricNo}, i, 0, ${numbered('i')}, i * 1000000, 60 FROM n`,
    `INSERT INTO idempotency_keys (user_iid, metric_no, key, event_id)
     ${rows} SELECT ${iid}, ${metricNo}, 'key' || i, ${numbered('i')} FROM n`,
  ]) {
    await lastDatabase().d1.prepare(sql).bind(tenant.id, id, metric, count).run()
  }
}

/** The last database, with an action before the n-th read of the log (from 0). */
function beforePage(page: number, what: () => Promise<unknown>): Record<string, D1Database> {
  const { name: last, d1 } = lastDatabase()
  let pages = 0
  const database = intercepted(d1, async ({ texts, run }) => {
    if (texts.some((text) => text.includes('FROM events WHERE user_iid'))) {
      pages += 1
      if (pages === page + 1) await what()
    }
    return run()
  })
  return { [last]: database }
}

describe('GET /admin/v1/users/{id}/export', () => {
  it('[U8] has exactly the user’s data, and none of other users', async () => {
    await moveTo(NOON)
    const setup = await withBoard({ runUnit: 'day', runInterval: 1 })
    const { tenant, metric, other, team, system, board } = setup
    const attribute = (key: string) => tenant.create('/attributes', { key, name: key, type: 'event' })
    const [plan, kind, gone] = [setup.plan, await attribute('kind'), await attribute('gone')]
    const achievement = await tenant.create('/achievements', {
      ...{ key: 'first', name: 'First', trigger: 'metric', metricId: metric, metricValue: 2 },
      status: 'active',
    })
    const attributes = { team: 'x', plan: 'y' }
    const ada = { name: 'Ada', email: 'ada@example.com', tz: 'Asia/Tokyo', attributes }
    await tenant.app('PUT', '/users/ada', ada)
    const double = { userId: 'ada', name: 'Double', start: dateAt(NOON), multiplier: 2 }
    const boost = await tenant.create(`/points/${system}/boosts`, double)
    const event = (key: string, value: number, attributes: Record<string, string>, idempotencyKey: string) =>
      tenant.event(key, 'ada', value, { attributes, idempotencyKey })
    const responses = [
      await event('steps', 2.5, { kind: 'run', gone: 'yes' }, 'one'),
      await event('words', 7, {}, 'two'),
    ]
    const stranger = crypto.randomUUID()
    await tenant.event('steps', stranger, 9, { idempotencyKey: stranger })
    const elsewhere = await newTenantWith('steps')
    await elsewhere.event('steps', 'ada', 12_345)
    await elsewhere.key('ada')
    await tenant.admin('PATCH', '/streaks/settings', { customizationEnabled: true, metrics: [] })
    const preferences = await tenant.app('PATCH', '/users/ada/preferences', {
      notifications: { recap: ['push'], reactivation: [] },
      streak: { enabled: true, evaluationMode: 'AND', metrics: [{ key: 'words', threshold: 1.5 }] },
    })
    expect(preferences.status).toBe(200)
    const pauses = [{ userId: 'ada', start: dateAt(NOON + 9 * DAY), end: dateAt(NOON + 10 * DAY) }]
    const pause = at((await tenant.admin('POST', '/streaks/pauses', { pauses })).body, 'created', 0, 'id')
    const key = await tenant.key('ada')
    await tenant.admin('DELETE', `/metrics?ids=${other}`)
    await tenant.admin('DELETE', `/attributes?ids=${gone}`)
    await moveTo(NOON + 3 * DAY)
    const waiting = {
      ...{ key: 'steps', user: { id: 'ada', name: 'Ada L.' }, value: 4 },
      ...{ attributes: { kind: 'walk' }, idempotencyKey: 'q' },
    }
    const asleep = tenant.through(newApp({ TIMEKEEPER: UNREACHED }))
    const first = { key: 'steps', user: { id: stranger }, value: 1 }
    const batch = await asleep.admin('POST', '/metrics/events', [first, waiting])
    const batchId = batch.headers.get('x-batch-id')
    await env.DB.prepare("INSERT INTO parked_events VALUES (?1, ?2, 4, ?3, 'too big')")
      .bind(tenant.id, batchId, '{"kind":"event","body":{"user":{"id":"ada"},"value":1}}')
      .run()

    const { status, headers, body } = await exported(tenant, 'ada')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    const localDate = dateAt(NOON + 9 * HOUR)
    const moment = { date: new Date(NOON).toISOString(), localDate, utcOffsetMinutes: 540 }
    const ids = responses.map((answer) => at(answer.body, 'eventId'))
    expect(body).toMatchObject({
      exported: new Date(NOON + 3 * DAY).toISOString(),
      user: (await tenant.app('GET', '/users/ada')).body,
      attributes: [
        { id: team, key: 'team', value: 'x' },
        { id: plan, key: 'plan', value: 'y' },
      ],
      preferences: {
        notifications: { recap: ['push'], reactivation: [] },
        streak: {
          ...{ enabled: true, evaluationMode: 'AND' },
          metrics: [{ metricId: other, metricKey: null, threshold: 1.5 }],
        },
      },
      metrics: [
        { metricId: metric, metricKey: 'steps', total: 2.5, highest: 2.5 },
        { metricId: other, metricKey: null, total: 7, highest: 7 },
      ],
      points: [{ systemId: system, systemKey: 'xp', total: 40 }],
      achievements: [{ achievementId: achievement, achievementKey: 'first', ...moment }],
      boosts: [{ id: boost, systemId: system, systemKey: 'xp', name: 'Double', multiplier: 2, end: null }],
      applicationKeys: [{ prefix: key.split('.')[0], created: new Date(NOON).toISOString() }],
      waitingEvents: [{ batchId, position: 1, ...waiting }],
      parkedEvents: [{ batchId, position: 4, event: { kind: 'event' }, reason: 'too big' }],
      awards: [
        { systemId: system, systemKey: 'xp', awarded: 40, total: 40, ...moment, boosts: [{ id: boost }] },
      ],
      leaderboards: [
        {
          ...{ leaderboardId: board, leaderboardKey: 'board', start: localDate, end: localDate },
          ...{ isFinal: true, group: [], value: 2.5, reached: moment.date },
        },
      ],
    })
    expect(at(body, 'events')).toEqual([
      {
        ...{ id: ids[0], metricId: metric, metricKey: 'steps', value: 2.5, ...moment },
        attributes: [
          { id: kind, key: 'kind', value: 'run' },
          { id: gone, key: null, value: 'yes' },
        ],
        streak: [{ kind: 'started', length: 1 }],
      },
      { id: ids[1], metricId: other, metricKey: null, value: 7, ...moment, attributes: [], streak: [] },
    ])
    expect(at(body, 'idempotencyKeys')).toEqual([
      { metricId: metric, metricKey: 'steps', key: 'one', eventId: ids[0] },
      { metricId: other, metricKey: null, key: 'two', eventId: ids[1] },
    ])
    const streak = at(body, 'streak')
    expect(streak).toMatchObject({
      now: { length: 0 },
      stored: { run: null, frequency: 'daily' },
      past: [{ started: localDate, firstPeriod: localDate, periods: '1e', length: 1 }],
      pauses: [{ id: pause, start: pauses[0]?.start, end: pauses[0]?.end, deleted: null }],
    })
    const text = JSON.stringify(body)
    for (const secret of [stranger, '12345', key.split('.')[1] ?? '', 'hash', 'tenant'])
      expect(text).not.toContain(secret)
  })

  it('[U8, E1] has sums of a period that go from one end of all totals to the other', async () => {
    const tenant = await newTenantInLast()
    await tenant.metric('steps')
    const begun = await tenant.clock('GET')
    const events = (count: number, value: number) =>
      Promise.all(Array.from({ length: count }, () => tenant.event('steps', 'ada', value)))
    await events(9, 1_000_000_000)
    await tenant.moveClock(begun + 86_400_000)
    await events(18, -1_000_000_000)
    const { status, body } = await exported(tenant, 'ada')
    expect([status, at(body, 'streak', 'stored', 'sums', 0, 'change')]).toEqual([200, -18_000_000_000])
    await tenant.clock('DELETE')
  })

  it('[U8] has a long log in full, as of the moment at which the export began', async () => {
    const tenant = await newTenantInLast()
    const metric = await tenant.metric('steps')
    await tenant.event('steps', 'ada', 1)
    await grow(tenant, 'ada', metric, 12_000)
    const bindings = beforePage(2, () => tenant.event('steps', 'ada', 5, { idempotencyKey: 'later' }))
    const { status, body } = await exported(tenant.through(newApp(bindings)), 'ada')
    expect(status).toBe(200)
    const values = pick(at(body, 'events'), 'value')
    expect(values).toEqual([...Array.from({ length: 12_000 }, (_, n) => n + 1), 1])
    expect(new Set(pick(at(body, 'events'), 'id')).size).toBe(12_001)
    const keys = pick(at(body, 'idempotencyKeys'), 'key')
    expect(keys.filter((key) => key !== 'later')).toHaveLength(12_000)
    expect(at(body, 'metrics', 0, 'total')).toBe(1)
    expect(at((await exported(tenant, 'ada')).body, 'events', 12_001, 'value')).toBe(5)
  })

  it.each([
    ['a part can’t be read', () => Promise.reject(new Error('Network connection lost.'))],
    ['the user is erased meanwhile', (tenant: TestTenant) => tenant.admin('DELETE', '/users/ada')],
  ])('[U8] breaks off if %s', async (_what, fault) => {
    const tenant = await newTenantInLast()
    const metric = await tenant.metric('steps')
    await tenant.event('steps', 'ada', 1)
    await grow(tenant, 'ada', metric, 2_000)
    const request = new Request('http://laurel.test/admin/v1/users/ada/export', {
      headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id },
    })
    const bindings = { ...env, ...beforePage(1, () => fault(tenant)) }
    // Not through the harness, which reads responses to their end.
    const response = await createApp(newInstance).fetch(request, bindings, createExecutionContext())
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })
})
