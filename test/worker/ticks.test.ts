import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { TickProgress, type TickStep, tickStep } from '../../src/features/points/ticks'
import { type Instant, instant } from '../../src/lib/clock'
import type { TenantContext } from '../../src/platform/context'
import { type DueWork, progressText, workOf } from '../../src/time/due-work.sql.ts'
import { bytes, number, readable, uuid } from '../helpers/readable'
import { present, START } from '../helpers/time'
import { forgetTime, moveTo } from '../helpers/worker/boards'
import { contextOfUsers, workWith } from '../helpers/worker/contexts'
import { forgetDueWork } from '../helpers/worker/due-work'
import { answerLost, beforeFirst, faultyLast, lost } from '../helpers/worker/faulty'
import {
  at,
  databases,
  expectBetween,
  lastDatabase,
  newTenantInLast,
  rowsEverywhere,
  type TestTenant,
} from '../helpers/worker/harness'
import { muted } from '../helpers/worker/inbox'
import { manyUsers } from '../helpers/worker/many-users'
import { removeUsers } from '../helpers/worker/stored-users'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/* The configuration, and its age */

type Wanted = {
  points?: number
  unit?: 'hours' | 'days'
  interval?: number
  status?: string
  filters?: object[]
}

const tick = ({ points = 5, unit = 'hours', interval = 1, status = 'active', filters }: Wanted = {}) => ({
  type: 'time',
  points,
  status,
  timeUnit: unit,
  timeInterval: interval,
  ...(filters && { userAttributes: filters }),
})

/** A tenant with a points system of time triggers, a metric whose trigger grants 1 for 1, and users. */
async function withTicks(
  triggers: readonly Wanted[] = [{}],
  { users = ['ada'], maxPoints = null }: { users?: readonly string[]; maxPoints?: number | null } = {},
) {
  const tenant = await newTenantInLast()
  const metric = await tenant.metric('words')
  const { body } = await tenant.admin('POST', '/points', [
    {
      key: 'xp',
      name: 'XP',
      maxPoints,
      triggers: [
        ...triggers.map(tick),
        { type: 'metric', points: 1, status: 'active', metricId: metric, metricThreshold: 1 },
      ],
    },
  ])
  for (const id of users) await tenant.app('POST', '/users', { id })
  const system = String(at(body, 'created', 0, 'id'))
  const ids = triggers.map((_, n) => String(at(body, 'created', 0, 'triggers', n, 'id')))
  return { tenant, system, ids, path: `/points/${system}/triggers` }
}

type Setup = Awaited<ReturnType<typeof withTicks>>

/** Makes the anchors, users and due work of a tenant older by `ms`. */
async function age({ tenant }: Pick<Setup, 'tenant'>, ms: number): Promise<void> {
  const older = [
    'UPDATE points_triggers SET anchor = anchor - ?2 WHERE tenant_id = ?1',
    'UPDATE users SET created = created - ?2, changed = changed - ?2 WHERE tenant_id = ?1',
    `UPDATE due_work SET due_at = due_at - ?2,
      progress = json_set(progress, '$.through', (progress ->> '$.through') - ?2) WHERE tenant_id = ?1`,
    'UPDATE tenants SET config_version = config_version + 1 WHERE id = ?1 AND ?2',
  ]
  for (const { d1 } of databases()) await d1.batch(older.map((sql) => d1.prepare(sql).bind(tenant.id, ms)))
}

const anchors = async ({ system }: Setup): Promise<(number | null)[]> => {
  const sql = `SELECT anchor FROM points_triggers WHERE system_id = ?1 AND type = 'time' AND deleted IS NULL
    ORDER BY no`
  const { results } = await lastDatabase().d1.prepare(sql).bind(system).all<{ anchor: number | null }>()
  return results.map(({ anchor }) => anchor)
}

/** The anchor of the only time trigger. */
async function anchorOf(setup: Setup): Promise<number> {
  const [anchor] = await anchors(setup)
  return anchor ?? expect.fail('no anchor')
}

/* Single steps. With several databases, all users are in the last one. */

const ticksDue = ({ tenant }: Pick<Setup, 'tenant'>): Promise<DueWork | undefined> =>
  workOf(contextOfUsers(tenant.id).db, 'ticks')

/** The work that must be due. */
const dueNow = async (setup: Pick<Setup, 'tenant'>) =>
  (await ticksDue(setup)) ?? expect.fail('nothing is due')

const now = () => instant(present())

