import { type Frequency, localAt, offsetIn, periodOf, plusDays, plusPeriods } from './calendar.oracle'

/**
 * The times and kinds of a user's scheduled notifications, by rule N2 alone. Imports nothing from the
 * service. It goes through all quarters of an hour, and reads the user's local clock at each.
 */

/** An input of a user: a change of zone (null is UTC), or an event. In order of time. */
export type UserAction = { at: number } & ({ do: 'zone'; zone: string | null } | { do: 'event' })

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
  const first = actions[0]?.at ?? until
  for (
    let at = (Math.floor(Math.max(times.since, first) / QUARTER) + 1) * QUARTER;
    at <= until;
    at += QUARTER
  ) {
    // An input at this exact moment counts as later.
    const zone = zoneBefore(actions, at)
    const { date, time } = localAt(at, offsetIn(zone, at))
    if (!time.endsWith(':00:00.000')) continue
    for (const reason of occasionsAt(times, actions, at, date, time.slice(0, 2), streakAt)) {
      const key = `${reason.type} ${date}`
      if (had.has(key)) continue
      had.add(key)
      reasons.push(reason)
    }
  }
  return reasons
}

function zoneBefore(actions: readonly UserAction[], at: number): string {
  let zone = 'UTC'
  for (const action of actions) if (action.at < at && action.do === 'zone') zone = action.zone ?? 'UTC'
  return zone
}

/** The local dates of events before a moment, each in the user's zone at the event (E8). */
function datesBefore(actions: readonly UserAction[], at: number): string[] {
  return actions.flatMap((action, n) => {
    if (action.do !== 'event' || action.at >= at) return []
    let zone = 'UTC'
    for (const before of actions.slice(0, n)) if (before.do === 'zone') zone = before.zone ?? 'UTC'
    return [localAt(action.at, offsetIn(zone, action.at)).date]
  })
}

function occasionsAt(
  { recap, streak }: OracleTimes,
  actions: readonly UserAction[],
  at: number,
  date: string,
  hour: string,
  streakAt: (at: number) => ShownStreak,
): OracleReason[] {
  const found: OracleReason[] = []
  const dates = datesBefore(actions, at)
  const last = dates.at(-1)
  if (hour === '09' && last !== undefined) {
    const away = AWAY.findIndex((days) => plusDays(last, days) === date)
    if (away !== -1)
      found.push({
        at,
        date,
        type: 'reactivation',
        messageNumber: away + 1,
        daysSinceLastActive: AWAY[away] ?? 0,
      })
  }
  if (hour === '09' && recap !== 'none' && periodOf(date, recap) === date) {
    const periodStart = plusPeriods(date, -1, recap)
    const periodEnd = plusDays(date, -1)
    if (dates.some((one) => periodStart <= one && one <= periodEnd))
      found.push({ at, date, type: 'recap', periodStart, periodEnd })
  }
  if (isReminderTime(streak, date, hour)) {
    const { length, expires, periodEnd } = streakAt(at)
    // The streak expires with the current period if that period is not satisfied yet (S5).
    if (length > 0 && expires === periodEnd) found.push({ at, date, type: 'streak_reminder', length })
  }
  return found
}

function isReminderTime(frequency: Frequency, date: string, hour: string): boolean {
  if (frequency === 'daily') return hour === '20'
  if (hour !== '09') return false
  return frequency === 'weekly' ? plusDays(periodOf(date, 'weekly'), 4) === date : date.endsWith('-25')
}
