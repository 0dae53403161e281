import { describe, expect, test } from 'vitest'
import {
  type ChangeInput,
  lived,
  type OracleSettings,
  streakAt,
  WRONG_STREAKS,
  type WrongStreaks,
} from '../oracle/streaks.oracle'

const DAILY: OracleSettings = {
  enabled: true,
  frequency: 'daily',
  metrics: [],
  mode: 'OR',
  personalisation: false,
  freezes: null,
}
const WEEKLY: OracleSettings = { ...DAILY, frequency: 'weekly' }
const MONTHLY: OracleSettings = { ...DAILY, frequency: 'monthly' }
const FREEZES = { initial: 0, max: 2, interval: null, amount: 1 }
const FIVE: OracleSettings = { ...DAILY, metrics: [{ metric: 'm', threshold: 5_000_000 }] }

const ms = (text: string) => Date.parse(text)
const UNIT = 1_000_000
const create = (at: string, zone: string | null = null): ChangeInput => ({ at: ms(at), do: 'create', zone })
const event = (at: string, value = 1, metric = 'm'): ChangeInput => ({
  ...{ at: ms(at), do: 'event', metric, value: Math.round(value * UNIT) },
})
const zone = (at: string, name: string): ChangeInput => ({ at: ms(at), do: 'zone', zone: name })
const pause = (at: string, start: string, end: string): ChangeInput => ({
  ...{ at: ms(at), do: 'pause', id: start, start, end },
})
const unpause = (at: string, id: string): ChangeInput => ({ at: ms(at), do: 'unpause', id })
const freeze = (at: string): ChangeInput => ({ at: ms(at), do: 'freeze' })
const restore = (at: string): ChangeInput => ({ at: ms(at), do: 'restore' })
const settings = (at: string, after: OracleSettings): ChangeInput => ({
  ...{ at: ms(at), do: 'settings', settings: after },
})
const enable = (at: string, enabled: boolean): ChangeInput => ({ at: ms(at), do: 'preferences', enabled })
const own = (at: string, metric: string, threshold = 1): ChangeInput => ({
  ...{ at: ms(at), do: 'preferences', metrics: [{ metric, threshold: threshold * UNIT }] },
})
const voided = (at: string, nth: number): ChangeInput => ({ at: ms(at), do: 'void', nth })
const goal = (threshold: number) => ({ ...DAILY, metrics: [{ metric: 'm', threshold: threshold * UNIT }] })
/** An event at noon UTC on each of the dates of a month. */
const on = (month: string, ...days: number[]): ChangeInput[] =>
  days.map((day) => event(`${month}-${String(day).padStart(2, '0')}T12:00Z`))

/**
 * From New York to Tokyo at 18:00 on each of these dates, and back half an hour after New York's midnight.
 */
const hops = (...dates: string[]): ChangeInput[] =>
  dates.flatMap((date) => [
    zone(`${date}T23:00Z`, 'Asia/Tokyo'),
    { at: ms(`${date}T23:00Z`) + 6.5 * 3_600_000, do: 'zone' as const, zone: 'America/New_York' },
  ])

/**
 * Results that were worked out by hand. For a moment: `length`, then, if given, `started`, `expires` and the
 * stored freezes. Or the lengths of the last periods, with f and p for periods that a freeze or a pause kept.
 */
type Look = [
  at: string,
  length: number,
  started?: string | null,
  expires?: string | null,
  freezes?: number | null,
]
type Case = {
  settings: OracleSettings
  life: ChangeInput[]
  looks: Look[]
  past?: [at: string, lengths: string]
  /** The number of firings of streak triggers with these lengths at the end (P2). */
  fired?: Readonly<Record<number, number>>
  /** The wrong ways that the case detects. */
  tells: WrongStreaks[]
}