const stepOf = (context: TenantContext, row: DueWork, to: Instant) =>
  tickStep(context, workWith(context, row, TickProgress), to)

/** One step of the work that is due by now. */
async function step(setup: Pick<Setup, 'tenant'>, DB = lastDatabase().d1): Promise<TickStep> {
  return stepOf(contextOfUsers(setup.tenant.id, DB), await dueNow(setup), now())
}

/** Steps until nothing is due. */
async function allSteps(
  setup: Pick<Setup, 'tenant'>,
  to: Instant = now(),
  DB = lastDatabase().d1,
): Promise<TickStep[]> {
  const context = contextOfUsers(setup.tenant.id, DB)
  const steps: TickStep[] = []
  let work = await ticksDue(setup)
  while (work !== undefined && work.dueAt <= to) {
    const done = await stepOf(context, work, to)
    steps.push(done)
    const { dueAt, progress } = done
    work = dueAt === null ? undefined : { ...work, dueAt, progress: progressText(progress) }
    expect(await ticksDue(setup)).toEqual(work)
  }
  return steps
}

/* The stored rows */

const AwardRow = z.object({
  user: z.string(),
  at: z.number(),
  seq: z.number(),
  position: z.number(),
  id: z.string(),
  awarded: z.number(),
  total: z.number(),
  utc_offset: z.number(),
  trigger_id: z.string(),
})
const UserRow = z.object({
  id: z.string(),
  seq: z.number(),
  points: z.string(),
  last_seq_by_input: z.string(),
})

/** All awards in the system in the order of creation. Checks first that totals are their sums (P8). */
async function ledger({ tenant, system }: Setup): Promise<z.infer<typeof AwardRow>[]> {
  const { d1 } = lastDatabase()
  const [awardRows, userRows] = await d1.batch([
    d1
      .prepare(
        `SELECT u.id AS user, a.at, a.seq, a.position, ${uuid('a.id')} AS id, a.awarded, a.total, a.utc_offset,
         (SELECT t.id FROM points_triggers t WHERE t.no = a.trigger_no) AS trigger_id
       FROM users u CROSS JOIN awards a ON a.user_iid = ${bytes('u.iid')}
       WHERE u.tenant_id = ?1 AND a.system_no = ${number('points_systems', '?2')}
       ORDER BY u.id, a.seq, a.position`,
      )
      .bind(tenant.id, system),
    d1.prepare('SELECT id, seq, points, last_seq_by_input FROM users WHERE tenant_id = ?1').bind(tenant.id),
  ])
  const awards = z.array(AwardRow).parse(awardRows?.results)
  for (const user of z.array(UserRow).parse(userRows?.results)) {
    let total = 0
    let last = 0
    for (const award of awards.filter((one) => one.user === user.id)) {
      total += award.awarded
      expect(award.total).toBe(total)
      last = award.seq
    }
    expect(at(JSON.parse(user.points), system) ?? 0).toBe(total)
    expect(at(JSON.parse(user.last_seq_by_input), system) ?? 0).toBe(last)
    expect(user.seq).toBeGreaterThanOrEqual(last)
  }
  expect(new Set(awards.map(({ id }) => id)).size).toBe(awards.length)
  return awards
}

/** The due times of a user's awards by time triggers. */
const duesOf = async (setup: Setup, user = 'ada') =>
  (await ledger(setup))
    .filter((one) => one.user === user && setup.ids.includes(one.trigger_id))
    .map((a) => a.at)

/** The due times anchor + k × interval, for k from `from` to `to`. */
const dues = (anchor: number, interval: number, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => anchor + (from + n) * interval)

/** The real D1 of the users. Writes of a step go through `fault`, which gets the number of earlier writes. */
const faulty = (fault: Parameters<typeof faultyLast>[0]) =>
  faultyLast(fault, ({ texts }) => texts.some((text) => text.includes('UPDATE due_work')))

/** Makes many users who exist since now. */
const usersOf = ({ tenant }: Setup, count: number) =>
  manyUsers(tenant, count, { created: String(present()), changed: String(present()) })

/** Records an event. It wakes no Timekeeper, whose alarm could do the steps of a test before the test does. */
const add = (tenant: TestTenant, value: number, user = 'ada') => muted(tenant).event('words', user, value)

