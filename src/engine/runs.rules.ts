import { Temporal } from 'temporal-polyfill'
import type { Leaderboard } from '../config/configuration.types'
import { dayOf } from '../lib/civil'
import type { Instant } from '../lib/clock'
import { LAST_DAY } from '../lib/periods'
import { DAY, FIRST_OFFSET, HOUR, LAST_OFFSET, MINUTE, SECOND } from '../lib/units'
import { dayBegins, localDay, timeOfDay } from '../lib/zone'

/** The months of the years that can be written. */
const MOST_MONTHS = 120_000
/** One instance of a leaderboard: first and last local date, as days since 1970-01-01; null where it has no end. */
export type Run = { start: number; end: number | null }

/** What of a leaderboard says when it runs. */
export type Schedule = Pick<Leaderboard, 'start' | 'end' | 'runUnit' | 'runInterval'>

/** The last local day of a leaderboard; null where it has no end. */
export const lastDayOf = ({ end }: Pick<Schedule, 'end'>) => (end === null ? null : dayOf(end))
/** The first local day of a leaderboard. */
export const firstDayOf = ({ start }: Pick<Schedule, 'start'>) => dayOf(start)

/** The run that holds a local day; null before the first and after the last (L2). */
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

/** How many intervals lie between two days by their months alone: the run's number, or one too many. */
function wholeMonths(first: number, day: number, { runUnit, runInterval }: Schedule): number {
  const [from, to] = [plain(first), plain(day)]
  const months = (to.year - from.year) * 12 + to.month - from.month
  return Math.floor(months / ((runInterval ?? 1) * (runUnit === 'year' ? 12 : 1)))
}

/** The first day of run k, counted from the anchor, with the day clamped to the month (L2). */
function runStart({ runUnit, runInterval }: Schedule, first: number, k: number): number {
  const count = k * (runInterval ?? 1)
  if (runUnit === 'day') return first + count
  // Beyond what can be written anyway, and beyond what the calendar can compute.
  if (count > MOST_MONTHS) return LAST_DAY + 1
  const start = plain(first).add(runUnit === 'year' ? { years: count } : { months: count })
  return plain(0).until(start, { largestUnit: 'days' }).days
}

const plain = (day: number) => Temporal.PlainDate.from('1970-01-01').add({ days: day })

/** The run that holds a day, the first one before it, the last one after it (L2). */
export function nearestRun(schedule: Schedule, day: number): Run {
  const last = Math.min(lastDayOf(schedule) ?? LAST_DAY, LAST_DAY)
  const nearest = Math.max(firstDayOf(schedule), Math.min(day, last))
  const run = runHolding(schedule, nearest)
  if (run === null) throw new Error('a leaderboard that ends before it starts')
  return run
}

/** Runs that are named at once: of a leaderboard that has run for long, the latest ones. */
const MOST_RUNS = 100

/** The runs that start up to a day and after another one, in order: the latest of them where they are very many. */
export function latestRuns(schedule: Schedule, until: number, after: number): Run[] {
  const runs: Run[] = []
  let run = runHolding(schedule, Math.min(until, lastDayOf(schedule) ?? LAST_DAY))
  while (run !== null && run.start > after && runs.length < MOST_RUNS) {
    runs.unshift(run)
    run = runHolding(schedule, run.start - 1)
  }
  return runs
}

/** When the first user on Earth enters a run: its first midnight in UTC+14 (L8). */
export const beginsAt = ({ start }: Pick<Run, 'start'>): Instant => dayBegins(start, FIRST_OFFSET)

/** When a run is final: 12 hours after its end in UTC (L8); null where it has no end. */
export const finalAt = ({ end }: Run): Instant | null =>
  end === null ? null : dayBegins(end + 1, LAST_OFFSET)

/** The last day of the last run that is final by now; null where none can be yet (L8). */
export function finalUntil(schedule: Schedule, now: Instant): number | null {
  const over = localDay(now, LAST_OFFSET) - 1
  const last = lastDayOf(schedule)
  const run = runHolding(schedule, last === null ? over : Math.min(over, last))
  if (run === null) return null
  const { start, end } = run
  if (end !== null && end <= over) return end
  return start > firstDayOf(schedule) ? start - 1 : null
}

/** The status that a leaderboard has by now, by itself or by the last move (L7). */
export function statusOf(board: Schedule & Pick<Leaderboard, 'status'>, now: Instant): Leaderboard['status'] {
  if (board.status === 'inactive' || board.status === 'finished') return board.status
  if (now < beginsAt({ start: firstDayOf(board) }))
    return board.status === 'scheduled' ? 'scheduled' : 'active'
  const end = lastDayOf(board)
  const final = finalAt({ start: 0, end })
  return final !== null && now >= final ? 'finished' : 'active'
}

/** Seconds since midnight of a time of day, `HH:MM` or `HH:MM:SS`. */
function secondsOf(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number)
  return (hours * HOUR + minutes * MINUTE) / SECOND + seconds
}

/** The daily window of a leaderboard in seconds since local midnight; `to` is not in it. One that crosses midnight ends before it starts. */
type Window = { from: number; to: number }

/** The daily window, or null where the whole day counts (L1). */
export function windowOf({ startTime, endTime }: Pick<Leaderboard, 'startTime' | 'endTime'>): Window | null {
  if (startTime === null && endTime === null) return null
  return {
    from: startTime === null ? 0 : secondsOf(startTime),
    to: endTime === null ? DAY / SECOND : secondsOf(endTime),
  }
}

/** Whether the local time of a moment lies inside the daily window (L1). */
export function isInside(window: Window | null, at: number, utcOffset: number): boolean {
  if (window === null) return true
  const ms = timeOfDay(at, utcOffset)
  const [from, to] = [window.from * SECOND, window.to * SECOND]
  return from <= to ? from <= ms && ms < to : ms >= from || ms < to
}
