import * as fc from 'fast-check'
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { anniversariesJob } from '../../src/features/achievements/anniversaries'
import { instant } from '../../src/lib/clock'
import { often } from '../helpers/arbitraries'
import { runs } from '../helpers/runs'
import { START } from '../helpers/time'
import { DAY, forgetTime, HOUR, moveTo } from '../helpers/worker/boards'
import { contextOfUsers, contextWith, ofUsers, whenBy, worksOf } from '../helpers/worker/contexts'
import { faultyAll, faultyLast, lost } from '../helpers/worker/faulty'
import { at, lastDatabase, newApp, newTenantInLast, pick, type TestTenant } from '../helpers/worker/harness'
import { archive } from '../helpers/worker/purge'
import { keepTold, toldOf } from '../helpers/worker/received'
import { Hook } from '../helpers/worker/receiver'
import {
  AnniversaryOracle,
  type OracleAnniversary,
  type OracleCompletion,
} from '../oracle/anniversaries.oracle'
import { dateIn, midnight, plusDays, plusMonths, utcDate } from '../oracle/calendar.oracle'

beforeAll(keepTold)
afterEach(forgetTime)

const MINUTE = 60_000

type Made = { tenant: TestTenant; activate: (...some: OracleAnniversary[]) => Promise<void> }

/** A tenant with these inactive achievements, a points system that pays 10 for each, and a webhook. */
async function withAnniversaries(all: readonly OracleAnniversary[]): Promise<Made> {
  const tenant = await newTenantInLast()
  await tenant.metric('m')
  const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  await tenant.create('/webhooks', {
    url: new Hook().url,
    events: ['achievement.completed', 'points.changed'],
  })
  const ids = new Map<string, string>()
  for (const { key, years: anniversaryYears, plan: value } of all) {
    const userAttributes = value === null ? [] : [{ attributeId: plan, attributeValue: value }]
    const trigger = { trigger: 'anniversary', anniversaryYears, userAttributes }
    const id = await tenant.create('/achievements', { key, name: key, ...trigger })
    await tenant.create(`/points/${system}/triggers`, {
      ...{ type: 'achievement', achievementId: id, points: 10, status: 'active' },
    })
    ids.set(key, id)
  }
  const activate = async (...some: OracleAnniversary[]) => {
    const { body } = await tenant.admin(
      'PATCH',
      '/achievements',
      some.map(({ key }) => ({ id: ids.get(key), status: 'active' })),
    )
    expect(at(body, 'issues')).toEqual([])
  }
  return { tenant, activate }
}

const years = (...all: number[]): OracleAnniversary[] =>
  all.map((n) => ({ key: `y${n}`, years: n, plan: null }))
const put = (tenant: TestTenant, id: string, fields: object) => tenant.app('PUT', `/users/${id}`, fields)

/** The completions of a user, by moment, and the total of points. */
async function completions(tenant: TestTenant, id: string): Promise<OracleCompletion[]> {
  const told = (await toldOf(tenant, 'achievement.completed')).filter(({ user }) => user === id)
  const keys = told.map(({ body }) => String(at(body, 'achievement', 'key')))
  expect([...new Set(keys)]).toEqual(keys)
  const { body } = await tenant.app('GET', `/users/${id}/achievements`)
  const found = pick(body, 'key').map(String)
  const moments = pick(body, 'achievedAt').map((text) => Date.parse(String(text)))
  expect((await tenant.app('GET', `/users/${id}/points/xp`)).body).toMatchObject({ total: 10 * found.length })
  return found.map((key, nth) => ({ key, at: moments[nth] ?? 0, isSilent: !keys.includes(key) }))
}

const byKey = (all: readonly OracleCompletion[]) => all.toSorted((a, b) => (a.key < b.key ? -1 : 1))

const EXTREMES = ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Pacific/Kiritimati', 'Pacific/Pago_Pago']
const ZONES = [
  ...['Asia/Kathmandu', 'Africa/Cairo', 'America/Santiago'],
  ...['Australia/Lord_Howe', 'America/New_York', 'Europe/Berlin', 'UTC'],
]
type Deed =
  | { zone: string }
  | { ago: number; days: number }
  | { plan: string }
  | { event: boolean }
  | { date: string | null }
  | { activate: boolean }

