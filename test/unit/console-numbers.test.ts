import { describe, expect, it } from 'vitest'
import { date, decimal, whole } from '../../console/src/resource/schemas'
import { asText, formatNumber, numberOf, startOf, zoneOf } from '../../console/src/ui/locale'

/** How languages write numbers: with points, commas, blanks, and groups of two digits. */
const LOCALES = ['en-US', 'de-DE', 'fr-FR', 'de-CH', 'en-IN', 'pl-PL', 'pt-BR', 'ar-EG-u-nu-latn']
const NUMBERS = [0, 7, -12, 1.5, 0.25, 2.125, 1500, 1234.5, 12_345, 1_234_567.25, -98_765]

describe('numbers in the fields of the console', () => {
  it.each(LOCALES)('are taken as the console shows them: %s', (locale) => {
    const format = new Intl.NumberFormat(locale)
    for (const number of NUMBERS) {
      const shown = format
        .format(number)
        .replaceAll(/[\u200e\u200f\u061c]/g, '')
        .replace('\u2212', '-')
      expect([shown, numberOf(shown, locale)]).toEqual([shown, number])
      expect(numberOf(asText(number, locale), locale)).toBe(number)
    }
    expect([numberOf('1.5', locale), numberOf('－１５', locale)]).toEqual([1.5, -15])
  })

  it.each(['', 'ten', '1,5', '1,50', '1.2.3', '1e5', '--1', '0x10', '1,2345', '1 500'])(
    'are refused if the language does not write them so: %j',
    (text) => expect(numberOf(text, 'en-US')).toBeNaN(),
  )

  it('say what is wrong', () => {
    const range = { min: 1, max: 5000 }
    const errorOf = (given: string) =>
      whole(range)
        .safeParse(given)
        .error?.issues.map(({ message }) => message)
    expect(errorOf('')).toEqual(['Fill this in.'])
    expect(errorOf('ten')).toEqual(['Use a whole number, such as 10.'])
    expect(errorOf('2.5')).toEqual(['Use a whole number, such as 10.'])
    expect(errorOf('6,000')).toEqual(['Use a number from 1 to 5,000.'])
    expect(whole(range).parse(' 1,500 ')).toBe(1500)
    expect(decimal(range).parse('2.5')).toBe(2.5)
  })

  it('have all of their six decimals', () => {
    expect(numberOf(formatNumber(0.000125))).toBe(0.000125)
  })
})

describe('dates in the console', () => {
  it('have the year that is stored, and forms refuse one that lacks its century', () => {
    expect([startOf('0026-03-04').getFullYear(), startOf('2026-12-31', 1).getFullYear()]).toEqual([26, 2027])
    expect(date().safeParse('0026-03-04').success).toBe(false)
  })

  it('are in UTC if this machine does not know the zone', () => {
    expect([null, 'Asia/Tokyo', 'Mars/Olympus'].map(zoneOf)).toEqual(['UTC', 'Asia/Tokyo', 'UTC'])
  })
})
