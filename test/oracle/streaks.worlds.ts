import fc from 'fast-check'
import { often, step } from '../helpers/arbitraries'
import type { OracleSettings, OracleThresholds } from './streaks.oracle'

/**
 * The wait before a step: `days` local midnights, and then `minute` minutes. Negative minutes are before the
 * last midnight.
 */
type Wait = { days: number; minute: number; isLate: boolean }

/** The action of a step. */
type Action =
  | { do: 'event'; metric: string; value: number; zone: string | null | undefined }
  | { do: 'habit'; metric: string; value: number; times: number }
  | { do: 'zone'; zone: string | null }
  | { do: 'pause'; from: number; length: number }
  | { do: 'unpause'; which: number }
  | { do: 'freeze' }
  | { do: 'restore' }
  | { do: 'reset' }
  | {
      do: 'preferences'
      enabled: boolean | undefined
      mode: 'AND' | 'OR' | undefined
      metrics: OracleThresholds | undefined
      daysOff?: readonly number[] | null | undefined
    }
  | { do: 'settings'; settings: OracleSettings }
  /** Changes only the goal: what satisfies a period. */
  | ({ do: 'goal' } & Goal)
  /** Changes only the tenant's days off. */
  | { do: 'daysOff'; daysOff: readonly number[] }
  /** Voids one of the user's events. */
  | { do: 'void'; which: number }
  | { do: 'unmetric'; metric: string }
  /** Switches the tenant's streaks on or off, and changes nothing else. */
  | { do: 'enable'; enabled: boolean }
  /** Changes another field of the profile that does not affect streaks. */
  | { do: 'profile'; field: (typeof PROFILE)[number]; nth: number }

/** The settings that decide what satisfies a period. */
export type Goal = Pick<OracleSettings, 'metrics' | 'mode' | 'customizationEnabled'>

/** A step of a random life. */
export type StreakStep = Wait & Action

export type StreakWorld = {
  settings: OracleSettings
  begins: number
  zone: string | null
  /** True if the tenant may change the frequency, and switch streaks off and on. */
  switches: boolean
  steps: StreakStep[]
}

/** The profile fields that users may change, apart from the zone. */
export const PROFILE = ['email', 'name', 'subscribeToEmails', 'deviceTokens', 'attributes'] as const

export const STREAK_ZONES = [
  ...['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Pacific/Apia', 'Asia/Kathmandu', 'America/St_Johns'],
  ...['Australia/Lord_Howe', 'Africa/Casablanca', 'America/New_York', 'Europe/Berlin', 'America/Santiago'],
  ...['Asia/Beirut', 'Africa/Cairo', 'America/Havana', 'Atlantic/Azores', 'Pacific/Chatham'],
] as const
const METRICS = ['m0', 'm1', 'm2'] as const
const UNIT = 1_000_000

const metric = fc.constantFrom('m0', 'm0', 'm0', 'm1', 'm2')
const value = fc.constantFrom(
  ...[1, 1, 1, 1, 2, 2, 3, 0.999_999, 0.000_001, 0, -1, -2, 5].map((n) => Math.round(n * UNIT)),
)
const thresholds = fc.uniqueArray(
  fc.record({
    metric: fc.constantFrom(...METRICS),
    threshold: fc.constantFrom(...[0.000_001, 1, 1, 2, 3, 4].map((n) => Math.round(n * UNIT))),
  }),
  { maxLength: 2, selector: ({ metric: key }) => key },
)
const mode = fc.constantFrom('AND' as const, 'OR' as const)
const daysOff: fc.Arbitrary<readonly number[]> = fc.oneof(
  ...[fc.constant([]), fc.constant([0, 6]), fc.uniqueArray(fc.nat({ max: 6 }), { maxLength: 6 })],
)
const ownDays: fc.Arbitrary<readonly number[] | null> = fc.option(daysOff)
const freezes = fc.option(
  fc.record({
    startCount: fc.integer({ min: 0, max: 3 }),
    maxCount: fc.integer({ min: 3, max: 6 }),
    interval: fc.option(fc.constantFrom(1, 2, 3, 5, 7, 10, 30), { freq: 3 }),
    amount: fc.integer({ min: 1, max: 3 }),
  }),
  { freq: 2 },
)

