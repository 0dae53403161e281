/**
 * Tests that need a running server: many requests, each with its own context, cancelled requests, a real client.
 */
import { request } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { TrophyApiClient, TrophyApiError } from '@trophyso/node'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { firstEventOf } from '../helpers/conformance'
import { type Answer, newProject, type Server, startServer } from '../helpers/server/harness'
import { SERVER_START } from '../helpers/time'
import {
  type Ask,
  callsOf,
  carryOn,
  fault,
  operations,
  send as sendTo,
  settle,
  specOf,
} from '../helpers/walk'

const DAY = 86_400_000

let server: Server

beforeAll(async () => {
  server = await startServer({ folder: await newProject(), clock: SERVER_START })
})
afterAll(async () => {
  // At the end, because real time is far behind the clock, and no request could move it forward so far (C1).
  const reset = specOf('admin_test_clock_reset')
  expect(fault(reset, await sendTo(reset, {}, ask))).toBeNull()
})

const ask: Ask = async (method, path, headers, body) => {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { status, headers: came } = response
  return { status, headers: came, body: await (await firstEventOf(response)).json() }
}

type Reply = Pick<Answer, 'status' | 'body'>

const send = async (method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Reply> => {
  const answer = await server.ask(method, path, body, {}, signal)
  return { status: answer.status, body: answer.body }
}

const event = (user: string, metric: string, signal?: AbortSignal) =>
  send('POST', `/v1/metrics/${metric}/event`, { user: { id: user }, value: 1 }, signal)

let noon = SERVER_START
/** A noon that no earlier test has reached. Streaks and boosts from before it are over. */
function nextNoon(): number {
  noon += 30 * DAY
  return noon
}

describe('parallel requests', () => {
  it('[E3] a leading request that is cancelled blocks no request behind it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = `cancelled-${round}`
      const leader = leadAndHangUp(user, round)
      const followers = await Promise.all(Array.from({ length: 20 }, () => event(user, 'demo-lessons')))
      await leader
      expect(followers.map(({ status }) => status)).toEqual(Array(20).fill(201))
      const totals = followers.map(({ body }) => Number(body.total)).sort((a, b) => a - b)
      // The leader's own event may have counted or not. No other event is lost or counted twice.
      const { body } = await event(user, 'demo-lessons')
      expect([21, 22]).toContain(body.total)
      expect(new Set(totals).size).toBe(20)
    }
  })

  it('[P11] requests that read all users share one read; a cancelled one blocks no other', async () => {
    await event('scanned', 'demo-lessons')
    const paths = [
      '/v1/points/demo-xp/summary',
      '/v1/points/demo-xp/level-summary',
      '/v1/streaks/rankings?limit=100',
      '/admin/v1/users?search=scanned',
    ]
    const alone: Reply[] = []
    for (const path of paths) alone.push(await send('GET', path))
    for (const milliseconds of [0, 5]) {
      const cancelled = new AbortController()
      const gone = paths.map((path) => send('GET', path, undefined, cancelled.signal).catch(() => null))
      const replies = Promise.all(Array.from({ length: 20 }, (_, n) => send('GET', paths[n % 4] ?? '')))
      setTimeout(() => cancelled.abort(), milliseconds)
      expect(await replies).toEqual(Array.from({ length: 20 }, (_, n) => alone[n % 4]))
      await Promise.all(gone)
    }
  })
})

/**
 * Sends an event on its own connection, and destroys the connection some milliseconds after the request is
 * sent.
 */
function leadAndHangUp(user: string, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const leader = request(`${server.url}/v1/metrics/demo-lessons/event`, {
      method: 'POST',
      agent: false,
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    })
    leader.on('error', () => resolve())
    leader.on('close', () => resolve())
    leader.end(JSON.stringify({ user: { id: user }, value: 1 }), () => {
      setTimeout(() => leader.destroy(), milliseconds)
    })
  })
}

