import { type Instant, instant } from '../../lib/clock'
import { type Aggregation, nextPeriod, periodEnd, periodStart, periodsBefore } from '../../lib/zone'
import type { Reset, StreakRun, StreakState } from './streak-state.rules'

/**
 * The kinds of periods of a streak. The history is run-length encoded, such as `5e1f2e`.
 * - `e`: extended. `x`: extended on a day off. `d`: kept by a day off. `f`: kept by a freeze. `p`: kept by a pause.
 * - `s`: skipped, because travel spared it or streaks were off.
 * - `r`: not a period. Its count is the length that a restore added before the next period (S8).
 */
export type PeriodKind = 'e' | 'x' | 'd' | 'f' | 'p' | 's' | 'r'

const PART = /(\d+)(\D)/g

type Part = [number, PeriodKind]

function parseHistory(history: string): Part[] {
  const parts: Part[] = []
  for (const [, count = '0', kind = ''] of history.matchAll(PART)) {
    if (isPeriodKind(kind)) parts.push([Number(count), kind])
  }
  return parts
}

const isPeriodKind = (text: string): text is PeriodKind => text.length === 1 && 'exdfpsr'.includes(text)

/** The history with `count` periods of a kind added at its end. */
export function marked(history: string, kind: PeriodKind, count = 1): string {
  const [, number = '', last = ''] = /(\d+)(\D)$/.exec(history) ?? []
  if (last !== kind) return `${history}${count}${kind}`
  return `${history.slice(0, -number.length - 1)}${Number(number) + count}${kind}`
}

/** The history with its last period as one that was extended on a day off, if it was extended (S12). */
export const asDayOff = (history: string): string =>
  history.endsWith('e') ? marked(withoutLast(history, 1), 'x') : history

/** The history with a restore of `count` added before its last `periods` periods. */
export function restoredBeforeLast(history: string, count: number, periods = 1): string {
  if (count === 0) return history
  const [parts, tail] = divided(history, periods)
  return joined([...parts, [count, 'r'], ...tail])
}

/** The history without its last `periods` periods. */
export const withoutLast = (history: string, periods: number): string => joined(divided(history, periods)[0])

const joined = (parts: readonly Part[]): string =>
  parts.reduce((text, [number, kind]) => marked(text, kind, number), '')

/** The parts of a history before its last `periods` periods, and those periods. */
function divided(history: string, periods: number): [Part[], Part[]] {
  const parts = parseHistory(history)
  const tail: Part[] = []
  for (let left = periods; left > 0; ) {
    const part = parts.pop()
    if (part === undefined) break
    const [number, kind] = part
    const taken = kind === 'r' ? number : Math.min(number, left)
    if (number > taken) parts.push([number - taken, kind])
    tail.unshift([taken, kind])
    if (kind !== 'r') left -= taken
  }
  return [parts, tail]
}

/** One period of a streak: its first and last day (since 1970-01-01), its mark, and the length at its end. */
export type Period = { start: number; end: number; kind: PeriodKind; length: number }

/** The periods of a streak, oldest first. */
export function periodsOf(run: Pick<StreakRun, 'first' | 'history'>, frequency: Aggregation): Period[] {
  const periods: Period[] = []
  let start = run.first
  let length = 0
  for (const [count, kind] of parseHistory(run.history)) {
    if (kind === 'r') {
      length += count
      continue
    }
    for (let n = 0; n < count; n += 1) {
      if (kind === 'e' || kind === 'x') length += 1
      periods.push({ start, end: periodEnd(start, frequency), kind, length })
      start = nextPeriod(start, frequency)
    }
  }
  return periods
}

/**
 * The periods of several streaks, the oldest first, with the first day of their streak as shown. From its
 * first period on, a streak replaces earlier ones. One of these may have later periods if its user came back
 * to an earlier date and restored it (S4, S8).
 */
export function periodsOfAll(
  runs: readonly Pick<StreakRun, 'started' | 'first' | 'history'>[],
  frequency: Aggregation,
): (Period & { started: number })[] {
  return runs.flatMap((run, n) => {
    const until = runs[n + 1]?.first ?? Number.POSITIVE_INFINITY
    const periods = periodsOf(run, frequency).filter(({ start }) => start < until)
    return periods.map((period) => ({ ...period, started: run.started }))
  })
}

type HistoryPeriod = Omit<Period, 'kind'> & { kind: PeriodKind | null; resetAt: Instant | null }

/**
 * The last `count` periods up to the one that contains today, oldest first, each with the length at its end
 * (S6). `runs` are past streaks and the present one, oldest first. The current period has the present length,
 * and so have earlier ones that have not ended (S11). Of several resets in a period, the last counts (S13).
 */
export function historyOf(
  { runs, resets }: { runs: readonly StreakRun[]; resets: readonly Reset[] },
  presentLength: number,
  frequency: Aggregation,
  today: number,
  count: number,
): HistoryPeriod[] {
  const reset = new Map(resets.map(([at, day]) => [periodStart(day, frequency), instant(at)]))
  const known = new Map(periodsOfAll(runs, frequency).map((period) => [period.start, period]))
  const current = periodStart(today, frequency)
  const last = runs.at(-1)?.last ?? current
  const history: HistoryPeriod[] = []
  for (let n = count - 1; n >= 0; n -= 1) {
    const start = periodsBefore(current, n, frequency)
    const period = known.get(start)
    const length = n === 0 || start > last ? presentLength : (period?.length ?? 0)
    const resetAt = reset.get(start) ?? null
    history.push({ start, end: periodEnd(start, frequency), length, kind: period?.kind ?? null, resetAt })
  }
  return history
}

/** The longest length at the end of a period that ended on a day or later, or 0. `runs` are oldest first. */
export const longestSince = (runs: readonly StreakRun[], day: number, frequency: Aggregation): number =>
  periodsOfAll(runs, frequency).reduce(
    (most, { end, length }) => (end < day ? most : Math.max(most, length)),
    0,
  )

/** `past` is the newest past streak that began by the day, with the local day of its loss, if known. */
export function lengthOn(
  { frequency, run, jumps, resets }: StreakState,
  past: (StreakRun & { lostOn: number | null }) | null,
  day: number,
): number {
  if (frequency === null || frequency === 'unknown') return 0
  if (run !== null && run.last <= day) return run.length
  const held = run !== null && run.first <= day ? { ...run, lostOn: null } : past
  if (held === null) return 0
  // The streak was lost at the end of the period after its last one, or later if travel skipped that (S11), or
  // earlier by a reset (S13).
  const end = nextPeriod(nextPeriod(held.last, frequency), frequency)
  const isSkipped = jumps.some(([, from, to]) => from < end && end <= to)
  const reset = resets.find(([, on]) => nextPeriod(held.last, frequency) <= on && on < end)?.[1]
  const lost = reset ?? (isSkipped ? Math.max(end, held.lostOn ?? end) : end)
  const period = periodsOf(held, frequency).findLast(({ start }) => start <= day)
  return day < lost ? (period?.length ?? 0) : 0
}
