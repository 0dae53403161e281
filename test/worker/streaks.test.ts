import { beforeEach, describe, expect, it } from 'vitest'
import { DAY, moveUnseen } from '../helpers/worker/boards'
import { forgetDueWork } from '../helpers/worker/due-work'
import { answerLost, beforeEachCall, faultyAll } from '../helpers/worker/faulty'
import {
  at,
  databases,
  newApp,
  newTenant,
  newTenantInLast,
  pick,
  rowsEverywhere,
  type TestTenant,
  toApp,
} from '../helpers/worker/harness'
import { loggedEvents, subscribe } from '../helpers/worker/messages'
import { ownDays } from '../helpers/worker/own-days'
import { disturbUsers } from '../helpers/worker/stored-users'

const { begin, at: moment, date, move } = ownDays()
const iso = (days: number, hours = 0) => new Date(moment(days, hours)).toISOString()

let tenant: TestTenant

const streak = async (user: string, query = '') =>
  (await tenant.app('GET', `/users/${user}/streak${query}`)).body
const length = async (user: string) => at(await streak(user), 'length')
const settings = (change: unknown) => tenant.admin('PATCH', '/streaks/settings', change)
const stored = async (user: string) => {
  const [row] = await rowsEverywhere<{ streak: string; due: number | null; seq: number }>(
    'SELECT streak, streak_due AS due, seq FROM users WHERE tenant_id = ?1 AND id = ?2',
    ...[tenant.id, user],
  )
  return row ?? null
}

beforeEach(async () => {
  await begin()
  tenant = await newTenant()
  await tenant.metric('steps')
  await tenant.metric('words')
  await move(0, 9)
})

describe('[S1] the settings', () => {
  it('[S1] have defaults, and change field by field', async () => {
    expect((await tenant.admin('GET', '/streaks/settings')).body).toEqual({
      enabled: true,
      frequency: 'daily',
      metrics: [],
      evaluationMode: 'OR',
      customizationEnabled: false,
      daysOff: [],
      freezes: null,
    })
    const metrics = [{ key: 'steps', threshold: 2.5 }]
    await settings({ frequency: 'weekly', metrics, evaluationMode: 'ALL', customizationEnabled: true })
    const { body } = await settings({
      freezes: { startCount: 1, maxCount: 2, autoEarnInterval: 7, autoEarnAmount: 1 },
    })
    expect(body).toEqual({
      enabled: true,
      frequency: 'weekly',
      metrics,
      evaluationMode: 'AND',
      customizationEnabled: true,
      daysOff: [],
      freezes: { startCount: 1, maxCount: 2, autoEarnInterval: 7, autoEarnAmount: 1 },
    })
    expect((await tenant.admin('GET', '/streaks/settings')).body).toEqual(body)
    // The freezes are set as a whole: without an interval, none are earned from now on.
    const freezes = { startCount: 2, maxCount: 5 }
    const none = { autoEarnInterval: null, autoEarnAmount: null }
    for (const given of [freezes, { ...freezes, ...none }])
      expect((await settings({ freezes: given })).body).toEqual({
        ...Object(body),
        freezes: { ...freezes, ...none },
      })
    expect((await settings({ freezes: null })).body).toEqual({ ...Object(body), freezes: null })
  })

  it.each([
    [{ frequency: 'yearly' }, 'frequency'],
    [{ metrics: [{ key: 'nope', threshold: 1 }] }, 'metrics.0.key'],
    [{ metrics: [{ key: 'steps', threshold: 0 }] }, 'metrics.0.threshold'],
    [{ freezes: { startCount: 3, maxCount: 2 } }, 'freezes.startCount'],
    [{ freezes: { startCount: 0, maxCount: 101 } }, 'freezes.maxCount'],
    [{ freezes: { startCount: 0 } }, 'freezes.maxCount'],
    [{ freezes: { startCount: 0, maxCount: 2, autoEarnInterval: 3 } }, 'freezes.autoEarnAmount'],
    [
      { freezes: { startCount: 0, maxCount: 2, autoEarnAmount: 3, autoEarnInterval: null } },
      'freezes.autoEarnAmount',
    ],
    [{ evaluationMode: 'ANY' }, 'evaluationMode'],
    [{ daysOff: [7] }, 'daysOff.0'],
    [{ daysOff: [1, 1.5] }, 'daysOff.1'],
    [{ daysOff: [1, 1] }, 'daysOff'],
    [{ daysOff: [0, 1, 2, 3, 4, 5, 6] }, 'daysOff'],
    [{ frequency: 'weekly', daysOff: [0] }, 'daysOff'],
  ])('[S1] %j is 422, and changes nothing', async (change, named) => {
    const { status, body } = await settings(change)
    expect([status, at(body, 'error')]).toEqual([422, expect.stringContaining(named)])
    expect(at((await tenant.admin('GET', '/streaks/settings')).body, 'frequency')).toBe('daily')
  })
})