describe('idempotency keys, as bytes', () => {
  /**
   * Sends an event whose key has these bytes. If the body is not a string, Node writes headers as Latin-1,
   * one byte for each character.
   */
  const eventOf = (user: string, ...keys: Buffer[]): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...{ 'x-api-key': server.adminKey, 'content-type': 'application/json' },
        'idempotency-key': keys.map((key) => key.toString('latin1')),
      }
      const sent = request(`${server.url}/v1/metrics/demo-lessons/event`, { method: 'POST', headers })
      sent.on('error', reject).on('response', async (response) => {
        const text = (await response.toArray()).join('')
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) })
      })
      sent.end(Buffer.from(JSON.stringify({ user: { id: user }, value: 1 })))
    })

  it('[E4] a key that is not UTF-8 is 422, and a valid one counts', async () => {
    const broken = [
      Buffer.from([0x6b, 0xe9]),
      Buffer.from([0x6b, 0xff]),
      Buffer.from([0xc3]),
      Buffer.from('k\uFFFD'),
    ]
    const refused = await Promise.all(broken.map((key) => eventOf('bytes', key)))
    for (const { status, body } of refused) {
      expect([status, body.error]).toEqual([
        422,
        expect.stringContaining('idempotency-key: must not contain U+FFFD'),
      ])
    }
    const replies = await Promise.all(
      ['k\u00E9', 'k\u00FF', '\u{1F511}'].map((key) => eventOf('bytes', Buffer.from(key))),
    )
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(replies.map(({ body }) => body.idempotencyKey)).toEqual(['k\u00E9', 'k\u00FF', '\u{1F511}'])
  })

  it('[E4] a key in two headers is one key, and two keys are 422', async () => {
    const [a, b] = [Buffer.from('a'), Buffer.from('b')]
    expect((await eventOf('twice', a)).body).toMatchObject({ idempotencyKey: 'a', idempotentReplayed: false })
    const replay = await eventOf('twice', a, a)
    expect(replay.body).toMatchObject({ idempotencyKey: 'a', idempotentReplayed: true })
    expect((await eventOf('twice', a, b)).status).toBe(422)
  })
})

it('[G2] nothing on the way to the Worker decodes a compressed body', async () => {
  const body = JSON.stringify({ user: { id: 'compressed' }, value: 1 })
  const statusOf = async (encoding: string, bytes: Uint8Array) => {
    const headers = { 'x-api-key': server.adminKey, 'content-encoding': encoding }
    const url = `${server.url}/v1/metrics/demo-lessons/event`
    return (await fetch(url, { method: 'POST', headers, body: new Uint8Array(bytes) })).status
  }
  expect(await statusOf('gzip', gzipSync(body))).toBe(201)
  expect(await statusOf('deflate', deflateSync(body))).toBe(201)
  expect(await statusOf('gzip', Buffer.from(body))).toBe(400)
  expect(await statusOf('br', brotliCompressSync(body))).toBe(415)
  expect(await statusOf('gzip', gzipSync(new Uint8Array(2 ** 24)))).toBe(413)
})

type Watched = [name: string, method: { mock: { calls: unknown[] } }]

/**
 * Watches the public methods of a client and of its resources, by reflection. Resources are the values of its
 * getters. Answers the methods by their names, such as `users.get`.
 */
function watchedMethods(target: object, path: readonly string[] = []): Watched[] {
  const prototype = Object(Object.getPrototypeOf(target))
  const properties = Object.entries(Object.getOwnPropertyDescriptors(prototype))
  return properties.flatMap(([name, { get, value }]): Watched[] => {
    const at = [...path, name]
    if (name === 'constructor' || name.startsWith('_')) return []
    if (typeof value === 'function') return [[at.join('.'), vi.spyOn(prototype, name)]]
    const resource: unknown = get?.call(target)
    return typeof resource === 'object' && resource !== null ? watchedMethods(resource, at) : []
  })
}

