import { DAILY, type OracleSettings } from './streaks.oracle'
import { PROFILE, type StreakStep, type StreakWorld } from './streaks.worlds'

/** Fixed lives of one user, for the core and over HTTP. They do not depend on chance. */

const WEEKEND: OracleSettings = { ...DAILY, daysOff: [0, 6] }
const units = (count: number, metric = 'm0') => [{ metric, threshold: count * 1_000_000 }]
const earned = (startCount: number, maxCount: number, interval: number | null = null) => ({
  ...{ startCount, maxCount, interval, amount: 1 },
})
const WEEKLY: OracleSettings = { ...DAILY, frequency: 'weekly' }
const MONTHLY: OracleSettings = { ...DAILY, frequency: 'monthly' }
const OFF: OracleSettings = { ...DAILY, enabled: false }
const FIVE: OracleSettings = { ...DAILY, metrics: units(5) }
const PERSONAL: OracleSettings = { ...FIVE, customizationEnabled: true }

const ZONES: Readonly<Record<string, string>> = {
  ...{ New_York: 'America/New_York', Pago_Pago: 'Pacific/Pago_Pago', Kiritimati: 'Pacific/Kiritimati' },
  ...{ Tokyo: 'Asia/Tokyo', Seoul: 'Asia/Seoul', Berlin: 'Europe/Berlin', Madrid: 'Europe/Madrid' },
}
const zoneOf = (name: string) => ZONES[name] ?? unknown(name)

function unknown(found: string | undefined): never {
  throw new Error(`not a part of a life: ${found}`)
}

/** To Tokyo at 18:00, and back half an hour after New York's midnight. */
const HOP = '18:00 to Tokyo; 14:30 to New_York'
/** The wait before a step: to a later day, or to a time of a day. At once without it. */
const WAIT = /^(?:day(\d*) )?(?:(\d\d):(\d\d) )?(.+)$/

/**
 * A life in steps, after the zone of the user. `day3` is noon on the third day from then, `day 18:00` the next
 * evening. `+2 m1` is an event. `off` and `on` switch the tenant's streaks, and `optout` and `optin` those of
 * the user. The first settings are those of the beginning. `set 1` changes to the next ones.
 */
const lived =
  (first: OracleSettings = DAILY, ...others: OracleSettings[]) =>
  (life: TemplateStringsArray): StreakWorld => {
    const [, zone = 'Berlin', all = ''] = /^(?:([A-Z]\w+): )?(.*)$/s.exec(life.join('').trim()) ?? []
    const steps = all
      .replaceAll('hop', HOP)
      .split(/;\s+/)
      .map((text): StreakStep => {
        const [, day, hour, minute, act = ''] = WAIT.exec(text) ?? []
        const words = act.split(' ')
        const at = hour === undefined ? (day === undefined ? 0 : 720) : Number(hour) * 60 + Number(minute)
        const wait = { days: day === undefined ? 0 : Number(day || 1), minute: at, isLate: false }
        if (words[0] === 'habit') Object.assign(wait, { days: 1, minute: 720 })
        return { ...wait, ...actionOf(words, [first, ...others]) }
      })
    const begins = Date.parse('2027-02-01T08:00Z')
    return { settings: first, begins, zone: zoneOf(zone), switches: true, steps }
  }

type Action = StreakStep extends infer Step
  ? Step extends StreakStep
    ? Omit<Step, 'days' | 'minute' | 'isLate'>
    : never
  : never

