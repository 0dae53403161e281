import fc from 'fast-check'
import {
  type Boost,
  type Configuration,
  type Filter,
  type Lists,
  Settings,
  type System,
  type Trigger,
} from '../../src/configuration/model'
import { LISTS } from '../../src/configuration/tables.sql.ts'
import { often, step } from '../helpers/arbitraries'
import type { Entry, OracleBoost, OracleSystem, OracleTrigger, Wanted } from './points.oracle'

/** A step of a random history: a request to the service, or a change of the configuration. */
export type Step =
  | {
      do: 'event'
      metric: number
      value: string
      attributes: Record<string, string>
      user: Record<string, string | null>
      tz: string | null | undefined
      minutes: number
    }
  | { do: 'user'; user: Record<string, string | null>; tz: string | null | undefined; minutes: number }
  | { do: 'switch'; system: number; trigger: number }
  | { do: 'cap'; system: number; max: number | null }
  | { do: 'boost'; system: number; boost: OracleBoost }

/** A random configuration, and the steps with it. */
export type World = { systems: OracleSystem[]; begins: number; steps: Step[] }

export const METRICS = ['m0', 'm1', 'm2'] as const
const USER_KEYS = ['plan', 'team'] as const
const EVENT_KEYS = ['kind', 'place'] as const
const VALUES = ['a', 'b'] as const
export const ZONES = [
  ...(['Pacific/Kiritimati', 'Asia/Kathmandu', 'Pacific/Pago_Pago'] as const),
  ...(['America/New_York', 'Australia/Lord_Howe', 'Europe/Berlin'] as const),
] as const

const DAY = 86_400_000
/** Around the clock changes of New York and Berlin, and a leap day. */
const BEGINNINGS = ['2026-03-07T03:00:00Z', '2026-10-31T20:00:00Z', '2024-02-28T11:45:00Z'].map((text) =>
  Date.parse(text),
)

const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

const wanted = (keys: readonly string[]): fc.Arbitrary<Wanted> =>
  fc.oneof(
    often(6, fc.constant([])),
    fc.tuple(fc.constantFrom(...keys), fc.constantFrom(...VALUES)).map((pair) => [pair]),
    fc
      .tuple(fc.constantFrom(...VALUES), fc.constantFrom(...VALUES))
      .map((values) => values.map((value, index) => [keys[index] ?? '', value] as const)),
  )

/** The decimal text of `digits` × 10^-`decimals`. */
function decimal(digits: bigint, decimals: number): string {
  const size = (digits < 0n ? -digits : digits).toString().padStart(decimals + 1, '0')
  const text = decimals === 0 ? size : `${size.slice(0, -decimals)}.${size.slice(-decimals)}`
  return digits < 0n ? `-${text}` : text
}

const decimals = (min: number, max: number, places: number) =>
  fc.integer({ min, max }).map((n) => decimal(BigInt(n), places))

const multiplier = fc
  .oneof(
    decimals(101, 400, 2),
    decimals(1, 99_999, 3),
    fc.constantFrom('0.5', '1.5', '2', '0.1', '0.333', '1.1', '1.15', '0.29'),
  )
  .filter((text) => Number(text) !== 1)

const boostAt = (begins: number, id: fc.Arbitrary<string>): fc.Arbitrary<OracleBoost> =>
  fc
    .record({
      id,
      from: fc.integer({ min: -2, max: 6 }),
      days: fc.option(fc.integer({ min: 0, max: 4 })),
      multiplier,
      rounding: fc.constantFrom('down' as const, 'up' as const, 'nearest' as const),
      user: wanted(USER_KEYS),
    })
    .map(({ from, days, ...rest }) => ({
      ...rest,
      start: dateOf(begins + from * DAY),
      end: days === null ? null : dateOf(begins + (from + days) * DAY),
    }))

