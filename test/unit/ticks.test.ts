import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Boost, Configuration, Filter, Trigger } from '../../src/configuration/model'
import { triggerFrom, triggerPatched } from '../../src/features/points/trigger.resource'
import { type Instant, instant } from '../../src/lib/clock'
import { isId } from '../../src/lib/ids'
import { newId } from '../../src/lib/new-id'
import {
  endOfSweep,
  granting,
  nextTick,
  type TickChange,
  type TickUser,
  ticksBetween,
} from '../../src/rules/points/ticks.rules'
import {
  type ExpectedTick,
  expectedTicks,
  type TickBoost,
  type TickPerson,
  type TickSystem,
  type TickTrigger,
} from '../oracle/ticks.oracle'
import { configured } from '../oracle/worlds'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const PLAN = 'user attribute plan'

const moment = (text: string): Instant => instant(Date.parse(text))
const filter = (plan: string | null): Filter[] =>
  plan === null ? [] : [{ attributeId: PLAN, attributeValue: plan }]

const BLANK: Trigger = {
  ...{ id: 'tick', key: 'tick', counterId: 'tick', created: 0, updated: 0, version: 1, systemId: 'xp' },
  ...{ type: 'time', points: 1, status: 'active', timeUnit: 'hours', timeInterval: 1, anchor: 0 },
  ...{ userAttributes: [], eventAttributes: [], metricId: null, metricThreshold: null },
  ...{ achievementId: null, streakLength: null, blockIfOutOfPoints: false },
}

const triggerOf = (systemId: string, one: TickTrigger): Trigger => ({
  ...{ ...BLANK, id: one.id, systemId, points: one.points, userAttributes: filter(one.plan) },
  ...(one.interval % 1440 === 0
    ? { timeUnit: 'days', timeInterval: one.interval / 1440 }
    : { timeUnit: 'hours', timeInterval: one.interval / 60 }),
  ...(one.active ? { status: 'active', anchor: one.anchor * MINUTE } : { status: 'inactive', anchor: null }),
})

const boostOf = (systemId: string, one: TickBoost, own: boolean): Boost => ({
  ...{ id: one.id, key: one.id, name: one.id, created: 0, updated: 0, systemId },
  ...{ userId: own ? 'ada' : null, userIid: own ? 'iid' : null, start: one.start, end: one.end },
  ...{ multiplier: one.tenths / 10, rounding: one.rounding, userAttributes: filter(one.plan) },
})

const configOf = (systems: readonly TickSystem[]): Configuration => {
  const config = configured(systems.map(({ id, max }) => ({ id, max, levels: [], triggers: [], boosts: [] })))
  return {
    ...config,
    systems: config.systems.map((system, index) => ({
      ...system,
      triggers: (systems[index]?.triggers ?? []).map((one) => triggerOf(system.id, one)),
      boosts: (systems[index]?.boosts ?? []).map((one) => boostOf(system.id, one, false)),
    })),
  }
}

const userOf = (person: TickPerson): TickUser => ({
  ...{ id: 'ada', iid: 'iid', seq: 7, changed: instant(0), created: instant(person.created * MINUTE) },
  points: new Map(Object.entries(person.points)),
  lastSeqByInput: new Map([['metric m0', 6]]),
  boosts: Object.entries(person.own).flatMap(([id, list]) => list.map((one) => boostOf(id, one, true))),
  profile: { tz: person.zone, attributes: new Map(person.plan === null ? [] : [[PLAN, person.plan]]) },
})

const grant = (systems: readonly TickSystem[], person: TickPerson, after: number, to: number) => {
  const config = configOf(systems)
  const ticks = ticksBetween(config, instant(after * MINUTE), instant(to * MINUTE))
  return granting(config, ticks, newId)(userOf(person))
}

const told = (change: TickChange | null): ExpectedTick[] =>
  (change?.awards ?? []).map((award) => ({
    system: award.systemId,
    trigger: award.triggerId ?? '',
    at: award.at,
    offset: award.utcOffset,
    awarded: award.awarded,
    total: award.total,
    boosts: award.boosts.map(({ id }) => id),
  }))

const ADA: TickPerson = { zone: 'UTC', plan: null, created: 0, points: {}, own: {} }
type Some = Partial<TickSystem> & Pick<TickSystem, 'triggers'>
const xp = (system: Some): TickSystem => ({ id: 'xp', max: null, boosts: [], ...system })
const HOURLY: TickTrigger = { id: 'hourly', active: true, anchor: 0, interval: 60, points: 1, plan: null }
const hourly = (one: Partial<TickTrigger> = {}): TickTrigger => ({ ...HOURLY, ...one })

