import { describe, expect, test } from 'vitest'
import {
  type ChangeInput,
  DAILY,
  lived,
  type OraclePeriod,
  type OracleSettings,
  type OracleStreak,
} from '../oracle/streaks.oracle'

const WEEKEND: OracleSettings = {
  ...DAILY,
  daysOff: [0, 6],
  freezes: { startCount: 1, maxCount: 2, interval: null, amount: 1 },
}
const WEEKLY: OracleSettings = { ...DAILY, frequency: 'weekly' }
const MONTHLY: OracleSettings = { ...DAILY, frequency: 'monthly' }
const FREEZES = { startCount: 0, maxCount: 2, interval: null, amount: 1 }
const UNIT = 1_000_000
const goal = (threshold: number) => ({ ...DAILY, metrics: [{ metric: 'm', threshold: threshold * UNIT }] })
const FIVE = goal(5)
const BOTH = [
  { metric: 'm', threshold: 2 * UNIT },
  { metric: 'n', threshold: UNIT },
]

/**
 * A life with results that were worked out by hand. An entry is a moment in UTC, an input, and after `=` the
 * length with the first date, the date on which it expires, and the stored freezes. `past` are the lengths of
 * the last periods, with f and p for periods that a freeze or a pause kept, d for days off and r for resets.
 */
type Case = { settings: OracleSettings[]; life: string }

/** A life with these first settings, or with these, of which the first ones are the first and `set` changes to others. */
const on =
  (settings: OracleSettings | OracleSettings[]) =>
  (life: TemplateStringsArray): Case => ({ settings: [settings].flat(), life: life.join('') })

