/** Formats numbers and dates of one locale. A server and a browser write the same texts. */
export interface Format {
  locale: string
  number: (value: number) => string
  /** A number that fits into narrow places: from ten million on it is short, such as 12.3M. */
  shortNumber: (value: number) => string
  /** A number with its sign, such as +50. */
  signed: (value: number) => string
  percent: (percentage: number) => string
  /** A calendar date (`YYYY-MM-DD`), such as Nov 23. With `long`, also the weekday and the year. */
  date: (date: string, length?: 'short' | 'long') => string
  dateRange: (start: string, end: string) => string
  month: (date: string, length?: 'short' | 'long') => string
  weekday: (date: string, length: 'narrow' | 'long') => string
  /** The date of an instant, in the time zone of the settings. */
  instant: (instant: string) => string
  list: (items: readonly string[]) => string
  plural: (count: number, forms: Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }) => string
}

const SHORT_FROM = 10_000_000

/** Noon is the same date in all zones from UTC−12 to UTC+11, and these formatters use UTC. */
const civil = (date: string) => new Date(`${date}T12:00:00Z`)

/**
 * Replaces spaces whose width depends on the version of the locale data: Node writes thin ones where Chrome
 * writes others, and a page of a server would not be that of the browser.
 */
const withSpaces = (text: string, space: ' ' | '\u00a0') => text.replace(/[\u00a0\u2009\u202f]/g, space)
const dateText = (text: string) => withSpaces(text, ' ')
/** Numbers are never broken into two lines. */
const numberText = (text: string) => withSpaces(text, '\u00a0')

/**
 * The name, or another one if this engine refuses it: browsers call their own language `en-US@posix` and their own
 * zone `Etc/Unknown`, and an older one does not know all zones of users.
 */
function known(name: string, instead: string, check: (name: string) => unknown): string {
  try {
    check(name)
    return name
  } catch {
    return instead
  }
}

/** `timeZone` is that of instants. Dates have none. Names that are unknown count as `en` and `UTC`. */
export function formatOf(givenLocale: string, givenZone: string): Format {
  const locale = known(givenLocale, 'en', (name) => new Intl.NumberFormat(name))
  const timeZone = known(givenZone, 'UTC', (name) => new Intl.DateTimeFormat('en', { timeZone: name }))
  // Newer locale data has Latin digits for Arabic without a country, and that of WebKit has Arabic ones.
  const tag = locale === 'ar' ? 'ar-u-nu-latn' : locale
  const numbers = (options?: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat(tag, { maximumFractionDigits: 2, ...options })
  // Other calendars do not fit the months of a page, and engines do not agree about that of "ar-SA". The
  // Buddhist one of Thai differs only by its years. A locale may name a calendar: "th-u-ca-gregory".
  const calendar = locale.startsWith('th') && !locale.includes('-ca-') ? 'buddhist' : 'gregory'
  const plain = numbers()
  const short = numbers({
    notation: 'compact',
    maximumFractionDigits: 1,
    roundingMode: 'trunc',
  })
  const signed = numbers({ signDisplay: 'exceptZero' })
  const percent = numbers({ style: 'percent' })
  const dates = (options: Intl.DateTimeFormatOptions, zone = 'UTC') =>
    new Intl.DateTimeFormat(tag, { ...options, calendar, timeZone: zone })
  const day = dates({ month: 'short', day: 'numeric' })
  const fullDay = dates({ weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' })
  const months = { short: dates({ month: 'short' }), long: dates({ month: 'long', year: 'numeric' }) }
  const weekdays = { narrow: dates({ weekday: 'narrow' }), long: dates({ weekday: 'long' }) }
  const instants = dates({ dateStyle: 'medium' }, timeZone)
  // Not every engine has all parts of Intl.
  const rules = Intl.PluralRules ? new Intl.PluralRules(locale) : undefined
  const lists = Intl.ListFormat ? new Intl.ListFormat(locale) : undefined
  return {
    locale,
    number: (value) => numberText(plain.format(value)),
    shortNumber: (value) => numberText((Math.abs(value) >= SHORT_FROM ? short : plain).format(value)),
    signed: (value) => numberText(signed.format(value)),
    percent: (percentage) => numberText(percent.format(percentage / 100)),
    date: (date, length = 'short') => dateText((length === 'short' ? day : fullDay).format(civil(date))),
    dateRange: (start, end) => dateText(rangeOf(day, civil(start), civil(end))),
    month: (date, length = 'long') => dateText(months[length].format(civil(date))),
    weekday: (date, length) => dateText(weekdays[length].format(civil(date))),
    instant: (instant) => dateText(instants.format(new Date(instant))),
    list: (items) => lists?.format(items) ?? items.join(', '),
    plural: (count, forms) => forms[rules?.select(count) ?? (count === 1 ? 'one' : 'other')] ?? forms.other,
  }
}

function rangeOf(day: Intl.DateTimeFormat, start: Date, end: Date): string {
  if (day.formatRange) return day.formatRange(start, end)
  const [first, last] = [day.format(start), day.format(end)]
  return first === last ? first : `${first} – ${last}`
}
