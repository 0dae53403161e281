import { type Frequency, localAt, offsetIn, periodOf, plusDays, plusPeriods } from './calendar.oracle'

/**
 * The times and kinds of a user's scheduled notifications, by rule N2 alone. Imports nothing from the
 * service. It goes through all quarters of an hour and all changes of zone, and reads the user's local clock
 * at each.
 */

/**
 * An input of a user: a change of zone (null is UTC), an event, which may be voided at a moment, or a pause.
 * In order of time.
 */
export type UserAction = { at: number } & (
  | { do: 'zone'; zone: string | null }
  | { do: 'event'; value: number; voided?: number }
  | { do: 'pause'; start: string; end: string }
)

/** The data of a streak at a moment (S5). */
export type ShownStreak = { length: number; periodEnd: string | null; expires: string | null }

export type OracleTimes = {
  recap: 'none' | 'weekly' | 'monthly'
  streak: Frequency
  /** The moment from which the user wants notifications. */
  since: number
}

/** A notification, its moment and its local date. */
export type OracleReason = { at: number; date: string } & (
  | { type: 'recap'; periodStart: string; periodEnd: string }
  | { type: 'reactivation'; messageNumber: number; daysSinceLastActive: number }
  | { type: 'streak_reminder'; length: number }
)

const QUARTER = 15 * 60_000
const AWAY = [3, 5, 7, 14, 30]
const TYPES = ['reactivation', 'recap', 'streak_reminder'] as const
type Type = (typeof TYPES)[number]

/**
 * All notifications of a user up to a moment, in order of time. `streakAt` returns the streak just before a
 * moment's inputs.
 */
export function reasonsOf(
  times: OracleTimes,
  actions: readonly UserAction[],
  until: number,
  streakAt: (at: number) => ShownStreak,
): OracleReason[] {
  const reasons: OracleReason[] = []
  const had = new Set<string>()
  const notify = (at: number, type: Type, date: string, asOf: number) => {
    const reason = occasion(times, actions, { at, type, date }, asOf, streakAt)
    if (reason === null || had.has(`${type} ${date}`)) return
    had.add(`${type} ${date}`)
    reasons.push(reason)
  }
  const first = actions[0]?.at ?? until
  const from = Math.max(times.since, first)
  const moments = new Set(actions.filter((one) => one.do === 'zone').map(({ at }) => at))
  for (let at = (Math.floor(from / QUARTER) + 1) * QUARTER; at <= until; at += QUARTER) moments.add(at)
  for (const at of [...moments].filter((one) => one > from && one <= until).sort((a, b) => a - b)) {
    // An input at this exact moment counts as later.
    const before = clockOf(zoneBefore(actions, at), at)
    const after = clockOf(zoneBefore(actions, at + 1), at)
    for (const type of TYPES) {
      if (isTime(times, type, before.date, before.time)) notify(at, type, before.date, at)
      // The hours that a change of zone skips.
      for (let date = before.date; date <= after.date; date = plusDays(date, 1)) {
        const isOfUse =
          type === 'streak_reminder'
            ? periodOf(date, times.streak) === periodOf(after.date, times.streak)
            : date === after.date
        const isSkipped = (time: string) =>
          `${before.date} ${before.time}` < `${date} ${time}` &&
          `${date} ${time}` <= `${after.date} ${after.time}`
        const hasTime = ['09:00:00.000', '20:00:00.000'].some(
          (time) => isSkipped(time) && isTime(times, type, date, time),
        )
        if (isOfUse && hasTime) notify(at, type, date, at + 1)
      }
    }
  }
  return reasons
}

const clockOf = (zone: string, at: number) => localAt(at, offsetIn(zone, at))

function zoneBefore(actions: readonly UserAction[], at: number): string {
  let zone = 'UTC'
  for (const action of actions) if (action.at < at && action.do === 'zone') zone = action.zone ?? 'UTC'
  return zone
}

/**
 * The local dates and values of events before a moment that were not voided by then. Each date is in the
 * user's zone at the event (E8).
 */
function eventsBefore(actions: readonly UserAction[], at: number): { date: string; value: number }[] {
  return actions.flatMap((action, n) => {
    if (action.do !== 'event' || action.at >= at || (action.voided ?? at) < at) return []
    let zone = 'UTC'
    for (const before of actions.slice(0, n)) if (before.do === 'zone') zone = before.zone ?? 'UTC'
    return [{ date: clockOf(zone, action.at).date, value: action.value }]
  })
}

/** True if a type comes at a time of a local date. */
function isTime({ recap, streak }: OracleTimes, type: Type, date: string, time: string): boolean {
  const isDaily = type === 'streak_reminder' && streak === 'daily'
  if (time !== (isDaily ? '20:00:00.000' : '09:00:00.000')) return false
  if (type === 'recap') return recap !== 'none' && periodOf(date, recap) === date
  if (type === 'reactivation' || isDaily) return true
  return streak === 'weekly' ? plusDays(periodOf(date, 'weekly'), 4) === date : date.endsWith('-25')
}

/** The notification of a type that is due at a moment for a local date, as of a moment; null for none. */
function occasion(
  { recap }: OracleTimes,
  actions: readonly UserAction[],
  { at, type, date }: { at: number; type: Type; date: string },
  asOf: number,
  streakAt: (at: number) => ShownStreak,
): OracleReason | null {
  const events = eventsBefore(actions, asOf)
  if (type === 'reactivation') {
    const last = events.at(-1)?.date
    if (last === undefined) return null
    const ends = actions.flatMap((one) =>
      one.do === 'pause' && one.at < asOf && one.start <= date ? [one.end] : [],
    )
    const since = [last, ...ends].sort().at(-1) ?? last
    const messageNumber = AWAY.findIndex((days) => plusDays(since, days) === date) + 1
    const daysSinceLastActive = Math.round((Date.parse(date) - Date.parse(last)) / 86_400_000)
    return messageNumber === 0 ? null : { at, date, type, messageNumber, daysSinceLastActive }
  }
  if (type === 'recap') {
    if (recap === 'none') return null
    const periodStart = plusPeriods(date, -1, recap)
    const periodEnd = plusDays(date, -1)
    const isActive = events.some((one) => one.value !== 0 && periodStart <= one.date && one.date <= periodEnd)
    return isActive ? { at, date, type, periodStart, periodEnd } : null
  }
  const { length, expires, periodEnd } = streakAt(asOf)
  // The streak expires with the current period if that period is not satisfied yet (S5).
  const isInDanger = length > 0 && expires === periodEnd
  return isInDanger ? { at, date, type, length } : null
}