describe('[P4] ticks', () => {
  it('grant hourly and daily, in order of due time and creation, with the offset of the due time', async () => {
    const setup = await withTicks([{ unit: 'days', points: 100 }, { points: 5 }])
    await setup.tenant.app('POST', '/users', { id: 'bob', tz: 'Asia/Kathmandu' })
    expect(await ticksDue(setup)).toMatchObject({
      dueAt: Number((await anchors(setup))[1]) + HOUR,
      progress: null,
    })
    await age(setup, 49 * HOUR + 30 * MINUTE)
    const anchor = await anchorOf(setup)
    await allSteps(setup)
    const awards = await ledger(setup)
    const [daily, hourly] = setup.ids
    const expected = dues(anchor, HOUR, 1, 49).flatMap((due, n) => [
      ...((n + 1) % 24 === 0 ? [[due, daily, 100]] : []),
      [due, hourly, 5],
    ])
    for (const [user, offset] of [['ada', 0] as const, ['bob', 345] as const]) {
      const own = awards.filter((award) => award.user === user)
      expect(own.map((award) => [award.at, award.trigger_id, award.awarded])).toEqual(expected)
      expect(own.every((award) => award.utc_offset === offset)).toBe(true)
    }
    expect((await ticksDue(setup))?.dueAt).toBe(anchor + 50 * HOUR)
    const { body } = await setup.tenant.app('GET', '/users/ada/points/xp?awards=1')
    expect(body).toMatchObject({ total: 49 * 5 + 200 })
    expect(at(body, 'awards', 0)).toMatchObject({
      awarded: 5,
      date: new Date(anchor + 49 * HOUR).toISOString(),
    })
  })

  it('are caught up in sweeps that never span a UTC midnight, with one change of a user in each', async () => {
    const setup = await withTicks()
    await age(setup, 60 * HOUR + MINUTE)
    const anchor = await anchorOf(setup)
    const steps = await allSteps(setup)
    const tokens = steps.map(({ changes }) =>
      changes.flatMap(({ awards }) => awards.map((award) => award.at)),
    )
    expect(tokens.flat()).toEqual(dues(anchor, HOUR, 1, 60))
    for (const pass of tokens) {
      expect(new Set(pass.map((due) => Math.floor(due / DAY))).size).toBe(1)
    }
    expect(new Set(tokens.map(([first = 0]) => Math.floor(first / DAY))).size).toBe(tokens.length)
    const awards = await ledger(setup)
    expect(new Set(awards.map(({ seq }) => seq)).size).toBe(tokens.length)
    expect(steps.map(({ changes }) => changes[0]?.after.seq)).toEqual([
      ...new Set(awards.map(({ seq }) => seq)),
    ])
  })

  it('go to matching users who existed at the due time, and to no others', async () => {
    const tenant = await newTenantInLast()
    const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    const system = await tenant.create('/points', {
      key: 'xp',
      name: 'XP',
      triggers: [tick({ filters: [{ attributeId: plan, attributeValue: 'pro' }] })],
    })
    const setup = { tenant, system, ids: [], path: '' }
    await tenant.app('POST', '/users', { id: 'free' })
    await tenant.app('POST', '/users', { id: 'pro', attributes: { plan: 'pro' } })
    await age(setup, 2 * HOUR + MINUTE)
    await tenant.app('POST', '/users', { id: 'new', attributes: { plan: 'pro' } })
    // The attributes count that users have when the tick runs.
    await tenant.app('PATCH', '/users/free', { attributes: { plan: 'pro' } })
    await allSteps(setup)
    const awards = await ledger(setup)
    expect(awards.map(({ user, awarded }) => `${user} ${awarded}`)).toEqual([
      ...['free 5', 'free 5', 'pro 5', 'pro 5'],
    ])
  })

  it('are boosted by the due time, also by boosts of the user', async () => {
    const setup = await withTicks([{ points: 3 }])
    await age(setup, 3 * DAY)
    const anchor = await anchorOf(setup)
    const day = new Date(anchor + DAY).toISOString().slice(0, 10)
    const { body } = await setup.tenant.admin('POST', `/points/${setup.system}/boosts`, [
      { name: 'Double', start: day, end: day, multiplier: 2, rounding: 'down' },
    ])
    expect(at(body, 'issues')).toEqual([])
    await setup.tenant.admin('POST', `/points/${setup.system}/boosts`, [
      { userId: 'ada', name: 'Own', start: day, end: day, multiplier: 1.5, rounding: 'down' },
    ])
    await allSteps(setup)
    for (const { at: due, awarded } of await ledger(setup)) {
      expect(awarded).toBe(new Date(due).toISOString().startsWith(day) ? 9 : 3)
    }
  })

  it('[P6] stop at the cap, and then need no write for the user', async () => {
    const setup = await withTicks([{ points: 4 }], { users: ['ada', 'bob'], maxPoints: 10 })
    await age(setup, 5 * HOUR + MINUTE)
    await allSteps(setup)
    const awards = await ledger(setup)
    expect(awards.map(({ user, awarded }) => [user, awarded])).toEqual(
      ['ada', 'bob'].flatMap((user) => [4, 4, 2].map((awarded) => [user, awarded])),
    )
    await age(setup, 30 * HOUR)
    const { DB, seen } = faulty(({ run }) => run())
    const steps = await allSteps(setup, now(), DB)
    expect(steps.flatMap(({ changes }) => changes)).toEqual([])
    // One row of due work for each step.
    expect(seen.rowsWritten).toBe(seen.writes)
    expect(await ledger(setup)).toEqual(awards.map((award) => expect.objectContaining({ id: award.id })))
  })

  it('read and write a number of rows proportional to users and awards, in chunks of a thousand', async () => {
    const setup = await withTicks([{}], { users: [] })
    await usersOf(setup, 2_300)
    await age(setup, HOUR + MINUTE)
    const { DB, seen } = faulty(({ run }) => run())
    const steps = await allSteps(setup, now(), DB)
    expect(steps.map(({ changes }) => changes.length)).toEqual([1_000, 1_000, 300])
    const awards = await ledger(setup)
    expect(awards).toHaveLength(2_300)
    expect(new Set(awards.map(({ user }) => user)).size).toBe(2_300)
    expect(seen.rowsWritten).toBe(2 * 2_300 + steps.length)
    expect(seen.rowsRead).toBeLessThan(2_300 * 14)
  })
})

