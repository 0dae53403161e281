import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { filter } from '../helpers/known'
import { forgetTime, moveTo } from '../helpers/worker/boards'
import { intercepted } from '../helpers/worker/faulty'
import { at, list, NOBODY, newApp, pick, UUID } from '../helpers/worker/harness'
import { type World, world } from '../helpers/worker/world'

/* What is special about leaderboards. The rest is in resources.test.ts. */

const PATH = '/leaderboards'
const TODAY = '2027-03-10'

const move = (now: string) => moveTo(Date.parse(now))

let s: World
beforeEach(async () => {
  s = await world()
  await move(`${TODAY}T12:00:00Z`)
})
afterEach(forgetTime)

const item = (key: string, more: object = {}) => ({
  ...{ key, name: `Board ${key}`, rankBy: 'metric', metricId: s.words, ...more },
})
const shown = (key: string, more: object = {}) => ({
  ...{ id: UUID, key, name: `Board ${key}`, status: 'inactive', rankBy: 'metric', metricId: s.words },
  ...{ maxParticipants: 1_000, start: TODAY, breakdownAttributes: [], userAttributes: [], ...more },
})

const post = (...items: object[]) => s.tenant.admin('POST', PATH, items)
const create = (key: string, more: object = {}) => s.tenant.create(PATH, item(key, more))
const get = async (id: string) => (await s.tenant.admin('GET', `${PATH}/${id}`)).body
const patch = async (id: string, change: object) =>
  (await s.tenant.admin('PATCH', PATH, [{ id, ...change }])).body

/**
 * Checks that a change is an issue of two sentences, with `message` in the first, and that nothing changed.
 */
async function objects(id: string, change: object, message: RegExp) {
  const before = await get(id)
  const body = await patch(id, change)
  expect(body).toEqual({
    updated: [],
    issues: [{ id, severity: 'error', message: expect.stringMatching(/^.+[^.]\. .+[^.]\.$/) }],
  })
  expect([change, at(body, 'issues', 0, 'message')]).toEqual([change, expect.stringMatching(message)])
  expect(await get(id)).toEqual(before)
}

/** Checks that an item cannot be created, and that the first sentence of its issue matches. */
async function errorStatuses(more: object, message: RegExp) {
  const { status, body } = await post(item(`refused-${crypto.randomUUID()}`, more))
  expect([status, body]).toEqual([
    200,
    {
      created: [],
      issues: [{ index: 0, severity: 'error', message: expect.stringMatching(/^.+[^.]\. .+[^.]\.$/) }],
    },
  ])
  expect([more, at(body, 'issues', 0, 'message')]).toEqual([more, expect.stringMatching(message)])
}

/** Checks that a change is made, by the response and by a later GET. */
async function changes(id: string, change: object, shows = change) {
  const body = await patch(id, change)
  expect(body).toMatchObject({ updated: [shows], issues: [] })
  expect(await get(id)).toEqual(at(body, 'updated', 0))
}

describe('fields', () => {
  it('[L2] start is the day of creation in UTC, and runUnit alone means an interval of 1', async () => {
    await move('2027-03-10T23:59:59.999Z')
    expect(await get(await create('a'))).toMatchObject({ start: '2027-03-10' })
    await move('2027-03-11T00:00:00Z')
    expect(await get(await create('b', { runUnit: 'month' }))).toMatchObject({
      start: '2027-03-11',
      runUnit: 'month',
      runInterval: 1,
    })
  })

  it('[G7, G10] a description that is empty is removed, and no runs have no interval', async () => {
    const id = await create('a', { description: 'D', runUnit: 'month', runInterval: 3 })
    await changes(id, { runUnit: 'day' }, { runUnit: 'day', runInterval: 3 })
    const { id: _, ...plain } = shown('a')
    await changes(id, { description: '', runUnit: null }, plain)
    expect(await get(id)).toEqual(shown('a'))
    await changes(id, { runUnit: 'year' }, { runUnit: 'year', runInterval: 1 })
  })
})