const CASES: Record<string, Case> = {
  '[E1, S1, S2] the first event above 0 extends, later ones do not, and none takes back': on(DAILY)`
      2027-03-01 08:00 create; 09:00 +0 = 0; 10:00 +1; 11:00 +1; 12:00 -5
      2027-03-02 23:59:59.999 +1 = 2 03-01..03-03
      2027-03-03 23:59:59.999 = 2 03-01..03-03
      2027-03-04 00:00 = 0 past 0 1 2 0 0`,
  '[S2] AND requires each sum to reach its threshold in one period': on({
    ...DAILY,
    metrics: BOTH,
    mode: 'AND',
  })`
      2027-03-01 00:00 create; 10:00 +2; 23:00 = 0
      2027-03-02 10:00 +1 n; 10:30 = 0; 11:00 +3 = 1 03-02..
      2027-03-03 10:00 +3; 11:00 -1.000001; 12:00 +1 n; 23:00 = 1 03-02..03-03`,
  '[S2] OR requires one sum to reach its threshold': on({ ...DAILY, metrics: BOTH })`
      2027-03-01 00:00 create; 10:00 +1 = 0; 11:00 +1 = 1`,
  '[S2] a goal that is lowered after the end of the period is not met in it': on([goal(10), goal(5)])`
      2027-03-01 08:00 create; 09:00 +6; 2027-03-02 00:00 set 1 = 0; 09:00 +5 = 1 03-02..03-03`,
  '[S2, V2] a voided negative event lets the sum meet the goal, and a voided event takes nothing back': on(
    FIVE,
  )`
      2027-03-01 08:00 create; 09:00 -2; 10:00 +6 = 0; 11:00 void 0 = 1; 12:00 void 1 = 1`,
  '[S1] weeks begin on Monday, across the end of a year': on(WEEKLY)`
      2026-12-20 00:00 create
      // A Sunday, a Monday, and the Sunday of the week after, which is in the next year.
                 10:00 +1; 2026-12-21 10:00 +1 = 2 12-14..2027-01-03
      2027-01-03 23:59 +1 = 3 2026-12-14..01-10
      2027-01-10 23:59 = 3 2026-12-14..01-10
      2027-01-11 00:00 = 0`,
  '[S5] months have their own lengths': on(MONTHLY)`
      2027-12-31 00:00 create; 10:00 +1; 2028-01-01 00:00 +1 = 2 2027-12-01..02-29
      2028-02-29 23:59 = 2 2027-12-01..02-29
      2028-03-01 00:00 = 0`,
  '[S3] dates of 23 and 25 hours in New York are ordinary ones': on(DAILY)`
      2027-03-13 17:00 create America/New_York; 17:00 +1
      // 14 March ends at 04:00 UTC, an hour earlier than the one before.
      2027-03-15 03:59 +1 = 2 03-13..03-15
      2027-03-16 03:59 = 2; 04:00 = 0
      2027-11-06 16:00 +1
      // 7 November has 25 hours: it ends at 05:00 UTC.
      2027-11-08 04:59 +1 = 2 11-06..11-08
      2027-11-09 04:59 = 2; 05:00 = 0`,
  '[S4] from Pago Pago to Kiritimati a date is skipped and not missed, and on the way back none counts twice': on(
    { ...DAILY, freezes: { ...FREEZES, startCount: 1 } },
  )`
      2027-05-01 12:00 create Pacific/Pago_Pago; 12:00 +1
      // 23:30 on the 1st; in Kiritimati it is 00:30 on the 3rd. The event there ends the 2nd.
      2027-05-02 10:30 to Pacific/Kiritimati = 1 05-01..05-03 *1; 10:31 +1 = 2 05-01..05-04 *1
      // Back to the 1st. All dates up to the 3rd are over.
                 10:40 to Pacific/Pago_Pago; 10:41 +1 = 2 05-01..05-04 *1; 11:00 +1 = 2 05-01..05-04 *1
      2027-05-03 11:00 +1 = 2 05-01..05-04 *1 past 1 1 2
      2027-05-05 11:00 = 2 05-01..05-05 *0`,
  '[S11] from New York to Tokyo and back at 18:00 changes nothing': on(DAILY)`
      2027-03-04 17:00 create America/New_York; 17:00 +1
      2027-03-05 22:59 = 1 03-04..03-05; 23:00 to Asia/Tokyo = 1 03-04..03-06
                 23:30 to America/New_York = 1 03-04..03-05
      2027-03-06 04:59 = 1 03-04..03-05; 05:00 = 0`,
  '[S11] a hop each evening spares one date': on(DAILY)`
      2027-03-04 17:00 create America/New_York; 17:00 +1
      2027-03-05 23:00 to Asia/Tokyo = 1 03-04..03-06
      2027-03-06 05:30 to America/New_York; 23:00 to Asia/Tokyo = 1 03-04..03-07
      2027-03-07 05:30 to America/New_York
      // The first midnight that the user has since the 4th.
      2027-03-08 04:59 = 1 03-04..03-07; 05:00 = 0 past 1 1 0 0 0`,
  '[S11] the seventh date after a spared one may be spared, the sixth may not': on({
    ...DAILY,
    freezes: { ...FREEZES, startCount: 2 },
  })`
      2027-03-04 17:00 create America/New_York; 17:00 +1; 2027-03-05 23:00 to Asia/Tokyo
      2027-03-06 05:30 to America/New_York; 12:00 +1; 2027-03-07 12:00 +1; 2027-03-08 12:00 +1
      2027-03-09 12:00 +1; 2027-03-10 12:00 +1; 2027-03-11 23:00 to Asia/Tokyo
      2027-03-12 05:30 to America/New_York; 23:00 to Asia/Tokyo
      2027-03-13 05:30 to America/New_York; 16:59 = 6 03-04..03-13 *2
                 17:00 +1 = 7 03-04..03-14 *1 past 1 1 2 3 4 5 6 6f 6 7`,
  '[S11] an event on a skipped date counts no more if a later date has counted': on(DAILY)`
      2027-03-04 17:00 create America/New_York; 17:00 +1
      2027-03-05 23:00 to Asia/Tokyo; 23:10 +1 = 2 03-04..03-07; 23:30 to America/New_York
                 23:40 +1 = 2 03-04..03-07
      2027-03-06 05:00 = 2 03-04..03-07 past 1 1 2`,
  '[S4, S11] a week of which only the last evening was skipped is missed at the next midnight': on(WEEKLY)`
      2027-03-04 17:00 create America/New_York; 17:00 +1; 2027-03-14 22:00 to Asia/Tokyo
      2027-03-15 14:59 = 1 03-01..03-21; 15:00 = 0`,
  '[S4] a date that counted does not count again after a journey to the west': on(DAILY)`
      2027-03-01 08:00 create Europe/Berlin; 08:00 +1; 23:30 +1
      // From 00:30 on the 2nd to 18:30 on the 1st.
                 23:30 to America/New_York = 2 03-01..03-03; 23:40 +1 = 2 03-01..03-03
      2027-03-02 12:00 +1 = 2 03-01..03-03`,
  '[S3] a week is paused by one day of it, and activity in it still extends': on({
    ...WEEKLY,
    freezes: { ...FREEZES, startCount: 1 },
  })`
      2027-03-01 00:00 create; 2027-03-02 12:00 +1; 13:00 pause 03-14..03-15 = 1 03-01..03-28 *1
      2027-03-15 00:00 = 1 03-01..03-28 *1
      // The week of the 8th is kept by its last day. The week of the 15th is paused as well, and extends.
      2027-03-17 12:00 +1 = 2 03-01..03-28 *1
      2027-03-29 00:00 = 2 03-01..04-04 *0 past 1 1p 2 2f 2`,
  '[S7] a deleted pause still keeps the periods that are over': on(DAILY)`
      2027-03-01 00:00 create; 12:00 +1; 13:00 pause 03-02..03-09
      2027-03-04 12:00 unpause 03-02 = 1 03-01..03-04 past 1 1p 1p 1
      2027-03-05 00:00 = 0`,
  '[S7] freezes keep one midnight each, and neither extend nor begin a streak': on({
    ...DAILY,
    freezes: { ...FREEZES, startCount: 1 },
  })`
      2027-03-01 00:00 create; 2027-03-02 00:00 freeze; 01:00 freeze
      2027-03-03 12:00 +1 = 1 03-03..03-04 *2
      2027-03-05 00:00 = 1 03-03..03-05 *1
      2027-03-06 00:00 = 1 03-03..03-06 *0
      2027-03-07 00:00 = 0 *0 past 1 1f 1f 0 0`,
  '[S7] at one midnight a freeze is earned before it is consumed, and a forgone freeze is gone': on({
    ...DAILY,
    freezes: { startCount: 0, maxCount: 1, interval: 3, amount: 2 },
  })`
      2027-03-01 20:00 create; 2027-03-02 12:00 +1
      // The 3rd ends with the midnight that is three days after the 1st.
      2027-03-03 23:59 = 1 03-02..03-03 *0
      2027-03-04 00:00 = 1 03-02..03-04 *0
      2027-03-05 00:00 = 0 *0
      2027-03-07 00:00 = 0 *1
      2027-03-10 00:00 = 0 *1`,
  '[S8] the longest streak of the last 90 days comes back, as if the day before had counted': on(DAILY)`
      2027-03-01 00:00 create; 12:00 +1; 2027-03-02 12:00 +1; 2027-03-03 12:00 +1
      2027-03-04 12:00 +1; 2027-03-05 12:00 +1; 2027-03-06 12:00 +1; 2027-03-10 12:00 +1
      2027-03-11 12:00 +1
      // On 3 March it was 3 long. That day is one of the last 90 days on 31 May, but not on 4 June.
      2027-05-31 12:00 restore = 6 05-25..05-31 past 0 6 6
      2027-06-01 00:00 = 0`,
  '[S8] weeks of this year': on(WEEKLY)`
      2026-12-07 00:00 create
      // Three weeks. The last one, from the 28th, has days in 2027.
      2026-12-15 12:00 +1; 2026-12-22 12:00 +1; 2026-12-28 12:00 +1
      2027-06-16 12:00 restore = 3 05-24..06-20`,
  '[S8] months since the last January': on(MONTHLY)`
      2026-01-01 00:00 create; 2026-01-05 12:00 +1; 2026-02-05 12:00 +1; 2026-03-05 12:00 +1
      2026-10-05 12:00 +1; 2027-12-31 12:00 restore; 2028-02-01 00:00 = 0; 12:00 restore`,
  '[S9] another frequency is counted from the log: pauses count, freezes do not, and stored freezes stay': on(
    [
      { ...DAILY, freezes: { ...FREEZES, startCount: 2 } },
      { ...WEEKLY, freezes: { ...FREEZES, startCount: 2 } },
    ],
  )`
      2027-03-01 00:00 create; 12:00 +1; 2027-03-03 12:00 +1 = 2 03-01..03-04 *1
      2027-03-06 00:00 = 0 *0
      2027-03-09 12:00 +1
      // Each was kept by a freeze or a pause so far. With weeks, the week of the 15th is paused.
                 13:00 pause 03-16..03-16; 2027-03-23 12:00 +1
      2027-03-24 12:00 set 1 = 3 03-01..04-04 *0`,
  '[S1] periods that end while streaks are off are not judged': on([DAILY, { ...DAILY, enabled: false }])`
      2027-03-01 00:00 create; 12:00 +1; 2027-03-02 11:00 = 1; 12:00 set 1
      2027-03-05 12:00 set 0; 12:00 +1 = 2 03-01..03-06
      2027-03-07 00:00 = 0`,
  '[S10] the tenant switches streaks off and on: each event counts for its period, once, and silently while they are off': on(
    [FIVE, { ...FIVE, enabled: false }],
  )`
      2027-03-01 00:00 create; 10:00 +4 = 0; 11:00 set 1; 12:00 set 0; 13:00 +1 = 1 03-01..03-02
                 14:00 set 1; 2027-03-02 10:00 +5 = 0
      2027-03-03 10:00 +3; 11:00 set 0 = 2 03-01..03-03; 12:00 +2 = 3 03-01..03-04; 13:00 set 1
                 14:00 set 0; 15:00 +5 = 3 03-01..03-04`,
  '[S12] days off keep the streak without a freeze, extend it with activity, and are skipped by `expires`': on(
    WEEKEND,
  )`
      // 5 March is a Friday.
      2027-03-05 08:00 create; 12:00 +1 = 1 03-05..03-08 *1
      2027-03-07 12:00 +1 = 2 03-05..03-08 *1
      2027-03-08 00:00 = 2 03-05..03-08 *1 past 1 1pd 2d 2
      2027-03-09 00:00 = 2 03-05..03-09 *0
      2027-03-10 00:00 = 0 past 1 1pd 2d 2f 0 0`,
  '[S12] the list in force at the end of a date judges it, also one with activity': on([
    WEEKEND,
    { ...WEEKEND, daysOff: [] },
  ])`
      2027-03-05 08:00 create; 12:00 +1; 2027-03-06 12:00 +1
      // Saturday has ended, Sunday has not.
      2027-03-07 00:00 set 1 = 2 03-05..03-07 *1
      2027-03-08 00:00 = 2 03-05..03-08 *0 past 1 2d 2f 2
                 12:00 set 0; 2027-03-09 00:00 = 0 past 1 2d 2f 0 0`,
  '[S12] weeks have no days off': on({ ...WEEKLY, daysOff: [0, 1, 2, 3, 4, 5] })`
      2027-03-05 08:00 create; 12:00 +1 = 1 03-01..03-14; 2027-03-15 00:00 = 0`,
  '[S13] a reset ends the streak at once, earlier periods stay, and later events begin again in the same period': on(
    FIVE,
  )`
      2027-03-01 08:00 create; 12:00 +5; 2027-03-02 12:00 +5 = 2 03-01..03-03; 13:00 reset = 0 past 1 0r
                 14:00 +4; 14:30 void 1 = 0; 15:00 +1 = 1 03-02..03-03; 16:00 reset = 0
      2027-03-03 12:00 +5 = 1 03-03..03-04 past 1 0r 1`,
  '[U7] own metrics count only with customizationEnabled': on(DAILY)`
      2027-03-01 00:00 create; 01:00 own n 1; 12:00 +1 = 1`,
}