describe('[P4, C2] a step of ticks, under faults', () => {
  it('repeated with the same due work, does nothing', async () => {
    const setup = await withTicks()
    await age(setup, HOUR + MINUTE)
    const work = await dueNow(setup)
    const context = contextOfUsers(setup.tenant.id)
    const first = await stepOf(context, work, now())
    const before = await ledger(setup)
    expect(before).toHaveLength(1)
    const again = await stepOf(context, work, now())
    expect(again).toMatchObject({ dueAt: first.dueAt, progress: first.progress, changes: [] })
    expect(await ledger(setup)).toEqual(before)
    // Six at once have the same result.
    await age(setup, HOUR)
    const later = await dueNow(setup)
    const all = await Promise.all(
      Array.from({ length: 6 }, () => stepOf(contextOfUsers(setup.tenant.id), later, now())),
    )
    expect(all.filter(({ changes }) => changes.length > 0)).toHaveLength(1)
    expect(await ledger(setup)).toHaveLength(2)
  })

  it('with events of some users between read and write: each tick counts once, and the events count', async () => {
    const setup = await withTicks([{}, {}, {}], { users: ['ada', 'bob', 'cleo'] })
    await age(setup, HOUR + MINUTE)
    const anchor = await anchorOf(setup)
    const { DB, seen } = faulty(async ({ run }, writes) => {
      if (writes < 2)
        await Promise.all([add(setup.tenant, 7, 'ada'), writes === 0 ? add(setup.tenant, 1, 'cleo') : null])
      return run()
    })
    const steps = await allSteps(setup, now(), DB)
    expect(steps.map(({ changes }) => changes.map(({ after }) => after.id))).toEqual([
      ...[['bob'], ['cleo'], ['ada'], []],
    ])
    expect(seen.writes).toBe(4)
    for (const user of ['ada', 'bob', 'cleo'])
      expect(await duesOf(setup, user)).toEqual(Array(3).fill(anchor + HOUR))
    for (const [user, total] of [['ada', 29] as const, ['bob', 15] as const, ['cleo', 16] as const]) {
      expect((await setup.tenant.app('GET', `/users/${user}/points/xp`)).body).toMatchObject({ total })
    }
  })

  it('with users erased or created again before the write: they get no ticks', async () => {
    const setup = await withTicks([{}], { users: ['ada', 'bob', 'cleo'] })
    await age(setup, 2 * HOUR + MINUTE)
    const meanwhile = async () => {
      await removeUsers(setup.tenant, 'ada', 'bob')
      await setup.tenant.app('POST', '/users', { id: 'bob' })
    }
    const { DB } = faulty(beforeFirst(meanwhile))
    await allSteps(setup, now(), DB)
    expect((await ledger(setup)).map(({ user }) => user)).toEqual(['cleo', 'cleo'])
  })

  it('with an answer that is lost after the write: nothing is done twice', async () => {
    const setup = await withTicks([{}], { users: ['ada', 'bob'] })
    await age(setup, 30 * HOUR)
    const anchor = await anchorOf(setup)
    const { DB, seen } = faulty(answerLost)
    const steps = await allSteps(setup, now(), DB)
    expect(seen.writes).toBe(steps.length)
    expect(steps.flatMap(({ changes }) => changes)).toEqual([])
    for (const user of ['ada', 'bob']) expect(await duesOf(setup, user)).toEqual(dues(anchor, HOUR, 1, 30))
  })

  it('that failed before the write: it throws, and works later', async () => {
    const setup = await withTicks()
    await age(setup, HOUR + MINUTE)
    const { DB } = faulty(() => Promise.reject(lost()))
    await expect(step(setup, DB)).rejects.toThrow('Network connection lost')
    expect(await ledger(setup)).toEqual([])
    await allSteps(setup)
    expect(await ledger(setup)).toHaveLength(1)
  })

  it('overtaken by a change of the configuration: it does nothing, and the next step uses the new one', async () => {
    const setup = await withTicks()
    await age(setup, 2 * HOUR + MINUTE)
    const before = await ticksDue(setup)
    const { DB } = faulty(
      beforeFirst(() => setup.tenant.admin('PATCH', '/points', [{ id: setup.system, maxPoints: 7 }])),
    )
    const [first, second] = await allSteps(setup, now(), DB)
    expect(first).toMatchObject({ dueAt: before?.dueAt, progress: before?.progress, changes: [] })
    expect(second?.changes).toHaveLength(1)
    expect((await ledger(setup)).map(({ awarded }) => awarded)).toEqual([5, 2])
  })

  it('with no due work left: the row is deleted', async () => {
    const setup = await withTicks()
    await rowsEverywhere(
      "UPDATE points_triggers SET deleted = 1 WHERE system_id = ?1 AND type = 'time'",
      setup.system,
    )
    await age(setup, 2 * HOUR + MINUTE)
    expect(await allSteps(setup)).toMatchObject([{ dueAt: null, progress: null, changes: [] }])
    expect(await ticksDue(setup)).toBeUndefined()
  })
})