const client = () =>
  new TrophyApiClient({
    apiKey: server.adminKey,
    environment: { api: `${server.url}/v1`, admin: `${server.url}/admin/v1` },
  })

// In order, because the walk at the end changes what the tests before it read, and tests count what was called.
describe('one service, in order', { shuffle: false }, () => {
  // The last test says which methods were called.
  describe('the npm client', () => {
    let methods: Watched[]
    let start: number
    const at = (days: number) => new Date(start + days * DAY)
    const date = (days: number) => at(days).toISOString().slice(0, 10)
    const move = async (days: number) =>
      expect((await send('PUT', '/admin/v1/test-clock', { now: at(days).toISOString() })).status).toBe(200)
    const lesson = (id: string, value = 1) =>
      client().metrics.event('demo-lessons', { user: { id, name: id.toUpperCase() }, value })

    beforeAll(() => {
      methods = watchedMethods(client())
      start = nextNoon()
      return move(0)
    })

    it('creates, changes and reads a user, with dates as dates, and one error for all failures', async () => {
      const { users } = client()
      const made = await users.create({ id: 'client', name: 'Client', tz: 'Asia/Kathmandu' })
      expect(made).toMatchObject({ id: 'client', tz: 'Asia/Kathmandu', created: at(0) })
      const identified = await users.identify('client', { email: 'client@example.com' })
      expect(identified).toMatchObject({ name: 'Client', email: 'client@example.com' })
      expect(await users.update('client', { name: 'Renamed' })).toMatchObject({ name: 'Renamed' })
      expect((await users.get('client')).created).toEqual(made.created)
      await expect(users.update('nobody', { name: 'x' })).rejects.toThrow(TrophyApiError)
      const notifications = { streakReminder: ['push' as const], recap: [] }
      const changed = await users.updatePreferences('client', { notifications })
      expect(changed).toEqual({ notifications })
      expect(await users.getPreferences('client')).toEqual(changed)
    })

    it('sends events with idempotency keys, and reads points, metrics and summaries', async () => {
      const { metrics, users, points } = client()
      const send = () =>
        metrics.event('demo-lessons', { user: { id: 'client' }, value: 2, idempotencyKey: 'lesson' })
      const first = await send()
      expect(first).toMatchObject({ total: 2, idempotentReplayed: false, idempotencyKey: 'lesson' })
      expect(first.points['demo-xp']).toMatchObject({ total: 20, added: 20 })
      expect(await send()).toMatchObject({ eventId: first.eventId, total: 2, idempotentReplayed: true })
      expect(await users.points('client', 'demo-xp', { awards: 1 })).toMatchObject({ total: 20 })
      expect(await users.allMetrics('client')).toHaveLength(3)
      expect(await users.singleMetric('client', 'demo-lessons')).toMatchObject({ current: 2 })
      const range = { aggregation: 'daily', startDate: date(0), endDate: date(0) } as const
      expect(await users.metricEventSummary('client', 'demo-lessons', range)).toHaveLength(1)
      expect(await users.pointsEventSummary('client', 'demo-xp', range)).toHaveLength(1)
      expect(await points.summary('demo-xp')).not.toEqual([])
      expect(await points.system('demo-xp')).toMatchObject({ name: 'XP' })
    })

    it('reads leaderboards, with nulls as undefined', async () => {
      const { metrics, users, leaderboards } = client()
      const user = { id: 'racer', name: 'Racer' }
      const event = await metrics.event('demo-minutes', { user, value: 1_000_000 })
      expect(event.leaderboards['demo-weekly-xp']).toMatchObject({ rank: 1, previousRank: undefined })
      expect(await leaderboards.all()).toHaveLength(4)
      const board = await leaderboards.get('demo-weekly-xp', { limit: 1 })
      expect(board.rankings).toMatchObject([{ userId: 'racer', userName: 'Racer', rank: 1 }])
      const place = await users.leaderboard('racer', 'demo-weekly-xp')
      expect(place).toMatchObject({ rank: 1, value: 500_000, history: [{ rank: 1, value: 500_000 }] })
      expect((await users.leaderboard('racer', 'demo-all-time')).rank).toBeUndefined()
    })

    it('sees streaks and achievements in responses to events, and reads achievements', async () => {
      const { achievements, users } = client()
      const first = await lesson('steady')
      expect(first.achievements).toMatchObject([{ key: 'demo-first-lesson', achievedAt: at(0) }])
      expect(first.currentStreak).toMatchObject({ extended: true, length: 1, expires: date(1) })
      await move(1)
      expect((await lesson('steady', 2)).currentStreak).toMatchObject({ length: 2, expires: date(2) })
      const user = { id: 'steady', email: 's@example.com' }
      const done = await achievements.complete('demo-profile', { user })
      expect(done.achievement).toMatchObject({ key: 'demo-profile', trigger: 'api', achievedAt: at(1) })
      const again = await achievements.complete('demo-profile', { user: { id: 'steady' } })
      expect(again.completionId).toBe(done.completionId)
      await expect(achievements.complete('nope', { user })).rejects.toThrow(TrophyApiError)
      expect(await achievements.all()).toMatchObject([
        {},
        { completions: 0 },
        { completions: 1 },
        { key: 'demo-year', trigger: 'anniversary' },
      ])
      const had = await users.achievements('steady')
      expect(had.map(({ achievedAt }) => achievedAt)).toEqual([at(0), at(1)])
      const [, , onFire] = await users.achievements('steady', { includeIncomplete: 'true' })
      expect(onFire).toMatchObject({ key: 'demo-on-fire', streakLength: 7, achievedAt: undefined })
    })

    /** Issues about users: in the contract's words, and in the words of the client. */
    const issue = (userId: string, severity: 'error' | 'warning', pattern: RegExp) => {
      const text = expect.stringMatching(pattern)
      return { userId, severity, level: severity, message: text, reason: text }
    }

    it('sees a streak lost, restored and ranked, and grants a freeze', async () => {
      const { users, streaks, admin } = client()
      expect(await admin.streaks.freezes.create({ freezes: [{ userId: 'steady' }] })).toEqual({
        issues: [],
      })
      const freezes = [{ userId: 'ghost' }, { userId: 'steady' }]
      expect(await admin.streaks.freezes.create({ freezes })).toMatchObject({
        issues: [issue('ghost', 'error', /no user/), issue('steady', 'warning', /None was granted/)],
      })
      await move(5)
      const { streakHistory, ...lost } = await users.streak('steady', { historyPeriods: 6 })
      expect(lost).toMatchObject({ length: 0, freezes: 0 })
      expect(streakHistory?.map(({ length }) => length)).toEqual([1, 2, 2, 2, 0, 0])
      expect(streakHistory?.map(({ usedFreeze }) => usedFreeze).indexOf(true)).toBe(2)
      const asked = [{ id: 'ghost' }, { id: 'steady' }]
      expect(await admin.streaks.restore({ users: asked })).toMatchObject({
        restoredUsers: ['steady'],
        issues: [issue('ghost', 'error', /no user/)],
      })
      expect(await admin.streaks.restore({ users: asked })).toMatchObject({
        restoredUsers: [],
        issues: [issue('ghost', 'error', /no user/), issue('steady', 'warning', /Nothing was restored/)],
      })
      await lesson('newcomer')
      expect(await streaks.list({ userIds: ['newcomer', 'nobody', 'steady'] })).toEqual([
        { userId: 'steady', streakLength: 2 },
        { userId: 'newcomer', streakLength: 1, extended: at(5).toISOString() },
      ])
      const first = { userId: 'steady', name: 'STEADY', streakLength: 2 }
      expect(await streaks.rankings({ type: 'longest', limit: 1 })).toEqual([first])
    })

    it('reads the year', async () => {
      const { activity } = await client().users.wrapped('steady', { year: at(0).getUTCFullYear() })
      expect(activity).toMatchObject({ daysActive: 2, mostActiveDay: { date: date(0) } })
      expect(activity.entireYear.longestStreak).toMatchObject({ length: 2, started: date(0) })
      await expect(client().users.wrapped('nobody')).rejects.toThrow(TrophyApiError)
    })

    it('every method was called', () => {
      const names = methods.map(([name]) => name)
      expect(names).toContain('admin.streaks.freezes.create')
      expect(names.length).toBeGreaterThanOrEqual(25)
      expect(methods.filter(([, { mock }]) => mock.calls.length === 0).map(([name]) => name)).toEqual([])
    })
  })

  describe('every operation, over HTTP', () => {
    let start: number
    const at = (days: number) => new Date(start + days * DAY).toISOString()
    /** The operations that returned a success without issues. */
    const answered = new Set<string>()

    /**
     * Calls an operation. The response must be as its entry in src/worker/operations.ts says.
     * test/helpers/server/setup.ts checks the body.
     */
    const calling = async (id: string, call: Parameters<typeof sendTo>[1] = {}) => {
      const spec = specOf(id)
      const told = await sendTo(spec, call, ask)
      expect(fault(spec, told)).toBeNull()
      answered.add(id)
      return told
    }

    it('operations of tenants respond as documented, in a world that is some days old', async () => {
      const move = (days: number) => calling('admin_test_clock_set', { body: { now: at(days) } })
      start = nextNoon()
      await move(0)
      const day = (days: number) => at(days).slice(0, 10)
      const world = await settle({ ask, mark: 'http', factor: 2, day })
      for (const days of [1, 2, 3]) {
        await move(days)
        await carryOn(world, days)
      }
      expect((await calling('admin_test_clock_get')).body).toEqual({ now: at(3) })
      for (const spec of operations) {
        if (spec.account) continue
        for (const call of callsOf(spec, world)) await calling(spec.id, call)
      }
    })

    it('operations of the account respond as documented; operations on tenants need MULTI_TENANCY', async () => {
      const made = await calling('admin_admin_keys_create', { body: [{ name: 'One' }] })
      const [{ id, key }] = Object(made.body).created
      const listed = await fetch(`${server.url}/admin/v1/admin-api-keys`, { headers: { 'x-api-key': key } })
      expect(listed.status).toBe(200)
      const { body: keys } = await calling('admin_admin_keys_list')
      expect(keys).toContainEqual(expect.objectContaining({ id, name: 'One' }))
      await calling('admin_admin_keys_rotate', { params: { id } })
      const refused = await fetch(`${server.url}/admin/v1/admin-api-keys`, { headers: { 'x-api-key': key } })
      expect(refused.status).toBe(401)
      await calling('admin_admin_keys_delete', { query: { ids: id } })
      await calling('admin_status')
      await calling('admin_session_get')
      await calling('admin_environments_list')
      await calling('admin_databases')
      await calling('admin_databases_rebalance', { body: { weights: { DB: 1 } } })
      for (const spec of operations.filter(({ path }) => path.startsWith('/tenants'))) {
        const call = {
          params: { id },
          query: spec.method === 'delete' ? { ids: id } : {},
          body: spec.method === 'post' ? [{ customerId: 'a', name: 'A' }] : [{ id }],
        }
        const { status, body } = await sendTo(spec, spec.body ? call : { ...call, body: undefined }, ask)
        expect([spec.id, status, Object(body).error]).toEqual([
          spec.id,
          422,
          expect.stringContaining('MULTI_TENANCY'),
        ])
        answered.add(spec.id)
      }
    })

    it('leaves no operation out', () => {
      // The end of this file calls the last one.
      expect(operations.map(({ id }) => id).filter((id) => !answered.has(id))).toEqual([
        'admin_test_clock_reset',
      ])
    })
  })
})