const goal: fc.Arbitrary<Goal> = fc.record({
  metrics: fc.oneof(fc.constant([]), thresholds),
  mode,
  customizationEnabled: fc.boolean(),
})

const settings: fc.Arbitrary<OracleSettings> = fc
  .tuple(
    goal,
    fc.record({
      enabled: fc.constantFrom(true, true, true, false),
      frequency: fc.constantFrom('daily' as const, 'daily' as const, 'weekly' as const, 'monthly' as const),
      freezes,
      daysOff,
    }),
  )
  .map(([what, how]) => ({ ...how, ...what }))

/** At midnight, shortly before or after it, or at any time of the day. */
const minute = fc.oneof(
  fc.constantFrom(-1, 0, 1, 1_439, 1_380),
  fc.integer({ min: 1, max: 1_439 }),
  fc.integer({ min: 1, max: 1_439 }),
)

const zone = fc.constantFrom<(string | null)[]>(...STREAK_ZONES, null)

/** The user nearly always travels between a few places, so that journeys lead back. */
const places = fc.uniqueArray(zone, { minLength: 2, maxLength: 3 })

const PACE = { daily: [0, 1, 1, 1, 2, 3], weekly: [0, 1, 4, 7, 7, 9, 15], monthly: [0, 3, 20, 30, 31, 45] }

/** At once, or some minutes later on the same day. */
const soon = fc.record({
  days: fc.constant(0),
  minute: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_439 })),
  isLate: fc.boolean(),
})

/** Related steps. */
const stepsOf = (
  frequency: OracleSettings['frequency'],
  zones: readonly (string | null)[],
): fc.Arbitrary<StreakStep[]> => {
  const single = stepOf(frequency, zones).map((step) => [step])
  const event = step('event', { metric, value, zone: fc.constant(undefined) })
  const perhaps = fc
    .option(fc.tuple(event, soon))
    .map((pair): StreakStep[] => (pair === null ? [] : [{ ...pair[1], ...pair[0] }]))
  /** Streaks are switched off and on again, by the user or by the tenant, with activity between and after. */
  const toggled = fc
    .tuple(fc.boolean(), soon, perhaps, stepOf(frequency, zones), fc.boolean(), soon, perhaps)
    .map(([byUser, off, during, other, isLong, on, after]): StreakStep[] => {
      const turn = (enabled: boolean) =>
        byUser
          ? { do: 'preferences' as const, enabled, mode: undefined, metrics: undefined }
          : { do: 'enable' as const, enabled }
      const [first, last] = [
        { ...off, ...turn(false) },
        { ...on, ...turn(true) },
      ]
      return [first, ...during, ...(isLong ? [other] : []), last, ...after]
    })
  /** The goal changes, or an event or a metric goes, after and before activity. */
  const change = fc.oneof(
    goal.map((one) => ({ do: 'goal' as const, ...one })),
    step('daysOff', { daysOff }),
    step('preferences', {
      enabled: fc.constant(undefined),
      mode: fc.option(mode, { nil: undefined, freq: 1 }),
      metrics: fc.option(thresholds, { nil: undefined, freq: 3 }),
      daysOff: fc.option(ownDays, { nil: undefined, freq: 2 }),
    }),
    step('void', { which: fc.nat({ max: 3 }) }),
    step('unmetric', { metric: fc.constantFrom(...METRICS) }),
  )
  const moved = fc
    .tuple(perhaps, perhaps, soon, change, perhaps)
    .map(([first, second, when, what, after]): StreakStep[] => {
      return [...first, ...second, { ...when, ...what }, ...after]
    })
  const alone = [often(12, single), often(2, toggled), often(3, moved)]
  if (zones.length < 2) return fc.oneof(...alone)
  const there = fc.constantFrom(...zones)
  /** To another place and back, soon or the next day, some days in a row. */
  const [wait, several] = [fc.constantFrom(0, 0, 1), fc.integer({ min: 1, max: 3 })]
  const hops = fc
    .tuple(there, there, minute, wait, soon, perhaps, perhaps, several)
    .map(([away, home, leaves, days, back, during, after, times]): StreakStep[] =>
      Array.from({ length: times }, () => [
        { do: 'zone' as const, zone: away, days: 1, minute: leaves, isLate: back.isLate },
        ...during,
        { do: 'zone' as const, zone: home, ...back, days },
        ...after,
      ]).flat(),
    )
  return fc.oneof(...alone, often(3, hops))
}