describe('[P4, G9] changes of time triggers', () => {
  it('deactivation and deletion: due ticks are granted first, then there are no more', async () => {
    for (const change of ['deactivate', 'delete', 'delete system'] as const) {
      const setup = await withTicks()
      const [id] = setup.ids
      await age(setup, 3 * HOUR + MINUTE)
      const anchor = await anchorOf(setup)
      if (change === 'deactivate') await setup.tenant.admin('PATCH', setup.path, [{ id, status: 'inactive' }])
      if (change === 'delete') await setup.tenant.admin('DELETE', `${setup.path}?ids=${id}`)
      if (change === 'delete system') await setup.tenant.admin('DELETE', `/points?ids=${setup.system}`)
      expect(await duesOf(setup)).toEqual(dues(anchor, HOUR, 1, 3))
      await age(setup, 5 * HOUR)
      await allSteps(setup)
      expect(await duesOf(setup)).toHaveLength(3)
      expect(await ticksDue(setup)).toBeUndefined()
    }
  })

  it('a new activation and another interval start from a new anchor', async () => {
    const setup = await withTicks([{ status: 'inactive' }])
    const [id] = setup.ids
    expect([await anchors(setup), await ticksDue(setup)]).toEqual([[null], undefined])
    await setup.tenant.admin('PATCH', setup.path, [{ id, status: 'active' }])
    expect((await ticksDue(setup))?.dueAt).toBe((await anchorOf(setup)) + HOUR)
    await age(setup, HOUR + 40 * MINUTE)
    const first = await anchorOf(setup)
    await setup.tenant.admin('PATCH', setup.path, [{ id, status: 'inactive' }])
    const activated = present()
    await setup.tenant.admin('PATCH', setup.path, [{ id, status: 'active' }])
    expectBetween(activated, await anchorOf(setup), present())
    await allSteps(setup)
    expect(await duesOf(setup)).toEqual([first + HOUR])
    await age(setup, 100 * MINUTE)
    const changed = present()
    await setup.tenant.admin('PATCH', setup.path, [{ id, timeInterval: 2 }])
    const third = await anchorOf(setup)
    expectBetween(changed, third, present())
    expect(await duesOf(setup)).toHaveLength(2)
    await age(setup, 5 * HOUR)
    await allSteps(setup)
    expect((await duesOf(setup)).slice(2)).toEqual(dues(third - 5 * HOUR, 2 * HOUR, 1, 2))
  })

  it('a change in the middle of a sweep waits for its end: all users get the same', async () => {
    const setup = await withTicks([{}], { users: [] })
    await usersOf(setup, 1_500)
    await age(setup, HOUR + MINUTE)
    const [id] = setup.ids
    expect((await step(setup)).changes).toHaveLength(1_000)
    const answer = await setup.tenant.admin('PATCH', setup.path, [{ id, points: 50 }])
    expect(at(answer.body, 'updated', 0, 'points')).toBe(50)
    const awards = await ledger(setup)
    expect(awards.map(({ awarded }) => awarded)).toEqual(Array(1_500).fill(5))
    const versions = await lastDatabase()
      .d1.prepare(`SELECT count(DISTINCT trigger_version) AS n FROM ${readable.awards} WHERE system_id = ?1`)
      .bind(setup.system)
      .first('n')
    expect(versions).toBe(1)
  })

  it('a change in the middle of a sweep whose ticks were not due when it was sent waits for its end', async () => {
    const setup = await withTicks([{}], { users: [] })
    await usersOf(setup, 1_500)
    await age(setup, HOUR - 10 * MINUTE)
    const [id] = setup.ids
    const work = await dueNow(setup)
    const ahead = instant(present() + 20 * MINUTE)
    expect((await stepOf(contextOfUsers(setup.tenant.id), work, ahead)).changes).toHaveLength(1_000)
    const answer = await setup.tenant.admin('PATCH', setup.path, [{ id, points: 50 }])
    expect(at(answer.body, 'updated', 0, 'points')).toBe(50)
    expect((await ledger(setup)).map(({ awarded }) => awarded)).toEqual(Array(1_500).fill(5))
  })

  it('a second trigger has its own ticks, and the first trigger’s ticks continue', async () => {
    const setup = await withTicks()
    await age(setup, 90 * MINUTE)
    await setup.tenant.create(setup.path, tick({ points: 2 }))
    await allSteps(setup)
    expect(await duesOf(setup)).toEqual([(await anchorOf(setup)) + HOUR])
    await age(setup, 2 * HOUR + MINUTE)
    const [first, second] = await anchors(setup)
    await allSteps(setup)
    const expected = [
      ...dues(Number(first), HOUR, 2, 3).map((due) => [due, 5]),
      ...dues(Number(second), HOUR, 1, 2).map((due) => [due, 2]),
    ]
    expect((await ledger(setup)).slice(1).map((award) => [award.at, award.awarded])).toEqual(
      expected.sort(([a = 0], [b = 0]) => a - b),
    )
  })
})