describe('references of a leaderboard', () => {
  it('[L3] it ranks by an existing metric or points system; fields of another kind are dropped', async () => {
    const { words: metric, xp: system } = s
    await errorStatuses({ metricId: null }, /needs metricId/)
    await errorStatuses({ rankBy: 'points' }, /needs pointsSystemId/)
    await errorStatuses(
      { rankBy: 'points', pointsSystemId: metric },
      /^No points system has this pointsSystemId/,
    )
    const id = await create('a', { pointsSystemId: NOBODY })
    expect(await get(id)).toEqual(shown('a'))
    await objects(id, { rankBy: 'points' }, /needs pointsSystemId/)
    await changes(id, { rankBy: 'points', pointsSystemId: system })
    expect(await get(id)).not.toHaveProperty('metricId')
    await objects(id, { rankBy: 'metric' }, /needs metricId/)
    await changes(id, { rankBy: 'streak' })
    expect(await get(id)).not.toHaveProperty('pointsSystemId')
  })

  it("[L6] it is broken down by users' attributes, each once", async () => {
    const { plan, city } = s
    await errorStatuses({ breakdownAttributes: [plan, NOBODY] }, /^breakdownAttributes: no user attribute/)
    await errorStatuses({ breakdownAttributes: [plan, city, plan] }, /more than once/)
    const id = await create('a', { breakdownAttributes: [plan.toUpperCase()] })
    expect(await get(id)).toMatchObject({ breakdownAttributes: [plan] })
    await changes(id, { breakdownAttributes: [city, plan] })
  })

  it('[L2] it ends on its start or later, and its runs have a unit', async () => {
    await errorStatuses({ start: '2027-03-10', end: '2027-03-09' }, /is before the start/)
    await errorStatuses({ runInterval: 2 }, /runInterval needs a runUnit/)
    const id = await create('a', { end: TODAY })
    await objects(id, { end: '2027-03-09' }, /is before the start/)
    await objects(id, { start: '2027-03-11' }, /is before the start/)
    await objects(id, { runInterval: 2 }, /runInterval needs a runUnit/)
    await objects(id, { runUnit: null, runInterval: 2 }, /runInterval needs a runUnit/)
    await changes(id, { runUnit: 'year', runInterval: 1_000 })
  })

  it('[L1] its window is not empty, and may cross midnight', async () => {
    await errorStatuses({ startTime: '09:00', endTime: '09:00:00' }, /window is empty/)
    await errorStatuses({ endTime: '00:00' }, /window is empty/)
    const id = await create('a', { startTime: '22:00', endTime: '00:00' })
    await objects(id, { endTime: '22:00:00' }, /window is empty/)
    await changes(id, { endTime: null }, { startTime: '22:00' })
  })

  it('[L1, L3] a board by streak is perpetual and has no window', async () => {
    await errorStatuses({ rankBy: 'streak', runUnit: 'day', runInterval: 7 }, /has no runs/)
    await errorStatuses({ rankBy: 'streak', startTime: '09:00' }, /has no daily window/)
    await errorStatuses({ rankBy: 'streak', endTime: '09:00' }, /has no daily window/)
    const id = await create('a', { runUnit: 'day', startTime: '09:00' })
    await objects(id, { rankBy: 'streak', startTime: null }, /has no runs/)
    await objects(id, { rankBy: 'streak', runUnit: null }, /has no daily window/)
    await changes(id, { rankBy: 'streak', runUnit: null, startTime: null }, { rankBy: 'streak' })
    expect(await get(await create('b', { rankBy: 'streak', end: '2027-12-31' }))).toMatchObject({
      end: '2027-12-31',
    })
  })
})

