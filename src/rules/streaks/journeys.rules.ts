import { type Instant, instant, LAST_OFFSET } from '../../lib/clock'
import { type Aggregation, localDay, nextPeriod, periodStart } from '../../lib/zone'
import { periodsOf } from './history.rules'
import { marked, parseHistory } from './period-history.rules'
import type { Journey, Jump, LiveRun, StreakState } from './streak-state.types'

/** The most changes of zone that are kept of a user. Only changes that move the local date count. */
const MOST_JUMPS = 100
/** Of this many local dates in a row, travel spares at most one (S11). */
const SPARED_ONCE_IN = 7

/** The most days by which a change of zone can move the local date back. Zones are at most 26 hours apart. */
export const DAYS_BACK = 2

const isOverEverywhere = (day: number, at: number): boolean => localDay(at, LAST_OFFSET) > day

/**
 * The moment at which a change of zone to a later date skipped the end of a day. Null if no change did, or if
 * the user has come back to the day.
 */
export function skippedAt(jumps: readonly Jump[], day: number): number | null {
  const last = jumps.findLast(([, from, to]) => (from < to ? from <= day && day < to : to <= day))
  return last === undefined || last[2] < last[1] ? null : last[0]
}

/**
 * Whether travel may spare a skipped day. It spares only days of daily streaks, and only if none of the six
 * days before was spared (S4, S11).
 */
export const maySpare = (day: number, spared: number | null, frequency: Aggregation): boolean =>
  // No journey skips every date of a week or a month, because two skipped dates in a row have a moment
  // between them.
  frequency === 'daily' && (spared === null || day - spared >= SPARED_ONCE_IN)

/**
 * Splits a streak at its first open period. `known` is the part before it, null if there is none. `ahead` has
 * the first days of the satisfied periods after it.
 */
export function untilOpen(
  run: LiveRun,
  frequency: Aggregation,
): { known: LiveRun | null; open: number | null; ahead: number[] } {
  const periods = run.history.includes('o') ? periodsOf(run, frequency) : []
  const index = periods.findIndex(({ kind }) => kind === 'o')
  const open = periods[index]
  if (open === undefined) return { known: run, open: null, ahead: [] }
  const ahead = periods.flatMap(({ kind, start }, n) => (n > index && kind === 'e' ? [start] : []))
  const last = periods[index - 1]
  if (last === undefined) return { known: null, open: open.start, ahead }
  const parts = parseHistory(run.history)
  const before = parts.slice(
    0,
    parts.findIndex(([, kind]) => kind === 'o'),
  )
  const history = before.map(([count, kind]) => `${count}${kind}`).join('')
  const known = { ...run, last: last.start, history, length: run.length - ahead.length }
  return { known, open: open.start, ahead }
}

/**
 * A streak with later satisfied periods, given by their first days in order. The periods between are open. If
 * `run` is null, the open periods begin at `open`.
 */
export function joined(
  run: LiveRun | null,
  ahead: readonly number[],
  { open, extended, frequency }: { open: number; extended: Instant | null; frequency: Aggregation },
): LiveRun | null {
  let result = run
  for (const start of ahead) {
    const first = result === null ? Math.min(open, start) : nextPeriod(result.last, frequency)
    const before = result ?? { started: start, first, last: start, history: '', length: 0, extended }
    let history = before.history
    for (let period = first; period < start; period = nextPeriod(period, frequency))
      history = marked(history, 'o')
    result = { ...before, last: start, history: marked(history, 'e'), length: before.length + 1, extended }
  }
  return result
}

/**
 * A settled streak after a change of zone moved its user from one date to another. The result must be settled
 * again in the new zone.
 * A journey to a later date skips dates, and these are over (S4). If the user comes back to such a date, the
 * streak is as before the journey, plus the user's events meanwhile. A date that had ended for the user
 * before is not skipped, and stays over (S11).
 * `activeDay` is the day of the last event, or null.
 */