const ENTRY =
  /^(?:(?<day>\d{4}-\d\d-\d\d) )?(?<time>\d\d:\d\d\S*)(?: (?<act>[^=]+?))??(?: = (?<look>[^a-z]+?))?(?: past (?<past>.+))?$/

type Entry = { at: number; look?: Partial<OracleStreak>; past?: string[] }

/** The inputs of a life, and what is seen at its moments. */
function parsed({ settings, life }: Case): { inputs: ChangeInput[]; entries: Entry[] } {
  const lines = life.split('\n').filter((line) => !line.trim().startsWith('//'))
  const inputs: ChangeInput[] = []
  const entries: Entry[] = []
  let date = ''
  for (const text of lines.flatMap((line) => line.split(';'))) {
    if (text.trim() === '') continue
    const { day, time, act, look, past } = ENTRY.exec(text.trim())?.groups ?? {}
    if (time === undefined) throw new Error(`not an entry: ${text}`)
    date = day ?? date
    const at = Date.parse(`${date}T${time}Z`)
    /** A date without a year is in the year of its entry. */
    const dateOf = (short: string) => (short.length === 5 ? `${date.slice(0, 5)}${short}` : short)
    if (act !== undefined) inputs.push(inputOf(at, act.split(' '), settings, dateOf))
    entries.push({
      at,
      ...(look !== undefined && { look: lookOf(look, dateOf) }),
      ...(past !== undefined && { past: past.split(' ') }),
    })
  }
  return { inputs, entries }
}