describe('[S2] extending', () => {
  it('[S2] the first positive event of a day extends by one; later events and negative events change nothing', async () => {
    const first = await tenant.event('steps', 'ada', 1)
    expect(at(first.body, 'currentStreak')).toEqual({
      length: 1,
      frequency: 'daily',
      started: date(0),
      periodStart: date(0),
      periodEnd: date(0),
      expires: date(1),
      extended: true,
    })
    expect(at((await tenant.event('words', 'ada', 5)).body, 'currentStreak', 'extended')).toBe(false)
    expect(at((await tenant.event('steps', 'ada', -9)).body, 'currentStreak', 'length')).toBe(1)
    await move(1, 8)
    expect(at((await tenant.event('steps', 'ada', -1)).body, 'currentStreak', 'extended')).toBe(false)
    expect(at((await tenant.event('steps', 'ada', 0)).body, 'currentStreak', 'extended')).toBe(false)
    expect(at(await streak('ada'), 'expires')).toBe(date(1))
    const second = await tenant.event('steps', 'ada', 1)
    expect(at(second.body, 'currentStreak')).toMatchObject({ length: 2, extended: true, expires: date(2) })
  })

  it('[S2, E3] twenty at once extend by one, and exactly one response says so', async () => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => tenant.through(n % 2 ? toApp : newApp()).event('steps', 'ada', 1)),
    )
    expect(responses.filter(({ body }) => at(body, 'currentStreak', 'extended') === true)).toHaveLength(1)
    expect(await length('ada')).toBe(1)
  })

  it('[E4] a replay shows the streak as it is now', async () => {
    await tenant.event('steps', 'ada', 1, { idempotencyKey: 'k' })
    await move(1, 9)
    await tenant.event('steps', 'ada', 1)
    const { status, body } = await tenant.event('steps', 'ada', 1, { idempotencyKey: 'k' })
    expect([status, at(body, 'currentStreak')]).toMatchObject([202, { length: 2, extended: false }])
  })
})

describe('[S3] the end of a day', () => {
  it('[S3] a read between the deadline and the tick shows the streak by the rules', async () => {
    await tenant.event('steps', 'ada', 1)
    await forgetDueWork()
    await move(2, 1)
    expect(await stored('ada')).toMatchObject({ due: moment(2) })
    expect(await streak('ada')).toMatchObject({ length: 0, extended: null })
    expect((await tenant.app('GET', '/streaks?userIds=ada')).body).toEqual([
      { userId: 'ada', streakLength: 0, extended: null },
    ])
    // An event before the tick ends the lost streak and begins a new one.
    expect(at((await tenant.event('steps', 'ada', 1)).body, 'currentStreak')).toMatchObject({
      length: 1,
      started: date(2),
      extended: true,
    })
    expect(at(await streak('ada', '?historyPeriods=3'), 'streakHistory')).toMatchObject([
      { periodStart: date(0), length: 1 },
      { periodStart: date(1), length: 0 },
      { periodStart: date(2), length: 1 },
    ])
  })

  it('[U6] a user is created with the first freezes, once, by any call', async () => {
    await settings({ freezes: { startCount: 2, maxCount: 3, autoEarnInterval: 3, autoEarnAmount: 1 } })
    await tenant.app('PUT', '/users/ada', { name: 'Ada' })
    await tenant.app('PUT', '/users/ada', { name: 'Ada L' })
    await tenant.event('steps', 'bob', 1)
    await tenant.event('steps', 'bob', 1)
    const shown = { freezes: 2, maxFreezes: 3, freezeAutoEarnInterval: 3, freezeAutoEarnAmount: 1 }
    for (const user of ['ada', 'bob']) expect(await streak(user)).toMatchObject(shown)
  })
})