const trigger: fc.Arbitrary<Omit<OracleTrigger, 'id'>> = fc.record({
  on: fc.constantFrom('event' as const, 'event' as const, 'event' as const, 'creation' as const),
  metric: fc.constantFrom('m0', 'm0', 'm1', 'm2'),
  threshold: fc.oneof(
    often(4, fc.integer({ min: 1, max: 5 })),
    often(1, fc.constantFrom(7, 10, 1_000, 250_000_000)),
  ),
  points: fc.oneof(
    fc.integer({ min: -40, max: 60 }).filter((points) => points !== 0),
    fc.constantFrom(-10, -5, -5, 5, 5, 10, 100),
  ),
  active: fc.constantFrom(true, true, true, false),
  user: wanted(USER_KEYS),
  event: wanted(EVENT_KEYS),
  blocks: fc.constantFrom(false, false, true),
})

const systemsAt = (begins: number): fc.Arbitrary<OracleSystem[]> =>
  fc
    .array(
      fc.record({
        max: fc.option(fc.oneof(fc.integer({ min: 1, max: 1_500 }), fc.constant(2_147_483_647)), { freq: 2 }),
        levels: fc.uniqueArray(fc.integer({ min: 0, max: 600 }), { maxLength: 4 }),
        triggers: fc.array(trigger, { minLength: 1, maxLength: 5, size: 'max' }),
        boosts: fc.array(boostAt(begins, fc.constant('')), { maxLength: 3, size: 'max' }),
      }),
      { minLength: 1, maxLength: 3, size: 'max' },
    )
    .map((list) =>
      list.map(({ max, levels, triggers, boosts }, s) => ({
        id: `s${s}`,
        max,
        levels: levels.map((points, n) => ({ id: `s${s}l${n}`, points })),
        triggers: triggers.map((one, n) => {
          const event = one.on === 'event' ? one.event : []
          return { ...one, id: `s${s}t${n}`, event }
        }),
        boosts: boosts.map((one, n) => ({ ...one, id: `s${s}b${n}` })),
      })),
    )

const SMALL = ['0', '0.1', '0.0000005', '-0.0000005', '0.0000004', '0.999999', '0.9999995', '-0.0000015']

/**
 * Values with up to seven decimals: small and whole ones, values close to a threshold or a half, zeros, and
 * the largest ones.
 */
const value = fc.oneof(
  often(6, decimals(-30_000_000, 90_000_000, 7)),
  often(4, fc.integer({ min: -6, max: 20 }).map(String)),
  often(4, decimals(-20, 80, 1)),
  often(4, fc.constantFrom(...SMALL)),
  often(1, fc.constantFrom('1000000000', '1000000000', '-1000000000', '999999999.999999')),
)

const TWO = { maxKeys: 2, noNullPrototype: true }
const passed = fc.dictionary(
  fc.constantFrom(...USER_KEYS),
  fc.oneof(fc.constantFrom<string | null>(...VALUES), fc.constant(null)),
  TWO,
)
const tz = fc.oneof(
  often(4, fc.constant(undefined)),
  fc.constantFrom<(string | null)[]>(...ZONES),
  fc.constant(null),
)
const minutes = fc.oneof(
  fc.integer({ min: 1, max: 90 }),
  fc.integer({ min: 90, max: 1_440 }),
  fc.integer({ min: 1_440, max: 4_000 }),
)

const ofEvent = fc.dictionary(fc.constantFrom(...EVENT_KEYS), fc.constantFrom(...VALUES), TWO)
const metric = fc.constantFrom(0, 0, 1, 2)
const system = fc.nat({ max: 2 })
const max = fc.option(fc.integer({ min: 1, max: 100 }))

const stepAt = (begins: number): fc.Arbitrary<Step> => {
  const boost = boostAt(begins, fc.uuid()).map((one) => ({ ...one, user: [] }))
  return fc.oneof(
    often(14, step('event', { metric, value, attributes: ofEvent, user: passed, tz, minutes })),
    often(2, step('user', { user: passed, tz, minutes })),
    often(1, step('switch', { system, trigger: fc.nat({ max: 4 }) })),
    often(1, step('cap', { system, max })),
    often(1, step('boost', { system, boost })),
  )
}

export const worlds: fc.Arbitrary<World> = fc
  .tuple(fc.constantFrom(...BEGINNINGS), fc.integer({ min: 0, max: 2_880 }))
  .chain(([day, minute]) => {
    const begins = day + minute * 60_000
    return fc.record({
      begins: fc.constant(begins),
      systems: systemsAt(begins),
      steps: fc.array(stepAt(begins), { minLength: 1, maxLength: 24, size: 'max' }),
    })
  })

