import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { START as PRESENT } from '../helpers/time'
import { forgetTime, moveTo } from '../helpers/worker/boards'
import { dueWork, forgetDueWork, makeDueAt } from '../helpers/worker/due-work'
import { at, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'

/** A year that is far enough in the future, since the clock only moves forward. 2036-01-01 is a Tuesday. */
const START = Date.parse('2035-12-30T12:00:00Z')
const DAY = 86_400_000

let reached = 0

/** Moves the clock, in steps that it allows. */
async function to(time: string | number): Promise<void> {
  const end = typeof time === 'number' ? time : Date.parse(time)
  for (let next = Math.max(reached, PRESENT); next < end; ) {
    next = Math.min(end, next + 399 * DAY)
    await moveTo(next)
  }
  reached = end
}

type Who = string | Record<string, unknown>

async function event(tenant: TestTenant, metric: string, user: Who, value: number, page?: string) {
  const { status, body } = await tenant.event(metric, user, value, page ? { attributes: { page } } : {})
  expect([status, body]).toMatchObject([201, {}])
}

const wrapped = async (tenant: TestTenant, user: string, query = '') => {
  const { status, body } = await tenant.app('GET', `/users/${user}/wrapped${query}`)
  expect([status, body]).toMatchObject([200, {}])
  return at(body, 'activity')
}

const sums = (currentTotal: number, changeThisPeriod: number, percentChange: number) => {
  return { currentTotal, changeThisPeriod, percentChange }
}

const NO_STREAK = { length: 0, frequency: 'daily', periodStart: null, periodEnd: null, started: null }
const NOTHING = { metrics: {}, points: {}, achievements: [], leaderboards: {} }

afterAll(forgetTime)

/** Begins the time of a block of tests, whichever block was first. */
async function beginAt(time: string | number): Promise<void> {
  await forgetTime()
  reached = 0
  await to(time)
}

// In order, because it is one story: the clock moves on, and what was counted by then is read.
describe('a year', { shuffle: false }, () => {
  let tenant: TestTenant

  beforeAll(async () => {
    await beginAt(START)
    tenant = await newTenant()
    const words = await tenant.create('/metrics', { key: 'words', name: 'Words', units: 'w' })
    await tenant.create('/metrics', { key: 'steps', name: 'Steps' })
    await tenant.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
    const trigger = { type: 'metric', points: 1, status: 'active', metricId: words, metricThreshold: 1 }
    const boosts = [{ name: 'Double', multiplier: 2, start: '2036-03-30', end: '2036-03-30' }]
    await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger], boosts })
    const achievement = { status: 'active', description: '', badgeUrl: null }
    await tenant.create('/achievements', {
      ...achievement,
      ...{ key: 'reader', name: 'Reader', trigger: 'metric', metricId: words, metricValue: 13 },
    })
    await tenant.create('/achievements', { ...achievement, key: 'hello', name: 'Hello', trigger: 'api' })
    const board = { rankBy: 'metric', metricId: words, start: '2036-01-01' }
    const started = { ...board, status: 'scheduled' }
    const monthly = { key: 'monthly', name: 'M', runUnit: 'month', runInterval: 1 }
    await tenant.create('/leaderboards', { ...started, ...monthly })
    await tenant.create('/leaderboards', { ...started, key: 'january', name: 'J', end: '2036-01-31' })
    await tenant.create('/leaderboards', { ...started, key: 'perpetual', name: 'P' })
    await tenant.create('/leaderboards', { ...board, key: 'hidden', name: 'H', start: '2035-12-01' })

    const ada = { id: 'ada', tz: 'Europe/Berlin' }
    await to('2035-12-31T12:00:00Z')
    await event(tenant, 'words', ada, 4, 'home')
    for (let nth = 0; nth < 3; nth += 1) await event(tenant, 'words', 'bob', 1)
    await to('2035-12-31T23:30:00Z')
    await event(tenant, 'words', ada, 2, 'home')
    await to('2036-01-01T10:00:00Z')
    await event(tenant, 'words', 'bob', 10)
    await event(tenant, 'words', 'bob', 9)
    await to('2036-01-02T10:00:00Z')
    await event(tenant, 'words', ada, -1)
    await to('2036-02-10T10:00:00Z')
    await event(tenant, 'words', 'neg', -3)
    await to('2036-03-26T10:00:00Z')
    await event(tenant, 'steps', 'eve', 5)
    await to('2036-03-29T22:30:00Z')
    await tenant.app('POST', '/achievements/hello/complete', { user: ada })
    await event(tenant, 'words', ada, 5, 'shop')
    await to('2036-03-29T23:30:00Z')
    await event(tenant, 'words', ada, 3, 'home')
    await to('2036-03-30T12:00:00Z')
    await event(tenant, 'steps', ada, 10)
    // The clocks went forward: one hour earlier, it was still the 30th.
    await to('2036-03-30T22:30:00Z')
    await event(tenant, 'words', ada, 1)
    await to('2036-04-10T12:00:00Z')
    await event(tenant, 'words', 'bob', 1)
    await tenant.app('PATCH', '/users/ada', { tz: 'America/New_York' })
  })

  it('[R1] has all its fields, by the stored local dates', async () => {
    const { body, status } = await tenant.app('GET', '/users/ada/wrapped')
    const { body: user } = await tenant.app('GET', '/users/ada')
    const place = async (key: string, rank: number, value: number) => {
      const answer = await tenant.app('GET', `/users/ada/leaderboards/${key}`)
      const { history: _history, ...rest } = Object(answer.body)
      return { ...rest, rank, value }
    }
    const { body: achieved } = await tenant.app('GET', '/users/ada/achievements')
    const completed = (key: string) => {
      const found = [achieved].flat().find((one) => at(one, 'key') === key)
      const { rarity: _rarity, completions: _completions, ...rest } = Object(found)
      return rest
    }
    const metric = (key: 'words' | 'steps') =>
      key === 'words' ? { name: 'Words', units: 'w' } : { name: 'Steps', units: null }
    const words = (all: object, page: Record<string, object>) => {
      const values = Object.entries(page).map(([value, told]) => [value, { ...metric('words'), ...told }])
      return { ...metric('words'), ...all, byAttribute: { page: Object.fromEntries(values) } }
    }
    const steps = { ...metric('steps'), ...sums(10, 10, 100), byAttribute: {} }
    const xp = (told: object) => ({ name: 'XP', description: null, ...told })
    const [read, shop] = [sums(9, 3, 50), sums(5, 5, 100)]
    const [reader, both] = [[completed('reader')], [completed('hello'), completed('reader')]]
    const places = { monthly: await place('monthly', 1, 8), perpetual: await place('perpetual', 2, 1) }
    expect(status).toBe(200)
    expect(Object.keys(Object(body))).toEqual(['user', 'activity'])
    expect(at(body, 'user')).toEqual(user)
    const activity = Object(at(body, 'activity'))
    const { mostActiveDay, mostActiveWeek, mostActiveMonth, entireYear, ...days } = activity
    expect(days).toEqual({ daysActive: 5, weeksActive: 3, monthsActive: 2 })
    expect(mostActiveDay).toEqual({
      date: '2036-03-30',
      metrics: { words: words(sums(13, 3, 30), { home: read }), steps },
      points: { xp: xp(sums(16, 6, 60)) },
      achievements: reader,
      leaderboards: { monthly: await place('monthly', 1, 9), perpetual: await place('perpetual', 2, 10) },
    })
    expect(mostActiveWeek).toEqual({
      ...{ start: '2036-03-24', end: '2036-03-30', achievements: both, leaderboards: places },
      metrics: { words: words(sums(13, 8, 160), { home: read, shop }), steps },
      points: { xp: xp(sums(16, 10, 166.7)) },
    })
    expect(mostActiveMonth).toEqual({
      ...{ month: 2, achievements: both, leaderboards: places },
      metrics: { words: words(sums(14, 9, 180), { home: read, shop }), steps },
      points: { xp: xp(sums(17, 11, 183.3)) },
    })
    const longest = { length: 3, frequency: 'daily', started: '2036-03-29' }
    const ofYear = ['monthly', 'january', 'perpetual'].map(async (key) => [key, await place(key, 1, 2)])
    expect(entireYear).toEqual({
      metrics: { words: words(sums(14, 10, 250), { home: sums(9, 5, 125), shop }), steps },
      points: { xp: xp(sums(17, 13, 325)) },
      achievements: both,
      leaderboards: Object.fromEntries(await Promise.all(ofYear)),
      longestStreak: { ...longest, periodStart: '2036-03-31', periodEnd: '2036-03-31' },
    })
  })

  it('[R2] has the user’s percentiles among active users once they are built, and again a day later', async () => {
    const places = async (user: string) => {
      const told = await wrapped(tenant, user, '?year=2036')
      const of = (...path: string[]) => at(told, ...path, 'percentileThisPeriod')
      const periods = ['mostActiveDay', 'mostActiveWeek', 'mostActiveMonth', 'entireYear']
      const shown = [['metrics', 'words'] as const, ['metrics', 'steps'] as const, ['points', 'xp'] as const]
      return periods.map((period) => shown.map((path) => of(period, ...path)))
    }
    const none = [undefined, undefined, undefined]
    expect(await places('ada')).toEqual([none, [50, 50, 50], [50, 50, 50], [50, 75, 50]])
    const words = at(await wrapped(tenant, 'ada', '?year=2036'), 'entireYear', 'metrics', 'words')
    const byAttribute = JSON.stringify(at(words, 'byAttribute'))
    expect([byAttribute.includes('percentChange'), byAttribute.includes('percentile')]).toEqual([true, false])
    // In April bob was alone.
    expect((await places('bob')).at(-1)).toEqual([75, undefined, 75])
    expect((await places('neg')).at(-1)).toEqual([0, undefined, undefined])
    expect((await places('eve')).at(-1)).toEqual([undefined, 50, undefined])

    await event(tenant, 'words', 'neg', 100)
    await to(reached + DAY - 1)
    expect((await places('ada')).at(-1)).toEqual([50, 75, 50])
    await to(reached + 1)
    expect((await places('ada')).at(-1)).toEqual([25, 75, 25])
    expect((await places('neg')).at(-1)).toEqual([75, undefined, 75])
  })

  it('[R1] an empty year is 1 January, its week and its month, with nothing in them', async () => {
    expect(await wrapped(tenant, 'ada', '?year=2034')).toEqual({
      ...{ daysActive: 0, weeksActive: 0, monthsActive: 0 },
      mostActiveDay: { date: '2034-01-01', ...NOTHING },
      mostActiveWeek: { start: '2033-12-26', end: '2034-01-01', ...NOTHING },
      mostActiveMonth: { month: 0, ...NOTHING },
      entireYear: { longestStreak: NO_STREAK, ...NOTHING },
    })
    expect(await wrapped(tenant, 'ada', '?year=1')).toMatchObject({
      mostActiveDay: { date: '0001-01-01' },
      mostActiveWeek: { start: '0001-01-01', end: '0001-01-07' },
    })
    const years = `SELECT DISTINCT substr(period, 1, 4) AS year FROM change_distributions
      WHERE tenant_id = ?1 ORDER BY 1`
    // There were no users to compare in the empty years.
    expect((await env.DB.prepare(years).bind(tenant.id).all()).results).toEqual([{ year: '2036' }])
  })

  it('[R1] refuses years that are in the future or invalid', async () => {
    for (const year of ['2037', '0', '-1', '1.5', 'x', '', '99999', '2036&year=2036']) {
      const { status, body } = await tenant.app('GET', `/users/ada/wrapped?year=${year}`)
      expect(status, year).toBe(422)
      expect(at(body, 'error')).toContain('year')
    }
    expect((await tenant.app('GET', '/users/nobody/wrapped?year=2099')).status).toBe(404)
  })

  it('[R1] a leaderboard that cannot be reached is left out', async () => {
    const unreachable = (best: () => Promise<never>) => {
      const LEADERBOARD = new Proxy(env.LEADERBOARD, { get: () => () => ({ best }) })
      return tenant.through(newApp({ LEADERBOARD }))
    }
    const faults = [() => Promise.reject(new Error('lost')), () => new Promise<never>(() => undefined)]
    for (const fault of faults) {
      const told = await wrapped(unreachable(fault), 'ada')
      expect(told).toMatchObject({ daysActive: 5, entireYear: { leaderboards: {} } })
    }
  })

  it('[G9] a deleted metric or system is left out, but its events count as activity', async () => {
    const metric = await tenant.metric('gone')
    await event(tenant, 'gone', 'del', 1)
    await to(reached + DAY)
    await event(tenant, 'steps', 'del', 1)
    await tenant.admin('DELETE', `/metrics?ids=${metric}`)
    const told = await wrapped(tenant, 'del')
    expect(told).toMatchObject({ daysActive: 2 })
    expect(Object.keys(Object(at(told, 'entireYear', 'metrics')))).toEqual(['steps'])
  })

  it('[R1] the reached year is the user’s, in the user’s time zone', async () => {
    await to('2036-12-31T10:30:00Z')
    await event(tenant, 'steps', { id: 'kir', tz: 'Pacific/Kiritimati' }, 1)
    const told = await wrapped(tenant, 'kir')
    expect(told).toMatchObject({
      daysActive: 1,
      mostActiveDay: { date: '2037-01-01' },
      mostActiveWeek: { start: '2036-12-29', end: '2037-01-04' },
      entireYear: { longestStreak: { length: 1, started: '2037-01-01' } },
    })
    expect(await wrapped(tenant, 'kir', '?year=2036')).toMatchObject({ daysActive: 0 })
    expect((await tenant.app('GET', '/users/ada/wrapped?year=2037')).status).toBe(422)
  })

  it('[C1] percentiles from the future of a removed test clock are built again', async () => {
    const due = { tenant, kind: 'distributions', subject: '2036' }
    const built = "FROM change_distributions WHERE tenant_id = ?1 AND period = '2036 built'"
    await to(reached + DAY / 24)
    const ahead = reached + 2 * DAY
    const run = (sql: string) => env.DB.prepare(sql).bind(tenant.id)
    const madeAt = () => run(`SELECT document ->> '$.at' AS at ${built}`).first('at')
    await wrapped(tenant, 'ada')
    expect(await madeAt()).toBe(reached - DAY / 24)
    await makeDueAt(due, ahead)
    await wrapped(tenant, 'ada')
    expect(await madeAt()).toBe(reached)
    await forgetDueWork(due)
    const where = built.slice('FROM change_distributions '.length)
    await run(`UPDATE change_distributions SET document = json_object('at', ${ahead}) ${where}`).run()
    await wrapped(tenant, 'ada')
    expect(await madeAt()).toBe(reached)
    expect(await dueWork(due)).toMatchObject([{ dueAt: reached + DAY }])
  })

  it('[R2] a year that is over everywhere is built for the last time a day later', async () => {
    const due = async () => (await dueWork({ tenant, kind: 'distributions' })).map(({ subject }) => subject)
    expect(await due()).toEqual(['2036', '2037'])
    await to('2037-01-02T11:59:00Z')
    expect(await due()).toEqual(['2036', '2037'])
    await to('2037-01-03T12:00:00Z')
    expect(await due()).toEqual(['2037'])
    await wrapped(tenant, 'ada', '?year=2036')
    expect(await due()).toEqual(['2037'])
    const building = env.DB.prepare("SELECT 1 FROM change_distributions WHERE period LIKE 'building%'")
    expect((await building.all()).results).toEqual([])
  })
})