describe('[C1, P4] ticks by the test clock', () => {
  // The clock is one for all tenants. Due work of earlier tests does not matter here.
  beforeAll(async () => {
    await forgetDueWork()
  })

  afterEach(forgetTime)

  it.each([
    ['a shorter one', 24, { timeInterval: 2 }, [2, 4]],
    ['a longer one', 1, { timeInterval: 3 }, [3]],
    ['another unit', 3, { timeUnit: 'days', timeInterval: 1 }, []],
  ])(
    '[P4] another interval at the very moment of the creation, %s, has its own ticks',
    async (_name, interval, change, hours) => {
      const start = START + DAY
      await moveTo(start)
      const setup = await withTicks([{ interval }])
      const [id] = setup.ids
      await setup.tenant.admin('PATCH', setup.path, [{ id, ...change }])
      expect(await anchorOf(setup)).toBe(start)
      await moveTo(start + 4 * HOUR)
      expect(await duesOf(setup)).toEqual(hours.map((hour) => start + hour * HOUR))
    },
  )

  it('a reset gives triggers a new anchor and keeps the awards', async () => {
    const setup = await withTicks()
    await moveTo((await anchorOf(setup)) + 10 * HOUR)
    expect(await duesOf(setup)).toHaveLength(10)
    const other = await withTicks()
    const reset = present()
    await setup.tenant.clock('DELETE')
    for (const one of [setup, other]) {
      expectBetween(reset, await anchorOf(one), present())
      expect((await ticksDue(one))?.dueAt).toBeLessThanOrEqual((await anchorOf(one)) + HOUR)
    }
    await age(setup, 2 * HOUR + MINUTE)
    await allSteps(setup)
    expect(await duesOf(setup)).toHaveLength(12)
  })
})