const CASES: Record<string, Case> = {
  '[S2] the first event of a date extends, later ones do not, and none takes back': {
    settings: DAILY,
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z', 0),
      event('2027-03-01T10:00Z'),
      event('2027-03-01T11:00Z'),
      event('2027-03-01T12:00Z', -5),
      event('2027-03-02T23:59:59.999Z'),
    ],
    looks: [
      ['2027-03-02T23:59:59.999Z', 2, '2027-03-01', '2027-03-03', null],
      ['2027-03-03T23:59:59.999Z', 2, '2027-03-01', '2027-03-03'],
      ['2027-03-04T00:00Z', 0, null, null],
    ],
    past: ['2027-03-04T00:00Z', '0 1 2 0 0'],
    tells: [
      ...(['[S2] every event extends', '[S2] a later negative event takes back'] as const),
      ...(['[S3] a period is lost a period late', '[S5] expires with the current period'] as const),
    ],
  },
  '[E1, S1] an event of 0 is no activity': {
    settings: DAILY,
    life: [create('2027-03-01T08:00Z'), event('2027-03-01T10:00Z', 0)],
    looks: [['2027-03-01T11:00Z', 0, null, null]],
    tells: ['[S2] an event of 0 counts'],
  },
  '[S2] ALL requires each sum to reach its threshold in one period': {
    settings: {
      ...DAILY,
      metrics: [
        { metric: 'm', threshold: 2 * UNIT },
        { metric: 'n', threshold: UNIT },
      ],
      mode: 'ALL',
    },
    life: [
      create('2027-03-01T00:00Z'),
      event('2027-03-01T10:00Z', 2),
      event('2027-03-02T10:00Z', 1, 'n'),
      event('2027-03-02T11:00Z', 3),
      event('2027-03-03T10:00Z', 3),
      event('2027-03-03T11:00Z', -1.000001),
      event('2027-03-03T12:00Z', 1, 'n'),
    ],
    looks: [
      ['2027-03-01T23:00Z', 0],
      ['2027-03-02T10:30Z', 0],
      ['2027-03-02T11:00Z', 1, '2027-03-02'],
      ['2027-03-03T23:00Z', 1, '2027-03-02', '2027-03-03'],
    ],
    tells: [
      ...(['[S2] one metric is enough for ALL', '[S2] sums go on into the next period'] as const),
      ...(['[S2] negative events are not summed', '[S2] a threshold must be exceeded'] as const),
    ],
  },
  '[S2] OR requires one sum to reach its threshold': {
    settings: {
      ...DAILY,
      metrics: [
        { metric: 'm', threshold: 2 * UNIT },
        { metric: 'n', threshold: UNIT },
      ],
    },
    life: [create('2027-03-01T00:00Z'), event('2027-03-01T10:00Z', 1), event('2027-03-01T11:00Z', 1)],
    looks: [
      ['2027-03-01T10:00Z', 0],
      ['2027-03-01T11:00Z', 1],
    ],
    tells: ['[S2] OR asks for every metric', '[S2] a threshold must be exceeded'],
  },
  '[S2, U7] a goal that the user lowers is met at once, and the freeze stays': {
    settings: { ...goal(10), personalisation: true, freezes: { ...FREEZES, initial: 1 } },
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z', 10),
      event('2027-03-02T09:00Z', 6),
      own('2027-03-02T10:00Z', 'm', 5),
      event('2027-03-02T11:00Z', -0.5),
    ],
    looks: [
      ['2027-03-02T09:00Z', 1, '2027-03-01', '2027-03-02', 1],
      ['2027-03-02T10:00Z', 2, '2027-03-01', '2027-03-03', 1],
      ['2027-03-02T11:00Z', 2, '2027-03-01', '2027-03-03', 1],
      ['2027-03-03T00:00Z', 2, '2027-03-01', '2027-03-03', 1],
    ],
    fired: { 1: 2, 2: 1 },
    tells: [
      ...([
        '[S2] only an event satisfies a period',
        '[S2] a goal that is met without an event counts at the end of the period',
      ] as const),
      ...(['[S2] an extension without an event fires nothing'] as const),
    ],
  },
  '[S2] a goal that is raised again takes nothing back': {
    settings: goal(10),
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z', 6),
      settings('2027-03-01T10:00Z', goal(5)),
      settings('2027-03-01T11:00Z', goal(10)),
    ],
    looks: [
      ['2027-03-01T09:00Z', 0],
      ['2027-03-01T10:00Z', 1, '2027-03-01', '2027-03-02'],
      ['2027-03-01T11:00Z', 1, '2027-03-01', '2027-03-02'],
    ],
    tells: ['[S2] a raised goal takes back', '[S2] only an event satisfies a period'],
  },
  '[S2] a goal that is lowered after the end of the period is not met in it': {
    settings: goal(10),
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z', 6),
      settings('2027-03-02T00:00Z', goal(5)),
      event('2027-03-02T09:00Z', 5),
    ],
    looks: [
      ['2027-03-02T00:00Z', 0],
      ['2027-03-02T09:00Z', 1, '2027-03-02', '2027-03-03'],
    ],
    tells: ['[S2] a new goal satisfies periods that are over'],
  },
  '[S1, S2] a positive event counts if the goal has no metrics later, whatever the sum is': {
    settings: goal(10),
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z', 6),
      event('2027-03-01T10:00Z', -7),
      settings('2027-03-01T11:00Z', DAILY),
    ],
    looks: [
      ['2027-03-01T10:00Z', 0],
      ['2027-03-01T11:00Z', 1],
    ],
    tells: ['[S2] without metrics, only events from then on count'],
  },
  '[S2, V2] a voided negative event lets the sum meet the goal, and a voided event takes nothing back': {
    settings: goal(5),
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z', -2),
      event('2027-03-01T10:00Z', 6),
      voided('2027-03-01T11:00Z', 0),
      voided('2027-03-01T12:00Z', 1),
    ],
    looks: [
      ['2027-03-01T10:00Z', 0],
      ['2027-03-01T11:00Z', 1],
      ['2027-03-01T12:00Z', 1],
    ],
    tells: ['[V2] a voided event stays in the sums'],
  },
  '[V2, S9] a voided event is not counted again': {
    settings: DAILY,
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z'),
      event('2027-03-08T09:00Z'),
      voided('2027-03-08T10:00Z', 0),
      settings('2027-03-08T11:00Z', WEEKLY),
    ],
    looks: [['2027-03-08T11:00Z', 1, '2027-03-08', '2027-03-21']],
    tells: ['[V2] a voided event is counted again'],
  },
  '[G9, S2] without a deleted metric, the others may meet the goal': {
    settings: {
      ...DAILY,
      metrics: [
        { metric: 'm', threshold: 2 * UNIT },
        { metric: 'n', threshold: UNIT },
      ],
      mode: 'ALL',
    },
    life: [
      create('2027-03-01T08:00Z'),
      event('2027-03-01T09:00Z', 2),
      { at: ms('2027-03-01T10:00Z'), do: 'unmetric', metric: 'n' },
    ],
    looks: [
      ['2027-03-01T09:00Z', 0],
      ['2027-03-01T10:00Z', 1],
    ],
    tells: ['[G9] a deleted metric still counts'],
  },
  '[S1] weeks begin on Monday, across the end of a year': {
    settings: WEEKLY,
    life: [
      create('2026-12-20T00:00Z'),
      // A Sunday, a Monday, and the Sunday of the week after, which is in the next year.
      event('2026-12-20T10:00Z'),
      event('2026-12-21T10:00Z'),
      event('2027-01-03T23:59Z'),
    ],
    looks: [
      ['2026-12-21T10:00Z', 2, '2026-12-14', '2027-01-03'],
      ['2027-01-03T23:59Z', 3, '2026-12-14', '2027-01-10'],
      ['2027-01-10T23:59Z', 3, '2026-12-14', '2027-01-10'],
      ['2027-01-11T00:00Z', 0],
    ],
    tells: ['[S1] weeks begin on Sunday'],
  },
  '[S5] months have their own lengths': {
    settings: MONTHLY,
    life: [create('2027-12-31T00:00Z'), event('2027-12-31T10:00Z'), event('2028-01-01T00:00Z')],
    looks: [
      ['2028-01-01T00:00Z', 2, '2027-12-01', '2028-02-29'],
      ['2028-02-29T23:59Z', 2, '2027-12-01', '2028-02-29'],
      ['2028-03-01T00:00Z', 0],
    ],
    tells: [],
  },
  '[S3] dates of 23 and 25 hours in New York are ordinary ones': {
    settings: DAILY,
    life: [
      create('2027-03-13T17:00Z', 'America/New_York'),
      event('2027-03-13T17:00Z'),
      // 14 March ends at 04:00 UTC, an hour earlier than the one before.
      event('2027-03-15T03:59Z'),
      event('2027-11-06T16:00Z'),
      // 7 November has 25 hours: it ends at 05:00 UTC.
      event('2027-11-08T04:59Z'),
    ],
    looks: [
      ['2027-03-15T03:59Z', 2, '2027-03-13', '2027-03-15'],
      ['2027-03-16T03:59Z', 2],
      ['2027-03-16T04:00Z', 0],
      ['2027-11-08T04:59Z', 2, '2027-11-06', '2027-11-08'],
      ['2027-11-09T04:59Z', 2],
      ['2027-11-09T05:00Z', 0],
    ],
    tells: ['[S3] days have 24 hours', '[E8] dates are UTC dates'],
  },
  '[S3] changes of the clock in the southern hemisphere are ordinary, also the half hour of Lord Howe': {
    settings: DAILY,
    life: [
      create('2027-04-02T00:00Z', 'Australia/Lord_Howe'),
      // Until 3 April the clocks are 11 hours ahead, from the 4th 10:30.
      event('2027-04-02T13:00Z'),
      event('2027-04-04T13:29Z'),
      event('2027-10-01T00:00Z'),
      // From 3 October 11 hours again: the 3rd ends at 13:00 UTC.
      event('2027-10-02T12:00Z'),
      event('2027-10-03T12:59Z'),
    ],
    looks: [
      ['2027-04-04T13:29Z', 2, '2027-04-03', '2027-04-05'],
      ['2027-04-05T13:29Z', 2],
      ['2027-04-05T13:30Z', 0],
      ['2027-10-03T12:59Z', 3, '2027-10-01', '2027-10-04'],
      ['2027-10-04T12:59Z', 3],
      ['2027-10-04T13:00Z', 0],
    ],
    tells: ['[S3] days have 24 hours', '[E8] dates are UTC dates'],
  },
  '[S3] St. John’s is half an hour off, Kathmandu a quarter, and Casablanca goes back for Ramadan': {
    settings: DAILY,
    life: [
      create('2027-07-01T00:00Z', 'America/St_Johns'),
      event('2027-07-01T02:29Z'),
      event('2027-07-01T02:30Z'),
      zone('2027-07-01T12:00Z', 'Asia/Kathmandu'),
      event('2027-07-01T18:14Z'),
      event('2027-07-01T18:15Z'),
    ],
    looks: [
      // 30 June, 1 July in St. John's; 1 July again and 2 July in Kathmandu.
      ['2027-07-01T02:29Z', 1, '2027-06-30'],
      ['2027-07-01T02:30Z', 2, '2027-06-30', '2027-07-02'],
      ['2027-07-01T18:14Z', 2, '2027-06-30', '2027-07-02'],
      ['2027-07-01T18:15Z', 3, '2027-06-30', '2027-07-03'],
      ['2027-07-03T18:14Z', 3],
      ['2027-07-03T18:15Z', 0],
    ],
    tells: ['[E8] dates are UTC dates', '[E8] dates use the current zone'],
  },
  '[S3] Casablanca’s month of an hour less': {
    settings: DAILY,
    life: [
      create('2026-02-13T12:00Z', 'Africa/Casablanca'),
      event('2026-02-13T22:59Z'),
      event('2026-02-13T23:00Z'),
      // From 15 February on UTC.
      event('2026-02-15T23:59Z'),
    ],
    looks: [
      ['2026-02-13T23:00Z', 2, '2026-02-13', '2026-02-15'],
      ['2026-02-15T23:59Z', 3, '2026-02-13', '2026-02-16'],
      ['2026-02-16T23:59Z', 3],
      ['2026-02-17T00:00Z', 0],
    ],
    tells: ['[S3] days have 24 hours'],
  },
  '[S4] from Pago Pago to Kiritimati a date is skipped and not missed, and on the way back none counts twice':
    {
      settings: { ...DAILY, freezes: { ...FREEZES, initial: 1 } },
      life: [
        create('2027-05-01T12:00Z', 'Pacific/Pago_Pago'),
        event('2027-05-01T12:00Z'),
        // 23:30 on the 1st; in Kiritimati it is 00:30 on the 3rd. The event there ends the 2nd.
        zone('2027-05-02T10:30Z', 'Pacific/Kiritimati'),
        event('2027-05-02T10:31Z'),
        // Back to the 1st. All dates up to the 3rd are over.
        zone('2027-05-02T10:40Z', 'Pacific/Pago_Pago'),
        event('2027-05-02T10:41Z'),
        event('2027-05-02T11:00Z'),
        event('2027-05-03T11:00Z'),
      ],
      looks: [
        ['2027-05-02T10:30Z', 1, '2027-05-01', '2027-05-03', 1],
        ['2027-05-02T10:31Z', 2, '2027-05-01', '2027-05-04', 1],
        ['2027-05-02T10:41Z', 2, '2027-05-01', '2027-05-04', 1],
        ['2027-05-02T11:00Z', 2, '2027-05-01', '2027-05-04', 1],
        ['2027-05-03T11:00Z', 2, '2027-05-01', '2027-05-04', 1],
        ['2027-05-05T11:00Z', 2, '2027-05-01', '2027-05-05', 0],
      ],
      past: ['2027-05-03T11:00Z', '1 1 2'],
      fired: { 1: 2, 2: 1, 3: 0 },
      tells: [
        ...([
          '[S4] a date that was skipped is missed',
          '[S4] a date that was skipped takes a freeze',
        ] as const),
        ...(['[S3] a freeze extends', '[S4] a date counts twice'] as const),
      ],
    },
  '[S11] in Apia a date that was skipped is open to a user who comes back': {
    settings: DAILY,
    life: [
      create('2027-05-01T12:00Z', 'Pacific/Pago_Pago'),
      event('2027-05-01T12:00Z'),
      // From 01:00 on the 2nd to 01:00 on the 3rd and back again.
      zone('2027-05-02T12:00Z', 'Pacific/Apia'),
      zone('2027-05-02T12:10Z', 'Pacific/Pago_Pago'),
      event('2027-05-02T12:20Z'),
    ],
    looks: [
      ['2027-05-02T12:00Z', 1, '2027-05-01', '2027-05-03'],
      ['2027-05-02T12:10Z', 1, '2027-05-01', '2027-05-02'],
      ['2027-05-02T12:20Z', 2, '2027-05-01', '2027-05-03'],
    ],
    past: ['2027-05-02T12:05Z', '1 1 1'],
    tells: [
      ...(['[S11] a change of zone ends the dates that it skips'] as const),
      '[S11] a skipped date shows length 0 while it is open',
    ],
  },
  '[S11] from New York to Tokyo and back at 18:00 changes nothing': {
    settings: DAILY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      zone('2027-03-05T23:00Z', 'Asia/Tokyo'),
      zone('2027-03-05T23:30Z', 'America/New_York'),
    ],
    looks: [
      ['2027-03-05T22:59Z', 1, '2027-03-04', '2027-03-05'],
      ['2027-03-05T23:00Z', 1, '2027-03-04', '2027-03-06'],
      ['2027-03-05T23:30Z', 1, '2027-03-04', '2027-03-05'],
      ['2027-03-06T04:59Z', 1, '2027-03-04', '2027-03-05'],
      ['2027-03-06T05:00Z', 0, null, null],
    ],
    tells: ['[S11] a change of zone ends the dates that it skips'],
  },
  '[S11] a hop each evening spares one date': {
    settings: DAILY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      ...hops('2027-03-05', '2027-03-06'),
    ],
    looks: [
      ['2027-03-05T23:00Z', 1, '2027-03-04', '2027-03-06'],
      ['2027-03-06T23:00Z', 1, '2027-03-04', '2027-03-07'],
      // The first midnight that the user has since the 4th.
      ['2027-03-08T04:59Z', 1, '2027-03-04', '2027-03-07'],
      ['2027-03-08T05:00Z', 0, null, null],
    ],
    past: ['2027-03-08T05:00Z', '1 1 0 0 0'],
    tells: ['[S11] every date that is skipped is spared'],
  },
  '[S11] a skipped date ends at the latest when its user is on the third date after it': {
    settings: DAILY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      ...hops('2027-03-05', '2027-03-06', '2027-03-07', '2027-03-08'),
    ],
    looks: [
      // The 5th ends on the 8th, and is spared. The 6th ends on the 9th.
      ['2027-03-07T23:00Z', 1, '2027-03-04', '2027-03-08'],
      ['2027-03-08T22:59Z', 1, '2027-03-04', '2027-03-08'],
      ['2027-03-08T23:00Z', 0, null, null],
    ],
    tells: [
      ...(['[S11] a skipped date stays open on the third date after it'] as const),
      '[S11] a skipped date ends on the second date after it',
    ],
  },
  '[S11] the seventh date after a spared one may be spared, the sixth may not': {
    settings: { ...DAILY, freezes: { ...FREEZES, initial: 2 } },
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      ...hops('2027-03-05'),
      ...on('2027-03', 6, 7, 8, 9, 10),
      ...hops('2027-03-11', '2027-03-12'),
      event('2027-03-13T17:00Z'),
    ],
    looks: [
      ['2027-03-13T16:59Z', 6, '2027-03-04', '2027-03-13', 2],
      ['2027-03-13T17:00Z', 7, '2027-03-04', '2027-03-14', 1],
    ],
    past: ['2027-03-13T17:00Z', '1 1 2 3 4 5 6 6f 6 7'],
    tells: [
      ...(['[S11] every date that is skipped is spared', '[S11] one of six dates is spared'] as const),
      '[S11] one of eight dates is spared',
    ],
  },
  '[S11] a journey takes a freeze and loses a streak only when the skipped date ends': {
    settings: { ...DAILY, freezes: { ...FREEZES, initial: 1 } },
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      // The 5th is spared. The 6th takes the freeze at midnight in New York.
      ...hops('2027-03-05'),
      zone('2027-03-06T23:00Z', 'Asia/Tokyo'),
      zone('2027-03-06T23:30Z', 'America/New_York'),
      // The 7th has no freeze left. It ends, and the streak is lost, when the 8th counts.
      zone('2027-03-07T23:00Z', 'Asia/Tokyo'),
      event('2027-03-07T23:10Z'),
      zone('2027-03-07T23:30Z', 'America/New_York'),
      event('2027-03-07T23:40Z'),
      event('2027-03-08T17:00Z'),
    ],
    looks: [
      ['2027-03-06T22:59Z', 1, '2027-03-04', '2027-03-06', 1],
      ['2027-03-06T23:00Z', 1, '2027-03-04', '2027-03-07', 1],
      ['2027-03-06T23:30Z', 1, '2027-03-04', '2027-03-06', 1],
      ['2027-03-07T05:00Z', 1, '2027-03-04', '2027-03-07', 0],
      ['2027-03-07T23:00Z', 1, '2027-03-04', '2027-03-08', 0],
      ['2027-03-07T23:10Z', 1, '2027-03-08', '2027-03-09', 0],
      ['2027-03-07T23:40Z', 1, '2027-03-08', '2027-03-09', 0],
      ['2027-03-08T17:00Z', 1, '2027-03-08', '2027-03-09', 0],
    ],
    past: ['2027-03-08T17:00Z', '1 1 1f 0 1'],
    fired: { 1: 2, 2: 0 },
    tells: [
      ...(['[S11] a change of zone ends the dates that it skips'] as const),
      '[S11] a skipped date never ends if a later one is satisfied',
    ],
  },
  '[S11] an event on a skipped date counts no more if a later date has counted': {
    settings: DAILY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      zone('2027-03-05T23:00Z', 'Asia/Tokyo'),
      event('2027-03-05T23:10Z'),
      zone('2027-03-05T23:30Z', 'America/New_York'),
      event('2027-03-05T23:40Z'),
    ],
    looks: [
      ['2027-03-05T23:10Z', 2, '2027-03-04', '2027-03-07'],
      ['2027-03-05T23:40Z', 2, '2027-03-04', '2027-03-07'],
      ['2027-03-06T05:00Z', 2, '2027-03-04', '2027-03-07'],
    ],
    past: ['2027-03-06T05:00Z', '1 1 2'],
    fired: { 1: 2, 2: 1, 3: 0 },
    tells: ['[S4] a date counts twice'],
  },
  '[S11] a date to which its user has come back was not spared': {
    settings: DAILY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      zone('2027-03-05T23:00Z', 'Asia/Tokyo'),
      zone('2027-03-05T23:30Z', 'America/New_York'),
      event('2027-03-05T23:40Z'),
      ...hops('2027-03-06'),
      event('2027-03-07T17:30Z'),
    ],
    looks: [
      ['2027-03-07T17:00Z', 2, '2027-03-04', '2027-03-07'],
      ['2027-03-07T17:30Z', 3, '2027-03-04', '2027-03-08'],
    ],
    tells: ['[S11] a change of zone ends the dates that it skips'],
  },
  '[S11] a paused date does not need to be spared': {
    settings: DAILY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      pause('2027-03-04T18:00Z', '2027-03-05', '2027-03-05'),
      ...hops('2027-03-05', '2027-03-06'),
      event('2027-03-07T17:30Z'),
    ],
    looks: [
      ['2027-03-07T17:00Z', 1, '2027-03-04', '2027-03-07'],
      ['2027-03-07T17:30Z', 2, '2027-03-04', '2027-03-08'],
    ],
    past: ['2027-03-07T17:30Z', '1 1p 1 2'],
    tells: ['[S11] a paused date is spared by travel'],
  },
  '[S4, S11] a week of which only the last evening was skipped is open to a user who comes back': {
    settings: WEEKLY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      // From Sunday, 18:00, to Monday.
      zone('2027-03-14T22:00Z', 'Asia/Tokyo'),
      zone('2027-03-14T22:30Z', 'America/New_York'),
    ],
    looks: [
      ['2027-03-14T21:59Z', 1, '2027-03-01', '2027-03-14'],
      ['2027-03-14T22:00Z', 1, '2027-03-01', '2027-03-21'],
      ['2027-03-14T22:30Z', 1, '2027-03-01', '2027-03-14'],
      ['2027-03-15T04:00Z', 0, null, null],
    ],
    tells: ['[S11] a change of zone ends the dates that it skips'],
  },
  '[S4, S11] a week of which only the last evening was skipped is missed at the next midnight': {
    settings: WEEKLY,
    life: [
      create('2027-03-04T17:00Z', 'America/New_York'),
      event('2027-03-04T17:00Z'),
      zone('2027-03-14T22:00Z', 'Asia/Tokyo'),
    ],
    looks: [
      ['2027-03-15T14:59Z', 1, '2027-03-01', '2027-03-21'],
      ['2027-03-15T15:00Z', 0, null, null],
    ],
    tells: ['[S11] a week or month is spared', '[S11] a skipped date does not end at the next midnight'],
  },
  '[S8, S11] a restore keeps a week that is skipped': {
    settings: WEEKLY,
    life: [
      create('2027-03-01T17:00Z', 'America/New_York'),
      ...on('2027-03', 2, 9, 16, 30),
      // From Sunday, 18:00, to Monday.
      zone('2027-04-11T22:00Z', 'Asia/Tokyo'),
      restore('2027-04-11T22:10Z'),
    ],
    looks: [
      ['2027-04-11T22:00Z', 1, '2027-03-29', '2027-04-18'],
      ['2027-04-11T22:10Z', 3, '2027-03-15', '2027-04-18'],
      ['2027-04-12T15:00Z', 3, '2027-03-15', '2027-04-18'],
    ],
    past: ['2027-04-12T15:00Z', '1 2 3 0 1 1 3'],
    tells: ['[S8, S11] a skipped date is lost after a restore'],
  },
  '[S4] a hop to the west and back opens no date before one that counted': {
    settings: DAILY,
    life: [
      // 11:00 on the 2nd. In Pago Pago it is the 1st.
      create('2027-06-01T21:00Z', 'Pacific/Kiritimati'),
      zone('2027-06-01T21:00Z', 'Pacific/Pago_Pago'),
      zone('2027-06-01T21:00Z', 'Asia/Tokyo'),
      zone('2027-06-01T21:00Z', 'Pacific/Kiritimati'),
      event('2027-06-01T21:00Z'),
      zone('2027-06-02T00:00Z', 'Pacific/Pago_Pago'),
      event('2027-06-02T00:01Z'),
    ],
    looks: [
      ['2027-06-01T21:00Z', 1, '2027-06-02', '2027-06-03'],
      ['2027-06-02T00:00Z', 1, '2027-06-02', '2027-06-03'],
      ['2027-06-02T00:01Z', 1, '2027-06-02', '2027-06-03'],
    ],
    fired: { 1: 1, 2: 0 },
    tells: ['[S4] a date counts twice'],
  },
  '[S4] a hop to the west and back opens no date that ends later': {
    settings: { ...DAILY, freezes: { ...FREEZES, initial: 1 } },
    life: [
      create('2027-05-01T12:00Z', 'Pacific/Kiritimati'),
      event('2027-05-01T12:00Z'),
      // From the 3rd to the 2nd, and back.
      zone('2027-05-02T12:00Z', 'Pacific/Pago_Pago'),
      zone('2027-05-02T12:00Z', 'Pacific/Kiritimati'),
      // The 3rd has taken the freeze at midnight. In Pago Pago it is the 2nd for another half an hour.
      zone('2027-05-03T10:30Z', 'Pacific/Pago_Pago'),
      event('2027-05-03T11:00Z'),
    ],
    looks: [
      ['2027-05-03T09:59Z', 1, '2027-05-02', '2027-05-03', 1],
      ['2027-05-03T10:30Z', 1, '2027-05-02', '2027-05-04', 0],
      ['2027-05-03T11:00Z', 1, '2027-05-02', '2027-05-04', 0],
    ],
    tells: [],
  },
  '[S4, S11] dates before the first one of a streak count no more': {
    settings: DAILY,
    life: [
      // The 2nd. In Kiritimati it is half an hour into the 3rd, in Pago Pago half an hour before the end of
      // the 1st.
      create('2027-05-02T10:30Z', 'Asia/Tokyo'),
      zone('2027-05-02T10:30Z', 'Pacific/Kiritimati'),
      event('2027-05-02T10:30Z'),
      zone('2027-05-02T10:40Z', 'Pacific/Pago_Pago'),
      event('2027-05-02T10:41Z'),
      zone('2027-05-02T10:50Z', 'Asia/Tokyo'),
      event('2027-05-02T10:51Z'),
    ],
    looks: [
      ['2027-05-02T10:41Z', 1, '2027-05-03', '2027-05-04'],
      ['2027-05-02T10:51Z', 1, '2027-05-03', '2027-05-04'],
    ],
    tells: ['[S4] a date counts twice'],
  },
  '[S4, S11] at length 0, a date that had ended counts, and later dates are open': {
    settings: DAILY,
    life: [
      // From the first half hour of the 4th to the last half hour of the 2nd.
      create('2027-05-03T09:00Z', 'Pacific/Kiritimati'),
      zone('2027-05-03T10:30Z', 'Pacific/Pago_Pago'),
      event('2027-05-03T10:31Z'),
      zone('2027-05-03T10:40Z', 'Pacific/Kiritimati'),
      zone('2027-05-03T10:50Z', 'Pacific/Pago_Pago'),
      event('2027-05-03T11:00Z'),
    ],
    looks: [
      ['2027-05-03T10:31Z', 1, '2027-05-02', '2027-05-03'],
      ['2027-05-03T10:40Z', 1, '2027-05-02', '2027-05-04'],
      ['2027-05-03T10:50Z', 1, '2027-05-02', '2027-05-03'],
      ['2027-05-03T11:00Z', 2, '2027-05-02', '2027-05-04'],
    ],
    tells: ['[S11] a change of zone ends the dates that it skips'],
  },
  '[S4] a date that counted does not count again after a journey to the west': {
    settings: DAILY,
    life: [
      create('2027-03-01T08:00Z', 'Europe/Berlin'),
      event('2027-03-01T08:00Z'),
      event('2027-03-01T23:30Z'),
      // From 00:30 on the 2nd to 18:30 on the 1st.
      zone('2027-03-01T23:30Z', 'America/New_York'),
      event('2027-03-01T23:40Z'),
      event('2027-03-02T12:00Z'),
    ],
    looks: [
      ['2027-03-01T23:30Z', 2, '2027-03-01', '2027-03-03'],
      ['2027-03-01T23:40Z', 2, '2027-03-01', '2027-03-03'],
      ['2027-03-02T12:00Z', 2, '2027-03-01', '2027-03-03'],
    ],
    fired: { 1: 2 },
    tells: ['[S4] a date counts twice'],
  },
  '[S4] a lost date does not count again after a journey to the west': {
    settings: DAILY,
    life: [
      create('2027-05-01T12:00Z', 'Pacific/Kiritimati'),
      event('2027-05-01T12:00Z'),
      // The 3rd is missed when the 4th begins, at 10:00 UTC on the 3rd. Then it is the 2nd, which has
      // counted, and the 3rd.
      zone('2027-05-03T10:30Z', 'Pacific/Pago_Pago'),
      event('2027-05-03T10:31Z'),
      event('2027-05-03T11:00Z'),
    ],
    looks: [
      ['2027-05-03T09:59Z', 1],
      ['2027-05-03T10:31Z', 0],
      ['2027-05-03T11:00Z', 0],
    ],
    tells: ['[S4] a lost period may begin a streak'],
  },
  '[S3] a week is paused by one day of it, and activity in it still extends': {
    settings: { ...WEEKLY, freezes: { ...FREEZES, initial: 1 } },
    life: [
      create('2027-03-01T00:00Z'),
      event('2027-03-02T12:00Z'),
      pause('2027-03-02T13:00Z', '2027-03-14', '2027-03-15'),
      // The week of the 8th is kept by its last day. The week of the 15th is paused as well, and extends.
      event('2027-03-17T12:00Z'),
    ],
    looks: [
      ['2027-03-02T13:00Z', 1, '2027-03-01', '2027-03-28', 1],
      ['2027-03-15T00:00Z', 1, '2027-03-01', '2027-03-28', 1],
      ['2027-03-17T12:00Z', 2, '2027-03-01', '2027-03-28', 1],
      ['2027-03-29T00:00Z', 2, '2027-03-01', '2027-04-04', 0],
    ],
    past: ['2027-03-29T00:00Z', '1 1p 2 2f 2'],
    tells: [
      ...(['[S3] a pause must cover the whole period', '[S3] nothing extends while paused'] as const),
      ...([
        '[S3] a paused period takes a freeze',
        '[S5] expires in a pause',
        '[U6] no initial freezes',
      ] as const),
    ],
  },
  '[S3] the last day of a pause is paused': {
    settings: DAILY,
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1),
      pause('2027-03-01T13:00Z', '2027-03-02', '2027-03-03'),
    ],
    looks: [
      ['2027-03-01T13:00Z', 1, '2027-03-01', '2027-03-04'],
      ['2027-03-04T00:00Z', 1, '2027-03-01', '2027-03-04'],
      ['2027-03-05T00:00Z', 0],
    ],
    tells: ['[S3] a pause ends a day early', '[S5] expires in a pause'],
  },
  '[S7] a deleted pause still keeps the periods that are over': {
    settings: DAILY,
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1),
      pause('2027-03-01T13:00Z', '2027-03-02', '2027-03-09'),
      unpause('2027-03-04T12:00Z', '2027-03-02'),
    ],
    looks: [
      ['2027-03-04T12:00Z', 1, '2027-03-01', '2027-03-04'],
      ['2027-03-05T00:00Z', 0],
    ],
    past: ['2027-03-04T12:00Z', '1 1p 1p 1'],
    tells: ['[S7] a pause that is deleted never was'],
  },
  '[S7] freezes keep one midnight each, and neither extend nor begin a streak': {
    settings: { ...DAILY, freezes: { ...FREEZES, initial: 1 } },
    life: [
      create('2027-03-01T00:00Z'),
      freeze('2027-03-02T00:00Z'),
      freeze('2027-03-02T01:00Z'),
      ...on('2027-03', 3),
    ],
    looks: [
      ['2027-03-03T12:00Z', 1, '2027-03-03', '2027-03-04', 2],
      ['2027-03-05T00:00Z', 1, '2027-03-03', '2027-03-05', 1],
      ['2027-03-06T00:00Z', 1, '2027-03-03', '2027-03-06', 0],
      ['2027-03-07T00:00Z', 0, null, null, 0],
    ],
    past: ['2027-03-07T00:00Z', '1 1f 1f 0 0'],
    tells: [
      ...(['[S3] a freeze extends', '[S3] a freeze is lost at length 0'] as const),
      ...(['[S5] a freeze moves the beginning'] as const),
    ],
  },
  '[S7] at one midnight a freeze is earned before it is consumed, and a forgone freeze is gone': {
    settings: { ...DAILY, freezes: { initial: 0, max: 1, interval: 3, amount: 2 } },
    life: [create('2027-03-01T20:00Z'), ...on('2027-03', 2)],
    looks: [
      // The 3rd ends with the midnight that is three days after the 1st.
      ['2027-03-03T23:59Z', 1, '2027-03-02', '2027-03-03', 0],
      ['2027-03-04T00:00Z', 1, '2027-03-02', '2027-03-04', 0],
      ['2027-03-05T00:00Z', 0, null, null, 0],
      ['2027-03-07T00:00Z', 0, null, null, 1],
      ['2027-03-10T00:00Z', 0, null, null, 1],
    ],
    tells: [
      ...(['[S7] consumes before it earns', '[S7] earns above the maximum'] as const),
      '[S7] a forgone freeze is earned later',
    ],
  },
  '[S7] days are counted from the date of creation, and each counts once': {
    settings: { ...DAILY, freezes: { initial: 0, max: 9, interval: 2, amount: 1 } },
    life: [
      // 1 March in UTC, 2 March in Kiritimati.
      create('2027-03-01T10:00Z', 'UTC'),
      zone('2027-03-01T11:00Z', 'Pacific/Kiritimati'),
      // The 3rd has begun. Back in UTC it is the 2nd, and the 3rd begins again.
      zone('2027-03-02T11:00Z', 'UTC'),
    ],
    looks: [
      ['2027-03-02T09:59Z', 0, null, null, 0],
      ['2027-03-02T10:00Z', 0, null, null, 1],
      ['2027-03-03T01:00Z', 0, null, null, 1],
      ['2027-03-05T00:00Z', 0, null, null, 2],
    ],
    tells: ['[S7] earns by the current zone', '[S7] a midnight that comes twice earns twice'],
  },
  '[S7, S11] a new interval earns nothing for a date that has begun': {
    settings: DAILY,
    life: [
      create('2027-03-01T17:00Z', 'America/New_York'),
      // From the evening of the 3rd to the 4th, which is three days after the 1st. The 3rd is open.
      zone('2027-03-03T23:00Z', 'Asia/Tokyo'),
      settings('2027-03-03T23:10Z', { ...DAILY, freezes: { initial: 0, max: 3, interval: 3, amount: 1 } }),
    ],
    looks: [
      ['2027-03-04T15:00Z', 0, null, null, 0],
      ['2027-03-06T14:59Z', 0, null, null, 0],
      ['2027-03-06T15:00Z', 0, null, null, 1],
    ],
    tells: ['[S7] a new interval earns for a date that has begun'],
  },
  '[S8] the longest streak of the last 90 days comes back, as if the day before had counted': {
    settings: DAILY,
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1, 2, 3, 4, 5, 6),
      ...on('2027-03', 10, 11),
      // On 3 March it was 3 long. That day is one of the last 90 days on 31 May, but not on 4 June.
      restore('2027-05-31T12:00Z'),
    ],
    looks: [
      ['2027-05-31T12:00Z', 6, '2027-05-25', '2027-05-31'],
      ['2027-06-01T00:00Z', 0],
    ],
    past: ['2027-05-31T12:00Z', '0 6 6'],
    tells: ['[S8] the previous period stays missed', '[S8] started stays'],
  },
  '[S8] only recent streaks come back': {
    settings: DAILY,
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1, 2, 3, 4),
      ...on('2027-03', 10, 11),
      // The first of the 90 days is 5 March.
      restore('2027-06-02T12:00Z'),
    ],
    looks: [['2027-06-02T12:00Z', 2, '2027-05-31', '2027-06-02']],
    tells: ['[S8] the longest ever comes back'],
  },
  '[S8] a live streak gets the longest length, and earlier periods stay unchanged': {
    settings: DAILY,
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1, 2, 3, 4),
      ...on('2027-03', 10),
      restore('2027-03-11T12:00Z'),
      event('2027-03-11T13:00Z'),
    ],
    looks: [
      ['2027-03-11T12:00Z', 4, '2027-03-07', '2027-03-11'],
      ['2027-03-11T13:00Z', 5, '2027-03-07', '2027-03-12'],
    ],
    past: ['2027-03-11T12:00Z', '0 0 0 0 0 1 4'],
    tells: [
      ...(['[S8] only a lost one comes back', '[S8] started stays'] as const),
      '[S8] the last period shows the restored length',
    ],
  },
  '[S8] weeks of this year': {
    settings: WEEKLY,
    life: [
      create('2026-12-07T00:00Z'),
      // Three weeks. The last one, from the 28th, has days in 2027.
      event('2026-12-15T12:00Z'),
      event('2026-12-22T12:00Z'),
      event('2026-12-28T12:00Z'),
      restore('2027-06-16T12:00Z'),
    ],
    looks: [['2027-06-16T12:00Z', 3, '2027-05-24', '2027-06-20']],
    tells: ['[S8] started stays'],
  },
  '[S8] months since the last January': {
    settings: MONTHLY,
    life: [
      create('2026-01-01T00:00Z'),
      ...['2026-01', '2026-02', '2026-03', '2026-10'].flatMap((month) => on(month, 5)),
      restore('2027-12-31T12:00Z'),
      restore('2028-02-01T12:00Z'),
    ],
    looks: [['2028-02-01T00:00Z', 0]],
    tells: [],
  },
  '[S9] another frequency is counted from the log: pauses count, freezes do not, and stored freezes stay': {
    settings: { ...DAILY, freezes: { ...FREEZES, initial: 2 } },
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1, 3, 9),
      // Each was kept by a freeze or a pause so far. With weeks, the week of the 15th is paused.
      pause('2027-03-09T13:00Z', '2027-03-16', '2027-03-16'),
      ...on('2027-03', 23),
      settings('2027-03-24T12:00Z', { ...WEEKLY, freezes: { ...FREEZES, initial: 2 } }),
    ],
    looks: [
      ['2027-03-03T12:00Z', 2, '2027-03-01', '2027-03-04', 1],
      ['2027-03-06T00:00Z', 0, null, null, 0],
      ['2027-03-24T12:00Z', 3, '2027-03-01', '2027-04-04', 0],
    ],
    tells: ['[S9] pauses do not count in a recount'],
  },
  '[S9] a period that a freeze kept is lost in a recount, and stored freezes stay': {
    settings: { ...WEEKLY, freezes: { ...FREEZES, initial: 2 } },
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1, 3),
      settings('2027-03-03T13:00Z', { ...DAILY, freezes: { ...FREEZES, initial: 2 } }),
    ],
    looks: [['2027-03-03T13:00Z', 1, '2027-03-03', '2027-03-04', 2]],
    tells: ['[S9] freezes count in a recount', '[S9] stored freezes are lost'],
  },
  '[S1] periods that end while streaks are off are not judged': {
    settings: DAILY,
    life: [
      create('2027-03-01T00:00Z'),
      ...on('2027-03', 1),
      settings('2027-03-02T12:00Z', { ...DAILY, enabled: false }),
      settings('2027-03-05T12:00Z', DAILY),
      ...on('2027-03', 5),
    ],
    looks: [
      ['2027-03-02T11:00Z', 1],
      ['2027-03-05T12:00Z', 2, '2027-03-01', '2027-03-06'],
      ['2027-03-07T00:00Z', 0],
    ],
    tells: ['[S1] periods that end while streaks are off are missed'],
  },
  '[S10] the tenant switches streaks off and on: each event counts for its period, once, and silently while they are off':
    {
      settings: FIVE,
      life: [
        create('2027-03-01T00:00Z'),
        event('2027-03-01T10:00Z', 4),
        settings('2027-03-01T11:00Z', { ...FIVE, enabled: false }),
        settings('2027-03-01T12:00Z', FIVE),
        event('2027-03-01T13:00Z', 1),
        settings('2027-03-01T14:00Z', { ...FIVE, enabled: false }),
        event('2027-03-02T10:00Z', 5),
        event('2027-03-03T10:00Z', 3),
        settings('2027-03-03T11:00Z', FIVE),
        event('2027-03-03T12:00Z', 2),
        settings('2027-03-03T13:00Z', { ...FIVE, enabled: false }),
        settings('2027-03-03T14:00Z', FIVE),
        event('2027-03-03T15:00Z', 5),
      ],
      looks: [
        ['2027-03-01T10:00Z', 0],
        ['2027-03-01T13:00Z', 1, '2027-03-01', '2027-03-02'],
        ['2027-03-02T10:00Z', 0, null, null],
        ['2027-03-03T11:00Z', 2, '2027-03-01', '2027-03-03'],
        ['2027-03-03T12:00Z', 3, '2027-03-01', '2027-03-04'],
        ['2027-03-03T15:00Z', 3, '2027-03-01', '2027-03-04'],
      ],
      fired: { 1: 2, 2: 0, 3: 1 },
      tells: [
        ...(['[S10] events do not count while the tenant has streaks off'] as const),
        '[S10] an event extends in silence',
      ],
    },
  '[S10] a user switches streaks off and on: each event counts for its period, once, and silently while they are off':
    {
      settings: FIVE,
      life: [
        create('2027-03-01T00:00Z'),
        event('2027-03-01T12:00Z', 5),
        event('2027-03-02T12:00Z', 4),
        enable('2027-03-02T13:00Z', false),
        enable('2027-03-02T14:00Z', true),
        event('2027-03-02T15:00Z', 1),
        ...[16, 17, 18, 19, 20].flatMap((hour) => [
          enable(`2027-03-02T${hour}:00Z`, false),
          enable(`2027-03-02T${hour}:10Z`, true),
          event(`2027-03-02T${hour}:20Z`, 5),
        ]),
        event('2027-03-03T10:00Z', 2),
        enable('2027-03-03T11:00Z', false),
        event('2027-03-03T12:00Z', 3),
        enable('2027-03-03T13:00Z', true),
        event('2027-03-03T14:00Z', 5),
        event('2027-03-04T10:00Z', 5),
      ],
      looks: [
        ['2027-03-02T12:00Z', 1, '2027-03-01', '2027-03-02'],
        ['2027-03-02T13:00Z', 0, null, null],
        ['2027-03-02T14:00Z', 1, '2027-03-01', '2027-03-02'],
        ['2027-03-02T15:00Z', 2, '2027-03-01', '2027-03-03'],
        ['2027-03-02T16:00Z', 0, null, null],
        ['2027-03-02T20:20Z', 2, '2027-03-01', '2027-03-03'],
        ['2027-03-03T12:00Z', 0, null, null],
        ['2027-03-03T13:00Z', 3, '2027-03-01', '2027-03-04'],
        ['2027-03-03T14:00Z', 3, '2027-03-01', '2027-03-04'],
        ['2027-03-04T10:00Z', 4, '2027-03-01', '2027-03-05'],
      ],
      past: ['2027-03-04T10:00Z', '1 2 3 4'],
      fired: { 1: 3, 2: 2, 3: 0, 4: 1 },
      tells: [
        ...(['[U7] a streak that its user has switched off is shown'] as const),
        ...(['[S10] switched off by the user, a streak begins again from 0'] as const),
        ...(['[S10] switched off by the user, a period is open again'] as const),
        ...(['[S10] switched off by the user, a period loses its sums'] as const),
        ...(['[S10] events do not count while the user has streaks off'] as const),
        '[S10] an event extends in silence',
      ],
    },
  '[S10] an unsatisfied period that ends while the user has streaks off is still missed': {
    settings: { ...DAILY, freezes: { ...FREEZES, initial: 1 } },
    life: [
      create('2027-03-01T00:00Z'),
      event('2027-03-01T12:00Z'),
      enable('2027-03-02T13:00Z', false),
      enable('2027-03-03T13:00Z', true),
      enable('2027-03-03T14:00Z', false),
      enable('2027-03-04T01:00Z', true),
    ],
    looks: [
      ['2027-03-03T13:00Z', 1, '2027-03-01', '2027-03-03', 0],
      ['2027-03-04T01:00Z', 0, null, null, 0],
    ],
    tells: ['[S10] nothing is missed while the user has streaks off'],
  },
  '[U7] own metrics count only with personalisation': {
    settings: DAILY,
    life: [create('2027-03-01T00:00Z'), own('2027-03-01T01:00Z', 'n'), event('2027-03-01T12:00Z', 1)],
    looks: [['2027-03-01T12:00Z', 1]],
    tells: ['[U7] own metrics count without personalisation'],
  },
}

