/** Numbers as the language of the browser writes them, and as fields take them. Dates and zones of the browser. */

/** The language of the browser, with the digits and the calendar that fields have. */
export const LOCALE: string = new Intl.Locale(new Intl.NumberFormat().resolvedOptions().locale, {
  numberingSystem: 'latn',
  calendar: 'gregory',
}).toString()

/** Values have up to six decimals (E1). */
const NUMBER = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 6 })

export const formatNumber = (value: number): string => NUMBER.format(value)

/** The sign before decimal places, and the one between thousands, of a language. */
function signsOf(locale: string): { point: string; group: string } {
  const parts = new Intl.NumberFormat(locale).formatToParts(12_345.6)
  const sign = (type: string) => parts.find((part) => part.type === type)?.value
  return { point: sign('decimal') ?? '.', group: sign('group') ?? ',' }
}

/**
 * The number that a text has, with a point for decimal places, or as the language writes it: `1.5`, `1,5`,
 * `1.500`. NaN if it is none.
 */
export function numberOf(text: string, locale: string = LOCALE): number {
  const { point, group } = signsOf(locale)
  // Keyboards of East Asia write wide signs: `１５`.
  const given = text.replaceAll(/[！-～]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0)).trim()
  const between = /\s/.test(group) ? '\\s' : `[${group}]`
  const isGrouped = new RegExp(`^[+-]?\\d{1,3}(?:${between}\\d{2,3})*${between}\\d{3}(?!\\d)`).test(given)
  const plain = (isGrouped ? given.replaceAll(new RegExp(between, 'g'), '') : given).replace(point, '.')
  return /^[+-]?\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : Number.NaN
}

/** A value as the text of a field, which `numberOf` reads again. */
export const asText = (value: number | string | null | undefined, locale: string = LOCALE): string =>
  typeof value === 'number' ? String(value).replace('.', signsOf(locale).point) : (value ?? '')

/** The beginning of a civil date, `2026-01-31`, or of a later one, in the viewer's zone. */
export function startOf(date: string, daysLater = 0): Date {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  const start = new Date(2000, 0)
  // The constructor takes the year 26 for 1926.
  start.setFullYear(year, month - 1, day + daysLater)
  return start
}

/** A user's zone; UTC without one, or if this browser does not know it yet. */
export function zoneOf(tz: string | null): string {
  const zone = tz ?? 'UTC'
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone }).format()
    return zone
  } catch {
    return 'UTC'
  }
}