describe('[S4] travelling', () => {
  const away = (tz: string) => tenant.app('PATCH', '/users/ada', { tz })

  it.each([1, 3])(
    '[S7, S11, W6, X2] of a freeze whose date begins on %i journeys and then at home, there is one webhook and one entry',
    async (trips) => {
      const webhook = await subscribe(tenant, 'streak.freeze_earned')
      await settings({ freezes: { startCount: 0, maxCount: 5, autoEarnInterval: 7, autoEarnAmount: 1 } })
      await tenant.app('PUT', '/users/ada', { tz: 'America/New_York' })
      // The evening before the seventh day in New York. In Tokyo that day has begun.
      await move(6, 20)
      for (let trip = 0; trip < trips; trip += 1) {
        await away('Asia/Tokyo')
        expect(await streak('ada')).toMatchObject({ freezes: 0 })
        await away('America/New_York')
        expect(await streak('ada')).toMatchObject({ freezes: 0 })
      }
      const seen: unknown[] = []
      for (const days of [8, 15]) {
        await move(days, 20)
        const { length: sent } = await loggedEvents(tenant, webhook)
        const timeline = await tenant.admin('GET', '/users/ada/timeline?types=streak&limit=100')
        seen.push([at(await streak('ada'), 'freezes'), sent, pick(timeline.body, 'earned')])
      }
      expect(seen).toEqual([
        [1, 1, [1]],
        [2, 2, [1, 1]],
      ])
    },
  )

  it('[S7, W6] a freeze whose date began on a journey while the streak was off has its webhook at home', async () => {
    const webhook = await subscribe(tenant, 'streak.freeze_earned')
    await settings({ freezes: { startCount: 0, maxCount: 5, autoEarnInterval: 7, autoEarnAmount: 1 } })
    const enable = (enabled: boolean) =>
      tenant.app('PATCH', '/users/ada/preferences', { streak: { enabled } })
    await tenant.app('PUT', '/users/ada', { tz: 'America/New_York' })
    await enable(false)
    await move(6, 20)
    await away('Asia/Tokyo')
    await away('America/New_York')
    await enable(true)
    await move(8, 20)
    expect(at(await streak('ada'), 'freezes')).toBe(1)
    expect(await loggedEvents(tenant, webhook)).toEqual(['streak.freeze_earned'])
  })

  it('[S11, U8] the export has the changes of zone, and a streak whose period was skipped until that period ends', async () => {
    const exported = async () =>
      at((await tenant.admin('GET', '/users/ada/export')).body, 'streak') ?? 'nothing'
    await settings({ frequency: 'weekly' })
    await move(6, 17)
    await tenant.event('steps', { id: 'ada', tz: 'America/New_York' }, 1)
    await move(13, 23)
    await away('Asia/Tokyo')
    expect(await exported()).toMatchObject({
      stored: {
        run: { length: 1 },
        spared: null,
        zoneChanges: [{ date: iso(13, 23), from: date(13), to: date(14) }],
      },
      past: [],
    })
    // Midnight in Tokyo.
    await move(14, 15)
    expect(await exported()).toMatchObject({
      stored: { run: null },
      past: [{ started: date(0), length: 1 }],
    })
  })

  it('[S10, S11] data of an earlier version is read', async () => {
    const day = Math.floor(moment(0) / DAY)
    const run = {
      started: day - 3,
      first: day - 3,
      last: day,
      history: '3e1s',
      length: 3,
      extended: moment(0),
    }
    await tenant.app('PUT', '/users/ada', { tz: 'UTC' })
    await tenant.app('PUT', '/users/bob', {})
    await tenant.app('PATCH', '/users/bob/preferences', { streak: { enabled: false } })
    const put = (user: string, state: object) =>
      rowsEverywhere(
        'UPDATE users SET streak = ?3, streak_due = NULL WHERE tenant_id = ?1 AND id = ?2',
        ...[tenant.id, user, JSON.stringify(state)],
      )
    await put('ada', { frequency: 'daily', run, born: day - 3, jumps: [[moment(0), day - 1, day + 1]] })
    await put('bob', { frequency: 'daily', born: day - 3, sums: [] })
    expect(await streak('ada')).toMatchObject({ length: 3, expires: date(1) })
    await move(1, 9)
    expect(at((await tenant.event('steps', 'ada', 1)).body, 'currentStreak')).toMatchObject({ length: 4 })
    await tenant.app('PATCH', '/users/bob/preferences', { streak: { enabled: true } })
    expect(at((await tenant.event('steps', 'bob', 1)).body, 'currentStreak')).toMatchObject({ length: 1 })
  })
})