/* Random worlds around a change of the clock in Berlin */

const BERLIN_SPRING = Date.parse('2026-03-28T00:00:00Z') / MINUTE
const minutes = (from: number, to: number) => fc.integer({ min: from, max: to }).map((n) => BERLIN_SPRING + n)
const plans = fc.constantFrom(null, null, 'a', 'b')
const boosts: fc.Arbitrary<TickBoost> = fc.record({
  id: fc.uuid(),
  start: fc.constantFrom('2026-03-27', '2026-03-28', '2026-03-29'),
  end: fc.constantFrom('2026-03-29', '2026-03-30', '9999-12-31'),
  tenths: fc.constantFrom(1, 5, 15, 20, 33),
  rounding: fc.constantFrom('down', 'up', 'nearest'),
  plan: plans,
})
const own = boosts.map((boost) => ({ ...boost, plan: null }))
const triggers: fc.Arbitrary<TickTrigger> = fc.record({
  id: fc.uuid(),
  active: fc.constantFrom(true, true, true, false),
  anchor: minutes(-1_500, 2_000),
  interval: fc.constantFrom(60, 120, 420, 1_440, 2_880),
  points: fc.constantFrom(1, 3, 7, 100, -2, -50),
  plan: plans,
})
const systems: fc.Arbitrary<TickSystem[]> = fc
  .array(
    fc.record({
      max: fc.constantFrom(null, 10, 60),
      triggers: fc.array(triggers, { minLength: 1, maxLength: 4 }),
      boosts: fc.array(boosts, { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 2 },
  )
  .map((list) => list.map((system, index) => ({ id: `system ${index}`, ...system })))
const people: fc.Arbitrary<TickPerson> = fc.record({
  zone: fc.constantFrom('UTC', 'Europe/Berlin', 'Pacific/Kiritimati', 'Asia/Kathmandu', 'Pacific/Pago_Pago'),
  plan: plans,
  created: minutes(-2_000, 3_000),
  points: fc.record({ 'system 0': fc.constantFrom(0, 5, 70) }),
  own: fc.record({ 'system 0': fc.array(own, { maxLength: 2 }) }),
})

describe('[P4, P5, P6, E8] the awards of ticks', () => {
  test('equal the result of going through time minute by minute', () => {
    const world = fc.tuple(systems, people, minutes(-1_500, 2_500), fc.integer({ min: 0, max: 4_000 }))
    fc.assert(
      fc.property(world, ([list, person, after, span]) => {
        const change = grant(list, person, after, after + span)
        expect(told(change)).toEqual(expectedTicks(list, person, after, after + span))
      }),
      { numRuns: 150 },
    )
  })

  test('are one change of the user, in order, and null if nothing changes', () => {
    const list = [xp({ triggers: [hourly(), hourly({ id: 'second', points: 2 })] })]
    const change = grant(list, ADA, 0, 180)
    expect(change?.before).toEqual(userOf(ADA))
    expect(change?.after).toEqual({
      ...{ ...userOf(ADA), seq: 8, points: new Map([['xp', 9]]) },
      lastSeqByInput: new Map(Object.entries({ 'metric m0': 6, xp: 8 })),
    })
    expect(change?.awards.map(({ seq, position, triggerId }) => [seq, position, triggerId])).toEqual(
      ['hourly', 'second', 'hourly', 'second', 'hourly', 'second'].map((id, n) => [8, n, id]),
    )
    expect(grant(list, ADA, 0, 59)).toBeNull()
    expect(grant([xp({ max: 5, triggers: [hourly()] })], { ...ADA, points: { xp: 5 } }, 0, 600)).toBeNull()
    expect(grant([xp({ triggers: [hourly({ points: -1 })] })], ADA, 0, 600)).toBeNull()
    expect(grant([xp({ triggers: [hourly({ plan: 'a' })] })], ADA, 0, 600)).toBeNull()
    expect(grant(list, { ...ADA, created: 181 }, 0, 180)).toBeNull()
  })

  test('have ids of the due times, all different', () => {
    const list = [xp({ triggers: [hourly(), hourly({ id: 'second' })] })]
    const awards = [ADA, ADA].flatMap((person) => grant(list, person, 0, 60 * 720)?.awards ?? [])
    expect(awards).toHaveLength(4 * 720)
    expect(new Set(awards.map(({ id }) => id)).size).toBe(awards.length)
    for (const { id, at } of awards)
      expect([isId(id), Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)]).toEqual([true, at])
  })
})

describe('[P4] the due times of ticks', () => {
  test('are after the anchor, at whole intervals, and do not exist without an anchor', () => {
    const trigger = { ...BLANK, anchor: 500, timeInterval: 2 }
    expect(nextTick(trigger, 0)).toBe(500 + 2 * HOUR)
    expect(nextTick(trigger, 500 + 2 * HOUR - 1)).toBe(500 + 2 * HOUR)
    expect(nextTick(trigger, 500 + 2 * HOUR)).toBe(500 + 4 * HOUR)
    expect(nextTick({ ...trigger, timeUnit: 'days' }, 0)).toBe(500 + 2 * DAY)
    expect(nextTick({ ...trigger, anchor: null }, 0)).toBeNull()
    expect(nextTick({ ...trigger, status: 'inactive' }, 0)).toBeNull()
    expect(nextTick({ ...trigger, type: 'streak' }, 0)).toBeNull()
    expect(nextTick({ ...trigger, timeUnit: 'days', timeInterval: 2_147_483_647 }, 0)).toBeNull()
  })

  test('end a sweep with the UTC day of its first tick, or earlier if there are too many', () => {
    const config = configOf([xp({ triggers: [hourly({ anchor: 30 })] })])
    const end = (through: string, to: string) => endOfSweep(config, moment(through), moment(to))
    expect(end('2026-01-01T00:00:00Z', '2026-01-01T00:29:59Z')).toBeNull()
    expect(end('2026-01-01T00:00:00Z', '2026-01-01T05:00:00Z')).toBe(moment('2026-01-01T05:00:00Z'))
    expect(end('2026-01-01T00:00:00Z', '2026-01-09T05:00:00Z')).toBe(moment('2026-01-01T23:59:59.999Z'))
    expect(end('2026-01-01T23:59:59.999Z', '2026-01-09T05:00:00Z')).toBe(moment('2026-01-02T23:59:59.999Z'))
    const midnight = configOf([xp({ triggers: [hourly()] })])
    const next = endOfSweep(midnight, moment('2026-01-01T23:30:00Z'), moment('2026-01-03T00:00:00Z'))
    expect(next).toBe(moment('2026-01-02T23:59:59.999Z'))
    const many = configOf([xp({ triggers: Array.from({ length: 900 }, (_, n) => hourly({ id: `t${n}` })) })])
    const [from, to] = [moment('2026-01-01T00:00:00Z'), moment('2026-01-02T00:00:00Z')]
    const cut = endOfSweep(many, from, to)
    expect(cut).toBe(moment('2026-01-01T02:00:00Z'))
    expect(ticksBetween(many, from, instant(Number(cut)))).toHaveLength(1_800)
  })
})

describe("[P4] a time trigger's anchor", () => {
  const created = (status: 'active' | 'inactive') =>
    triggerFrom(
      { ...BLANK, id: 'id', key: undefined, status, timeUnit: 'hours', timeInterval: 3 },
      instant(1_000),
      { config: configOf([]), taken: new Set() },
    )
  const patched = (trigger: Trigger, change: Partial<Trigger>, now = 5_000) =>
    triggerPatched(trigger, { ...trigger, ...change }, instant(now), 'counter')

  test('is set if a trigger is created active, is activated or gets another interval, and is removed when it becomes inactive', () => {
    expect(created('inactive').anchor).toBeNull()
    const active = created('active')
    expect(active.anchor).toBe(1_000)
    expect(patched(active, { points: 9 })).toMatchObject({ anchor: 1_000, version: 2 })
    expect(patched(active, { timeInterval: 3 })).toBe(active)
    expect(patched(active, { timeInterval: 4 })).toMatchObject({ anchor: 5_000, version: 2 })
    expect(patched(active, { timeUnit: 'days' })).toMatchObject({ anchor: 5_000, version: 2 })
    const inactive = patched(active, { status: 'inactive' })
    expect(inactive).toMatchObject({ anchor: null, version: 2 })
    expect(patched(inactive, { timeInterval: 4 })).toMatchObject({ anchor: null, version: 3 })
    expect(patched(inactive, { status: 'active' }, 9_000)).toMatchObject({ anchor: 9_000, version: 3 })
  })

  test('exists only for time triggers', () => {
    const active = created('active')
    const other = patched(active, { type: 'user_creation' })
    expect(other).toMatchObject({ anchor: null, timeInterval: null })
    const again = patched(other, { type: 'time', timeUnit: 'hours', timeInterval: 3 }, 7_000)
    expect(again).toMatchObject({ anchor: 7_000, version: 3 })
  })
})