function inputOf(
  at: number,
  [word = '', first = '', second = '']: string[],
  settings: readonly OracleSettings[],
  dateOf: (short: string) => string,
): ChangeInput {
  const [start = '', end = ''] = first.split('..').map(dateOf)
  const chosen = settings[Number(first)]
  if (/^[+-]/.test(word)) {
    return { at, do: 'event', metric: first || 'm', value: Math.round(Number(word) * UNIT) }
  }
  if (word === 'create') return { at, do: 'create', zone: first || null }
  if (word === 'to') return { at, do: 'zone', zone: first }
  if (word === 'pause') return { at, do: 'pause', id: start, start, end }
  if (word === 'unpause') return { at, do: 'unpause', id: start }
  if (word === 'void') return { at, do: 'void', nth: Number(first) }
  if (word === 'freeze' || word === 'restore' || word === 'reset') return { at, do: word }
  if (word === 'set' && chosen !== undefined) return { at, do: 'settings', settings: chosen }
  if (word !== 'own') throw new Error(`not an input: ${word}`)
  return { at, do: 'preferences', metrics: [{ metric: first, threshold: Number(second) * UNIT }] }
}

function lookOf(look: string, dateOf: (short: string) => string): Partial<OracleStreak> {
  const [length, ...more] = look.split(' ')
  const [started = '', expires = ''] = more.find((one) => one.includes('..'))?.split('..') ?? []
  const freezes = more.find((one) => one.startsWith('*'))
  return {
    length: Number(length),
    ...(length === '0' && { started: null, expires: null }),
    ...(started !== '' && { started: dateOf(started) }),
    ...(expires !== '' && { expires: dateOf(expires) }),
    ...(freezes !== undefined && { freezes: Number(freezes.slice(1)) }),
  }
}

const spelled = ({ length, usedFreeze, usedPause, dayOff, resetAt }: OraclePeriod) =>
  `${length}${usedFreeze ? 'f' : ''}${usedPause ? 'p' : ''}${dayOff ? 'd' : ''}${resetAt === null ? '' : 'r'}`

describe('the oracle of streaks', () => {
  test.each(Object.entries(CASES))('%s', (_rule, one) => {
    const { inputs, entries } = parsed(one)
    const [first = DAILY] = one.settings
    for (const { at, look, past } of entries) {
      const then = lived(
        first,
        inputs.filter((input) => input.at <= at),
      )
      const when = new Date(at).toISOString()
      if (look !== undefined) expect({ when, ...then.at(at) }).toMatchObject({ when, ...look })
      if (past !== undefined) expect(then.history(at, past.length).map(spelled)).toEqual(past)
    }
  })
})
