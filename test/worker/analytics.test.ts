import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { analyticsJob } from '../../src/features/analytics/counting'
import { instant, MINUTE } from '../../src/lib/clock'
import { workOf } from '../../src/time/due-work.sql.ts'
import { TODAY } from '../helpers/time'
import { AnalyticsWorld, beforeClocksChange, DAY, HOUR, type Step } from '../helpers/worker/analytics.world'
import { contextOf, whenBy } from '../helpers/worker/contexts'
import { makeDueAt } from '../helpers/worker/due-work'
import { faulty, lost } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  account,
  at,
  call,
  databases,
  newApp,
  newTenant,
  pick,
  rowsEverywhere,
  type TestTenant,
  until,
} from '../helpers/worker/harness'
import { withoutZeros } from '../oracle/analytics.oracle'
import { plusMonths } from '../oracle/calendar.oracle'

const date = (day: number) => new Date(day * DAY).toISOString().slice(0, 10)

const lastRow = (body: unknown) => z.array(z.looseObject({})).parse(at(body, 'series')).at(-1)

/** All figures of all tenants. */
const figures = () => rowsEverywhere('SELECT * FROM analytics_figures WHERE amount <> 0')

let tenant: TestTenant
let now: number

const wait = async (hours: number) => {
  now += hours * HOUR
  await tenant.clock('PUT', { now: new Date(now).toISOString() })
}

/** The overview of the last 30 days. */
const overview = async () => (await tenant.admin('GET', '/analytics/overview')).body

beforeEach(async () => {
  const tenants = pick((await account('GET', '/tenants?limit=100')).body, 'id')
  if (tenants.length > 0) await account('DELETE', `/tenants?ids=${tenants.join()}`)
  tenant = await newTenant()
  await tenant.clock('DELETE')
  now = (TODAY + 3) * DAY + 6 * HOUR
  await wait(0)
  await tenant.metric('words')
})

describe('random worlds', () => {
  it('[I1, I2] the figures equal a recount, in a month with each kind of change', async () => {
    const world = await AnalyticsWorld.begin(beforeClocksChange())
    const event = (user: number, zone: number | null = null): Step => ({
      do: 'event',
      user,
      zone,
      metric: 'm0',
      value: 5,
    })
    const days = (count: number): Step => ({ do: 'wait', hours: 24 * count })
    const hour: Step = { do: 'wait', hours: 1 }
    const parts: Step[][] = [
      [event(0), event(1, 3), event(2, 4), days(1), event(0), event(1, 4), { do: 'void', nth: 0 }, days(1)],
      [{ do: 'restore', user: 2 }, { do: 'rename' }, event(2), event(3), event(4), days(5)],
      // The week to tomorrow begins with the day of the event of user 3 before, and counts the user once.
      [event(3), hour, event(1), event(2)],
      [{ do: 'complete', user: 2 }, { do: 'adjust', user: 0, amount: 30 }, days(23)],
      // The same with user 4 and the month to tomorrow.
      [event(4), hour, event(0), days(1)],
      // An erased user has neither the first level any more, nor a higher one.
      [{ do: 'adjust', user: 3, amount: 15 }, hour, { do: 'erase', user: 3 }],
      [{ do: 'remove' }, { do: 'erase', user: 1 }, { do: 'revoke', user: 2, points: true }, days(1)],
      [{ do: 'back', hours: 30 }, event(0), event(2), { do: 'void', nth: 3 }, days(2)],
    ]
    for (const step of parts.flat()) await world.play(step)
  })

  it('[I2] a level does not move before the creation, if a user travels to an earlier date', async () => {
    const world = await AnalyticsWorld.begin(beforeClocksChange())
    const steps: Step[] = [
      { do: 'event', user: 0, metric: 'm0', value: 1, zone: null },
      { do: 'wait', hours: 21 },
      { do: 'event', user: 1, metric: 'm0', value: 5, zone: null },
      // To the date of the day before. The next tick takes a point there, so the total of that date is -1.
      { do: 'travel', user: 1, zone: 4 },
      { do: 'wait', hours: 26 },
    ]
    for (const step of steps) await world.play(step)
  })

  it('[I2] a level does not move before the creation, if levels change on the day before', async () => {
    const moment = beforeClocksChange()
    const { tenant: own } = await AnalyticsWorld.begin(moment)
    // The local date of the creation is tomorrow in UTC.
    await own.event('m0', { id: 'ada', tz: 'Pacific/Kiritimati' }, 1)
    const move = (hours: number) => own.clock('PUT', { now: new Date(moment + hours * HOUR).toISOString() })
    const byLevel = async () => {
      const query = `from=${date(Math.floor(moment / DAY))}&to=${date(Math.floor(moment / DAY) + 1)}`
      const { body } = await own.admin('GET', `/points/xp/analytics?${query}`)
      return z.array(z.looseObject({ byLevel: z.record(z.string(), z.number()) })).parse(at(body, 'series'))
    }
    const levels = async () =>
      (await byLevel()).map((row) => withoutZeros(new Map(Object.entries(row.byLevel))))
    await move(1)
    expect(await levels()).toEqual([{}, { none: 1 }])
    const { body } = await own.admin('GET', '/points/xp/levels')
    const ids = z.array(z.object({ id: z.string(), key: z.string() })).parse(body)
    const id = ids.find(({ key }) => key === 'none')?.id
    expect((await own.admin('PATCH', '/points/xp/levels', [{ id, points: 5 }])).body).toMatchObject({
      issues: [],
    })
    await move(2)
    expect(await levels()).toEqual([{}, {}])
  })
})