describe('status', () => {
  const [PAST, YESTERDAY, FUTURE] = ['2027-03-01', '2027-03-09', '2027-03-12']

  /** A new leaderboard, moved to this status. */
  const inStatus = async (status: string, more: object = {}) => {
    const key = `k${crypto.randomUUID()}`
    if (status !== 'finished') {
      return create(key, { status, ...(status === 'scheduled' && { start: FUTURE }), ...more })
    }
    const id = await create(key, { status: 'active', ...more })
    await changes(id, { status })
    return id
  }

  it('[L7] it is created inactive; it becomes scheduled by a future start; other statuses need a move', async () => {
    for (const [given, status] of [
      [{}, 'inactive'],
      [{ start: PAST }, 'inactive'],
      [{ start: FUTURE }, 'scheduled'],
      [{ start: FUTURE, status: 'inactive' }, 'inactive'],
      [{ start: FUTURE, status: 'scheduled' }, 'scheduled'],
      [{ status: 'active' }, 'active'],
      [{ start: PAST, status: 'active' }, 'active'],
      [{ start: PAST, end: YESTERDAY, status: 'finished' }, 'finished'],
    ] as const) {
      const key = `k${crypto.randomUUID()}`
      const { body } = await post(item(key, given))
      expect([given, body]).toEqual([given, { created: [shown(key, { ...given, status })], issues: [] }])
    }
    const before = pick((await s.tenant.admin('GET', PATH)).body, 'id')
    await errorStatuses({ start: FUTURE, status: 'active' }, /in the future.*Make it scheduled/)
    await errorStatuses({ status: 'scheduled' }, /not in the future/)
    await errorStatuses({ start: PAST, status: 'scheduled' }, /not in the future/)
    await errorStatuses({ status: 'finished' }, /only when its end is past/)
    await errorStatuses({ end: TODAY, status: 'finished' }, /only when its end is past/)
    await errorStatuses({ start: FUTURE, status: 'finished' }, /only when its end is past/)
    expect(pick((await s.tenant.admin('GET', PATH)).body, 'id')).toEqual(before)
  })

  it('[L7] each move is legal or an issue; a move to the same status changes nothing', async () => {
    const illegal: Record<string, RegExp> = {
      'inactive scheduled': /not in the future/,
      'inactive finished': /only when its end is past/,
      'scheduled active': /by itself/,
      'scheduled finished': /has not begun/,
      'active scheduled': /can't become scheduled/,
      'finished inactive': /finished for good/,
      'finished scheduled': /finished for good/,
      'finished active': /finished for good/,
    }
    for (const from of ['inactive', 'scheduled', 'active', 'finished']) {
      for (const to of ['inactive', 'scheduled', 'active', 'finished']) {
        const id = await inStatus(from)
        const message = illegal[`${from} ${to}`]
        if (message) await objects(id, { status: to }, message)
        else await changes(id, { status: to })
      }
    }
  })

  it('[L7] a move uses the dates that the same change sets', async () => {
    const id = await create('a')
    await changes(id, { status: 'scheduled', start: FUTURE })
    await changes(id, { status: 'inactive' }, { status: 'inactive', start: FUTURE })
    await objects(id, { status: 'active' }, /in the future/)
    await changes(id, { status: 'active', start: PAST })
    const other = await create('b', { start: PAST })
    await changes(other, { status: 'finished', end: YESTERDAY })
  })

  it('[L7] an inactive board becomes scheduled by itself when a future start is set, unless a status is given', async () => {
    const id = await create('a')
    await changes(id, { start: PAST }, { status: 'inactive' })
    await changes(id, { start: FUTURE, status: 'inactive' }, { status: 'inactive' })
    await changes(id, { name: 'N' }, { status: 'inactive' })
    await changes(id, { start: '2027-03-13' }, { status: 'scheduled' })
    await changes(id, { status: 'inactive', start: FUTURE })
  })

  it('[L7] it may be active as soon as its start begins in the first zone on Earth, and becomes so by itself', async () => {
    await move('2027-03-11T09:59:59.999Z')
    const waiting = await create('waiting', { start: FUTURE })
    const idle = await create('idle', { start: FUTURE, status: 'inactive' })
    await objects(idle, { status: 'active' }, /in the future/)
    await objects(waiting, { status: 'active' }, /by itself/)
    await move('2027-03-11T10:00:00Z')
    expect(await get(waiting)).toMatchObject({ status: 'active' })
    expect(await get(idle)).toMatchObject({ status: 'inactive' })
    await changes(waiting, { status: 'active' })
    await objects(waiting, { status: 'scheduled' }, /can't become scheduled/)
    await changes(idle, { status: 'active' })
    // In UTC it is still in the future, so a board with this start is scheduled, and active at once.
    expect(await get(await create('late', { start: FUTURE }))).toMatchObject({ status: 'active' })
    await changes(waiting, { status: 'inactive' })
  })

  it('[L7] it finishes by itself when its last run is final, for good', async () => {
    const scheduled = await create('a', { start: FUTURE, end: '2027-03-14' })
    const active = await create('b', { status: 'active', end: '2027-03-14', runUnit: 'day' })
    const idle = await create('c', { end: '2027-03-14' })
    await move('2027-03-15T11:59:59.999Z')
    expect(pick((await s.tenant.admin('GET', PATH)).body, 'status')).toEqual(['active', 'active', 'inactive'])
    await move('2027-03-15T12:00:00Z')
    expect(pick((await s.tenant.admin('GET', PATH)).body, 'status')).toEqual([
      'finished',
      'finished',
      'inactive',
    ])
    for (const id of [scheduled, active]) {
      for (const status of ['inactive', 'scheduled', 'active']) await objects(id, { status }, /for good/)
      await changes(id, { status: 'finished' })
      await changes(id, { name: 'Old', description: 'Over' })
      await objects(id, { end: '2027-04-14' }, /so these fields can't change: end/)
    }
    await changes(idle, { status: 'finished' })
  })

  it('[L7] frozen fields change only on an inactive board, or together with a move to inactive', async () => {
    const fixed = {
      runUnit: 'day',
      runInterval: 7,
      startTime: '09:00',
      endTime: '17:00',
      breakdownAttributes: [s.plan],
      userAttributes: filter(s.plan),
    }
    const frozen = [
      ['key', { key: 'other' }],
      ['rankBy, metricId, pointsSystemId', { rankBy: 'points', pointsSystemId: s.xp }],
      ['rankBy, metricId', { rankBy: 'streak' }],
      ['metricId', { metricId: s.pages }],
      ['start', { start: PAST }],
      ['startTime', { startTime: '08:00' }],
      ['startTime, endTime', { startTime: null, endTime: null }],
      ['breakdownAttributes', { breakdownAttributes: [] }],
      ['breakdownAttributes', { breakdownAttributes: [s.plan, s.city] }],
      ['userAttributes', { userAttributes: null }],
      ['userAttributes', { userAttributes: filter(s.city) }],
      ['runUnit', { runUnit: 'month' }],
      ['runInterval', { runInterval: 1 }],
      ['runUnit, runInterval', { runUnit: null }],
      ['key, start', { key: 'other', start: PAST, name: 'N' }],
    ] as const
    for (const status of ['scheduled', 'active', 'finished']) {
      const id = await inStatus(status, fixed)
      const { id: _, ...same } = Object(await get(id))
      await changes(id, same)
      for (const [names, change] of frozen) {
        await objects(id, change, new RegExp(`is ${status}, so these fields can't change: ${names}\\.`))
      }
      await changes(id, { name: 'N', description: 'D' }, { name: 'N', description: 'D', status })
      if (status === 'finished') {
        await objects(id, { end: '2027-12-31', maxParticipants: 5 }, /change: end, maxParticipants\./)
        continue
      }
      const key = `then-${status}`
      await changes(
        id,
        { status: 'inactive', key, start: PAST, rankBy: 'points', pointsSystemId: s.xp, runUnit: null },
        { status: 'inactive', key, start: PAST, rankBy: 'points' },
      )
    }
  })

  it('[L5] the maximum and the end may change until it is finished', async () => {
    for (const status of ['inactive', 'scheduled', 'active']) {
      const id = await inStatus(status)
      await changes(
        id,
        { maxParticipants: 1, end: '2027-04-01' },
        { maxParticipants: 1, end: '2027-04-01', status },
      )
      await changes(
        id,
        { maxParticipants: null, end: '2027-03-20' },
        { maxParticipants: 1_000, end: '2027-03-20' },
      )
      await changes(id, { end: null }, { status })
      expect(await get(id)).not.toHaveProperty('end')
      await objects(id, { end: '2027-02-28' }, /before the start/)
    }
  })

  it('[L8] the end cannot move before the end of a final run', async () => {
    const weekly = { status: 'active', start: PAST, runUnit: 'day', runInterval: 7 }
    const id = await create('weekly', weekly)
    const perpetual = await create('perpetual', { status: 'active', start: PAST })
    // The first run ended on the 7th, and is final since noon of the 8th. The second one runs to the 14th.
    await objects(id, { end: '2027-03-06' }, /The run until 2027-03-07 is final/)
    await changes(id, { end: FUTURE }, { end: FUTURE, status: 'active' })
    await changes(id, { end: '2027-03-31' }, { end: '2027-03-31', status: 'active' })
    await move('2027-03-15T11:59:59.999Z')
    await changes(id, { end: '2027-03-14' }, { end: '2027-03-14', status: 'active' })
    await changes(id, { end: null }, { status: 'active' })
    await move('2027-03-15T12:00:00Z')
    await objects(id, { end: '2027-03-13' }, /The run until 2027-03-14 is final/)
    await objects(id, { end: '2027-03-13', status: 'finished' }, /is final/)
    await changes(id, { end: '2027-03-13', status: 'inactive' })
    // A perpetual board has no final run. With an end in the past, it is over.
    await changes(perpetual, { end: PAST }, { end: PAST, status: 'finished' })
  })

  it('[L7] at most 100 are active or scheduled', async () => {
    const items = Array.from({ length: 100 }, (_, n) =>
      item(`k${n}`, n === 0 ? { status: 'active', end: '2027-03-11' } : { start: '2028-03-10' }),
    )
    const { body } = await post(...items)
    const [first, second] = pick(at(body, 'created'), 'id').map(String)
    expect(list(at(body, 'created'))).toHaveLength(100)
    await errorStatuses({ status: 'active' }, /^Limit of 100 active or scheduled leaderboards/)
    await errorStatuses({ start: FUTURE }, /^Limit of 100 active or scheduled leaderboards/)
    const idle = await create('idle')
    await objects(idle, { status: 'active' }, /^Limit of 100/)
    await changes(first ?? '', { name: 'N', maxParticipants: 1 }, { name: 'N' })
    await changes(second ?? '', { status: 'inactive' })
    await changes(idle, { status: 'active' })
    await objects(second ?? '', { status: 'scheduled' }, /^Limit of 100/)
    // Those that are finished by themselves make room.
    await move('2027-03-12T12:00:00Z')
    await create('more', { status: 'active' })
  })
})

describe('deletions', () => {
  it('[G9, L13] deleting an attribute of the breakdown or filters of an unfinished leaderboard is an issue', async () => {
    const { tenant, plan, city } = s
    const remove = async (id: string) => (await tenant.admin('DELETE', `/attributes?ids=${id}`)).body
    const id = await create('a', {
      breakdownAttributes: [city, plan],
      start: '2027-03-12',
      status: 'inactive',
    })
    const isUsed = {
      deleted: [],
      issues: [{ id: plan, message: expect.stringMatching(/^The attribute is used by the leaderboard a/) }],
    }
    expect(await remove(plan)).toMatchObject(isUsed)
    await changes(id, { status: 'scheduled' })
    expect(await remove(plan)).toMatchObject(isUsed)
    await move('2027-03-12T00:00:00Z')
    expect(await remove(plan)).toMatchObject(isUsed)
    await changes(id, { status: 'finished' })
    expect(await remove(plan)).toEqual({ deleted: [{ id: plan }], issues: [] })
    await changes(id, { name: 'Old' }, { name: 'Old', breakdownAttributes: [city, plan] })
    const other = await create('b', { userAttributes: filter(city) })
    expect(await remove(city)).toMatchObject({ deleted: [] })
    await tenant.admin('DELETE', `${PATH}?ids=${other}`)
    expect(await remove(city)).toMatchObject({ deleted: [{ id: city }] })
  })
})

/** A D1 that records which leaderboards each configuration change makes due, and when, in its own batch. */
function notingD1() {
  const due: unknown[][][] = []
  const DB = intercepted(env.DB, ({ texts, params, run }) => {
    if (texts.some((text) => text.includes('config_version + 1')))
      due.push(params.filter((_, index) => texts[index]?.includes('due_work')))
    return run()
  })
  return { DB, due }
}

describe('upkeep', () => {
  it('[L7] a change that concerns scores makes the upkeep of the leaderboard due in the same batch', async () => {
    const { DB, due } = notingD1()
    const noting = s.tenant.through(newApp({ DB }))
    s = { ...s, tenant: noting }
    const now = Date.parse(`${TODAY}T12:00:00Z`)
    /** The leaderboards that the last change made due. It is the only change since the last call. */
    const made = () => {
      const changes = due.splice(0)
      expect(changes).toHaveLength(1)
      for (const params of changes[0] ?? []) {
        expect(params).toEqual([noting.id, 'leaderboard', UUID, now])
      }
      return changes[0]?.map((params) => at(params, 2))
    }
    const idle = await create('idle')
    expect(made()).toEqual([])
    const active = await create('active', { status: 'active' })
    expect(made()).toEqual([active])
    const scheduled = await create('scheduled', {
      start: '2027-03-12',
      rankBy: 'points',
      pointsSystemId: s.xp,
    })
    expect(made()).toEqual([scheduled])
    await patch(idle, { name: 'N', start: '2027-03-01' })
    expect(made()).toEqual([])
    await patch(idle, { status: 'active' })
    expect(made()).toEqual([idle])
    await patch(active, { maxParticipants: 5 })
    expect(made()).toEqual([active])
    await patch(idle, { status: 'inactive' })
    expect(made()).toEqual([idle])
    await patch(active, { status: 'finished' })
    expect(made()).toEqual([active])
    await patch(active, { status: 'finished', name: 'Board active' })
    expect(due).toEqual([])
    await noting.admin('PATCH', PATH, [
      { id: idle, status: 'active' },
      { id: scheduled, name: 'N' },
      { id: active, end: '2027-04-01' },
    ])
    expect(made()).toEqual([idle, scheduled])
    await noting.admin('DELETE', `${PATH}?ids=${idle},${NOBODY}`)
    expect(made()).toEqual([idle])
    await noting.admin('DELETE', `/metrics?ids=${s.words}`)
    // The goal of streaks may have changed, too (S2).
    expect(due[0]?.pop()).toEqual([noting.id, 'recount', '', expect.any(Number), null, 1, null])
    expect(made()).toEqual([active])
    await noting.admin('DELETE', `/points?ids=${s.xp}`)
    expect(made()).toEqual([scheduled])
  })
})
