/** Numbers as the language of the browser writes them, and as fields take them. */

/** The language of the browser, with the digits and the calendar that fields have. */
export const LOCALE: string = new Intl.Locale(new Intl.NumberFormat().resolvedOptions().locale, {
  numberingSystem: 'latn',
  calendar: 'gregory',
}).toString()

const NUMBER = new Intl.NumberFormat(LOCALE)

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
  const given = text.trim()
  const between = /\s/.test(group) ? '\\s' : `[${group}]`
  const isGrouped = new RegExp(`^[+-]?\\d{1,3}(?:${between}\\d{2,3})*${between}\\d{3}(?!\\d)`).test(given)
  const plain = (isGrouped ? given.replaceAll(new RegExp(between, 'g'), '') : given).replace(point, '.')
  return /^[+-]?\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : Number.NaN
}

/** A value as the text of a field, which `numberOf` reads again. */
export const asText = (value: number | string | null | undefined, locale: string = LOCALE): string =>
  typeof value === 'number' ? String(value).replace('.', signsOf(locale).point) : (value ?? '')