describe('ranges', () => {
  it('[I1] answers the last 30 days if no dates are given', async () => {
    const { status, body } = await tenant.admin('GET', '/analytics/overview')
    expect(status).toBe(200)
    const series = z.array(z.looseObject({ date: z.string() })).parse(at(body, 'series'))
    expect(series).toHaveLength(30)
    expect(series.at(-1)).toEqual({
      date: date(Math.floor(now / DAY)),
      newUsers: 0,
      activeUsers: 0,
      events: 0,
      points: {},
      achievements: 0,
    })
  })

  it.each([
    ['from=2026-02-30', 'from: must be a date written YYYY-MM-DD.'],
    ['from=2026-01-02&to=2026-01-01', 'from: must not be after to. Pass an earlier date.'],
    [
      'from=2025-01-01&to=2026-02-06',
      'from: must be at most 400 days before to. Ask for several shorter periods.',
    ],
  ])('[I1] refuses %s', async (query, error) => {
    for (const path of ['/analytics/overview', '/metrics/words/analytics']) {
      const { status, body } = await tenant.admin('GET', `${path}?${query}`)
      expect([status, at(body, 'error')]).toEqual([422, error])
    }
  })

  it('[I1] begin with the first date that there is, if `to` is soon after it', async () => {
    for (const path of ['/analytics/overview', '/metrics/words/analytics']) {
      const { body } = await tenant.admin('GET', `${path}?to=0001-01-02`)
      expect(pick(at(body, 'series'), 'date')).toEqual(['0001-01-01', '0001-01-02'])
    }
  })

  it('[G14] are the same without analytics in the path, also on the admin host', async () => {
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const query = '?from=2026-01-01&to=2026-01-02'
    const onAdminHost = newApp({ ADMIN_HOST: 'laurel.test', MULTI_TENANCY: 'on' })
    for (const [path, other] of [
      ['/analytics/overview', '/figures/overview'],
      ['/metrics/words/analytics', '/figures/metrics/words'],
    ]) {
      const { status, body } = await tenant.admin('GET', `${path}${query}`)
      expect(status).toBe(200)
      expect(await tenant.admin('GET', `${other}${query}`)).toMatchObject({ status, body })
      expect(await call(onAdminHost, 'GET', `/v1${other}${query}`, { headers })).toMatchObject({
        status,
        body,
      })
    }
    expect((await tenant.admin('GET', '/figures/metrics/unknown')).status).toBe(404)
    expect((await tenant.admin('GET', '/figures/users/words')).status).toBe(404)
  })

  it('[I1] answers 401 dates at most', async () => {
    const { body } = await tenant.admin('GET', '/analytics/overview?from=2025-01-01&to=2026-02-05')
    expect(at(body, 'series', 400, 'date')).toBe('2026-02-05')
  })

  it.each(['metrics', 'points', 'leaderboards', 'achievements'])(
    '[I2] answers 404 for unknown %s, by id or key',
    async (kind) => {
      for (const key of ['nothing', crypto.randomUUID()])
        expect((await tenant.admin('GET', `/${kind}/${key}/analytics`)).status).toBe(404)
    },
  )
})