const deed: fc.Arbitrary<Deed> = fc.oneof(
  often(6, fc.record({ zone: fc.constantFrom(...EXTREMES, ...ZONES) })),
  often(2, fc.record({ ago: fc.integer({ min: 0, max: 3 }), days: fc.integer({ min: -1, max: 4 }) })),
  often(1, fc.constantFrom({ plan: 'pro' }, { plan: 'free' })),
  often(1, fc.constant({ event: true })),
  often(1, fc.constantFrom({ date: '2024-02-29' }, { date: null })),
  often(1, fc.constant({ activate: true })),
)

const step = fc.record({
  wait: fc.oneof(
    often(4, fc.nat({ max: 1_500 })),
    often(2, fc.constantFrom(0, 1, 14, 16)),
    often(1, fc.nat({ max: 500_000 })),
  ),
  deed,
})

/** A journey that skips a midnight, and back; and dates that have come, or come soon. Worlds begin at noon in UTC. */
const EXAMPLES: { wait: number; deed: Deed }[][] = [
  [
    { wait: 0, deed: { zone: 'Pacific/Pago_Pago' } },
    { wait: 0, deed: { ago: 1, days: 1 } },
    { wait: 1, deed: { zone: 'Pacific/Kiritimati' } },
    { wait: 1, deed: { zone: 'Pacific/Pago_Pago' } },
  ],
  [
    { wait: 0, deed: { ago: 2, days: 0 } },
    { wait: 0, deed: { activate: true } },
    { wait: 0, deed: { ago: 3, days: 1 } },
    { wait: 0, deed: { plan: 'pro' } },
    { wait: 735, deed: { event: true } },
  ],
]

describe('[A7] which instants complete which anniversaries', () => {
  it('equals the oracle in random lives with journeys, filters, other dates and a late activation', async () => {
    const seen = { silent: 0, told: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 12 }), async (steps) => {
        const late = { key: 'late', years: 2, plan: null }
        const early = [...years(1, 2), { key: 'pro', years: 3, plan: 'pro' }]
        const { tenant, activate } = await withAnniversaries([...early, late])
        let now = Math.max(START + 10 * DAY, (await tenant.clock('GET')) + DAY)
        await moveTo(now)
        await activate(...early)
        const oracle = new AnniversaryOracle(now)
        for (const one of early) oracle.activate(one)
        await put(tenant, 'ada', { tz: 'UTC', attributes: { plan: 'free' } })
        for (const { wait, deed } of [...steps, { wait: 60_000, deed: { event: true } }]) {
          now += wait * MINUTE
          await moveTo(now)
          oracle.moveTo(now)
          if ('activate' in deed) {
            await activate(late)
            oracle.activate(late)
          } else await doIt(tenant, oracle, deed, now)
          await moveTo(now)
          expect(byKey(await completions(tenant, 'ada'))).toEqual(byKey(oracle.completed))
        }
        for (const { isSilent } of oracle.completed) seen[isSilent ? 'silent' : 'told'] += 1
        // Otherwise each later life would wait for the due work of all earlier ones.
        await archive(tenant.id)
      }),
      { numRuns: runs(2, 150), examples: EXAMPLES.map((steps) => [steps]) },
    )
    expect(Math.min(seen.silent, seen.told)).toBeGreaterThan(0)
  })
})

async function doIt(
  tenant: TestTenant,
  oracle: AnniversaryOracle,
  deed: Exclude<Deed, { activate: boolean }>,
  now: number,
): Promise<void> {
  const { body: user } = await tenant.app('GET', '/users/ada')
  if ('zone' in deed) {
    await put(tenant, 'ada', { tz: deed.zone })
    oracle.move(deed.zone)
  } else if ('plan' in deed) {
    await put(tenant, 'ada', { attributes: deed })
    oracle.buy(deed.plan)
  } else if ('event' in deed) {
    expect((await tenant.event('m', 'ada', 1)).status).toBe(201)
    oracle.event()
  } else {
    const today = dateIn(String(at(user, 'tz')), now)
    const asked = 'date' in deed ? deed.date : plusMonths(plusDays(utcDate(now), deed.days), -12 * deed.ago)
    const signUpDate = asked !== null && asked > today ? today : asked
    expect((await put(tenant, 'ada', { signUpDate })).status).toBe(200)
    oracle.signUp(signUpDate)
  }
}

const midnightsOf = (...dates: string[]) => dates.map((date) => midnight(date))

