import type { OracleSettings } from './streaks.oracle'
import { type Hop, PROFILE, type StreakStep, type StreakWorld, type TwinWorld } from './streaks.worlds'

/** Fixed lives of one user, for the core and over HTTP. They do not depend on chance. */

const DAILY: OracleSettings = {
  ...{ enabled: true, frequency: 'daily', metrics: [], mode: 'OR', personalisation: false, freezes: null },
}
const noon = { days: 1, minute: 720, isLate: false }
const soon = { days: 0, minute: 0, isLate: false }
const habit = (times: number) =>
  ({ ...noon, do: 'habit', metric: 'm0', value: 1_000_000, times }) satisfies StreakStep
const optOut = (enabled: boolean) =>
  ({ ...soon, do: 'preferences', enabled, mode: undefined, metrics: undefined }) satisfies StreakStep
const event = { ...soon, do: 'event', metric: 'm0', value: 1_000_000, zone: undefined } satisfies StreakStep
const tomorrow = { ...event, ...noon } satisfies StreakStep
const world = (settings: OracleSettings, ...steps: StreakStep[]): StreakWorld => ({
  ...{ settings, begins: Date.parse('2027-02-01T08:00Z'), zone: 'Europe/Berlin', switches: true, steps },
})
const from = (zone: string, one: StreakWorld): StreakWorld => ({ ...one, zone })

const set = (days: number, settings: Partial<OracleSettings>): StreakStep => ({
  ...{ ...noon, days, do: 'settings', settings: { ...DAILY, ...settings } },
})
const zoned = (days: number, zone: string): StreakStep => ({ ...noon, days, do: 'zone', zone })
const enable = (enabled: boolean): StreakStep => ({ ...soon, do: 'enable', enabled })
/** Moves to a zone, `days` days later at a minute of the day. */
const away = (days: number, minute: number, zone: string): StreakStep => ({
  ...{ days, minute, isLate: false, do: 'zone', zone },
})
const evening = 18 * 60
const late = 23 * 60
/** To Tokyo at 18:00, and back half an hour after New York's midnight. */
const hop: StreakStep[] = [away(0, evening, 'Asia/Tokyo'), away(0, 14 * 60 + 30, 'America/New_York')]
const FIVE = { ...DAILY, metrics: [{ metric: 'm0', threshold: 5_000_000 }] }
const worth = (units: number): StreakStep => ({ ...event, value: units * 1_000_000 })
const goal = (units: number) =>
  ({
    ...soon,
    ...{ do: 'goal', mode: 'OR', personalisation: true },
    metrics: [{ metric: 'm0', threshold: units * 1_000_000 }],
  }) satisfies StreakStep
const ownGoal = (units: number): StreakStep => ({
  ...{ ...soon, do: 'preferences', enabled: undefined, mode: undefined },
  metrics: goal(units).metrics,
})
const voidLast = (which: number): StreakStep => ({ ...soon, do: 'void', which })
const TWO_METRICS = [
  { metric: 'm0', threshold: 1_000_000 },
  { metric: 'm1', threshold: 1_000_000 },
]
const ONE = { initial: 1, max: 1, interval: null, amount: 1 }
const TWO = { initial: 2, max: 2, interval: null, amount: 1 }
const most = (max: number) => ({ initial: 0, max, interval: 1, amount: 1 })

