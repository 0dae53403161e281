import { Temporal } from 'temporal-polyfill'
import type { Leaderboard } from '../configuration/model'
import { DAY, FIRST_OFFSET, HOUR, type Instant, LAST_OFFSET, MINUTE, SECOND } from '../lib/clock'
import { dayBegins, dayOf, LAST_DAY, localDay, timeOfDay } from '../lib/zone'

/** The number of months up to the year 9999. */
const MOST_MONTHS = 120_000
/** A run of a leaderboard: its first and last local date, in days since 1970-01-01. Null for no end. */
export type Run = { start: number; end: number | null }

/** The fields of a leaderboard that say when it runs. */
export type Schedule = Pick<Leaderboard, 'start' | 'end' | 'runUnit' | 'runInterval'>

/** In days since 1970-01-01. Null if the leaderboard has no end. */
export const lastDayOf = ({ end }: Pick<Schedule, 'end'>) => (end === null ? null : dayOf(end))
/** The first local day of a leaderboard, in days since 1970-01-01. */
export const firstDayOf = ({ start }: Pick<Schedule, 'start'>) => dayOf(start)

/** The run that contains a local day, or null before the first run and after the last (L2). */
export function runHolding(schedule: Schedule, day: number): Run | null {
  const first = firstDayOf(schedule)
  const last = lastDayOf(schedule)
  if (day < first || day > (last ?? LAST_DAY)) return null
  const { runUnit, runInterval } = schedule
  if (runUnit === null || runInterval === null) return { start: first, end: last }
  let k = runUnit === 'day' ? Math.floor((day - first) / runInterval) : wholeMonths(first, day, schedule)
  if (runStart(schedule, first, k) > day) k -= 1
  const next = runStart(schedule, first, k + 1)
  return { start: runStart(schedule, first, k), end: Math.min(next - 1, last ?? LAST_DAY) }
}

/** The number of intervals between two days by their months alone: the run's number, or one too many. */
function wholeMonths(first: number, day: number, { runUnit, runInterval }: Schedule): number {
  const [from, to] = [plain(first), plain(day)]
  const months = (to.year - from.year) * 12 + to.month - from.month
  return Math.floor(months / ((runInterval ?? 1) * (runUnit === 'year' ? 12 : 1)))
}

/** The first day of run k, counted from the anchor. The day is clamped to the length of the month (L2). */
function runStart({ runUnit, runInterval }: Schedule, first: number, k: number): number {
  const count = k * (runInterval ?? 1)
  if (runUnit === 'day') return first + count
  // Later days can't be written, and the calendar can't compute them.
  if (count > MOST_MONTHS) return LAST_DAY + 1
  const start = plain(first).add(runUnit === 'year' ? { years: count } : { months: count })
  return plain(0).until(start, { largestUnit: 'days' }).days
}

const plain = (day: number) => Temporal.PlainDate.from('1970-01-01').add({ days: day })

/** The run that contains a day: the first one before all, the last one after all (L2). */
export function nearestRun(schedule: Schedule, day: number): Run {
  const last = Math.min(lastDayOf(schedule) ?? LAST_DAY, LAST_DAY)
  const nearest = Math.max(firstDayOf(schedule), Math.min(day, last))
  const run = runHolding(schedule, nearest)
  if (run === null) throw new Error('The leaderboard ends before it starts')
  return run
}

/** The nearest run. If a leaderboard was finished by hand, the run of that UTC day stays (L2, L7). */
export function servedRun(board: Schedule & Pick<Leaderboard, 'finished'>, day: number): Run {
  const lastDayPlayed = board.finished === null ? Number.POSITIVE_INFINITY : localDay(board.finished, 0)
  return nearestRun(board, Math.min(day, lastDayPlayed))
}

/** The most runs that `latestRuns` returns. A leaderboard that has run for long has more. */
const MOST_RUNS = 100

/** The latest runs that start up to the day `until` and after the day `after`, in order. */
export function latestRuns(schedule: Schedule, until: number, after: number): Run[] {
  const runs: Run[] = []
  let run = runHolding(schedule, Math.min(until, lastDayOf(schedule) ?? LAST_DAY))
  while (run !== null && run.start > after && runs.length < MOST_RUNS) {
    runs.unshift(run)
    run = runHolding(schedule, run.start - 1)
  }
  return runs
}

/** When the first user on Earth enters a run: at its first midnight in UTC+14 (L8). */
export const beginsAt = ({ start }: Pick<Run, 'start'>): Instant => dayBegins(start, FIRST_OFFSET)

/** When a run is final: 12 hours after its end in UTC (L8). Null if it has no end. */
export const finalAt = ({ end }: Run): Instant | null =>
  end === null ? null : dayBegins(end + 1, LAST_OFFSET)

/** The last day of the last run that is final by now, or null if there is none yet (L8). */
export function finalUntil(schedule: Schedule, now: Instant): number | null {
  const over = localDay(now, LAST_OFFSET) - 1
  const last = lastDayOf(schedule)
  const run = runHolding(schedule, last === null ? over : Math.min(over, last))
  if (run === null) return null
  const { start, end } = run
  if (end !== null && end <= over) return end
  return start > firstDayOf(schedule) ? start - 1 : null
}

/** The status of a leaderboard by now: by the calendar, or as an admin set it (L7). */
export function statusOf(board: Schedule & Pick<Leaderboard, 'status'>, now: Instant): Leaderboard['status'] {
  if (board.status === 'inactive' || board.status === 'finished') return board.status
  if (now < beginsAt({ start: firstDayOf(board) }))
    return board.status === 'scheduled' ? 'scheduled' : 'active'
  const end = lastDayOf(board)
  const final = finalAt({ start: 0, end })
  return final !== null && now >= final ? 'finished' : 'active'
}

function secondsOf(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number)
  return (hours * HOUR + minutes * MINUTE) / SECOND + seconds
}

/** A daily window in seconds since local midnight. `to` is exclusive, and below `from` over midnight. */
type Window = { from: number; to: number }

/** The daily window, or null if the whole day counts (L1). */
export function windowOf({ startTime, endTime }: Pick<Leaderboard, 'startTime' | 'endTime'>): Window | null {
  if (startTime === null && endTime === null) return null
  return {
    from: startTime === null ? 0 : secondsOf(startTime),
    to: endTime === null ? DAY / SECOND : secondsOf(endTime),
  }
}

/** Whether the local time of a moment is inside the daily window (L1). `utcOffset` is in minutes. */
export function isInside(window: Window | null, at: number, utcOffset: number): boolean {
  if (window === null) return true
  const ms = timeOfDay(at, utcOffset)
  const [from, to] = [window.from * SECOND, window.to * SECOND]
  return from <= to ? from <= ms && ms < to : ms >= from || ms < to
}
