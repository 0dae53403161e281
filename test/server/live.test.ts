/** What only a running server shows: many requests, each in a context of its own, cancelled ones, restarts, a real client. */
import { request } from 'node:http'
import { TrophyApiClient, TrophyApiError } from '@trophyso/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newProject, type Server, startServer } from './harness'

let server: Server
let folder: string

beforeAll(async () => {
  folder = await newProject()
  server = await startServer({ folder })
})
afterAll(() => server.stop())

type Reply = { status: number; body: Record<string, unknown> }

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Reply> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  return { status: response.status, body: await response.json() }
}

const event = (user: string, metric: string, signal?: AbortSignal) =>
  send('POST', `/v1/metrics/${metric}/event`, { user: { id: user }, value: 1 }, signal)

const ascending = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

describe('parallel requests', () => {
  it('E3: 200 events of one user over two metrics are exact, each answered with its own change', async () => {
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, n) => event('parallel', n % 2 === 0 ? 'demo-lessons' : 'demo-minutes')),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(200).fill(201))
    for (const parity of [0, 1]) {
      const totals = replies.filter((_, n) => n % 2 === parity).map(({ body }) => Number(body.total))
      expect(totals.sort((a, b) => a - b)).toEqual(ascending(100))
    }
    const { body } = await send('GET', '/v1/users/parallel/points/demo-xp')
    expect(body.total).toBe(100 * 10 + 10 * 5)
  })

  it('E3: a leading request that is cancelled hangs none of those behind it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = `cancelled-${round}`
      const leader = leadAndHangUp(user, round)
      const followers = await Promise.all(Array.from({ length: 20 }, () => event(user, 'demo-lessons')))
      await leader
      expect(followers.map(({ status }) => status)).toEqual(Array(20).fill(201))
      const totals = followers.map(({ body }) => Number(body.total)).sort((a, b) => a - b)
      // The leader's own event may have counted or not; nobody else's is lost or doubled.
      const { body } = await event(user, 'demo-lessons')
      expect([21, 22]).toContain(body.total)
      expect(new Set(totals).size).toBe(20)
    }
  })
})

/** Sends an event on a connection of its own, and destroys it so many milliseconds after the request is out. */
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

const client = () =>
  new TrophyApiClient({
    apiKey: server.adminKey,
    environment: { api: `${server.url}/v1`, admin: `${server.url}/admin/v1` },
  })

describe('the npm client', () => {
  it('creates and updates users, and reads them', async () => {
    const { users } = client()
    const made = await users.create({ id: 'client', name: 'Client', tz: 'Asia/Kathmandu' })
    expect(made).toMatchObject({ id: 'client', name: 'Client', tz: 'Asia/Kathmandu', control: false })
    expect(await users.identify('client', { email: 'client@example.com' })).toMatchObject({
      name: 'Client',
      email: 'client@example.com',
    })
    expect(await users.update('client', { name: 'Renamed' })).toMatchObject({ name: 'Renamed' })
    expect((await users.get('client')).created).toEqual(made.created)
    await expect(users.update('nobody', { name: 'x' })).rejects.toThrow(TrophyApiError)
  })

  it('sends events with idempotency keys, and reads points, metrics and summaries', async () => {
    const { metrics, users, points } = client()
    const send = () =>
      metrics.event('demo-lessons', { user: { id: 'client' }, value: 2, idempotencyKey: 'lesson' })
    const first = await send()
    expect(first).toMatchObject({ total: 2, idempotentReplayed: false, idempotencyKey: 'lesson' })
    expect(first.points['demo-xp']).toMatchObject({ total: 20, added: 20 })
    const again = await send()
    expect(again).toMatchObject({ eventId: first.eventId, total: 2, idempotentReplayed: true, points: {} })

    expect(await users.points('client', 'demo-xp', { awards: 1 })).toMatchObject({ total: 20 })
    expect(await users.allMetrics('client')).toHaveLength(2)
    expect(await users.singleMetric('client', 'demo-lessons')).toMatchObject({ current: 2 })
    const today = new Date().toISOString().slice(0, 10)
    const range = { aggregation: 'daily', startDate: today, endDate: today } as const
    expect(await users.metricEventSummary('client', 'demo-lessons', range)).toHaveLength(1)
    expect(await users.pointsEventSummary('client', 'demo-xp', range)).toHaveLength(1)
    expect((await points.summary('demo-xp')).reduce((sum, { users }) => sum + users, 0)).toBeGreaterThan(0)
    expect(await points.system('demo-xp')).toMatchObject({ name: 'XP' })
  })

  it('sees leaderboards move, and reads them', async () => {
    const { metrics, users, leaderboards } = client()
    const event = await metrics.event('demo-minutes', {
      user: { id: 'racer', name: 'Racer' },
      value: 1_000_000,
    })
    expect(event.leaderboards['demo-weekly-xp']).toMatchObject({ rank: 1, previousRank: undefined })
    expect((await leaderboards.all()).map(({ key }) => key)).toEqual(['demo-weekly-xp', 'demo-all-time'])
    const board = await leaderboards.get('demo-weekly-xp', { limit: 1 })
    expect(board).toMatchObject({
      status: 'active',
      rankings: [{ userId: 'racer', userName: 'Racer', rank: 1 }],
    })
    const place = await users.leaderboard('racer', 'demo-weekly-xp')
    expect(place).toMatchObject({ rank: 1, value: 500_000, history: [{ rank: 1, value: 500_000 }] })
    expect((await users.leaderboard('racer', 'demo-all-time')).rank).toBeUndefined()
  })

  it('L11, L4: 100 parallel events of 50 users are ranked exactly, in a consistent sequence', async () => {
    const users = Array.from({ length: 50 }, (_, n) => `runner-${n}`)
    const values = users.flatMap((user, n) => [
      { user, value: 1_000 + n },
      { user, value: 1_000 + ((7 * n) % 50) },
    ])
    const replies = await Promise.all(
      values.map(({ user, value }) =>
        send('POST', '/v1/metrics/demo-lessons/event', { user: { id: user }, value }),
      ),
    )
    const total = new Map<string, number>()
    for (const { user, value } of values) total.set(user, (total.get(user) ?? 0) + value)
    const { body } = await send('GET', '/v1/leaderboards/demo-all-time?limit=50')
    const rankings = Object(body).rankings
    expect(rankings).toHaveLength(50)
    for (const [index, { userId, rank, value }] of rankings.entries()) {
      expect(rank).toBe(index + 1)
      expect(value).toBe(total.get(userId))
      if (index > 0) expect(value).toBeLessThanOrEqual(rankings[index - 1].value)
    }
    const places = replies.map((reply) => Object(reply.body).leaderboards['demo-all-time'])
    // A user's first event brings the user in, and nobody falls by an event of his own.
    expect(places.filter(({ previousRank }) => previousRank === null)).toHaveLength(50)
    for (const { rank, previousRank } of places) expect(rank).toBeLessThanOrEqual(previousRank ?? 50)
  })
})