export function travelled(
  streak: StreakState,
  frequency: Aggregation,
  [at, from, to]: Jump,
  activeDay: number | null,
): StreakState {
  if (to === from) return streak
  const jumps = remembered(streak.jumps, [at, from, to])
  const journeys = streak.journeys.filter(({ until }) => !isOverEverywhere(until, at))
  const reached = Math.max(from, streak.reached ?? from)
  if (to > from) {
    const begins = to > reached ? [begun(streak, [at, reached, to])] : []
    return { ...streak, jumps, journeys: [...journeys, ...begins] }
  }
  const journey = journeys.find(({ until }) => to <= until)
  if (journey === undefined)
    return { ...streak, jumps, journeys, reached, run: opened(streak, to, frequency) }
  const earlier = journeys.slice(0, journeys.indexOf(journey))
  const before = back(streak, journey, to, frequency)
  if (to > journey.from) return { ...before, jumps, journeys: [...earlier, { ...journey, until: to - 1 }] }
  // A journey that was undone and that had no events leaves no trace.
  const isIdle = activeDay === null || activeDay <= journey.from
  return {
    ...before,
    jumps: isIdle ? withoutJourney(streak.jumps, journey, [at, to]) : jumps,
    journeys: earlier,
  }
}

const remembered = (jumps: readonly Jump[], jump: Jump): Jump[] => [...jumps, jump].slice(-MOST_JUMPS)

function withoutJourney(
  jumps: readonly Jump[],
  { since, from }: Journey,
  [at, to]: [number, number],
): Jump[] {
  // Other changes of zone may have the same moment.
  const index = jumps.findLastIndex((jump) => jump[0] === since && jump[1] <= from && from < jump[2])
  const before = jumps.slice(0, Math.max(0, index))
  const home = jumps[index]?.[1] ?? from
  return to === home ? before : remembered(before, [at, home, to])
}

function begun(streak: StreakState, [at, from, to]: Jump): Journey {
  const { run, missed, spared, freezes, earned } = streak
  return { since: instant(at), from, until: to - 1, run, missed, spared, freezes, earned, notified: null }
}

/**
 * If a streak has only satisfied periods ahead, makes the periods before them open again from the day to
 * which its user has come back.
 */
function opened(
  { run, missed }: Pick<StreakState, 'run' | 'missed'>,
  day: number,
  frequency: Aggregation,
): LiveRun | null {
  if (run === null) return null
  const { known, open, ahead } = untilOpen(run, frequency)
  if (known !== null || open === null) return run
  return joined(null, ahead, { open: firstOpen(day, missed, frequency), extended: run.extended, frequency })
}

/** The first day of the first period, from a day on, that was not missed. */
export function firstOpen(day: number, missed: number | null, frequency: Aggregation): number {
  const current = periodStart(day, frequency)
  return missed === null ? current : Math.max(current, nextPeriod(missed, frequency))
}

/** The streak before a journey, with the periods that were satisfied during the journey. */
function back(streak: StreakState, journey: Journey, to: number, frequency: Aggregation): StreakState {
  const { run: before, missed, spared, freezes, earned } = journey
  const periods = streak.run === null ? [] : periodsOf(streak.run, frequency)
  const ahead = periods.filter(({ kind, start }) => kind === 'e' && (before === null || start > before.last))
  const run = joined(
    before,
    ahead.map(({ start }) => start),
    { open: periodStart(to, frequency), extended: streak.run?.extended ?? null, frequency },
  )
  const wasSpared = streak.spared !== null && streak.spared >= journey.from && ahead.length > 0
  return {
    ...streak,
    ...{ missed, spared, freezes, earned },
    reached: to < journey.from ? journey.from : null,
    lent: wasSpared ? streak.spared : streak.lent,
    run: opened({ run, missed }, to, frequency),
    notified: latest(streak.notified, journey.notified),
  }
}

/** The later one of two days. Null is no day. */
export const latest = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other)
