/** How a leaderboard repeats (L2). Dates are `YYYY-MM-DD`. */
export interface Schedule {
  start: string
  end: string | null
  runUnit: 'day' | 'month' | 'year' | null
  runInterval: number | null
}

/** A run, and the moments at which it begins and ends for a user (L14). `key` is its first date. */
export interface Run {
  key: string
  startsAt: string
  endsAt: string | null
}

const DAY = 86_400_000
const LAST_DAY = Date.parse('9999-12-31')

const iso = (time: number) => new Date(time).toISOString().slice(0, 10)

/** The last date of a run. Null if it has no end. Days of 23 and 25 hours change nothing. */
export function lastDateOf({ key, startsAt, endsAt }: Run): string | null {
  if (endsAt === null) return null
  const days = Math.round((Date.parse(endsAt) - Date.parse(startsAt)) / DAY)
  return iso(Date.parse(key) + (days - 1) * DAY)
}

/**
 * The date after a number of units, or the last day of a shorter month: 31 January, 28 February. Null after the year
 * 9999, with which the calendar ends.
 */
function addUnits(date: string, unit: 'day' | 'month' | 'year', count: number): string | null {
  const time = Date.parse(`${date}T00:00:00Z`)
  const [day, last] = [new Date(time), new Date(time)]
  if (unit === 'day') day.setTime(time + count * DAY)
  else {
    const month = day.getUTCMonth() + count * (unit === 'year' ? 12 : 1)
    last.setUTCFullYear(last.getUTCFullYear(), month + 1, 0)
    day.setUTCFullYear(day.getUTCFullYear(), month, Math.min(day.getUTCDate(), last.getUTCDate()))
  }
  return day.getTime() <= LAST_DAY ? iso(day.getTime()) : null
}

/** Whole units from one date to a later one, or a few less. */
function unitsBetween(from: string, to: string, unit: 'day' | 'month' | 'year'): number {
  const days = (Date.parse(to) - Date.parse(from)) / DAY
  const perUnit = { day: 1, month: 31, year: 366 }
  return Math.floor(days / perUnit[unit])
}

/**
 * First and last date of the run that holds a date: the first run before it begins, the last one after it
 * ended (L2). `end` is null for a board that never ends, and for a run that lasts beyond the year 9999.
 */
export function runOf(schedule: Schedule, date: string): { start: string; end: string | null } {
  const { start, end, runUnit, runInterval } = schedule
  if (runUnit === null) return { start, end }
  const interval = runInterval ?? 1
  const wanted = end !== null && date > end ? end : date
  const begins = (run: number) => addUnits(start, runUnit, run * interval)
  let run = Math.max(0, Math.floor(unitsBetween(start, wanted, runUnit) / interval))
  let next = begins(run + 1)
  while (next !== null && next <= wanted) {
    run += 1
    next = begins(run + 1)
  }
  const last = next && addUnits(next, 'day', -1)
  return { start: begins(run) ?? start, end: end !== null && (last === null || end < last) ? end : last }
}