describe('[S7] pauses', () => {
  const pause = (userId: string, from: number, to: number) =>
    tenant.admin('POST', '/streaks/pauses', { pauses: [{ userId, start: date(from), end: date(to) }] })

  it('[S3, S5, S7] postpone the expiry, and are in the streak until they are deleted', async () => {
    await tenant.event('steps', 'ada', 1)
    const { status, body } = await pause('ada', 1, 3)
    expect([status, body]).toEqual([
      201,
      {
        created: [{ id: expect.any(String), userId: 'ada', start: date(1), end: date(3), status: 'active' }],
        issues: [],
      },
    ])
    expect(await streak('ada')).toMatchObject({
      expires: date(4),
      pauses: [{ start: date(1), end: date(3) }],
    })
    const id = String(at(body, 'created', 0, 'id'))
    const remove = async () => (await tenant.admin('DELETE', `/streaks/pauses?ids=${id}`)).body
    expect(await remove()).toEqual({ deleted: [{ id }], issues: [] })
    expect(await streak('ada')).toMatchObject({ expires: date(1), pauses: [] })
    expect(at(await remove(), 'issues', 0, 'id')).toBe(id)
  })

  it('[S7, G7] a pause in the past, of an unknown user or beyond all bounds is an issue; an end before the start is 422', async () => {
    await tenant.event('steps', 'ada', 1)
    const { status, body } = await tenant.admin('POST', '/streaks/pauses', {
      pauses: [
        { userId: 'ada', start: date(-1), end: date(1) },
        { userId: 'nobody', start: date(1), end: date(1) },
        { userId: 'ada', start: '9999-12-31', end: '9999-12-31' },
      ],
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      created: [],
      issues: [{ index: 0, userId: 'ada' }, { index: 1 }, { index: 2 }],
    })
    expect((await pause('ada', 2, 1)).status).toBe(422)
  })
})

describe('[S7] freezes by hand', () => {
  const grant = (...ids: string[]) =>
    tenant.admin('POST', '/streaks/freezes', { freezes: ids.map((userId) => ({ userId })) })

  it('[S7] one each; at the maximum a warning, and 200 if nothing changed', async () => {
    await tenant.event('steps', 'ada', 1)
    expect(await grant('ada')).toMatchObject({
      status: 200,
      body: { issues: [{ severity: 'error', userId: 'ada' }] },
    })
    await settings({ freezes: { startCount: 0, maxCount: 2 } })
    expect(await grant('ada', 'nobody')).toMatchObject({
      status: 201,
      body: { issues: [{ index: 1, severity: 'error' }] },
    })
    expect(await grant('ada', 'ada')).toMatchObject({
      status: 201,
      body: { issues: [{ index: 1, severity: 'warning' }] },
    })
    expect(await grant('ada')).toMatchObject({
      status: 200,
      body: { issues: [{ severity: 'warning', userId: 'ada' }] },
    })
    expect(await streak('ada')).toMatchObject({ freezes: 2 })
  })

  it('[S7, E3] grants and events at once all count', async () => {
    await settings({ freezes: { startCount: 0, maxCount: 20 } })
    await tenant.event('steps', 'ada', 1)
    await Promise.all(
      Array.from({ length: 8 }, () => [
        grant('ada'),
        tenant.through(newApp()).event('steps', 'ada', 1),
      ]).flat(),
    )
    expect(await streak('ada')).toMatchObject({ freezes: 8 })
    expect(at((await tenant.app('GET', '/users/ada/metrics/steps')).body, 'current')).toBe(9)
  })

  it('[S7, E3] ends with 429 if other changes always come first, and grants nothing', async () => {
    await settings({ freezes: { startCount: 0, maxCount: 5 } })
    await tenant.event('steps', 'ada', 1)
    const { bindings } = faultyAll(beforeEachCall(() => disturbUsers(tenant)))
    const freezes = [{ userId: 'ada' }]
    const answer = await tenant.through(newApp(bindings)).admin('POST', '/streaks/freezes', { freezes })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await streak('ada')).toMatchObject({ freezes: 0 })
  })
})

describe('[G2] an admin’s change with a lost answer', () => {
  const grant = (through: TestTenant) =>
    through.admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ada' }] })

  it('[G2, S7] has its true result, and is done once', async () => {
    await settings({ freezes: { startCount: 0, maxCount: 5 } })
    await tenant.event('steps', 'ada', 1)
    const { bindings, seen } = faultyAll(answerLost)
    expect(await grant(tenant.through(newApp(bindings)))).toMatchObject({ status: 201, body: { issues: [] } })
    expect(seen.writes).toBe(1)
    expect(await streak('ada')).toMatchObject({ freezes: 1 })
  })
})