describe('[A7] anniversaries at midnight', () => {
  it('a leap over years completes all of them in order, each with its own midnight, message and award', async () => {
    const { tenant, activate } = await withAnniversaries(years(1, 2, 3, 5))
    await moveTo(START + DAY)
    await activate(...years(1, 2, 3, 5))
    // A year without 29 February.
    await put(tenant, 'ada', { signUpDate: '2024-02-29', tz: 'Europe/Paris' })
    await put(tenant, 'bob', { signUpDate: '2026-06-04', tz: 'Asia/Tokyo' })
    await moveTo(START + DAY)
    const silent = [1, 2].map((n) => ({ key: `y${n}`, at: START + DAY, isSilent: true }))
    expect(byKey(await completions(tenant, 'ada'))).toEqual(silent)
    await tenant.moveClock(midnight('2031-12-01'))
    const [third = 0, fifth = 0] = midnightsOf('2027-02-28', '2029-02-28').map((ms) => ms - HOUR)
    expect(byKey(await completions(tenant, 'ada'))).toEqual([
      ...silent,
      { key: 'y3', at: third, isSilent: false },
      { key: 'y5', at: fifth, isSilent: false },
    ])
    const bobs = midnightsOf('2027-06-04', '2028-06-04', '2029-06-04', '2031-06-04').map(
      (ms) => ms - 9 * HOUR,
    )
    expect((await completions(tenant, 'bob')).map((one) => one.at)).toEqual(bobs)
    const { body } = await tenant.app('GET', '/users/bob/points/xp?awards=10')
    expect(
      pick(at(body, 'awards'), 'date')
        .map((text) => Date.parse(String(text)))
        .sort(),
    ).toEqual(bobs)
    const { body: shown } = await tenant.app('GET', '/users/bob/achievements')
    expect(pick(shown, 'anniversaryYears')).toEqual([1, 2, 3, 5])
  })

  it.each([
    ['under a test clock', true],
    ['in real time', false],
  ])(
    "[P5, C1] points have the user's own boost of that day, if the work is three days late %s",
    async (_, isSet) => {
      const { tenant, activate } = await withAnniversaries(years(1))
      const began = (await tenant.clock('GET')) + DAY
      await moveTo(began)
      await activate(...years(1))
      const day = plusDays(utcDate(began), 2)
      await put(tenant, 'ada', { signUpDate: plusMonths(day, -12) })
      const boost = { name: 'B', start: day, end: day, multiplier: 2, userId: 'ada' }
      const { body: systems } = await tenant.admin('GET', '/points')
      await tenant.create(`/points/${at(systems, 0, 'id')}/boosts`, boost)
      const late = instant(midnight(day) + 3 * DAY + HOUR)
      if (isSet) await moveTo(late)
      else {
        const clock = vi.spyOn(Date, 'now').mockReturnValue(late)
        onTestFinished(() => clock.mockRestore())
        const context = ofUsers(contextWith(tenant.id, { TEST_CLOCK: 'off' }))
        for (let n = 0; n < 6; n += 1) {
          const works = (await worksOf(context)).filter(({ kind }) => kind === 'anniversaries')
          for (const work of works) await anniversariesJob.run(context, work, whenBy(instant(midnight(day))))
        }
      }
      expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({
        total: 20,
        awards: [{ awarded: 20, date: new Date(midnight(day)).toISOString() }],
      })
    },
  )

  it('nothing is completed twice if a step fails, is repeated, or meets a change of its user', async () => {
    const { tenant, activate } = await withAnniversaries(years(1))
    const began = await tenant.clock('GET')
    const day = utcDate(began + 2 * DAY)
    await moveTo(began + DAY)
    await activate(...years(1))
    const signUpDate = plusMonths(day, -12)
    const ids = ['ada', 'bob', 'cleo', 'dan']
    for (const id of ids) await put(tenant, id, { signUpDate })
    await moveTo(began + DAY)
    const context = contextOfUsers(tenant.id)
    const due = async () => (await worksOf(context)).filter(({ kind }) => kind === 'anniversaries')
    const [work] = await due()
    expect(work?.dueAt).toBe(midnight(day))
    const [before, gone] = [await completions(tenant, 'ada'), await completions(tenant, 'dan')]
    expect([before, gone]).toEqual([[], []])
    await tenant.admin('DELETE', '/users/dan')
    const failing = faultyLast(() => Promise.reject(lost()))
    const once = async (d1?: D1Database) => {
      const of = contextOfUsers(tenant.id, d1)
      for (const one of await due())
        if (one.dueAt <= midnight(day)) await anniversariesJob.run(of, one, whenBy(instant(midnight(day))))
    }
    await once()
    await expect(once(failing.DB)).rejects.toThrow('lost')
    // While a user changes at the same moment, the step leaves this user to the next one.
    for (let n = 0; n < 3; n += 1) await Promise.all([once(), once(), put(tenant, 'bob', { name: `B${n}` })])
    for (let n = 0; n < 6; n += 1) await once()
    for (const id of ['ada', 'bob', 'cleo'])
      expect(await completions(tenant, id)).toEqual([{ key: 'y1', at: midnight(day), isSilent: false }])
    expect((await due()).map(({ dueAt }) => dueAt > midnight(day))).toEqual([true])
  })

  it('the work ends with the last active achievement and with the last user, and an unchanged date costs nothing', async () => {
    const { tenant, activate } = await withAnniversaries(years(1))
    await moveTo((await tenant.clock('GET')) + DAY)
    const due = async () =>
      (await worksOf(contextOfUsers(tenant.id))).filter(({ kind }) => kind === 'anniversaries').length
    const now = await tenant.clock('GET')
    const user = { id: 'ada', signUpDate: plusDays(utcDate(now), -30) }
    await put(tenant, 'ada', { signUpDate: user.signUpDate })
    expect(await due()).toBe(0)
    await activate(...years(1))
    await moveTo(now)
    expect(await due()).toBe(1)
    await tenant.event('m', user, 1)
    const { bindings, seen } = faultyAll(({ run }) => run())
    const costOf = async (one: Record<string, unknown> | string) => {
      const { rowsRead, rowsWritten } = { ...seen }
      expect((await tenant.through(newApp(bindings)).event('m', one, 1)).status).toBe(201)
      return [seen.rowsRead - rowsRead, seen.rowsWritten - rowsWritten]
    }
    await costOf('ada')
    expect(await costOf(user)).toEqual(await costOf('ada'))
    await tenant.admin('DELETE', '/users/ada')
    await moveTo(now + 400 * DAY)
    expect(await due()).toBe(0)
    await put(tenant, 'bob', { signUpDate: user.signUpDate })
    expect(await due()).toBe(1)
    const { body } = await tenant.admin('GET', '/achievements')
    await tenant.admin('PATCH', '/achievements', [{ id: at(body, 0, 'id'), status: 'locked' }])
    await moveTo(now + 800 * DAY)
    expect([await due(), await completions(tenant, 'bob')]).toEqual([
      0,
      [expect.objectContaining({ isSilent: true })],
    ])
  })

  it('the work reads only the users whose day it is, however many others there are', async () => {
    const { tenant, activate } = await withAnniversaries(years(1))
    const now = (await tenant.clock('GET')) + DAY
    await moveTo(now)
    await activate(...years(1))
    const { bindings, seen } = faultyAll(({ run }) => run())
    const costs: number[] = []
    for (const others of [1, 40]) {
      const today = utcDate(now + costs.length * 2 * DAY)
      const signUpDate = plusMonths(plusDays(today, 1), -12)
      await put(tenant, `due-${others}`, { signUpDate })
      for (let n = 0; n < others; n += 1)
        await put(tenant, `a-${n}`, { signUpDate: plusDays(signUpDate, 90) })
      const to = midnight(plusDays(today, 1))
      const before = seen.rowsRead
      const due = async () => (await worksOf(contextOfUsers(tenant.id))).filter(({ dueAt }) => dueAt <= to)
      const d1 = bindings[lastDatabase().name]
      for (let all = await due(); all.some(({ kind }) => kind === 'anniversaries'); all = await due())
        for (const one of all)
          if (one.kind === 'anniversaries')
            await anniversariesJob.run(contextOfUsers(tenant.id, d1), one, whenBy(instant(to)))
      costs.push(seen.rowsRead - before)
      expect(await completions(tenant, `due-${others}`)).toEqual([{ key: 'y1', at: to, isSilent: false }])
      await moveTo(to)
    }
    expect(costs[1]).toBe(costs[0])
  })
})