describe('the test clock', () => {
  it('C1: stands still once set, also over a restart, and is the same for the next event', async () => {
    const now = new Date(Date.now() + 86_400_000).toISOString()
    expect(await send('PUT', '/admin/v1/test-clock', { now })).toEqual({ status: 200, body: { now } })
    await server.stop()
    server = await startServer({ folder })
    expect(await send('GET', '/admin/v1/test-clock')).toEqual({ status: 200, body: { now } })
    await event('clocked', 'demo-lessons')
    expect((await send('GET', '/v1/users/clocked')).body.created).toBe(now)
    expect((await send('DELETE', '/admin/v1/test-clock')).status).toBe(200)
  })
})

describe('the npm client, day by day', () => {
  const DAY = 86_400_000
  /** A noon some days ahead; six days later it is the same year. */
  let start = Math.ceil(Date.now() / DAY) * DAY + 1.5 * DAY
  const at = (days: number) => new Date(start + days * DAY)
  const date = (days: number) => at(days).toISOString().slice(0, 10)
  while (date(0).slice(0, 4) !== date(6).slice(0, 4)) start += DAY
  const move = async (days: number) =>
    expect((await send('PUT', '/admin/v1/test-clock', { now: at(days).toISOString() })).status).toBe(200)
  const lesson = (id: string, value = 1) =>
    client().metrics.event('demo-lessons', { user: { id, name: id.toUpperCase() }, value })

  beforeAll(() => move(0))
  afterAll(() => send('DELETE', '/admin/v1/test-clock'))

  it('is told of streaks and achievements by events', async () => {
    const first = await lesson('steady')
    expect(first.achievements).toMatchObject([
      { key: 'demo-first-lesson', trigger: 'metric', metricName: 'Lessons completed', metricValue: 1 },
    ])
    expect(first.achievements[0]?.achievedAt).toEqual(at(0))
    expect(first.currentStreak).toEqual({
      extended: true,
      length: 1,
      frequency: 'daily',
      started: date(0),
      periodStart: date(0),
      periodEnd: date(0),
      expires: date(1),
      freezes: 1,
      maxFreezes: 2,
      freezeAutoEarnInterval: 7,
      freezeAutoEarnAmount: 1,
    })
    await move(1)
    const second = await lesson('steady', 2)
    expect(second.achievements).toEqual([])
    expect(second.currentStreak).toMatchObject({ extended: true, length: 2, expires: date(2) })
  })

  it('completes achievements, and reads them', async () => {
    const { achievements, users } = client()
    const done = await achievements.complete('demo-profile', {
      user: { id: 'steady', email: 's@example.com' },
    })
    expect(done.achievement).toMatchObject({ key: 'demo-profile', name: 'Profile complete', trigger: 'api' })
    expect([done.achievement.achievedAt, done.points]).toEqual([at(1), {}])
    const again = await achievements.complete('demo-profile', { user: { id: 'steady' } })
    expect(again.completionId).toBe(done.completionId)
    expect((await users.get('steady')).email).toBe('s@example.com')
    await expect(achievements.complete('nope', { user: { id: 'steady' } })).rejects.toThrow(TrophyApiError)

    const all = await achievements.all()
    expect(all.map(({ key }) => key)).toEqual(['demo-first-lesson', 'demo-on-fire', 'demo-profile'])
    expect(all.map(({ completions }) => completions)).toEqual([expect.any(Number), 0, 1])
    expect(all[2]?.rarity).toBeCloseTo((all[0]?.rarity ?? 0) / (all[0]?.completions ?? 1), 1)
    const had = await users.achievements('steady')
    expect(had.map(({ key, achievedAt }) => [key, achievedAt])).toEqual([
      ['demo-first-lesson', at(0)],
      ['demo-profile', at(1)],
    ])
    const [, , onFire] = await users.achievements('steady', { includeIncomplete: 'true' })
    expect(onFire).toMatchObject({ key: 'demo-on-fire', trigger: 'streak', streakLength: 7, completions: 0 })
    expect(onFire?.achievedAt).toBeUndefined()
    const [lessons] = await users.allMetrics('steady')
    expect(lessons?.achievements.map(({ key }) => key)).toEqual(['demo-first-lesson'])
  })

  it('reads and changes preferences', async () => {
    const { users } = client()
    expect(await users.getPreferences('steady')).toEqual({ notifications: {} })
    await users.updatePreferences('steady', { notifications: { streakReminder: ['push'], recap: ['email'] } })
    const notifications = { streakReminder: ['push'], recap: [] }
    const changed = await users.updatePreferences('steady', { notifications: { recap: [] } })
    expect(changed).toEqual({ notifications })
    expect(await users.getPreferences('steady')).toEqual(changed)
  })

  it('sees a streak lost, restored and ranked, and grants a freeze', async () => {
    const { users, streaks, admin } = client()
    expect(await admin.streaks.freezes.create({ freezes: [{ userId: 'steady' }] })).toEqual({ issues: [] })
    expect(await users.streak('steady')).toMatchObject({ length: 2, freezes: 2 })
    await move(5)
    const { streakHistory, ...lost } = await users.streak('steady', { historyPeriods: 6 })
    expect(lost).toMatchObject({ length: 0, freezes: 0 })
    expect(streakHistory?.[0]).toMatchObject({ periodStart: date(0), periodEnd: date(0), usedFreeze: false })
    expect(streakHistory?.map(({ length }) => length)).toEqual([1, 2, 2, 2, 0, 0])
    expect(streakHistory?.map(({ usedFreeze }) => usedFreeze).indexOf(true)).toBe(2)
    expect(await streaks.rankings()).toEqual([])
    expect(await admin.streaks.restore({ users: [{ id: 'steady' }] })).toEqual({
      restoredUsers: ['steady'],
      issues: [],
    })
    expect(await users.streak('steady')).toMatchObject({ length: 2, started: date(3), expires: date(5) })
    await users.create({ id: 'idle' })
    await lesson('newcomer')
    expect(await streaks.list({ userIds: ['idle', 'newcomer', 'nobody', 'steady'] })).toEqual([
      { userId: 'steady', streakLength: 2 },
      { userId: 'newcomer', streakLength: 1, extended: at(5).toISOString() },
      { userId: 'idle', streakLength: 0 },
    ])
    const ranked = [
      { userId: 'steady', name: 'STEADY', streakLength: 2 },
      { userId: 'newcomer', name: 'NEWCOMER', streakLength: 1 },
    ]
    expect(await streaks.rankings()).toEqual(ranked)
    expect(await streaks.rankings({ type: 'longest', limit: 1 })).toEqual(ranked.slice(0, 1))
  })

  it('is told of the year', async () => {
    const { activity } = await client().users.wrapped('steady', { year: at(0).getUTCFullYear() })
    expect(activity).toMatchObject({ daysActive: 2, mostActiveDay: { date: date(0) } })
    const { metrics, points, achievements, longestStreak } = activity.entireYear
    expect(metrics['demo-lessons']).toMatchObject({ units: 'lessons', currentTotal: 3, percentChange: 100 })
    expect(points['demo-xp']).toMatchObject({ name: 'XP', currentTotal: 30 })
    expect(achievements.map(({ key }) => key)).toEqual(['demo-first-lesson', 'demo-profile'])
    expect(longestStreak).toMatchObject({ length: 2, started: date(0) })
    await expect(client().users.wrapped('nobody')).rejects.toThrow(TrophyApiError)
  })
})