describe('rows that an event writes (design)', () => {
  it('budget: an extension writes one row of the deadline; later events of the day write none', async () => {
    tenant = await newTenantInLast()
    await tenant.metric('steps')
    const { bindings, seen } = faultyAll(({ run }) => run())
    const through = tenant.through(newApp(bindings))
    const rowsOf = async (user: string) => {
      const before = seen.rowsWritten
      await through.event('steps', user, 1)
      return seen.rowsWritten - before
    }
    // The first user of a tenant makes the first midnight and the first pass of the analytics due. A new user
    // is counted and indexed by age, and by bucket if there are several databases.
    const indexed = databases().length === 1 ? 0 : 1
    expect(await rowsOf('ada')).toBe(7 + indexed)
    expect(await rowsOf('bob')).toBe(5 + indexed)
    expect([await rowsOf('ada'), await rowsOf('bob')]).toEqual([2, 2])
    await move(1, 9)
    expect([await rowsOf('ada'), await rowsOf('ada')]).toEqual([3, 2])
  })
})

describe('[S12] days off', () => {
  it('[S12] another frequency clears the list', async () => {
    const freezes = { startCount: 1, maxCount: 2 }
    expect((await settings({ daysOff: [6, 0], freezes })).body).toMatchObject({ daysOff: [6, 0] })
    expect((await settings({ frequency: 'monthly' })).body).toMatchObject({ daysOff: [] })
    expect((await settings({ daysOff: [] })).status).toBe(200)
    expect((await settings({ daysOff: [1] })).status).toBe(422)
    expect((await settings({ frequency: 'daily' })).body).toMatchObject({ daysOff: [] })
  })

  it('[S12, U7] a user has a list of their own while users may customise, also with another frequency', async () => {
    const key = await tenant.key('ada')
    const own = (daysOff: unknown) =>
      tenant.as(key, 'PATCH', '/users/ada/preferences', { streak: { daysOff } })
    const shown = async () => at((await tenant.app('GET', '/users/ada/preferences')).body, 'streak')
    await settings({ daysOff: [2] })
    await tenant.event('steps', 'ada', 1)
    for (const list of [[3], [], null]) expect((await own(list)).status).toBe(403)
    await settings({ customizationEnabled: true })
    for (const list of [[3, 3], [0, 1, 2, 3, 4, 5, 6], ['1'], [-1], '3'])
      expect((await own(list)).status).toBe(422)
    expect(await streak('ada')).toMatchObject({ expires: date(2) })
    expect((await own([])).body).toMatchObject({ streak: { daysOff: [] } })
    expect(await streak('ada')).toMatchObject({ expires: date(1) })
    await own([1, 2, 3])
    expect(await streak('ada')).toMatchObject({ expires: date(3) })
    await settings({ customizationEnabled: false })
    expect([await shown(), at(await streak('ada'), 'expires')]).toEqual([undefined, date(2)])
    await settings({ customizationEnabled: true, frequency: 'weekly' })
    expect((await own([4, 5])).body).toMatchObject({ streak: { daysOff: [4, 5] } })
    expect(at(await streak('ada'), 'expires')).toBe(date(13))
    await settings({ frequency: 'daily' })
    expect([await shown(), at(await streak('ada'), 'expires')]).toEqual([{ daysOff: [4, 5] }, date(1)])
    expect((await own(null)).body).toEqual({ notifications: {} })
  })

  it('[S12, C1] a change counts at once after the test clock was ahead', async () => {
    await move(30, 9)
    await settings({ daysOff: [3] })
    await tenant.clock('DELETE')
    await tenant.moveClock(moment(0))
    await tenant.event('steps', 'ada', 1)
    await settings({ daysOff: [2] })
    expect(await streak('ada')).toMatchObject({ expires: date(2) })
  })
})

