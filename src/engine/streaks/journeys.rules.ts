import type { Aggregation } from '../../lib/civil'
import { type Instant, instant } from '../../lib/clock'
import { nextPeriod, periodStart } from '../../lib/periods'
import { LAST_OFFSET } from '../../lib/units'
import { localDay } from '../../lib/zone'
import { periodsOf } from './history.rules'
import { marked, parseHistory } from './period-history.rules'
import type { Journey, Jump, LiveRun, StreakState } from './streak-state.types'

/** The most changes of date by a change of zone that are remembered. */
const MOST_JUMPS = 100
/** In so many days in a row travel spares at most one (S11). */
const SPARED_ONCE_IN = 7

/** How many days before the local date somebody may come back to by a change of zone: zones are at most 26 hours apart. */
export const DAYS_BACK = 2

/** Whether every zone has left a day behind at a moment. */
const isOverEverywhere = (day: number, at: number): boolean => localDay(at, LAST_OFFSET) > day

/** When the end of a day was skipped by a change of zone to a later date; null if it was not, or if the user has come back to it. */
export function skippedAt(jumps: readonly Jump[], day: number): number | null {
  const last = jumps.findLast(([, from, to]) => (from < to ? from <= day && day < to : to <= day))
  return last === undefined || last[2] < last[1] ? null : last[0]
}

/** Whether travel may spare a day that was skipped: a day of a daily streak, if none of the six before was spared (S4, S11). */
export const maySpare = (day: number, spared: number | null, frequency: Aggregation): boolean =>
  // No journey skips every date of a week or month: two in a row can't be skipped without a moment in between.
  frequency === 'daily' && (spared === null || day - spared >= SPARED_ONCE_IN)

/** A streak up to its first open period, null if there is nothing before that, and the satisfied periods after it, by first day. */
export function untilOpen(
  run: LiveRun,
  frequency: Aggregation,
): { known: LiveRun | null; open: number | null; ahead: number[] } {
  const periods = run.history.includes('o') ? periodsOf(run, frequency) : []
  const index = periods.findIndex(({ mark }) => mark === 'o')
  const open = periods[index]
  if (open === undefined) return { known: run, open: null, ahead: [] }
  const ahead = periods.flatMap(({ mark, start }, n) => (n > index && mark === 'e' ? [start] : []))
  const last = periods[index - 1]
  if (last === undefined) return { known: null, open: open.start, ahead }
  const parts = parseHistory(run.history)
  const before = parts.slice(
    0,
    parts.findIndex(([, mark]) => mark === 'o'),
  )
  const history = before.map(([count, mark]) => `${count}${mark}`).join('')
  const known = { ...run, last: last.start, history, length: run.length - ahead.length }
  return { known, open: open.start, ahead }
}

/**
 * A streak with later periods that are satisfied, by first day in order; those between are open. Where there is none before, they are
 * open from `open` on.
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
 * A settled streak after its user has come by a change of zone, at a moment, from one date to another: to be settled in the new zone.
 * What a journey to a later date skips is over (S4). If the user comes back to such a date, all is as it was before the journey, but for
 * what the user did meanwhile. A date that had ended for the user before is not skipped, and stays over (S11). `activeDay`: the day of
 * the last event, or null.
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
  // Nobody need know of a journey that was undone and on which nothing was done.
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
  // There may be others of the same moment.
  const index = jumps.findLastIndex((jump) => jump[0] === since && jump[1] <= from && from < jump[2])
  const before = jumps.slice(0, Math.max(0, index))
  const home = jumps[index]?.[1] ?? from
  return to === home ? before : remembered(before, [at, home, to])
}

function begun(streak: StreakState, [at, from, to]: Jump): Journey {
  const { run, missed, spared, freezes, earned } = streak
  return { since: instant(at), from, until: to - 1, run, missed, spared, freezes, earned, notified: null }
}

/** A run that has nothing but later periods, open from a day on to which its user has come back. */
function opened(
  { run, missed }: Pick<StreakState, 'run' | 'missed'>,
  day: number,
  frequency: Aggregation,
): LiveRun | null {
  if (run === null) return null
  const { known, open, ahead } = untilOpen(run, frequency)
  if (known !== null || open === null) return run
  const current = periodStart(day, frequency)
  const first = missed === null ? current : Math.max(current, nextPeriod(missed, frequency))
  return joined(null, ahead, { open: first, extended: run.extended, frequency })
}

/** The streak of before a journey, with the periods that were satisfied meanwhile. */
function back(streak: StreakState, journey: Journey, to: number, frequency: Aggregation): StreakState {
  const { run: before, missed, spared, freezes, earned } = journey
  const periods = streak.run === null ? [] : periodsOf(streak.run, frequency)
  const ahead = periods.filter(({ mark, start }) => mark === 'e' && (before === null || start > before.last))
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

/** The later one of two days; null for none. */
export const latest = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other)
