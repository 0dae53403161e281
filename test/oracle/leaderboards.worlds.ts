import fc from 'fast-check'
import { often } from '../helpers/arbitraries'
import { plusDays, plusMonths, utcDate } from './calendar.oracle'
import type { Step, World, WorldBoard, WorldEvent } from './leaderboards.play'
import { type Economy, type Passed, POINTS } from './ledger.oracle'

/** Days shortly before a boundary: short months, the end of a year, and clock changes. */
const BEGINNINGS = ['01-29', '02-27', '03-10', '03-24', '03-31', '09-29', '10-27', '11-03', '12-29']
const FAR_APART = ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Etc/GMT+12'] as const
const ZONES = [
  ...FAR_APART,
  ...(['Asia/Kathmandu', 'America/New_York', 'Europe/Berlin', 'Asia/Tokyo'] as const),
  ...(['Australia/Lord_Howe', 'UTC'] as const),
] as const
/** The order of the first two depends on whether ids are compared by code points or by UTF-16 code units. */
const IDS = ['ﬀ', '𝒂', 'ada', 'bob', 'B', 'b/2', 'eve', 'grâce 1', '__proto__', '10', '9', 'z'] as const
const METRICS = ['m0', 'm1'] as const
const TEAMS = ['red', 'blue'] as const
const PLANS = ['a', 'b:1'] as const

const tz: fc.Arbitrary<string | null | undefined> = fc.oneof(
  ...[often(9, fc.constant(undefined)), often(2, fc.constantFrom(...ZONES)), often(1, fc.constant(null))],
)
const attributes = (weight: number, most: string | null): fc.Arbitrary<Record<string, string | null>> => {
  const [none, last] = [fc.constant(undefined), fc.constant(most)]
  const value = (values: readonly string[]) =>
    fc.oneof(often(weight, none), often(4, fc.constantFrom(...values)), often(1, last))
  return fc.tuple(value(TEAMS), value(PLANS)).map(([team, plan]) => ({
    ...(team !== undefined && { team }),
    ...(plan !== undefined && { plan }),
  }))
}
const passed: fc.Arbitrary<Passed> = fc.record({ attributes: attributes(30, null), tz })

/** Values of a world's events: for ties, with fractions that floating sums lose, and of every size. */
const VALUES = [
  ['1', '1', '0', '2', '-1', '-2'],
  ['0.7', '0.2', '0.1', '0.1', '0.3', '-0.1', '1'],
  [
    ...(['1', '2', '0', '-2', '0.5', '-0.5', '0.333333', '0.000001', '17', '60', '-60'] as const),
    ...(['1000000000', '999999999.999999'] as const),
  ],
] as const
type Values = (typeof VALUES)[number]

/** Prefers the first users, so that their events interact. */
const index = fc.oneof(often(3, fc.nat({ max: 2 })), often(1, fc.nat({ max: 11 })))
const eventOf = (values: Values): fc.Arbitrary<WorldEvent> =>
  fc.record({
    user: index,
    metric: fc.constantFrom('m0', 'm0', ...METRICS),
    value: fc.constantFrom(...values),
    passed,
  })
const max = fc.constantFrom(1, 1, 2, 2, 2, 3, 4, 1_000)

type Pace = 'hours' | 'months'

const minutes = (pace: Pace) =>
  fc.oneof(
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: 60, max: 1_440 }),
    pace === 'hours'
      ? fc.integer({ min: 1_440, max: 4_320 })
      : fc.constantFrom(10, 28, 31, 45, 200, 366).map((days) => days * 1_440),
  )

const look = fc.nat({ max: 999 })
const is = <const T extends string>(name: T) => fc.constant(name)
const events = (list: fc.Arbitrary<WorldEvent[]>): fc.Arbitrary<Step> =>
  fc.record({ look, do: is('events'), events: list })
const moment = fc.record({
  ...{ look, do: is('wait until'), what: fc.constantFrom('midnight', 'edge', 'edge', 'noon') },
  ...{ user: index, board: index, plus: fc.constantFrom(-1, 0, 0, 60_000) },
})

const moved = fc.record({ attributes: attributes(2, null), tz })
const moving: fc.Arbitrary<Step> = fc.record({ look, do: is('identify'), user: index, passed: moved })
const maximum: fc.Arbitrary<Step> = fc.record({ look, do: is('max'), board: index, max })

/** A step, or several related steps. */
const stepsAt = (pace: Pace, values: Values): fc.Arbitrary<Step[]> => {
  const event = eventOf(values)
  // Several users do the same at once. Only earlier inputs or their ids separate them.
  const alike = fc
    .tuple(event, fc.array(fc.nat({ max: 11 }), { minLength: 2, maxLength: 10, size: 'max' }))
    .map(([one, users]) => users.map((user) => ({ ...one, user })))
  const single: fc.Arbitrary<Step> = fc.oneof(
    often(36, events(fc.tuple(event))),
    often(12, events(fc.array(event, { minLength: 2, maxLength: 6, size: 'max' }))),
    often(10, events(alike)),
    often(10, moving),
    often(9, fc.record({ look, do: is('wait'), minutes: minutes(pace) })),
    often(5, moment),
    often(6, maximum),
    often(6, fc.record({ look, do: is('switch'), board: index })),
    often(1, fc.record({ look, do: is('finish'), board: index })),
  )
  // Waits for a moment and then acts. Around the moment at which runs become final, these are actions that
  // must not count.
  const awaited = fc
    .tuple(moment, event)
    .chain(([until, one]) =>
      fc.tuple(fc.constant(until), events(fc.constant([{ ...one, user: until.user }]))),
    )
  const closing = fc.tuple(
    moment.map((until): Step => ({ ...until, what: 'noon' })),
    events(fc.array(event, { maxLength: 4, size: 'max' })),
    fc.oneof(moving, maximum),
    single,
    moment.map((until): Step => ({ ...until, what: 'noon', plus: 0 })),
  )
  return fc.oneof(often(16, fc.tuple(single)), often(2, awaited), often(1, closing))
}