describe('[S1] other settings, when midnights have passed whose work is not done yet', () => {
  const some = { startCount: 1, maxCount: 3, autoEarnInterval: null, autoEarnAmount: null }

  it.each([
    ['freezes off: the one of the missed date is used', some, null, { length: 1 }],
    ['freezes on: the missed date has none', null, some, { length: 0 }],
  ])('[S1, S7] %s', async (_, before, after, shown) => {
    await settings({ freezes: some })
    await tenant.app('PUT', '/users/ada', {})
    await settings({ freezes: before })
    await tenant.event('steps', 'ada', 1)
    await move(1, 9)
    await moveUnseen(moment(2, 9))
    await settings({ freezes: after })
    await move(2, 10)
    expect(await streak('ada')).toMatchObject(shown)
  })

  it('[S1, S7] freezes less often: the one that was due is earned', async () => {
    await settings({ freezes: { ...some, startCount: 0, autoEarnInterval: 2, autoEarnAmount: 1 } })
    await tenant.event('steps', 'ada', 1)
    await move(1, 9)
    await tenant.event('steps', 'ada', 1)
    await moveUnseen(moment(2, 9))
    await settings({ freezes: { ...some, startCount: 0, autoEarnInterval: 30, autoEarnAmount: 1 } })
    await move(2, 10)
    expect(await streak('ada')).toMatchObject({ length: 2, freezes: 1 })
  })

  it.each([{ enabled: false }, { frequency: 'weekly' }])(
    '[S1, W6] %o: a streak that was lost at such a midnight has its webhook',
    async (change) => {
      const webhook = await subscribe(tenant, 'streak.lost')
      await tenant.event('steps', 'ada', 1)
      await move(1, 9)
      await moveUnseen(moment(2, 9))
      await settings(change)
      await move(2, 10)
      expect(await loggedEvents(tenant, webhook)).toEqual(['streak.lost'])
    },
  )
})

describe('[S1] a time when streaks were off, and a test clock that was ahead', () => {
  it('[S1, C1] a time that was only ahead spares no period later', async () => {
    await move(30, 9)
    await settings({ enabled: false })
    await move(31, 9)
    await settings({ enabled: true })
    await tenant.clock('DELETE')
    await tenant.moveClock(moment(29))
    await tenant.event('steps', 'ada', 1)
    await move(31)
    expect(await length('ada')).toBe(0)
  })

  it('[S1, C1] a time that began ahead counts from the return on', async () => {
    await move(30, 9)
    await settings({ enabled: false })
    await tenant.clock('DELETE')
    await tenant.moveClock(moment(0))
    await tenant.event('steps', 'ada', 1)
    await move(3, 9)
    await settings({ enabled: true })
    expect(await length('ada')).toBe(1)
  })
})

describe('[S13] resets', () => {
  const reset = (...ids: string[]) =>
    tenant.admin('POST', '/streaks/reset', { users: ids.map((id) => ({ id })) })
  const BOARD = { key: 'flames', name: 'F', rankBy: 'streak', status: 'active' }
  const ranked = async () => at((await tenant.app('GET', '/leaderboards/flames')).body, 'rankings')

  it('[S13, S8] set the length to 0 at once, on boards too; what comes later counts, and a restore gives all back', async () => {
    await tenant.create('/leaderboards', BOARD)
    await tenant.app('PUT', '/users/idle', {})
    await tenant.app('PUT', '/users/out', {})
    await tenant.event('steps', 'ada', 1)
    await tenant.event('steps', 'out', 1)
    await tenant.app('PATCH', '/users/out/preferences', { streak: { enabled: false } })
    await move(1, 9)
    await tenant.event('steps', 'ada', 1)
    expect(await ranked()).toMatchObject([{ userId: 'ada', value: 2 }])
    const warning = (index: number, userId: string) => ({
      ...{ index, userId, severity: 'warning', message: 'No streak to reset' },
    })
    expect(await reset('ada', 'nobody', 'idle', 'ada', 'out')).toMatchObject({
      status: 200,
      body: {
        resetUsers: ['ada'],
        issues: [
          { index: 1, userId: 'nobody', severity: 'error', message: 'User does not exist' },
          ...[warning(2, 'idle'), warning(3, 'ada'), warning(4, 'out')],
        ],
      },
    })
    expect(await ranked()).toEqual([])
    expect(await streak('ada', '?historyPeriods=2')).toMatchObject({
      ...{ length: 0, started: null, expires: null, extended: null },
      streakHistory: [{ length: 1 }, { length: 0, resetAt: iso(1, 9) }],
    })
    const again = await tenant.event('steps', 'ada', 1)
    expect(at(again.body, 'currentStreak')).toMatchObject({ length: 1, started: date(1), extended: true })
    await reset('ada')
    const restore = (...ids: string[]) =>
      tenant.admin('POST', '/streaks/restore', { users: ids.map((id) => ({ id })) })
    expect(await restore('ada', 'nobody')).toMatchObject({
      status: 201,
      body: { restoredUsers: ['ada'], issues: [{ userId: 'nobody', severity: 'error' }] },
    })
    expect(await restore('ada')).toMatchObject({
      status: 200,
      body: { restoredUsers: [], issues: [{ severity: 'warning' }] },
    })
    expect(await streak('ada')).toMatchObject({ length: 2, started: date(0), expires: date(2) })
    expect(await ranked()).toMatchObject([{ userId: 'ada', value: 2 }])
    const [timeline] = [await tenant.admin('GET', '/users/ada/timeline?types=streak')]
    expect(JSON.stringify(timeline.body)).toContain('"change":"reset"')
  })

  it('[S13, E2] of twenty at once, one resets, and a user who acts meanwhile has 0 or 1', async () => {
    await tenant.event('steps', 'ada', 1)
    await move(1, 9)
    await tenant.event('steps', 'ada', 1)
    const [event, ...answers] = await Promise.all([
      tenant.event('steps', 'ada', 1),
      ...Array.from({ length: 20 }, () => reset('ada')),
    ])
    expect([event.status, new Set(answers.map(({ status }) => status))]).toEqual([201, new Set([200])])
    const left = Number(await length('ada'))
    expect([0, 1]).toContain(left)
    const done = answers.flatMap(({ body }) => at(body, 'resetUsers'))
    // The event may have begun a new streak between two of them.
    expect([[1], [1, 2]][1 - left]).toContain(done.length)
  })

  it('[S13, S9] at one instant the order of calls counts, also if the streak is counted again', async () => {
    await tenant.event('steps', 'ada', 1)
    await tenant.event('steps', 'bob', 1)
    await reset('ada', 'bob')
    await tenant.event('words', 'bob', 1)
    const before = [await length('ada'), await length('bob')]
    await settings({ frequency: 'weekly' })
    expect([before, await length('ada'), await length('bob')]).toEqual([[0, 1], 0, 1])
    await move(1, 9)
    expect([await length('ada'), await length('bob')]).toEqual([0, 1])
    expect(at(await streak('ada', '?historyPeriods=1'), 'streakHistory', 0, 'resetAt')).toBe(iso(0, 9))
  })
})