describe('passes', () => {
  it('[I1] an event writes nothing for the analytics', async () => {
    await tenant.event('words', 'ada', 1)
    await wait(1)
    const before = await figures()
    await tenant.event('words', 'ada', 1)
    expect(await figures()).toEqual(before)
  })

  it('[I1] writes no figures if nothing has changed', async () => {
    await tenant.event('words', 'ada', 1)
    await wait(1)
    const before = await figures()
    const counted = await rowsEverywhere('SELECT * FROM counted_users')
    await wait(5)
    expect(await figures()).toEqual(before)
    expect(await rowsEverywhere('SELECT * FROM counted_users')).toEqual(counted)
    expect(at(await overview(), 'updated')).toBe(new Date(now).toISOString())
  })

  it.skipIf(databases().length > 1)(
    '[I1] a tenant without changes has no work, and the first change makes a pass due soon',
    async () => {
      const work = () => workOf(contextOf(tenant.id).db, 'analytics')
      expect(await work()).toBeUndefined()
      await tenant.event('words', 'ada', 1)
      expect((await work())?.dueAt).toBe(now + MINUTE)
      // A pass that has counted a user is followed by another one.
      await wait(1)
      expect((await work())?.dueAt).toBe(now + MINUTE)
      await wait(1)
      expect(await work()).toBeUndefined()
      // Other tenants are idle still.
      expect(await workOf(contextOf((await newTenant()).id).db, 'analytics')).toBeUndefined()
      await tenant.event('words', 'ada', 1)
      expect((await work())?.dueAt).toBe(now + MINUTE)
    },
  )

  // Each database has its own passes.
  it.skipIf(databases().length > 1)(
    '[I1] the next pass is due after a minute if few users have changed, else at the full hour',
    async () => {
      const due = async () => ((await workOf(contextOf(tenant.id).db, 'analytics'))?.dueAt ?? 0) - now
      for (let n = 0; n < 10; n += 1) await tenant.event('words', `user ${n}`, 1)
      await wait(1)
      expect(await due()).toBe(MINUTE)
      for (let n = 0; n < 11; n += 1) await tenant.event('words', `user ${n}`, 1)
      await wait(1)
      expect(await due()).toBe(HOUR)
    },
  )

  it('[I1] counts changes that the work of a move of the clock makes in an idle tenant', async () => {
    await tenant.event('words', 'ada', 1)
    await wait(2)
    await wait(1)
    expect(at(await overview(), 'streaks', 1, 'users')).toBe(1)
    await wait(72)
    expect(at(await overview(), 'streaks', 1, 'users')).toBe(0)
    expect(at(await overview(), 'streaks', 0, 'users')).toBe(1)
  })

  it('[I1, S10] all users have length 0 while streaks are off', async () => {
    await tenant.event('words', 'ada', 1)
    await wait(1)
    expect(at(await overview(), 'streaks', 1, 'users')).toBe(1)
    await tenant.admin('PATCH', '/streaks/settings', { enabled: false })
    expect(at(await overview(), 'streaks', 0, 'users')).toBe(1)
    expect(at(await overview(), 'streaks', 1, 'users')).toBe(0)
  })

  it('[I2] changed levels count from the date of the next pass on', async () => {
    await tenant.create('/points', { key: 'xp', name: 'XP' })
    await tenant.app('PUT', '/users/ada', {})
    await tenant.admin('POST', '/points/xp/adjustments', [{ userId: 'ada', amount: 50 }])
    await wait(1)
    const levels = async () => {
      const { body } = await tenant.admin('GET', '/points/xp/analytics')
      return z
        .array(z.looseObject({ byLevel: z.unknown() }))
        .parse(at(body, 'series'))
        .slice(-2)
    }
    const low = await tenant.create('/points/xp/levels', { key: 'low', name: 'Low', points: 10 })
    await wait(24)
    expect((await levels()).map(({ byLevel }) => byLevel)).toEqual([{ low: 0 }, { low: 1 }])
    await tenant.create('/points/xp/levels', { key: 'high', name: 'High', points: 40 })
    await wait(24)
    expect((await levels()).map(({ byLevel }) => byLevel)).toEqual([
      { low: 1, high: 0 },
      { low: 0, high: 1 },
    ])
    await tenant.admin('DELETE', `/points/xp/levels?ids=${low}`)
    await tenant.admin('DELETE', '/points/xp/levels?keys=high')
    await wait(24)
    // The deleted level is still in the row of the day on which it counted.
    expect((await levels()).map(({ byLevel }) => byLevel)).toEqual([{ high: 1 }, {}])
  })
})

describe('leaderboards', () => {
  it('[I2] counts the ranked users at the end of each day, and until the run is final', async () => {
    const start = date(Math.floor(now / DAY))
    const board = { rankBy: 'metric', metricKey: 'words', start, status: 'active', maxParticipants: 2 }
    await tenant.create('/leaderboards', { ...board, key: 'all', name: 'All' })
    const daily = { runUnit: 'day', runInterval: 1 }
    await tenant.create('/leaderboards', { ...board, ...daily, key: 'daily', name: 'Daily' })
    const participants = async (key: string) => {
      const { body } = await tenant.admin('GET', `/leaderboards/${key}/analytics?from=${start}`)
      const rows = z.array(z.object({ date: z.string(), participants: z.number() })).parse(at(body, 'series'))
      return rows.map((row) => row.participants)
    }
    expect(await participants('all')).toEqual([0])
    await tenant.event('words', 'ada', 1)
    expect(await participants('all')).toEqual([1])
    await wait(24)
    expect(await participants('all')).toEqual([1, 1])
    for (const user of ['bob', 'cy']) await tenant.event('words', user, 1)
    // It is still the first date here, so the first run gets it.
    await tenant.event('words', { id: 'dee', tz: 'Etc/GMT+12' }, 1)
    expect(await participants('all')).toEqual([1, 2])
    expect(await participants('daily')).toEqual([2, 2])
    await wait(48)
    expect(await participants('all')).toEqual([1, 2, 2, 2])
    expect(await participants('daily')).toEqual([2, 2, 0, 0])
  })
})

