import type { AdminLeaderboard } from '@laurel/client'
import { runOf } from '@laurel/react'
import { formatDate } from '../../../ui/format'

/** First and last date of a run. The last one is null without an end. */
export type Run = { start: string; end: string | null }

type Board = Pick<AdminLeaderboard, 'start' | 'end' | 'runUnit' | 'runInterval'>

/** The most earlier runs to choose from. The address can name earlier ones. */
const MOST_RUNS = 52
const DAY = 86_400_000
const HOUR = 3_600_000
/** How long after its last date in UTC a run is final, in hours (L8). */
const FINAL_AFTER = 12

const dayBefore = (date: string) => new Date(Date.parse(date) - DAY).toISOString().slice(0, 10)

/** The run that holds a date: the first one before it begins, the last one after it ended (L2). */
export const runHolding = ({ start, end, runUnit, runInterval }: Board, date: string): Run =>
  runOf(
    { start, end: end ?? null, runUnit: runUnit ?? null, runInterval: runInterval ?? null },
    date < start ? start : date,
  )

/** The runs before the run of a date, newest first. A leaderboard that never begins again has none. */
export function runsBefore(board: Board, date: string): Run[] {
  if (board.runUnit === undefined) return []
  const runs: Run[] = []
  let { start } = runHolding(board, date)
  while (start > board.start && runs.length < MOST_RUNS) {
    const run = runHolding(board, dayBefore(start))
    runs.push(run)
    start = run.start
  }
  return runs
}

/** When a run is final, in milliseconds since 1970. Null for a run without an end (L8). */
export const finalAt = ({ end }: Run): number | null =>
  end === null ? null : Date.parse(end) + DAY + FINAL_AFTER * HOUR

/** The dates of a run, such as "Nov 23, 2026 – Nov 29, 2026". */
export const datesOf = ({ start, end }: Run): string =>
  end === null
    ? `from ${formatDate(start)}`
    : start === end
      ? formatDate(start)
      : `${formatDate(start)} – ${formatDate(end)}`