const spelled = (
  settingsOf: OracleSettings,
  life: readonly ChangeInput[],
  { looks, past, fired }: Case,
  ...wrong: WrongStreaks[]
) => {
  const by = (at: string) => life.filter((one) => one.at <= ms(at))
  return {
    looks: looks.map(([at, ...rest]) => {
      const { length, started, expires, freezes } = streakAt(settingsOf, by(at), ms(at), ...wrong)
      return [at, ...[length, started, expires, freezes].slice(0, rest.length)]
    }),
    past:
      past === undefined
        ? undefined
        : [
            past[0],
            lived(settingsOf, by(past[0]), ...wrong)
              .history(ms(past[0]), past[1].split(' ').length)
              .map(
                ({ length, usedFreeze, usedPause }) =>
                  `${length}${usedFreeze ? 'f' : ''}${usedPause ? 'p' : ''}`,
              )
              .join(' '),
          ],
    fired:
      fired &&
      Object.fromEntries(
        Object.keys(fired).map((length) => [
          length,
          lived(settingsOf, life, ...wrong).firings(Number(length)),
        ]),
      ),
  }
}

describe('the oracle of streaks', () => {
  test.each(Object.entries(CASES))('%s', (_rule, one) => {
    const { looks, past, fired } = one
    expect(spelled(one.settings, one.life, one)).toEqual({ looks, past, fired })
  })

  test.each(WRONG_STREAKS)('a fixed case detects it: %s', (wrong) => {
    const cases = Object.values(CASES).filter(({ tells }) => tells.includes(wrong))
    expect(cases.length).toBeGreaterThan(0)
    for (const one of cases) {
      const { looks, past, fired } = one
      expect(spelled(one.settings, one.life, one, wrong)).not.toEqual({ looks, past, fired })
    }
  })
})
