/** Numbers and dates by the viewer's locale, and times in the viewer's zone. */
import { formatNumber, LOCALE, startOf, zoneOf } from './locale'

const COMPACT = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })
const DATE = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium' })
const MOMENT = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'short' })
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' })

export { formatNumber, startOf, zoneOf }
/** A large number in few characters, such as 1.2M. */
export const formatCompact = (value: number): string => COMPACT.format(value)
const PERCENT = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 })
/** A share, from 0 to 1, in percent. */
export const formatPercent = (share: number): string => PERCENT.format(share)
/** A number with its noun: "1 user", "2 users". */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

const BYTES = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

/** A size in the largest unit of which there is at least one. */
export function formatBytes(bytes: number): string {
  const power = Math.min(BYTES.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return new Intl.NumberFormat(LOCALE, {
    style: 'unit',
    unit: BYTES[power] ?? 'byte',
    maximumFractionDigits: 1,
  }).format(bytes / 1024 ** power)
}

/** A civil date, `2026-01-31`, without a zone. */
export const formatDate = (date: string): string => DATE.format(startOf(date))
export const formatMoment = (iso: string): string => MOMENT.format(new Date(iso))
/** The same moment in the zone of a user. */
export const formatMomentIn = (iso: string, zone: string): string =>
  new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'short', timeZone: zone }).format(
    new Date(iso),
  )

/** The zone of the viewer. */
export const VIEWER_ZONE: string = zoneOf(MOMENT.resolvedOptions().timeZone)

const WEEKDAY = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' })
/** The name of a day of the week, from 0 (Sunday) to 6. */
export const weekdayName = (day: number): string => WEEKDAY.format(Date.UTC(2023, 0, 1 + day))
const TIME = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short' })
/** The time of day in the viewer's zone. */
export const formatTime = (iso: string): string => TIME.format(new Date(iso))

/** The same moment in another zone: the time, and the date if it is another one there. */
export function formatTimeIn(iso: string, zone: string): string {
  const moment = new Date(iso)
  const isSameDate =
    DATE.format(moment) ===
    new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeZone: zone }).format(moment)
  return isSameDate
    ? new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short', timeZone: zone }).format(moment)
    : formatMomentIn(iso, zone)
}

const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** How far a moment is from now, in words. */
export function formatRelative(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000
  const [unit, length] = UNITS.find(([, one]) => Math.abs(seconds) >= one) ?? (['second', 1] as const)
  return RELATIVE.format(Math.trunc(seconds / length), unit)
}

/** A moment in the viewer's zone. With a user's zone, the hint shows the time there too. */
export function Moment({ iso, zone }: { iso: string; zone?: string | null | undefined }) {
  const known = zone && zoneOf(zone)
  const hint = known ? `${formatMomentIn(iso, known)} in ${known}` : iso
  return (
    <time dateTime={iso} title={hint} className="whitespace-nowrap">
      {formatMoment(iso)}
    </time>
  )
}