describe('[S9] another frequency', () => {
  it('[S9] a request before the background walk counts the user’s streak again at once', async () => {
    await move(0, 9)
    await tenant.event('steps', 'ada', 1)
    await move(7, 9)
    await tenant.event('steps', 'ada', 1)
    // The configuration before the walk over the users has run.
    const change = settings({ frequency: 'weekly' })
    await change
    await rowsEverywhere(
      `UPDATE users SET streak = json_set(streak, '$.frequency', 'daily', '$.run.length', 9) WHERE tenant_id = ?1`,
      tenant.id,
    )
    expect(await length('ada')).toBe(2)
    expect((await tenant.app('GET', '/streaks?userIds=ada')).body).toMatchObject([{ streakLength: 2 }])
    expect(at((await tenant.event('steps', 'ada', 1)).body, 'currentStreak')).toMatchObject({
      length: 2,
      extended: false,
    })
    expect(await stored('ada')).toMatchObject({ streak: expect.stringContaining('"weekly"') })
  })
})

describe('effects of streaks', () => {
  it('[L3, L11] an event that extends the streak has the rank on a board by streak', async () => {
    await tenant.event('steps', 'bob', 1)
    await tenant.create('/leaderboards', { key: 'flames', name: 'F', rankBy: 'streak', status: 'active' })
    const place = async () => at((await tenant.event('steps', 'ada', 1)).body, 'leaderboards', 'flames')
    await move(0, 10)
    expect(await place()).toMatchObject({ rank: 2, previousRank: null })
    await move(1, 9)
    expect(await place()).toMatchObject({ rank: 1, previousRank: 2 })
  })

  it('[S6] GET /streaks: longest first, unknown ones left out, 100 at most', async () => {
    await tenant.event('steps', 'a,b', 1)
    await tenant.event('steps', 'zoe', 1)
    await move(1, 9)
    await tenant.event('steps', 'zoe', 1)
    const { body } = await tenant.app('GET', '/streaks?userIds=a,b&userIds=nobody&userIds=zoe')
    expect(body).toMatchObject([
      { userId: 'zoe', streakLength: 2 },
      { userId: 'a,b', streakLength: 1 },
    ])
    expect((await tenant.app('GET', '/streaks')).status).toBe(422)
    const many = Array.from({ length: 101 }, (_, n) => `userIds=u${n}`).join('&')
    expect((await tenant.app('GET', `/streaks?${many}`)).status).toBe(422)
    expect((await tenant.app('GET', '/users/zoe/streak?historyPeriods=367')).status).toBe(422)
  })
})