describe('[R1] the best rank', () => {
  it('[R1] is the best of all days of a period and of all runs in it; of equals, the earliest', async () => {
    await beginAt('2037-02-01T12:00:00Z')
    const tenant = await newTenant()
    const words = await tenant.metric('words')
    const board = { rankBy: 'metric', metricId: words, start: '2037-02-01', status: 'active', name: 'B' }
    await tenant.create('/leaderboards', { ...board, key: 'whole' })
    await tenant.create('/leaderboards', { ...board, key: 'daily', runUnit: 'day', runInterval: 1 })
    const ada = { id: 'ada', tz: 'Pacific/Honolulu' }
    const best = async (year = 2037) => {
      const told = await wrapped(tenant, 'ada', `?year=${year}`)
      const of = (period: string) =>
        Object.entries(Object(at(told, period, 'leaderboards'))).map(
          ([key, place]) => `${key} ${at(place, 'rank')} ${at(place, 'value')}`,
        )
      return [at(told, 'mostActiveDay', 'date'), of('mostActiveDay'), of('entireYear')]
    }
    await event(tenant, 'words', 'bob', 10)
    await event(tenant, 'words', 'eve', 8)
    await event(tenant, 'words', ada, 5)
    expect(await best()).toEqual(['2037-02-01', ['whole 3 5', 'daily 3 5'], ['whole 3 5', 'daily 3 5']])

    await to('2037-02-02T20:00:00Z')
    await event(tenant, 'words', 'bob', 1)
    await event(tenant, 'words', ada, 4)
    await event(tenant, 'words', ada, 0.5)
    // Over the whole run: 11, 9.5 and 8. Today: 4.5 and 1.
    const second = ['whole 2 9', 'daily 1 4']
    expect(await best()).toEqual(['2037-02-02', second, second])

    // In Honolulu it is still the 2nd when the ranks of the 3rd change.
    await to('2037-02-03T05:00:00Z')
    await event(tenant, 'words', ada, 10)
    expect(await best()).toEqual(['2037-02-02', ['whole 1 19', 'daily 1 4'], ['whole 1 19', 'daily 1 4']])

    // A user who drops out was ranked before, and is not ranked on the days after.
    await to('2037-02-05T20:00:00Z')
    await event(tenant, 'words', ada, -30)
    await to('2037-02-07T20:00:00Z')
    for (let nth = 0; nth < 5; nth += 1) await event(tenant, 'words', ada, -1)
    // The UTC day has ended by now. Ada got the rank late on the 2nd in Honolulu. It is stored for the 3rd.
    expect(await best()).toEqual(['2037-02-07', [], ['whole 1 19', 'daily 1 4']])
    expect(await best(2036)).toEqual(['2036-01-01', [], []])
  })
})