/** Hops to the west, to the east, and both. Some last a moment, some last hours. */
const HOPS: readonly Hop[] = [
  { leaves: 1, stays: 0, zones: ['Pacific/Pago_Pago', 'Asia/Tokyo'] },
  { leaves: 0, stays: 0, zones: ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Europe/Berlin'] },
  { leaves: 0.5, stays: 90, zones: ['Pacific/Pago_Pago'] },
  { leaves: 0.3, stays: 60, zones: ['Pacific/Kiritimati', 'America/New_York'] },
  { leaves: 1, stays: 0, zones: ['Pacific/Kiritimati'] },
]

/** Cases that random worlds rarely contain. Together they cover everything that is counted as seen. */
export const STREAK_CASES: Record<string, StreakWorld> = {
  '[S2, S3, U7] a goal that is met without an event keeps the freeze': world(
    {
      ...DAILY,
      metrics: goal(10).metrics,
      personalisation: true,
      freezes: { initial: 1, max: 3, interval: null, amount: 1 },
    },
    ...[worth(10), { ...worth(6), ...noon }, ownGoal(5), { ...worth(-0.5), ...soon }, tomorrow],
    ...[{ ...worth(1), ...noon }, ownGoal(20), ownGoal(1), ownGoal(20), { ...goal(10), ...noon, days: 3 }],
  ),
  '[S2, S3] settings, voided events and deleted metrics meet the goal': world(
    FIVE,
    ...[worth(4), goal(4), goal(9), { ...worth(-3), ...noon }, worth(9), voidLast(1)],
    ...[{ ...worth(4), ...noon }, voidLast(0), worth(8), worth(-8), { ...goal(1), metrics: [] }],
    ...[
      { ...worth(2), ...noon },
      { ...goal(2), mode: 'ALL' as const, metrics: TWO_METRICS },
    ],
    ...[
      { ...worth(2), ...noon },
      { ...soon, do: 'unmetric' as const, metric: 'm1' },
    ],
    ...[{ ...goal(3), ...noon }, worth(1), { ...soon, do: 'unmetric' as const, metric: 'm0' }],
    set(1, { frequency: 'weekly' }),
  ),
  // Nothing judges the paused week at its end.
  '[S2, S3] a paused week that is over does not meet a later goal': world(
    { ...FIVE, frequency: 'weekly' },
    ...[worth(5), { ...noon, days: 7, do: 'pause' as const, from: 0, length: 0 }, worth(4)],
    ...[{ ...goal(4), ...noon, days: 7 }, worth(4)],
  ),
  '[S2, S10] a goal is met in silence': world(
    { ...FIVE, personalisation: true },
    ...[worth(4), optOut(false), ownGoal(4), optOut(true), { ...worth(3), ...noon }, enable(false)],
    ...[goal(3), ownGoal(3), enable(true), tomorrow],
  ),
  '[S2, S11] a goal is met on a date to which its user comes back': from(
    'America/New_York',
    world(
      { ...FIVE, personalisation: true },
      ...[worth(5), { ...worth(4), ...noon }, away(0, evening, 'Asia/Tokyo'), worth(3), ownGoal(3)],
      ...[ownGoal(4), away(0, 0, 'America/New_York'), ownGoal(1), { ...worth(2), ...noon }, worth(-1)],
    ),
  ),
  '[S2, S4, S11] a date that had ended is not met by a change of zone': from(
    'Pacific/Kiritimati',
    world(
      { ...FIVE, personalisation: true },
      ...[worth(4), away(1, 30, 'Pacific/Kiritimati'), worth(4), ownGoal(4)],
      ...[away(0, 0, 'Pacific/Pago_Pago'), worth(-1), worth(1), away(0, 0, 'Pacific/Kiritimati'), habit(2)],
    ),
  ),
  '[S2, S8] a restore opens a period that meets the goal': from(
    'Pacific/Kiritimati',
    world(
      { ...FIVE, personalisation: true },
      ...[{ ...habit(3), value: 5_000_000 }, { ...worth(4), ...noon }, away(1, 30, 'Pacific/Kiritimati')],
      ...[away(0, 0, 'Pacific/Pago_Pago'), ownGoal(4), { ...soon, do: 'restore' as const }, habit(2)],
    ),
  ),
  // 30 points in a day instead of 5.
  '[S10] a user earns a period once, however often the streak is switched off and on': world(
    DAILY,
    event,
    ...Array.from({ length: 5 }, () => [optOut(false), optOut(true), event]).flat(),
  ),
  '[S10] a period earned once stays earned over a tenant’s switch': world(
    DAILY,
    event,
    ...Array.from({ length: 5 }, () => [enable(false), enable(true), event]).flat(),
  ),
  '[S10] a user’s switch keeps the sums of the period': world(
    FIVE,
    worth(4),
    optOut(false),
    optOut(true),
    worth(1),
  ),
  '[S10] a tenant’s switch keeps the sums of the period': world(
    FIVE,
    worth(4),
    enable(false),
    enable(true),
    worth(1),
  ),
  '[S10] events count while streaks are off': world(
    FIVE,
    ...[worth(2), optOut(false), worth(2), enable(false), worth(1), optOut(true), enable(true), worth(5)],
    ...[habit(2), optOut(false), habit(2), optOut(true), enable(false), habit(5), enable(true), habit(3)],
  ),
  '[S10] a user who has switched the streak off misses the same periods as others': world(
    { ...DAILY, freezes: { initial: 1, max: 1, interval: null, amount: 1 } },
    ...[
      habit(2),
      optOut(false),
      { ...noon, days: 2, do: 'freeze' as const },
      optOut(true),
      event,
      optOut(false),
    ],
    ...[{ ...noon, days: 4, do: 'freeze' as const }, optOut(true), event],
  ),
  '[S10] periods of a user who has switched the streak off are judged in time': world(
    { ...DAILY, freezes: TWO },
    ...[habit(2), optOut(false), set(2, { freezes: null }), set(0, { freezes: TWO }), optOut(true), event],
  ),
  '[S10] a user with own thresholds': world(
    { ...FIVE, personalisation: true },
    ...[worth(3), optOut(false), worth(1)],
    {
      ...soon,
      do: 'preferences',
      enabled: true,
      mode: undefined,
      metrics: [{ metric: 'm0', threshold: 4_000_000 }],
    },
    ...[worth(0.5), worth(5)],
    { ...soon, do: 'preferences', enabled: false, mode: 'ALL', metrics: [] },
    { ...soon, do: 'preferences', enabled: true, mode: 'OR', metrics: undefined },
    worth(5),
  ),
  '[S10] changes to other frequencies, and back': world(
    DAILY,
    ...[habit(3), optOut(false), set(0, { frequency: 'weekly' }), event, optOut(true), event],
    ...[set(0, {}), event, set(0, { frequency: 'monthly', enabled: false }), event, set(0, {}), event],
  ),
  '[S11] to Tokyo at 18:00 and back, without any activity': from(
    'America/New_York',
    world(DAILY, event, away(1, evening, 'Asia/Tokyo'), away(0, 0, 'America/New_York'), event, habit(2)),
  ),
  '[S11] to Tokyo at 18:00 and back, and Tokyo’s date counts': from(
    'America/New_York',
    world(
      DAILY,
      event,
      away(1, evening, 'Asia/Tokyo'),
      event,
      away(0, 0, 'America/New_York'),
      event,
      habit(2),
    ),
  ),
  '[S11] to Tokyo at 18:00 and back, and New York’s date is missed': from(
    'America/New_York',
    world(DAILY, event, away(1, evening, 'Asia/Tokyo'), event, away(0, 0, 'America/New_York'), habit(2)),
  ),
  '[S11] a hop each evening': from(
    'America/New_York',
    world(DAILY, habit(2), ...hop, ...hop, ...hop, habit(2)),
  ),
  '[S11] a hop each evening, until skipped dates end on the third date after them': from(
    'America/New_York',
    world(DAILY, habit(2), ...hop, ...hop, ...hop, ...hop, ...hop, event),
  ),
  '[S7, S11] a freeze of a skipped date is earned when a later date counts': from(
    'America/New_York',
    world({ ...DAILY, freezes: most(3) }, event, away(0, evening, 'Asia/Tokyo'), event),
  ),
  '[S7, S11] a new interval earns nothing for a date that has begun': from(
    'America/New_York',
    world(
      DAILY,
      ...[away(2, evening, 'Asia/Tokyo'), set(0, { freezes: { ...most(3), interval: 3 } })],
      ...[tomorrow, { ...tomorrow, days: 3 }],
    ),
  ),
  '[S1, S11] a skipped date that ends while streaks are off need not be spared': from(
    'America/New_York',
    world(
      DAILY,
      ...[event, away(1, evening, 'Asia/Tokyo'), enable(false), { ...enable(true), ...noon }, event],
      ...[away(1, late, 'Pacific/Kiritimati'), event],
    ),
  ),
  '[S11] a hop each evening takes no freeze before the next midnight': from(
    'America/New_York',
    world(
      { ...DAILY, freezes: { initial: 2, max: 3, interval: null, amount: 1 } },
      // The first date counts. The second is spared, and the third takes a freeze.
      ...[event, ...hop, ...hop, away(0, evening, 'Asia/Tokyo'), { ...soon, do: 'freeze' as const }],
      ...[away(0, 0, 'America/New_York'), ...hop, ...hop, event, ...hop],
    ),
  ),
  '[S11] a streak is not lost on the way': from(
    'America/New_York',
    world(
      DAILY,
      ...[
        event,
        ...hop,
        ...hop,
        away(0, evening, 'Asia/Tokyo'),
        away(0, 0, 'America/New_York'),
        event,
        habit(1),
      ],
    ),
  ),
  // In Kiritimati, the 1st and the 2nd are open. Back in Pago Pago, the 1st is missed. The last step changes
  // nothing, so the answer comes before the deadline runs.
  '[S3, S11] a streak that would be lost on the way is lost at midnight at home': from(
    'Pacific/Pago_Pago',
    world(
      DAILY,
      ...[event, away(1, late, 'Pacific/Kiritimati'), away(0, 0, 'Pacific/Pago_Pago')],
      away(1, 0, 'Pacific/Pago_Pago'),
    ),
  ),
  // The first journey spares the 1st. The second one skips the 4th and the 5th.
  '[S6, S11] two dates that are skipped on the way take no freeze at home': from(
    'Pacific/Pago_Pago',
    world(
      { ...DAILY, freezes: ONE },
      ...[event, away(1, late, 'Pacific/Kiritimati'), event, away(0, 60, 'Pacific/Pago_Pago'), event],
      ...[away(2, late, 'Pacific/Kiritimati'), away(0, 0, 'Pacific/Pago_Pago')],
    ),
  ),
  '[S11] the sixth date after a spared one is not spared': from(
    'America/New_York',
    world(DAILY, event, ...hop, ...hop, event, habit(4), away(1, evening, 'Asia/Tokyo'), event),
  ),
  '[S11] the seventh date after a spared one is spared': from(
    'America/New_York',
    world(DAILY, event, ...hop, ...hop, event, habit(5), away(1, evening, 'Asia/Tokyo'), event),
  ),
  '[S11] to Tokyo at 18:00 and back, and New York’s date is missed again and again': from(
    'America/New_York',
    world(
      DAILY,
      event,
      ...[away(1, evening, 'Asia/Tokyo'), event, away(0, 0, 'America/New_York')],
      ...[away(2, evening, 'Asia/Tokyo'), event, away(0, 0, 'America/New_York')],
      ...[away(2, evening, 'Asia/Tokyo'), event, away(0, 0, 'America/New_York'), habit(2)],
    ),
  ),
  '[S11] no activity in Tokyo, and New York’s date is missed': from(
    'America/New_York',
    world(
      DAILY,
      ...[event, away(1, evening, 'Asia/Tokyo'), away(0, 0, 'America/New_York'), habit(1)],
      ...[away(1, evening, 'Asia/Tokyo'), event],
    ),
  ),
  '[S11] sums of a date to which its user comes back': from(
    'America/New_York',
    world(
      FIVE,
      worth(4),
      away(0, evening, 'Asia/Tokyo'),
      worth(5),
      away(0, 0, 'America/New_York'),
      worth(1),
      habit(1),
    ),
  ),
  '[S7, S11] a pause that is deleted on the way keeps the open date': from(
    'America/New_York',
    world(
      DAILY,
      ...[event, { ...soon, do: 'pause' as const, from: 1, length: 3 }, away(1, evening, 'Asia/Tokyo')],
      ...[{ ...soon, do: 'unpause' as const, which: 0 }, away(0, 0, 'America/New_York')],
      ...[away(1, 600, 'America/New_York'), event],
    ),
  ),
  '[S8, S11] a streak that is restored on the way stays restored': from(
    'America/New_York',
    world(
      DAILY,
      ...[
        habit(4),
        { ...noon, days: 3, do: 'event' as const, metric: 'm0', value: 1_000_000, zone: undefined },
      ],
      ...[
        away(1, evening, 'Asia/Tokyo'),
        { ...soon, do: 'restore' as const },
        away(0, 0, 'America/New_York'),
      ],
      ...[event, habit(2)],
    ),
  ),
  '[S1, S11] a date that is skipped while streaks are off need not be spared': from(
    'America/New_York',
    world(
      DAILY,
      ...[event, { ...soon, days: 1, minute: 17 * 60, do: 'enable' as const, enabled: false }],
      ...[
        away(0, evening, 'Asia/Tokyo'),
        enable(true),
        away(0, 14 * 60 + 30, 'America/New_York'),
        ...hop,
        event,
      ],
    ),
  ),
  '[S9, S11] a change of the frequency on a journey, with freezes': from(
    'America/New_York',
    world(
      { ...DAILY, freezes: TWO },
      ...[
        event,
        ...hop,
        ...hop,
        away(0, evening, 'Asia/Tokyo'),
        set(0, { frequency: 'weekly', freezes: TWO }),
      ],
      ...[set(0, { freezes: TWO }), away(0, 0, 'America/New_York'), event, habit(1)],
    ),
  ),
  '[S11] two dates at once': from(
    'Pacific/Pago_Pago',
    world(
      DAILY,
      ...[event, away(1, 1_410, 'Pacific/Kiritimati'), event, away(0, 0, 'Asia/Tokyo'), event],
      ...[away(0, 0, 'Pacific/Pago_Pago'), event, habit(2)],
    ),
  ),
  '[S4] a hop to the west and back opens no date that had ended': from(
    'Pacific/Kiritimati',
    world(
      DAILY,
      ...[away(0, 0, 'Pacific/Pago_Pago'), away(0, 0, 'Asia/Tokyo'), away(0, 0, 'Pacific/Kiritimati'), event],
      ...[away(0, 0, 'Pacific/Pago_Pago'), event, set(0, { frequency: 'weekly' }), set(0, {}), habit(2)],
    ),
  ),
  '[S4] a hop to the west and back opens no date that ends later': from(
    'Pacific/Kiritimati',
    world(
      { ...DAILY, freezes: TWO },
      ...[event, away(1, 120, 'Pacific/Pago_Pago'), away(0, 0, 'Pacific/Kiritimati')],
      ...[away(1, 30, 'Pacific/Pago_Pago'), event, away(1, 0, 'Pacific/Pago_Pago'), event, habit(2)],
    ),
  ),
  '[S4, S11] dates before the first one of a streak count no more': from(
    'Asia/Tokyo',
    world(
      DAILY,
      ...[away(1, 19 * 60 + 30, 'Pacific/Kiritimati'), event],
      ...[away(0, 0, 'Asia/Tokyo'), away(0, 0, 'Pacific/Pago_Pago'), event],
      ...[away(0, 0, 'Asia/Tokyo'), event, set(0, { frequency: 'weekly' }), set(0, {}), habit(2)],
    ),
  ),
  '[S4, S11] at length 0, a date that had ended counts, and later dates are open': from(
    'Pacific/Kiritimati',
    world(
      DAILY,
      ...[away(1, 30, 'Pacific/Pago_Pago'), event, away(0, 0, 'Pacific/Kiritimati')],
      ...[away(0, 0, 'Pacific/Pago_Pago'), away(1, 0, 'Pacific/Pago_Pago'), event, habit(2)],
    ),
  ),
  '[S4, S8] a date that had ended is open if the streak is restored on it': from(
    'Pacific/Kiritimati',
    world(
      DAILY,
      ...[habit(2), away(4, 30, 'Pacific/Pago_Pago'), { ...soon, do: 'restore' as const }],
      ...[away(0, 0, 'Pacific/Kiritimati'), away(0, 0, 'Pacific/Pago_Pago'), event, habit(2)],
    ),
  ),
  // The date after the last event takes a freeze, and the next one is missed.
  ...Object.fromEntries(
    [1, 2].map((times) => [
      `[S4, S6, S8] a streak of ${times} is restored on a date that took a freeze, and lost there`,
      from(
        'Pacific/Kiritimati',
        world(
          { ...DAILY, freezes: ONE },
          ...[event, ...(times > 1 ? [tomorrow] : []), away(3, 30, 'Pacific/Pago_Pago')],
          ...[{ ...soon, do: 'restore' as const }, away(1, 0, 'Pacific/Pago_Pago')],
        ),
      ),
    ]),
  ),
  '[S11] a user who comes back passes a midnight on the way': from(
    'Pacific/Pago_Pago',
    world(
      DAILY,
      event,
      away(1, 1_350, 'Pacific/Kiritimati'),
      event,
      away(1, 20, 'Pacific/Pago_Pago'),
      event,
      habit(2),
    ),
  ),
  '[S11] a length of 0 begins on the later date': from(
    'America/New_York',
    world(DAILY, away(0, evening, 'Asia/Tokyo'), event, away(0, 0, 'America/New_York'), event, habit(2)),
  ),
  '[S11] a user comes back to a week': from(
    'America/New_York',
    world(
      { ...DAILY, frequency: 'weekly' },
      ...[event, away(13, evening, 'Asia/Tokyo'), event, away(0, 0, 'America/New_York'), event],
      ...[away(7, evening, 'Asia/Tokyo'), away(0, 0, 'America/New_York')],
    ),
  ),
  '[S11] pauses of an open date count': from(
    'America/New_York',
    world(
      DAILY,
      ...[
        event,
        { ...soon, do: 'pause' as const, from: 1, length: 0 },
        away(1, evening, 'Asia/Tokyo'),
        event,
      ],
      ...[away(0, 0, 'America/New_York'), away(1, 600, 'America/New_York'), event],
    ),
  ),
  '[S8, S11] restored on a date to which its user comes back': from(
    'America/New_York',
    world(
      DAILY,
      ...[
        habit(4),
        { ...noon, days: 3, do: 'event' as const, metric: 'm0', value: 1_000_000, zone: undefined },
      ],
      ...[away(1, evening, 'Asia/Tokyo'), event, away(0, 0, 'America/New_York')],
      ...[{ ...soon, do: 'restore' as const }, event, habit(2)],
    ),
  ),
  '[S10, S11] the streak is switched off and on on a journey': from(
    'America/New_York',
    world(
      DAILY,
      ...[event, optOut(false), away(1, evening, 'Asia/Tokyo'), event, optOut(true), event],
      ...[away(0, 0, 'America/New_York'), optOut(false), event, optOut(true), event, ...hop],
    ),
  ),
  '[S4, S8] restored on a date that comes again, when a later date counts': from(
    'Europe/Berlin',
    world(
      DAILY,
      ...[
        habit(4),
        { ...noon, days: 3, do: 'event' as const, metric: 'm0', value: 1_000_000, zone: undefined },
      ],
      ...[
        { ...event, days: 1, minute: 1 },
        away(0, 0, 'America/New_York'),
        { ...soon, do: 'restore' as const },
      ],
      habit(3),
    ),
  ),
  '[S9, S11] a change of the frequency on a journey': from(
    'America/New_York',
    world(
      DAILY,
      ...[habit(3), away(1, evening, 'Asia/Tokyo'), event, set(0, { frequency: 'weekly' }), set(0, {})],
      ...[away(0, 0, 'America/New_York'), event, set(0, { frequency: 'weekly' }), set(0, {}), habit(2)],
    ),
  ),
  '[S3, S7] a long streak with a pause and freezes, and lost': world(
    { ...DAILY, freezes: most(2) },
    ...[habit(22), { ...soon, do: 'pause', from: 1, length: 2 } as const],
    ...[{ ...noon, days: 5, do: 'event', metric: 'm0', value: 1_000_000, zone: undefined } as const],
    { ...noon, days: 9, do: 'freeze' },
  ),
  '[S4] changes of other profile fields': world(
    DAILY,
    event,
    ...PROFILE.flatMap((field): StreakStep[] => [{ ...soon, do: 'profile', field, nth: 1 }, event]),
  ),
  ...Object.fromEntries(
    // The first and the last date on which a streak of 4 can be restored to 5, its length 90 days ago.
    [88, 89, 90, 91].map((days) => [
      `[S8] after ${days} days`,
      world(DAILY, habit(5), { ...noon, days, do: 'restore' }, { ...soon, do: 'restore' }, event),
    ]),
  ),
  '[S9] freezes that would be earned in a recount save no period': world(
    { ...DAILY, frequency: 'weekly', freezes: { initial: 0, max: 5, interval: 1, amount: 1 } },
    event,
    { ...noon, days: 3, do: 'event', metric: 'm0', value: 1_000_000, zone: undefined },
    {
      ...{ ...soon, do: 'settings' },
      settings: { ...DAILY, freezes: { initial: 0, max: 5, interval: 1, amount: 1 } },
    },
    habit(3),
  ),
  // Off, another frequency, on: the length is 0 instead of 1.
  offRecount: world(
    DAILY,
    event,
    set(0, { enabled: false }),
    set(0, { enabled: false, frequency: 'monthly' }),
    set(0, { frequency: 'monthly' }),
  ),
  // A user whose only event arrived while streaks were off is in no recount. A user with an earlier event is
  // recounted with it.
  unknownRecount: world(DAILY, set(0, { enabled: false }), event, set(0, { frequency: 'weekly' })),
  // Off since 2 February 12:00 UTC, which is the 3rd in Kiritimati: the 2nd is missed there.
  offZone: world(DAILY, event, set(1, { enabled: false }), zoned(1, 'Pacific/Kiritimati'), set(1, {})),
  // At the maximum of 1 for days. Then the maximum is 4, and there are 4.
  forgone: world({ ...DAILY, freezes: most(1) }, set(8, { freezes: most(4) })),
  // Off for 3 days in which 3 would be earned, then on with another interval: none of them is earned.
  offFreezes: world(
    { ...DAILY, freezes: most(4) },
    set(0, { enabled: false, freezes: most(4) }),
    set(3, { freezes: { ...most(4), interval: 30 } }),
  ),
  // Paused on 2 February only. An event of the 3rd removes this pause from the count, so with months,
  // February is no longer paused.
  pausesRecount: world(
    DAILY,
    { ...event, metric: 'm0', days: 0 },
    { ...noon, days: 25, do: 'event', metric: 'm0', value: 1_000_000, zone: undefined },
    { ...noon, days: 3, do: 'pause', from: 0, length: 0 },
    zoned(1, 'Europe/Madrid'),
    set(1, { frequency: 'monthly' }),
  ),
}

const once = (...zones: string[]): Hop[] => [{ leaves: 0, stays: 0, zones }]

/** Lives of twins with hops of all kinds: all cases above, and some with hops at certain moments. */
export const TWIN_CASES: readonly TwinWorld[] = [
  ...Object.values(STREAK_CASES).map((one) => ({ world: one, hops: HOPS })),
  {
    world: world(
      { ...DAILY, frequency: 'monthly' },
      event,
      ...[25, 3, 9].map((days) => ({ ...tomorrow, days })),
    ),
    hops: HOPS,
  },
  // At the moment at which a journey begins, there is a hop.
  {
    world: from(
      'Pacific/Pago_Pago',
      world(DAILY, event, away(1, 1_410, 'Asia/Tokyo'), event, tomorrow, tomorrow),
    ),
    hops: once('Pacific/Kiritimati'),
  },
  // From the 2nd to the 3rd, and from there to the 1st.
  {
    world: from(
      'Asia/Tokyo',
      world(
        DAILY,
        ...[away(1, 19 * 60 + 30, 'Asia/Seoul'), event, away(0, 0, 'Pacific/Pago_Pago'), event, habit(2)],
      ),
    ),
    hops: once('Pacific/Kiritimati', 'Pacific/Pago_Pago'),
  },
]