// They are faults of one database.
describe.skipIf(databases().length > 1)('faults', () => {
  /** Does steps of a pass until none is left. Every second write of D1 fails as `fault` says. */
  async function passWith(fault: (run: () => Promise<D1Result[]>) => Promise<D1Result[]>): Promise<number> {
    const { DB, seen } = faulty(({ run }, write) => (write % 2 === 0 ? fault(run) : run()))
    const { db } = contextOf(tenant.id)
    for (let step = 0; step < 50; step += 1) {
      const work = await workOf(db, 'analytics')
      if (work === undefined || work.dueAt > now) return seen.writes
      try {
        await analyticsJob.run(contextOf(tenant.id, DB), work, whenBy(instant(now)))
      } catch (error) {
        if (!String(error).includes('D1_ERROR')) throw error
      }
    }
    throw new Error('the pass did not end')
  }

  it('[I2, E1] the total of a metric may be beyond the total of a user', async () => {
    for (let n = 0; n < 10; n += 1) await tenant.event('words', `user-${n}`, 1_000_000_000)
    await wait(1)
    const { status, body } = await tenant.admin('GET', '/metrics/words/analytics')
    expect([status, lastRow(body)]).toMatchObject([200, { events: 10, total: 10_000_000_000 }])
  })

  it('[I1] a change during an empty pass is counted by the next one', async () => {
    await tenant.event('words', 'ada', 1)
    await wait(1)
    const { db } = contextOf(tenant.id)
    const work = await workOf(db, 'analytics')
    if (work === undefined) throw new Error('no pass is due')
    // The event is stored after the pass has read the users, before it stores its end.
    const { DB, seen } = faulty(async ({ run }, write) => {
      if (write === 1) await tenant.event('words', 'ada', 1)
      return run()
    })
    await analyticsJob.run(contextOf(tenant.id, DB), work, whenBy(instant(now)))
    expect(seen.writes).toBe(2)
    await wait(1)
    expect(lastRow(await overview())).toMatchObject({ events: 2 })
  })

  it('[I1] counts the points of an anniversary that comes late, after a pass', async () => {
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const year = { key: 'year', name: 'Year', trigger: 'anniversary', anniversaryYears: 1, status: 'active' }
    const achievementId = await tenant.create('/achievements', year)
    const trigger = { type: 'achievement', achievementId, points: 10, status: 'active' }
    await tenant.create(`/points/${system}/triggers`, trigger)
    await tenant.app('PUT', '/users/ada', { signUpDate: plusMonths(date(TODAY + 4), -12) })
    await wait(1)
    // The service stands still over that midnight. Then the pass is done first.
    now += DAY
    await rowsEverywhere('UPDATE test_clock SET now = ?1', now)
    await passWith((run) => run())
    await wait(1)
    expect(lastRow((await tenant.admin('GET', '/points/xp/analytics')).body)).toMatchObject({ added: 10 })
  })

  it.each([
    ['before they are stored', async () => Promise.reject(lost())],
    [
      'after they were stored',
      async (run: () => Promise<D1Result[]>) => {
        await run()
        throw lost()
      },
    ],
  ])('[I1] figures are exact if the answers of D1 are lost %s', async (_when, fault) => {
    const users = 700
    const items = Array.from({ length: users }, (_, nth) => ({
      key: 'words',
      user: { id: `u${nth}` },
      value: 1,
    }))
    const { headers } = await tenant.admin('POST', '/metrics/events', items)
    const batch = `/metrics/events/batches/${headers.get('x-batch-id')}`
    await until(async () => at((await tenant.admin('GET', batch)).body, 'status') === 'done')
    await makeDueAt({ tenant, kind: 'analytics' }, now)
    expect(await passWith(fault)).toBeGreaterThan(2)
    expect(lastRow(await overview())).toMatchObject({ newUsers: users, activeUsers: users, events: users })
    await wait(1)
    expect(lastRow(await overview())).toMatchObject({ newUsers: users, activeUsers: users, events: users })
  })
})