function actionOf([word = '', ...rest]: string[], settings: readonly OracleSettings[]): Action {
  const [first = '', second = '', third = ''] = rest
  const value = (text: string) => Math.round(Number(text) * 1_000_000)
  if (/^[+-]/.test(word)) {
    return { do: 'event', metric: first || 'm0', value: value(word), zone: undefined }
  }
  switch (word) {
    case 'habit':
      return { do: 'habit', metric: 'm0', value: value(third || '1'), times: Number(first) }
    case 'to':
      return { do: 'zone', zone: zoneOf(first) }
    case 'pause':
      return { do: 'pause', from: Number(first), length: Number(second) }
    case 'unpause':
    case 'void':
      return { do: word, which: Number(first) }
    case 'freeze':
    case 'restore':
    case 'reset':
      return { do: word }
    case 'daysOff':
      return { do: 'daysOff', daysOff: daysOf(first) ?? [] }
    case 'ownDays':
      return {
        do: 'preferences',
        ...{ enabled: undefined, mode: undefined, metrics: undefined, daysOff: daysOf(first) },
      }
    case 'off':
    case 'on':
      return { do: 'enable', enabled: word === 'on' }
    case 'set':
      return { do: 'settings', settings: settings[Number(first)] ?? unknown(first) }
    case 'unmetric':
      return { do: 'unmetric', metric: first }
    case 'profile':
      return { do: 'profile', field: PROFILE.find((one) => one === first) ?? unknown(first), nth: 1 }
    case 'goal': {
      const metrics = first === 'both' ? [...units(1), ...units(1, 'm1')] : thresholds(first)
      return { do: 'goal', mode: first === 'both' ? 'AND' : 'OR', customizationEnabled: true, metrics }
    }
    case 'own':
    case 'optin':
    case 'optout': {
      const all = [word, ...rest]
      const own = all.indexOf('own')
      return {
        do: 'preferences',
        enabled: word === 'own' ? undefined : word === 'optin',
        mode: all.includes('AND') ? 'AND' : all.includes('OR') ? 'OR' : undefined,
        metrics: own < 0 ? undefined : thresholds(all[own + 1] ?? ''),
      }
    }
    default:
      return unknown(word)
  }
}

const daysOf = (text: string) => (text === 'none' ? null : text === '' ? [] : text.split(',').map(Number))
const thresholds = (text: string) => (text === 'none' ? [] : units(Number(text)))

