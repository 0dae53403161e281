/**
 * Zones, local dates and the runs of leaderboards (E8, L1, L2, L8), written from the rules alone. Imports
 * nothing from the service. Offsets come from `Intl`. Calendar dates are counted with `Date` in UTC.
 */

export const MINUTE = 60_000
export const DAY = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** The offset of a zone at a moment, in minutes ahead of UTC. */
export function offsetAt(zone: string, at: number): number {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    formats.set(zone, format)
  }
  const name = format.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  if (name === 'GMT') return 0
  const match = /^GMT([+-])(\d\d):(\d\d)$/.exec(name)
  if (match === null) throw new Error(`not an offset: ${name}`)
  const [, sign, hours, minutes] = match
  const size = Number(hours) * 60 + Number(minutes)
  return sign === '-' ? -size : size
}

/** The UTC date of a moment. */
export const utcDate = (at: number) => new Date(at).toISOString().slice(0, 10)

/** The moment at which a date begins in UTC. */
export const midnight = (date: string) => Date.parse(`${date}T00:00:00Z`)

/** The local date and time at a moment, for an offset in minutes ahead of UTC. */
export function localAt(at: number, offset: number): { date: string; time: string } {
  const shown = new Date(at + offset * MINUTE).toISOString()
  return { date: shown.slice(0, 10), time: shown.slice(11, 23) }
}

export const plusDays = (date: string, days: number) => utcDate(midnight(date) + days * DAY)

/** The date some months later. If that month does not have the day, it is the month's last day. */
export function plusMonths(date: string, months: number): string {
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
  const lastDay = new Date(Date.UTC(year, month - 1 + months + 1, 0)).getUTCDate()
  return utcDate(Date.UTC(year, month - 1 + months, Math.min(day, lastDay)))
}

/** When a leaderboard runs. */
export type OracleSchedule = {
  start: string
  end: string | null
  /** Null for a perpetual leaderboard. */
  unit: 'day' | 'month' | 'year' | null
  interval: number
}

/** First and last local date. `end` is null if the run has no end. */
export type OracleRun = { start: string; end: string | null }

/** The runs that begin up to a date, oldest first (L2). */
export function runsUpTo(schedule: OracleSchedule, date: string): OracleRun[] {
  const { start, end, unit, interval } = schedule
  if (unit === null) return start <= date ? [{ start, end }] : []
  const runs: OracleRun[] = []
  let from = start
  for (let k = 0; from <= date && (end === null || from <= end); k += 1) {
    const count = (k + 1) * interval
    const next = unit === 'day' ? plusDays(start, count) : plusMonths(start, count * MONTHS[unit])
    const last = plusDays(next, -1)
    runs.push({ start: from, end: end !== null && end < last ? end : last })
    from = next
  }
  return runs
}

const MONTHS = { month: 1, year: 12 }

/** True if a run holds a date. */
export const holds = ({ start, end }: OracleRun, date: string) =>
  start <= date && (end === null || date <= end)

/**
 * The run that holds a date. The first run if the date is before it, the last run if the date is after it
 * (L2).
 */
export function runNear(schedule: OracleSchedule, date: string): OracleRun {
  const { start, end } = schedule
  const near = date < start ? start : end !== null && date > end ? end : date
  const run = runsUpTo(schedule, near).at(-1)
  if (run === undefined) throw new Error('a leaderboard that ends before it starts')
  return run
}

/** The moment at which a date begins in the first zone on Earth, 14 hours ahead of UTC (L7). */
export const beginsAt = (date: string) => midnight(date) - 14 * 60 * MINUTE

/** The moment at which a run becomes final: 12 hours after its end in UTC (L8). Null if it has no end. */
export const finalAt = ({ end }: OracleRun): number | null =>
  end === null ? null : midnight(end) + DAY + 12 * 60 * MINUTE

/** The period of a streak (S1). */
export type Frequency = 'daily' | 'weekly' | 'monthly'

/**
 * The first day of the period that holds a date: the date itself, its Monday, or the first of its month (S1).
 */
export function periodOf(date: string, frequency: Frequency): string {
  if (frequency === 'daily') return date
  if (frequency === 'monthly') return `${date.slice(0, 7)}-01`
  const weekday = new Date(midnight(date)).getUTCDay()
  return plusDays(date, -((weekday + 6) % 7))
}

/**
 * The first day of the period that is `count` periods after the one that begins on a date. Negative counts go
 * back.
 */
export function plusPeriods(start: string, count: number, frequency: Frequency): string {
  if (frequency === 'monthly') return plusMonths(start, count)
  return plusDays(start, frequency === 'weekly' ? 7 * count : count)
}

/** The local date of a zone at a moment. */
export const dateIn = (zone: string, at: number) => localAt(at, offsetIn(zone, at)).date

const known = new Map<string, number>()

/** Like `offsetAt`, but cached for each quarter of an hour. Clocks change only at quarters. */
export function offsetIn(zone: string, at: number): number {
  const quarter = Math.floor(at / (15 * MINUTE))
  const key = `${zone} ${quarter}`
  const offset = known.get(key) ?? offsetAt(zone, quarter * 15 * MINUTE)
  known.set(key, offset)
  return offset
}

/** The moment at which a date begins in a zone, exact to a quarter of an hour. */
export function beginningOf(zone: string, date: string): number {
  const quarter = 15 * MINUTE
  // No zone is more than 15 hours away from UTC.
  let [before, since] = [midnight(date) - 60 * quarter, midnight(date) + 60 * quarter]
  while (since - before > quarter) {
    const middle = before + Math.floor((since - before) / quarter / 2) * quarter
    if (dateIn(zone, middle) < date) before = middle
    else since = middle
  }
  return since
}

/** The length of a daily streak on a date: the active days up to it, or to the day before (S2, S3). */
export function streakOf(active: readonly string[], today: string): number {
  let day = active.includes(today) ? today : plusDays(today, -1)
  let length = 0
  for (; active.includes(day); day = plusDays(day, -1)) length += 1
  return length
}
