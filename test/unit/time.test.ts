import { describe, expect, test, vi } from 'vitest'
import { instant, iso, parseDuration, parseIso, parseRfc3339 } from '../../src/lib/clock'
import {
  addDays,
  civilDate,
  civilDateAt,
  civilDateOfDay,
  dayOf,
  isCivilDate,
  isZone,
  offsetMinutes,
  periodStartDate,
  startOfDay,
  utcMidnight,
} from '../../src/lib/zone'
import { words } from '../helpers/words'
import { DAY, localAt, MINUTE, offsetAt } from '../oracle/calendar.oracle'

const HOUR = 60 * MINUTE
const ZONES = Intl.supportedValuesOf('timeZone')
const [FROM, TO] = [Date.UTC(2024, 0, 1), Date.UTC(2028, 0, 1)]

/** The minutes at which a zone changes its offset from 2024 to 2027. */
function changesOf(zone: string): number[] {
  const changes: number[] = []
  for (let day = FROM; day < TO; day += 28 * DAY) {
    let [low, high] = [day, day + 28 * DAY]
    const before = offsetAt(zone, low)
    if (before === offsetAt(zone, high)) continue
    while (high - low > MINUTE) {
      const middle = low + Math.floor((high - low) / MINUTE / 2) * MINUTE
      if (offsetAt(zone, middle) === before) low = middle
      else high = middle
    }
    changes.push(high)
  }
  return changes
}

describe('[E8] offsets and local dates', () => {
  test('equal the results of Intl, in every zone, around every change of its clock in 2024–2027', () => {
    const around = [-DAY, -15 * MINUTE, -MINUTE, -1_000, 0, 1_000, MINUTE, 14 * MINUTE, 15 * MINUTE, DAY]
    const wrong: unknown[] = []
    let changes = 0
    for (const zone of ZONES) {
      const found = changesOf(zone)
      changes += found.length
      for (const at of [FROM, Date.UTC(2026, 6, 15, 11, 59), ...found]) {
        for (const distance of around) {
          const moment = instant(at + distance)
          const offset = offsetMinutes(zone, moment)
          const wanted = offsetAt(zone, moment)
          const date = civilDateAt(moment, offset)
          if (offset !== wanted || date !== localAt(moment, wanted).date)
            wrong.push([zone, iso(moment), offset, wanted, date])
        }
      }
    }
    expect(wrong).toEqual([])
    // More than a hundred zones change twice a year.
    expect(changes).toBeGreaterThan(800)
  })

  test('[S3] days of 23 and 25 hours begin at their midnights, and a skipped midnight is the first moment after it', () => {
    const length = (date: string, zone: string) =>
      (startOfDay(addDays(civilDate(date), 1), zone) - startOfDay(civilDate(date), zone)) / HOUR
    expect(length('2026-03-08', 'America/New_York')).toBe(23)
    expect(length('2026-11-01', 'America/New_York')).toBe(25)
    expect(length('2026-10-04', 'Australia/Lord_Howe')).toBe(23.5)
    expect(length('2026-03-10', 'America/New_York')).toBe(24)
    // Egypt's clocks go from 23:59:59 to 01:00.
    expect(iso(startOfDay(civilDate('2026-04-24'), 'Africa/Cairo'))).toBe('2026-04-23T22:00:00.000Z')
    expect(offsetMinutes('Africa/Cairo', instant(Date.parse('2026-04-23T22:00:00Z')))).toBe(180)
  })
})

describe('[U1] zones', () => {
  test('every zone of Intl is valid', () => {
    expect(ZONES.length).toBeGreaterThan(400)
    expect(ZONES.filter((zone) => !isZone(zone))).toEqual([])
  })

  test('their other names are valid, and every valid zone has offsets', () => {
    for (const zone of [
      ...['UTC', 'GMT', 'Etc/UTC', 'Etc/GMT+5', 'Etc/GMT-14', 'US/Eastern', 'Asia/Calcutta', 'Asia/Katmandu'],
      ...words`America/Buenos_Aires Europe/Kiev EST5EDT GMT0 Zulu NZ-CHAT America/Port-au-Prince`,
      ...['europe/berlin', 'utc'],
    ]) {
      expect(isZone(zone), zone).toBe(true)
      const at = instant(Date.parse('2026-07-01T12:00:00Z'))
      expect(offsetMinutes(zone, at), zone).toBe(offsetAt(zone, at))
      expect(Number.isFinite(startOfDay(civilDate('2026-07-01'), zone))).toBe(true)
    }
  })

  test.each([
    ...words`
      +05:00 -08 +0530 05:00 UTC+5 GMT+5:30 Z Mars/Olympus Europe Europe/ /Berlin Europe//Berlin null undefined
      __proto__ constructor 2026 日本 Europe/Zürich local system [UTC] Europe/Berlin[u-ca=iso8601]
    `,
    ...['', ' ', 'Europe/Berlin ', ' Europe/Berlin', 'Europe/Berlin\n', 'Europe\\Berlin'],
    ...['\u0000UTC', 'UTC\u0000'],
  ])('%j is not a zone', (name) => {
    expect(isZone(name)).toBe(false)
  })

  test('a very long name is not a zone, and is refused before it is looked up', () => {
    const lookUp = vi.spyOn(Intl, 'DateTimeFormat')
    for (const name of ['A'.repeat(1_000_000), `Europe/${'/Berlin'.repeat(100_000)}`])
      expect(isZone(name)).toBe(false)
    expect(lookUp).not.toHaveBeenCalled()
    lookUp.mockRestore()
  })
})