const TENANT = '00000000-0000-7000-8000-00000000000a'
const resource = { created: 0, updated: 0 }

const attribute = (type: 'user' | 'event') => (key: string) =>
  ({ ...resource, id: `${type} attribute ${key}`, type, key, name: key, writableBy: 'user' }) as const

const filters = (type: 'user' | 'event', list: Wanted): Filter[] =>
  list.map(([key, attributeValue]) => ({ attributeId: attribute(type)(key).id, attributeValue }))

/** A boost in the service's configuration. With a user, it is the user's own boost. */
export function configuredBoost(systemId: string, boost: OracleBoost, userIid: string | null): Boost {
  return {
    ...{ ...resource, id: boost.id, key: boost.id, systemId, name: `Boost ${boost.id}` },
    ...{ userId: userIid === null ? null : 'ada', userIid },
    ...{ start: boost.start, end: boost.end ?? '9999-12-31' },
    ...{ multiplier: Number(boost.multiplier), rounding: boost.rounding },
    userAttributes: filters('user', boost.user),
  }
}

function configuredTrigger(systemId: string, one: OracleTrigger): Trigger {
  const metric = one.on === 'event'
  return {
    ...{ ...resource, id: one.id, key: one.id, counterId: one.id, systemId, version: 1, points: one.points },
    type: metric ? 'metric' : 'user_creation',
    status: one.active ? 'active' : 'inactive',
    userAttributes: filters('user', one.user),
    eventAttributes: filters('event', one.event),
    metricId: metric ? `metric ${one.metric}` : null,
    metricThreshold: metric ? one.threshold : null,
    ...{ achievementId: null, streakLength: null, timeUnit: null, timeInterval: null, anchor: null },
    blockIfOutOfPoints: one.blocks,
  }
}

const named = (id: string) => ({ ...resource, id, key: id, name: id, description: '', badgeUrl: null })

function configuredSystem({ id, max, levels, triggers, boosts }: OracleSystem): System {
  return {
    ...named(id),
    maxPoints: max,
    levels: levels.map((level) => ({ ...named(level.id), ...level, systemId: id })),
    triggers: triggers.map((one) => configuredTrigger(id, one)),
    boosts: boosts.map((boost) => configuredBoost(id, boost, null)),
  }
}

function emptyLists(): Lists
function emptyLists(): object {
  return Object.fromEntries(Object.keys(LISTS).map((name) => [name, []]))
}

/** The service's configuration for the oracle's systems. */
export function configured(systems: readonly OracleSystem[]): Configuration {
  return {
    ...{ tenantId: TENANT, version: 1, epoch: 0, ...emptyLists() },
    streaks: {
      ...{ enabled: true, off: [], frequency: 'daily', epoch: 0, metrics: [], evaluationMode: 'OR' },
      ...{ goalSince: 0, customizationEnabled: false, daysOff: [], daysOffBefore: [], freezes: null },
    },
    settings: Settings.parse({}),
    attributes: [...USER_KEYS.map(attribute('user')), ...EVENT_KEYS.map(attribute('event'))],
    metrics: METRICS.map((key) => ({
      ...{ ...resource, id: `metric ${key}`, key, name: key, unitType: 'number', units: '' },
    })),
    systems: systems.map(configuredSystem),
  }
}

/** The systems after a step that changes the configuration. */
export function reconfigured(systems: readonly OracleSystem[], step: Step): OracleSystem[] {
  return systems.map((system, s) => {
    if (step.do === 'cap' && step.system === s) return { ...system, max: step.max }
    if (step.do !== 'switch' || step.system !== s) return system
    const triggers = system.triggers.map((one, t) =>
      t === step.trigger ? { ...one, active: !one.active } : one,
    )
    return { ...system, triggers }
  })
}

/** The user's own boosts after a step that gives one. */
export function ownAfter(own: Entry['own'], systems: readonly OracleSystem[], step: Step): Entry['own'] {
  const system = step.do === 'boost' ? systems[step.system] : undefined
  if (step.do !== 'boost' || system === undefined) return own
  return { ...own, [system.id]: [...(own[system.id] ?? []), step.boost] }
}