const stepOf = (
  frequency: OracleSettings['frequency'],
  zones: readonly (string | null)[],
): fc.Arbitrary<StreakStep> => {
  const pace = fc.constantFrom(...PACE[frequency])
  const wait = fc.record({ days: pace, minute, isLate: fc.constantFrom(true, false) })
  const waited = <T extends Action>(weight: number, action: fc.Arbitrary<T>) => {
    const waiting = fc.tuple(action, wait).map(([one, when]): StreakStep => ({ ...when, ...one }))
    return often(weight, waiting)
  }
  const moves = zones.length > 1 ? 1 : 0
  const place = fc.oneof(often(6, fc.constantFrom(...zones, null)), often(1, zone))
  const optional = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(one, { nil: undefined, freq: 1 })
  const elsewhere = moves ? fc.option(place, { nil: undefined, freq: 1 }) : fc.constant(undefined)
  const times = fc.integer({ min: 2, max: 22 })
  const days = { from: fc.integer({ min: 0, max: 8 }), length: fc.integer({ min: 0, max: 9 }) }
  const own = { enabled: optional(fc.boolean()), mode: optional(mode), metrics: optional(thresholds) }
  return fc.oneof(
    waited(10, step('event', { metric, value, zone: elsewhere })),
    waited(5, step('habit', { metric, value: fc.constantFrom(1, 2, 3, 5).map((n) => n * UNIT), times })),
    waited(4 * moves, step('zone', { zone: place })),
    waited(2, step('pause', days)),
    waited(1, step('unpause', { which: fc.nat({ max: 9 }) })),
    waited(1, step('freeze', {})),
    waited(2, step('restore', {})),
    waited(1, step('reset', {})),
    waited(1, step('preferences', { ...own, daysOff: optional(ownDays) })),
    waited(1, step('settings', { settings })),
    waited(1, step('enable', { enabled: fc.boolean() })),
    waited(1, step('profile', { field: fc.constantFrom(...PROFILE), nth: fc.nat({ max: 2 }) })),
  )
}

/** 2027 and 2028, which is a leap year. */
const begins = fc
  .integer({ min: Date.parse('2027-01-01') / 60_000, max: Date.parse('2027-12-31') / 60_000 })
  .map((minutes) => minutes * 60_000)

export const streakWorlds: fc.Arbitrary<StreakWorld> = fc
  .tuple(settings, begins, zone, fc.boolean(), fc.option(places))
  .chain(([given, from, home, switches, travels]) =>
    fc.record({
      settings: fc.constant({
        ...given,
        enabled: true,
        freezes: travels !== null && given.freezes ? { ...given.freezes, interval: null } : given.freezes,
      }),
      begins: fc.constant(from),
      zone: fc.constant(travels === null ? home : (travels[0] ?? null)),
      switches: fc.constant(switches),
      steps: fc
        .array(stepsOf(given.frequency, travels ?? []), { minLength: 1, maxLength: 28, size: 'max' })
        .map((groups) => groups.flat()),
    }),
  )