/** Cases that random worlds rarely contain. Together they cover everything that is counted as seen. */
export const STREAK_CASES: Record<string, StreakWorld> = {
  '[S2, S3, U7] a goal that is met without an event keeps the freeze': lived({
    ...DAILY,
    metrics: units(10),
    customizationEnabled: true,
    freezes: earned(1, 3),
  })`
    +10; day +6; own 5; -0.5; day +1; day +1; own 20; own 1; own 20; day3 goal 10`,
  '[S2, S3] settings, voided events and deleted metrics meet the goal': lived(FIVE, WEEKLY)`
    +4; goal 4; goal 9; day -3; +9; void 1; day +4; void 0; +8; -8; goal none; day +2; goal both; day +2;
    unmetric m1; day goal 3; +1; unmetric m0; day set 1`,
  // Nothing judges the paused week at its end.
  '[S2, S3] a paused week that is over does not meet a later goal': lived({
    ...DAILY,
    frequency: 'weekly',
    metrics: units(5),
  })`
    +5; day7 pause 0 0; +4; day7 goal 4; +4`,
  '[S3, S5] weeks begin on Monday, months on the first': lived(WEEKLY, MONTHLY)`
    day6 23:00 +1; day 01:00 +1; day13 23:00 to Berlin; day 00:00 to Berlin; day set 1; day5 +1;
    day 00:30 +1; day30 to Berlin; day 00:00 to Berlin`,
  '[S3, S7] a freeze is earned before it is consumed': lived({ ...DAILY, freezes: earned(1, 2, 3) })`
    +1; day2 01:00 to Berlin; day 01:00 to Berlin; day 01:00 to Berlin; day5 to Berlin`,
  '[S1] periods that end while streaks are off are not missed': lived()`
    +1; off; day3 +1; on; +1; day2 to Berlin`,
  '[S2, S10] a goal is met in silence': lived(PERSONAL)`
    +4; optout; own 4; optin; day +3; off; goal 3; own 3; on; day +1`,
  '[S2, S11] a goal is met on a date to which its user comes back': lived(PERSONAL)`
    New_York: +5; day +4; 18:00 to Tokyo; +3; own 3; own 4; to New_York; own 1; day +2; -1`,
  '[S2, S4, S11] a date that had ended is not met by a change of zone': lived(PERSONAL)`
    Kiritimati: +4; day 00:30 to Kiritimati; +4; own 4; to Pago_Pago; -1; +1; to Kiritimati; habit 2`,
  '[S2, S8] a restore opens a period that meets the goal': lived(PERSONAL)`
    Kiritimati: habit 3 of 5; day +4; day 00:30 to Kiritimati; to Pago_Pago; own 4; restore; habit 2`,
  // 30 points in a day instead of 5.
  '[S10] a user earns a period once, however often the streak is switched off and on': lived()`
    +1; optout; optin; +1; optout; optin; +1; optout; optin; +1; optout; optin; +1; optout; optin; +1`,
  '[S10] a period earned once stays earned over a tenant’s switch': lived()`
    +1; off; on; +1; off; on; +1; off; on; +1; off; on; +1; off; on; +1`,
  '[S10] a user’s switch keeps the sums of the period': lived(FIVE)`+4; optout; optin; +1`,
  '[S10] a tenant’s switch keeps the sums of the period': lived(FIVE)`+4; off; on; +1`,
  '[S10] events count while streaks are off': lived(FIVE)`
    +2; optout; +2; off; +1; optin; on; +5; habit 2; optout; habit 2; optin; off; habit 5; on; habit 3`,
  '[S10] a user who has switched the streak off misses the same periods as others': lived({
    ...DAILY,
    freezes: earned(1, 1),
  })`
    habit 2; optout; day2 freeze; optin; +1; optout; day4 freeze; optin; +1`,
  '[S10] periods of a user who has switched the streak off are judged in time': lived(
    { ...DAILY, freezes: earned(2, 2) },
    DAILY,
  )`
    habit 2; optout; day2 set 1; 12:00 set 0; optin; +1`,
  '[S10] a user with own thresholds': lived(PERSONAL)`
    +3; optout; +1; optin own 4; +0.5; +5; optout ALL own none; optin OR; +5`,
  '[S10] changes to other frequencies, and back': lived(DAILY, WEEKLY, {
    ...DAILY,
    enabled: false,
    frequency: 'monthly',
  })`
    habit 3; optout; 12:00 set 1; +1; optin; +1; 12:00 set 0; +1; 12:00 set 2; +1; 12:00 set 0; +1`,
  '[S11] to Tokyo at 18:00 and back, without any activity': lived()`
    New_York: +1; day 18:00 to Tokyo; to New_York; +1; habit 2`,
  '[S11] to Tokyo at 18:00 and back, and Tokyo’s date counts': lived()`
    New_York: +1; day 18:00 to Tokyo; +1; to New_York; +1; habit 2`,
  '[S11] to Tokyo at 18:00 and back, and New York’s date is missed': lived()`
    New_York: +1; day 18:00 to Tokyo; +1; to New_York; habit 2`,
  '[S11] a hop each evening': lived()`New_York: habit 2; hop; hop; hop; habit 2`,
  '[S11] a hop each evening, until skipped dates end on the third date after them': lived()`
    New_York: habit 2; hop; hop; hop; hop; hop; +1`,
  '[S7, S11] a freeze of a skipped date is earned when a later date counts': lived({
    ...DAILY,
    freezes: earned(0, 3, 1),
  })`
    New_York: +1; 18:00 to Tokyo; +1`,
  '[S7, S11] a new interval earns nothing for a date that has begun': lived(DAILY, {
    ...DAILY,
    freezes: earned(0, 3, 3),
  })`
    New_York: day2 18:00 to Tokyo; 12:00 set 1; day +1; day3 +1`,
  '[S7, S11] a new interval earns nothing for a date that comes again': lived(DAILY, {
    ...DAILY,
    freezes: earned(0, 3, 3),
  })`
    New_York: day2 18:00 to Tokyo; 12:00 set 1; to New_York; day +1; day3 +1`,
  '[S9, S11] a date that was missed before a journey is missed in a recount': lived()`
    New_York: +1; day2 18:00 to Tokyo; +1`,
  '[S1, S11] a skipped date that ends while streaks are off need not be spared': lived()`
    New_York: +1; day 18:00 to Tokyo; off; day on; +1; day 23:00 to Kiritimati; +1`,
  '[S11] a hop each evening takes no freeze before the next midnight': lived({
    ...DAILY,
    freezes: earned(2, 3),
  })`
    New_York: +1; hop; hop; 18:00 to Tokyo; freeze; to New_York; hop; hop; +1; hop`,
  '[S11] a streak is not lost on the way': lived()`
    New_York: +1; hop; hop; 18:00 to Tokyo; to New_York; +1; habit 1`,
  // In Kiritimati, the 1st and the 2nd are open. Back in Pago Pago, the 1st is missed. The last step changes
  // nothing, so the answer comes before the deadline runs.
  '[S3, S11] a streak that would be lost on the way is lost at midnight at home': lived()`
    Pago_Pago: +1; day 23:00 to Kiritimati; to Pago_Pago; day 00:00 to Pago_Pago`,
  // The first journey spares the 1st. The second one skips the 4th and the 5th.
  '[S6, S11] two dates that are skipped on the way take no freeze at home': lived({
    ...DAILY,
    freezes: earned(1, 1),
  })`
    Pago_Pago: +1; day 23:00 to Kiritimati; +1; 01:00 to Pago_Pago; +1; day2 23:00 to Kiritimati;
    to Pago_Pago`,
  '[S11] the sixth date after a spared one is not spared': lived()`
    New_York: +1; hop; hop; +1; habit 4; day 18:00 to Tokyo; +1`,
  '[S11] the seventh date after a spared one is spared': lived()`
    New_York: +1; hop; hop; +1; habit 5; day 18:00 to Tokyo; +1`,
  '[S11] to Tokyo at 18:00 and back, and New York’s date is missed again and again': lived()`
    New_York: +1; day 18:00 to Tokyo; +1; to New_York; day2 18:00 to Tokyo; +1; to New_York;
    day2 18:00 to Tokyo; +1; to New_York; habit 2`,
  '[S11] no activity in Tokyo, and New York’s date is missed': lived()`
    New_York: +1; day 18:00 to Tokyo; to New_York; habit 1; day 18:00 to Tokyo; +1`,
  '[S11] sums of a date to which its user comes back': lived(FIVE)`
    New_York: +4; 18:00 to Tokyo; +5; to New_York; +1; habit 1`,
  '[S7, S11] a pause that is deleted on the way keeps the open date': lived()`
    New_York: +1; pause 1 3; day 18:00 to Tokyo; unpause 0; to New_York; day 10:00 to New_York; +1`,
  '[S8, S11] a streak that is restored on the way stays restored': lived()`
    New_York: habit 4; day3 +1; day 18:00 to Tokyo; restore; to New_York; +1; habit 2`,
  '[S1, S11] a date that is skipped while streaks are off need not be spared': lived()`
    New_York: +1; day 17:00 off; 18:00 to Tokyo; on; 14:30 to New_York; hop; +1`,
  '[S9, S11] a change of the frequency on a journey, with freezes': lived(
    { ...DAILY, freezes: earned(2, 2) },
    { ...DAILY, frequency: 'weekly', freezes: earned(2, 2) },
  )`
    New_York: +1; hop; hop; 18:00 to Tokyo; 12:00 set 1; 12:00 set 0; to New_York; +1; habit 1`,
  '[S11] hops to the west and the east in a month': lived(MONTHLY)`
    +1; day25 to Pago_Pago; to Berlin; +1; day3 to Kiritimati; to Pago_Pago; to Berlin; +1; day9 +1`,
  '[S11] a hop before a journey': lived()`
    Pago_Pago: +1; day 23:30 to Kiritimati; to Pago_Pago; to Tokyo; +1; day +1; day +1`,
  '[S4, S11] a hop from the 2nd to the 3rd, and from there to the 1st': lived()`
    Tokyo: day 19:30 to Seoul; to Kiritimati; to Pago_Pago; to Seoul; +1; to Pago_Pago; +1; habit 2`,
  '[S11] two dates at once': lived()`
    Pago_Pago: +1; day 23:30 to Kiritimati; +1; to Tokyo; +1; to Pago_Pago; +1; habit 2`,
  '[S4] a hop to the west and back opens no date that had ended': lived(DAILY, WEEKLY)`
    Kiritimati: to Pago_Pago; to Tokyo; to Kiritimati; +1; to Pago_Pago; +1; 12:00 set 1; 12:00 set 0;
    habit 2`,
  '[S4] a hop to the west and back opens no date that ends later': lived({ ...DAILY, freezes: earned(2, 2) })`
    Kiritimati: +1; day 02:00 to Pago_Pago; to Kiritimati; day 00:30 to Pago_Pago; +1;
    day 00:00 to Pago_Pago; +1; habit 2`,
  '[S4, S11] dates before the first one of a streak count no more': lived(DAILY, WEEKLY)`
    Tokyo: day 19:30 to Kiritimati; +1; to Tokyo; to Pago_Pago; +1; to Tokyo; +1; 12:00 set 1; 12:00 set 0;
    habit 2`,
  '[S4, S11] at length 0, a date that had ended counts, and later dates are open': lived()`
    Kiritimati: day 00:30 to Pago_Pago; +1; to Kiritimati; to Pago_Pago; day 00:00 to Pago_Pago; +1; habit 2`,
  '[S4, S8] a date that had ended is open if the streak is restored on it': lived()`
    Kiritimati: habit 2; day4 00:30 to Pago_Pago; restore; to Kiritimati; to Pago_Pago; +1; habit 2`,
  // The date after the last event takes a freeze, and the next one is missed.
  '[S4, S6, S8] a streak of 1 is restored on a date that took a freeze, and lost there': lived({
    ...DAILY,
    freezes: earned(1, 1),
  })`
    Kiritimati: +1; day3 00:30 to Pago_Pago; restore; day 00:00 to Pago_Pago`,
  '[S4, S6, S8] a streak of 2 is restored on a date that took a freeze, and lost there': lived({
    ...DAILY,
    freezes: earned(1, 1),
  })`
    Kiritimati: +1; day +1; day3 00:30 to Pago_Pago; restore; day 00:00 to Pago_Pago`,
  '[S11] a user who comes back passes a midnight on the way': lived()`
    Pago_Pago: +1; day 22:30 to Kiritimati; +1; day 00:20 to Pago_Pago; +1; habit 2`,
  '[S11] a length of 0 begins on the later date': lived()`
    New_York: 18:00 to Tokyo; +1; to New_York; +1; habit 2`,
  '[S11] a user comes back to a week': lived(WEEKLY)`
    New_York: +1; day13 18:00 to Tokyo; +1; to New_York; +1; day7 18:00 to Tokyo; to New_York`,
  '[S11] pauses of an open date count': lived()`
    New_York: +1; pause 1 0; day 18:00 to Tokyo; +1; to New_York; day 10:00 to New_York; +1`,
  '[S8, S11] restored on a date to which its user comes back': lived()`
    New_York: habit 4; day3 +1; day 18:00 to Tokyo; +1; to New_York; restore; +1; habit 2`,
  '[S10, S11] the streak is switched off and on on a journey': lived()`
    New_York: +1; optout; day 18:00 to Tokyo; +1; optin; +1; to New_York; optout; +1; optin; +1; hop`,
  '[S4, S8] restored on a date that comes again, when a later date counts': lived()`
    habit 4; day3 +1; day 00:01 +1; to New_York; restore; habit 3`,
  '[S9, S11] a change of the frequency on a journey': lived(DAILY, WEEKLY)`
    New_York: habit 3; day 18:00 to Tokyo; +1; 12:00 set 1; 12:00 set 0; to New_York; +1; 12:00 set 1;
    12:00 set 0; habit 2`,
  '[S3, S7] a long streak with a pause and freezes, and lost': lived({ ...DAILY, freezes: earned(0, 2, 1) })`
    habit 22; pause 1 2; day5 +1; day9 freeze`,
  '[S12] a weekend off, one with activity, and a list that changes': lived({
    ...WEEKEND,
    freezes: earned(1, 3),
  })`
    habit 5; day2 +1; day +1; habit 4; day2 daysOff 0; 13:00 daysOff 6; day +1; daysOff 1; habit 7; day2 +1`,
  '[S12, U7] the list of a user': lived(
    { ...WEEKEND, customizationEnabled: true, freezes: earned(1, 3) },
    { ...WEEKEND, freezes: earned(1, 3) },
  )`
    +1; day ownDays 1; ownDays 2,3; day2 +1; day6 ownDays none; ownDays ; day2 +1; habit 3; ownDays 5,6;
    set 1; day3 +1; set 0`,
  '[S11, S12] days off on journeys': lived({ ...WEEKEND, freezes: earned(2, 3) })`
    New_York: habit 5; day 18:00 to Tokyo; day 14:30 to New_York; 14:40 daysOff 6; habit 3; hop;
    daysOff 2,3; hop; +1`,
  '[S4, S12] a date that has ended was no day off, also if its user comes back to it': lived({
    ...DAILY,
    customizationEnabled: true,
  })`
    Kiritimati: day2 +1; day 00:30 to Pago_Pago; ownDays 3; day +1; day +1`,
  '[S8, S12] what a restore counts as satisfied was no day off': lived({
    ...WEEKEND,
    customizationEnabled: true,
  })`
    habit 3; day4 restore; to Tokyo; ownDays 0,6; day +1`,
  '[S8, S13] resets and restores': lived(WEEKEND)`
    habit 3; 13:00 reset; restore; +1; day +1; reset; reset; +1; reset; restore; day 09:00 reset; +1;
    restore; day2 reset; day3 restore; +1; day 00:00 reset; +1`,
  '[S9, S13] a recount knows resets': lived(DAILY, WEEKLY)`
    habit 3; 13:00 reset; +1; habit 9; set 1; +1; set 0`,
  '[S11, S13] a reset on a journey': lived({ ...DAILY, freezes: earned(2, 3) })`
    New_York: habit 2; day 18:00 to Tokyo; 18:10 +1; 18:20 to New_York; 18:30 reset; +1; reset; restore;
    18:40 to Tokyo; +1; day +1`,
  '[S13] sums from before a reset count no more': lived(FIVE)`+5; day +4; reset; +1; +4`,
  '[S13, V2] an event before a reset is voided': lived(FIVE)`
    +5; reset; +2; void 1; +3; day +5; reset; +1; void 0; +5`,
  '[S4] changes of other profile fields': lived()`
    +1; profile email; +1; to Berlin; +1; profile subscribeToEmails; +1; profile deviceTokens; +1;
    profile attributes; +1`,
  // The first and the last date on which a streak of 4 can be restored to 5, its length 90 days ago.
  '[S8] after 88 days': lived()`habit 5; day88 restore; restore; +1`,
  '[S8] after 89 days': lived()`habit 5; day89 restore; restore; +1`,
  '[S8] after 90 days': lived()`habit 5; day90 restore; restore; +1`,
  '[S8] after 91 days': lived()`habit 5; day91 restore; restore; +1`,
  '[V2, S9] a voided event is not counted again': lived(DAILY, WEEKLY)`+1; day7 +1; void 1; 12:00 set 1`,
  '[S11] a paused date does not need to be spared': lived()`
    New_York: +1; pause 1 0; day 18:00 to Tokyo; 14:30 to New_York; hop; 12:00 +1`,
  // Its last week has days of 2028.
  '[S8] weeks of this year': lived(WEEKLY)`day322 +1; day7 +1; day15 restore`,
  '[S9] freezes that would be earned in a recount save no period': lived(
    { ...DAILY, frequency: 'weekly', freezes: earned(0, 5, 1) },
    { ...DAILY, freezes: earned(0, 5, 1) },
  )`
    +1; day3 +1; set 1; habit 3`,
  // Off, another frequency, on: the length is 0 instead of 1.
  offRecount: lived(DAILY, OFF, { ...DAILY, enabled: false, frequency: 'monthly' }, MONTHLY)`
    +1; 12:00 set 1; 12:00 set 2; 12:00 set 3`,
  // A user whose only event arrived while streaks were off is in no recount. A user with an earlier event is
  // recounted with it.
  unknownRecount: lived(DAILY, OFF, WEEKLY)`12:00 set 1; +1; 12:00 set 2`,
  // Off since 2 February 12:00 UTC, which is the 3rd in Kiritimati: the 2nd is missed there.
  offZone: lived(DAILY, OFF)`+1; day set 1; day to Kiritimati; day set 0`,
  // At the maximum of 1 for days. Then the maximum is 4, and there are 4.
  forgone: lived({ ...DAILY, freezes: earned(0, 1, 1) }, { ...DAILY, freezes: earned(0, 4, 1) })`day8 set 1`,
  // Off for 3 days in which 3 would be earned, then on with another interval: none of them is earned.
  offFreezes: lived(
    { ...DAILY, freezes: earned(0, 4, 1) },
    { ...DAILY, enabled: false, freezes: earned(0, 4, 1) },
    { ...DAILY, freezes: earned(0, 4, 30) },
  )`
    12:00 set 1; day3 set 2`,
  // Paused on 2 February only. An event of the 3rd removes this pause from the count, so with months,
  // February is no longer paused.
  pausesRecount: lived(DAILY, MONTHLY)`+1; day25 +1; day3 pause 0 0; day to Madrid; day set 1`,
}