const threshold = fc.integer({ min: 1, max: 3 })
const economyAt = (pace: Pace): fc.Arbitrary<Economy> =>
  fc.record({
    max: fc.constantFrom(20, 50, 90, null),
    gain: fc.record({ metric: fc.constant('m0'), threshold, points: fc.integer({ min: 2, max: 9 }) }),
    price: fc.record({ metric: fc.constant('m1'), threshold, points: fc.integer({ min: -9, max: -2 }) }),
    tick: fc.record({
      unit: fc.constant(pace === 'hours' ? ('hours' as const) : ('days' as const)),
      interval: pace === 'hours' ? fc.constantFrom(1, 5) : fc.constantFrom(10, 40),
      points: fc.constantFrom(1, 2, 7, -1),
      team: fc.constantFrom(null, null, 'red'),
    }),
  })

const [RED, BLUE] = [['team', 'red'] as const, ['team', 'blue'] as const]
const RUNS = {
  hours: [null, null, ['day', 1], ['day', 2], ['day', 7]],
  months: [null, ['day', 7], ['month', 1], ['month', 1], ['month', 5], ['year', 1]],
} as const

const WINDOWS = [
  ...[['09:00', '17:00'] as const, ['22:00', '06:00'] as const, ['23:30:30', '00:15'] as const],
  ...[[null, '12:00'] as const, ['12:00', null] as const, ['18:00', '00:00'] as const],
]

const boardAt = (begins: number, pace: Pace): fc.Arbitrary<Omit<WorldBoard, 'key'>> => {
  const today = utcDate(begins)
  const lately =
    pace === 'hours'
      ? fc.constantFrom(-9, -3, -1, 0, 0, 0, 2, 3).map((days) => plusDays(today, days))
      : fc.oneof(
          fc.constantFrom(-40, 0, 5, 33).map((days) => plusDays(today, days)),
          // The 31st, or the last day before it, of an earlier month.
          fc.integer({ min: 1, max: 14 }).map((back) => plusMonths(`${today.slice(0, 4)}-01-31`, -back)),
          fc.constant('2024-02-29'),
        )
  return fc
    .record({
      of: fc.constantFrom('m0', 'm0', 'm1', POINTS, POINTS),
      start: lately,
      lasts: fc.option(fc.integer(pace === 'hours' ? { min: 0, max: 5 } : { min: 5, max: 90 }), { freq: 1 }),
      runs: fc.constantFrom(...RUNS[pace]),
      window: fc.oneof(often(3, fc.constant([null, null] as const)), often(1, fc.constantFrom(...WINDOWS))),
      breakdown: fc.constantFrom([], [], [], ['team'], ['team', 'plan']),
      filters: fc.constantFrom([], [], [], [RED], [BLUE, ['plan', 'a']]),
      max,
      opens: fc.constantFrom(...(['at once', 'at once', 'at once', 'at once', 'later'] as const)),
    })
    .map(({ start, lasts, runs, window: [from, to], ...rest }) => ({
      ...rest,
      ...{ start, from, to },
      end: lasts === null ? null : plusDays([start, today].toSorted().at(-1) ?? start, lasts),
      unit: runs?.[0] ?? null,
      interval: runs?.[1] ?? 1,
    }))
}

const firstOf = fc.record({
  attributes: attributes(1, 'red'),
  tz: fc.oneof(fc.constantFrom(...FAR_APART), fc.constantFrom(undefined, ...ZONES)),
})
const usersAt: fc.Arbitrary<World['users']> = fc
  .tuple(
    fc.oneof(
      fc.shuffledSubarray([...IDS], { minLength: 2, maxLength: 5 }),
      fc.shuffledSubarray([...IDS], { minLength: 1 }),
      fc.shuffledSubarray(IDS.slice(0, 4), { minLength: 3 }),
    ),
    fc.array(firstOf, { minLength: IDS.length, maxLength: IDS.length }),
  )
  .map(([ids, firsts]) => ids.map((id, at) => ({ id, passed: firsts[at] ?? { attributes: {}, tz: null } })))

const moods = fc.record({
  day: fc.constantFrom(...BEGINNINGS),
  minute: fc.nat({ max: 1_439 }),
  pace: fc.constantFrom<Pace[]>('hours', 'months'),
  values: fc.constantFrom<Values[]>(...VALUES),
})

/** Random worlds that begin in a year. */
export const worldsOf = (year: number): fc.Arbitrary<World> =>
  fc.noBias(
    // Other moods make other worlds, not smaller ones. Shrinking must remove steps of the world first.
    fc.noShrink(moods).chain(({ day, minute, pace, values }) => {
      const begins = Date.parse(`${year}-${day}T00:00:00Z`) + minute * 60_000
      return fc.record({
        begins: fc.constant(begins),
        steps: fc
          .array(stepsAt(pace, values), { minLength: 1, maxLength: 36, size: 'max' })
          .map((steps) => steps.flat()),
        boards: fc
          .array(boardAt(begins, pace), { minLength: 1, maxLength: 4, size: 'max' })
          .map((boards) => boards.map((board, at) => ({ ...board, key: `board-${at}` }))),
        users: fc.noShrink(usersAt),
        economy: fc.noShrink(economyAt(pace)),
      })
    }),
  )