describe('[G4] dates and timestamps', () => {
  test('days and dates are two forms of the same, from the first year to the last', () => {
    for (let day = dayOf(civilDate('2023-12-30')); day < dayOf(civilDate('2028-03-02')); day += 1) {
      const date = new Date(day * DAY).toISOString().slice(0, 10)
      expect(civilDateOfDay(day)).toBe(date)
      expect(dayOf(civilDate(date))).toBe(day)
      expect(utcMidnight(civilDate(date))).toBe(day * DAY)
    }
    expect(dayOf(civilDate('0001-01-01'))).toBe(-719_162)
    expect(civilDateOfDay(dayOf(civilDate('9999-12-31')))).toBe('9999-12-31')
    expect(() => addDays(civilDate('9999-12-31'), 1)).toThrow(RangeError)
  })

  test.each([
    ...words`2026-02-29 2025-13-01 2025-00-10 2025-01-00 2025-04-31 0000-01-01 2025-1-1 20250101`,
    ...['2025-01-01T00:00:00Z', ' 2025-01-01', '2025-01-01\n', '+002025-01-01', '-000001-01-01', '', 'today'],
    '２０２５-01-01',
  ])('%j is not a date', (text) => {
    expect(isCivilDate(text)).toBe(false)
    expect(() => civilDate(text)).toThrow(RangeError)
  })

  test('[P12] weeks begin on Monday, months on the first', () => {
    for (const [date, monday, month] of [
      ['2026-03-01', '2026-02-23', '2026-03-01'],
      ['2026-03-02', '2026-03-02', '2026-03-01'],
      ['2024-02-29', '2024-02-26', '2024-02-01'],
      ['2027-01-01', '2026-12-28', '2027-01-01'],
    ] as const) {
      expect(periodStartDate(civilDate(date), 'daily')).toBe(date)
      expect(periodStartDate(civilDate(date), 'weekly')).toBe(monday)
      expect(periodStartDate(civilDate(date), 'monthly')).toBe(month)
    }
  })

  test('timestamps are ISO 8601 in UTC with milliseconds', () => {
    expect(iso(instant(0))).toBe('1970-01-01T00:00:00.000Z')
    expect(parseIso('2026-03-08T02:30:00.5-05:00')).toBe(Date.UTC(2026, 2, 8, 7, 30, 0, 500))
    expect(parseIso('soon')).toBeNull()
    for (const wrong of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
      expect(() => instant(wrong)).toThrow(RangeError)
  })

  test('[G4] a timestamp of a request is one of RFC 3339, as other languages write it', () => {
    for (const [text, wanted] of [
      ['2026-01-31T09:00:00Z', '2026-01-31T09:00:00.000Z'],
      ['2026-01-31t09:00:00z', '2026-01-31T09:00:00.000Z'],
      ['2026-01-31T09:00:00.5-05:00', '2026-01-31T14:00:00.500Z'],
      ['2026-01-31T09:00:00.123456+00:00', '2026-01-31T09:00:00.123Z'],
      ['2026-01-31T09:00:00.999999999-00:00', '2026-01-31T09:00:00.999Z'],
      [`2026-01-31T09:00:00.0019${'9'.repeat(5_000)}Z`, '2026-01-31T09:00:00.001Z'],
      ['1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
      ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000Z'],
      ['1998-12-31T15:59:60.123-08:00', '1998-12-31T23:59:59.123Z'],
      ['2024-02-29T00:00:00+23:59', '2024-02-28T00:01:00.000Z'],
      ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999Z'],
      ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
    ] as const) {
      const at = parseRfc3339(text)
      expect(at === null ? null : iso(at), text).toBe(wanted)
    }
    for (const wrong of [
      ...words`
        2026-01-31T24:00:00Z 2026-01-31T09:00Z 2026-01-31T09Z 2026-01-31T09:00:00 2026-01-31
        2026-02-29T09:00:00Z 2026-01-31T09:60:00Z 2026-01-31T09:00:61Z 2026-01-31T09:00:00.Z
        2026-01-31T09:00:60Z 2016-12-31T23:58:60Z 2016-12-31T23:59:60-08:00 2026-01-31T09:00:00+24:00
        2026-01-31T09:00:00+0100 2026-01-31T09:00:00+01 2026-01-31T09:00:00+01:00:00 20260131T090000Z
        2026-01-31T09:00:00,5Z 2026-01-31T09:00:00Z[UTC] 2026-01-31T09:00:00Z[u-ca=iso8601]
        +002026-01-31T09:00:00Z ２026-01-31T09:00:00Z 2026-01-31T09:00:00−01:00
      `,
      ...[' 2026-01-31T09:00:00Z', '2026-01-31T09:00:00Z\n'],
    ])
      expect(parseRfc3339(wrong), wrong).toBeNull()
  })

  test('[C1] a duration is spelled as ISO 8601 does', () => {
    for (const text of ['P1D', 'P2W', 'PT1H2S', 'P1Y2D', 'PT0.25S', '-P1M'])
      expect([text, String(parseDuration(text))]).toEqual([text, text])
    expect(['PT1.5H', 'PT0,25S'].map((text) => String(parseDuration(text)))).toEqual(['PT1H30M', 'PT0.25S'])
    for (const wrong of words`p1d P1d PT1h pT1H +P1D −P1D P1W2D P1Y1W P PT P1 P1.5W`)
      expect([wrong, parseDuration(wrong)]).toEqual([wrong, null])
  })
})