describe('[S6] a list of ids with commas', () => {
  const lengthsOf = async (query: string, key?: string) => {
    const path = `/streaks?${query}`
    const { status, body } = await (key === undefined ? tenant.app('GET', path) : tenant.as(key, 'GET', path))
    return status === 200 ? [body].flat().map((one) => at(one, 'userId')) : status
  }

  it('[S6] is what a value is that is no id of a user', async () => {
    for (const id of ['a', 'b', 'c', 'a,b', 'é, x']) await tenant.event('steps', id, 1)
    expect(await lengthsOf('userIds=a,b')).toEqual(['a,b'])
    expect(await lengthsOf('userIds=b,a')).toEqual(['a', 'b'])
    expect(await lengthsOf('userIds=b,a&userIds=a,b&userIds=c,c,nobody,,&userIds=%C3%A9,%20x')).toEqual([
      ...['a', 'a,b', 'b', 'c', 'é, x'],
    ])
    const long = Array.from({ length: 100 }, (_, n) => (n === 7 ? 'c' : `somebody-${n}`)).join(',')
    expect(await lengthsOf(`userIds=${long}`)).toEqual(['c'])
    for (const wrong of [`${long},d`, `${long}&userIds=d`, 'x,'.repeat(101), `a,${'x'.repeat(256)}`, 'a,%00'])
      expect([wrong, await lengthsOf(`userIds=${wrong}`)]).toEqual([wrong, 422])
    expect(await lengthsOf('userIds=,,')).toBe(422)
  })

  it('[S6, K3] of an application key names its own user only, whether others exist or not', async () => {
    for (const id of ['a', 'b', 'a,a', 'b,c']) await tenant.event('steps', id, 1)
    const [a, list] = [await tenant.key('a'), await tenant.key('b,c')]
    expect(await lengthsOf('userIds=a,a&userIds=a', a)).toEqual(['a'])
    expect(await lengthsOf('userIds=b,c', list)).toEqual(['b,c'])
    for (const [query, key] of [
      ...[['a,b', a] as const, ['a,nobody', a] as const, ['b,c', a] as const, ['b,b', list] as const],
      ...[['a,', a] as const, ['b,c,b', list] as const],
    ])
      expect([query, await lengthsOf(`userIds=${query}`, key)]).toEqual([query, 403])
  })
})

describe('[V4] a completion by the streak that is taken back', () => {
  const has = async () => (await tenant.app('GET', '/users/ada/achievements')).body
  const active = async (...days: number[]) => {
    for (const day of days) {
      await move(day, 9)
      await tenant.event('steps', 'ada', 1)
    }
  }
  const taken = async () => {
    const item = { key: 'two', name: 'Two', trigger: 'streak', streakLength: 2, status: 'active' }
    await tenant.create('/achievements', item)
    await active(0, 1, 2)
    expect(await has()).toHaveLength(1)
    expect((await tenant.admin('DELETE', '/users/ada/achievements/two')).status).toBe(200)
  }

  it('[V4, S9, S10] stays taken back while the length is enough, also while streaks are off and after a recount', async () => {
    await taken()
    await active(3)
    const enable = (enabled: boolean) =>
      tenant.app('PATCH', '/users/ada/preferences', { streak: { enabled } })
    await enable(false)
    await active(4)
    await enable(true)
    await active(5)
    await settings({ enabled: false })
    await active(6)
    await settings({ enabled: true })
    await active(7)
    await settings({ frequency: 'weekly' })
    await active(8)
    expect([await length('ada'), await has()]).toEqual([2, []])
    await settings({ frequency: 'daily' })
    await active(9)
    expect([await length('ada'), await has()]).toEqual([10, []])
  })

  it('[V4, S3, S8] is completed again after the streak was lost, also by an event after a restore', async () => {
    await taken()
    await move(5, 9)
    expect(await length('ada')).toBe(0)
    await tenant.admin('POST', '/streaks/restore', { users: [{ id: 'ada' }] })
    expect([await length('ada'), await has()]).toEqual([3, []])
    await active(5)
    expect(await has()).toHaveLength(1)
    await tenant.admin('DELETE', '/users/ada/achievements/two')
    await active(6, 9)
    expect(await has()).toEqual([])
    await active(10)
    expect([await length('ada'), await has()]).toMatchObject([2, [{ key: 'two' }]])
  })

  it('[V4, S9] is completed again after a recount made the streak shorter', async () => {
    await taken()
    await settings({ frequency: 'weekly' })
    await active(3)
    expect([await length('ada'), await has()]).toEqual([1, []])
    await active(7)
    expect([await length('ada'), await has()]).toMatchObject([2, [{ key: 'two' }]])
  })
})
