import type { NotificationType } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { type Aggregation, dayIn, LAST_DAY, nextPeriod, periodStart } from '../../lib/zone'
import type { UserState } from '../../rules/state'
import { type Pause, termsOf } from '../../rules/streaks/streak-state.rules'
import { firstUnsafePeriod, isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import {
  DUE_EVENTS,
  HOURS,
  momentOf,
  REACTIVATION_DAYS,
  REMINDER_DAY,
  SCHEDULED,
  tenantSends,
  UTC,
} from '../../webhooks/outbox/notifications.rules'
import { listens } from '../../webhooks/outbox/outbox'
import { type Addressee, userWants } from './notification'

export type Scheduled = (typeof SCHEDULED)[number]

/** How often each type comes; null if nothing listens to it (N5). */
export type Timetable = Record<Scheduled, Aggregation | null>

/** The timetable of a configuration (N2, N5). */
export function timetableOf(config: Configuration): Timetable {
  const { settings, streaks } = config
  return {
    recap: tenantSends(config, 'recap') ? settings.aggregationPeriod : null,
    reactivation: tenantSends(config, 'reactivation') ? 'daily' : null,
    streak_reminder: tenantSends(config, 'streak_reminder') && streaks.enabled ? streaks.frequency : null,
  }
}

/** Whether the timetable has no type. */
export const isEmpty = (timetable: Timetable): boolean => SCHEDULED.every((type) => timetable[type] === null)

/** The types that are new or have another rhythm. What was due before the change is not sent. */
export function newlyWanted(before: Timetable, after: Timetable): Scheduled[] {
  return SCHEDULED.filter((type) => after[type] !== null && after[type] !== before[type])
}

/** The local hour at which a type comes (N2). */
const hourOf = (type: Scheduled, rhythm: Aggregation) =>
  type === 'streak_reminder' && rhythm === 'daily' ? HOURS.reminder : HOURS.morning

/** Days from the first day of a period to the day on which a type comes: recaps on the first day (N2). */
const leadOf = (type: Scheduled, rhythm: Aggregation) =>
  type === 'streak_reminder' ? REMINDER_DAY[rhythm] : 0

/** The first day on which a type comes, from `day` on, in days since 1970-01-01. */
function dayFrom(type: Scheduled, rhythm: Aggregation, day: number): number {
  const start = periodStart(day, rhythm)
  const lead = leadOf(type, rhythm)
  return start + lead >= day ? start + lead : nextPeriod(start, rhythm) + lead
}

/** The first moment after `after` at which a type comes in one of these zones; null if there is none. */
export function nextMoment(timetable: Timetable, zones: readonly string[], after: Instant): Instant | null {
  let next: Instant | null = null
  for (const zone of zones) {
    for (const type of SCHEDULED) {
      const rhythm = timetable[type]
      if (rhythm === null) continue
      const at = nextIn(zone, type, rhythm, after)
      if (at !== null && (next === null || at < next)) next = at
    }
  }
  return next
}

function nextIn(zone: string, type: Scheduled, rhythm: Aggregation, after: Instant): Instant | null {
  let day = dayIn(zone, after)
  for (;;) {
    day = dayFrom(type, rhythm, day)
    if (day > LAST_DAY) return null
    const at = momentOf(zone, day, hourOf(type, rhythm))
    if (at > after) return at
    day += 1
  }
}

/** A zone in which types come at a moment, with the local day (since 1970-01-01) and the local hour. */
export type Slot = { zone: string; day: number; hour: number; types: readonly Scheduled[] }

/** The zones in which types come at a moment. A type that was added later is sent after its `since`. */
export function slotsAt(
  timetable: Timetable,
  zones: readonly string[],
  at: Instant,
  since: { readonly [type in Scheduled]?: number | undefined } = {},
): Slot[] {
  return zones.flatMap((zone) => {
    const day = dayIn(zone, at)
    const types = SCHEDULED.filter((type) => {
      const rhythm = timetable[type]
      if (rhythm === null || at <= (since[type] ?? 0)) return false
      return dayFrom(type, rhythm, day) === day && momentOf(zone, day, hourOf(type, rhythm)) === at
    })
    const [first] = types
    const rhythm = first === undefined ? null : timetable[first]
    if (first === undefined || rhythm === null) return []
    return [{ zone, day, hour: hourOf(first, rhythm), types }]
  })
}

type Traveller = Pick<UserState, 'leftZones' | 'profile'>

/** The zone in which a user was just before a moment. */
export const zoneBefore = ({ leftZones, profile }: Traveller, at: number): string =>
  leftZones.find(([when]) => when >= at)?.[1] ?? profile.tz ?? UTC

/**
 * The slots of the types with an hour that a user's change of zone at a moment skipped, while they are of
 * use: a reminder until its period ends, other types on the same date (N2).
 */
export function slotsSkipped(timetable: Timetable, user: Traveller, at: Instant): Slot[] {
  const [from, zone] = [zoneBefore(user, at), zoneBefore(user, at + 1)]
  const today = dayIn(zone, at)
  return SCHEDULED.flatMap((type) => {
    const rhythm = timetable[type]
    if (rhythm === null) return []
    const day = periodStart(today, rhythm) + leadOf(type, rhythm)
    const hour = hourOf(type, rhythm)
    const isSkipped = momentOf(zone, day, hour) <= at && at < momentOf(from, day, hour)
    const isOfUse = type === 'streak_reminder' || day === today
    return isSkipped && isOfUse ? [{ zone, day, hour, types: [type] }] : []
  })
}

/** The week or month that ended just before `day` (N2). */
export function recapPeriod(day: number, rhythm: Aggregation): { start: number; end: number } {
  const end = periodStart(day, rhythm) - 1
  return { start: periodStart(end, rhythm), end }
}

/**
 * The number of the message for a user who was last active on `activeDay`, and the days since; null if none
 * is due. After a pause, the number depends on the days since its end (N2).
 */
export function absence(
  activeDay: number | null,
  day: number,
  pauses: readonly Pause[] = [],
): { number: number; days: number } | null {
  if (activeDay === null) return null
  const begun = pauses.filter(({ start }) => start <= day)
  const since = Math.max(activeDay, ...begun.map(({ end }) => end))
  const index = REACTIVATION_DAYS.findIndex((days) => since + days === day)
  return index === -1 ? null : { number: index + 1, days: day - activeDay }
}

/**
 * Whether a streak ends after the current period unless it is extended (N2). A pause on a day of the period, or
 * a day off, keeps it. A freeze would be used up, so a reminder is needed.
 */
export function isInDanger(
  config: Configuration,
  user: Pick<UserState, 'created' | 'streak' | 'preferences' | 'profile'>,
  at: Instant,
): boolean {
  const terms = termsOf(config, user.preferences)
  if (!terms.isOn || isStale(user.streak, terms)) return false
  const today = dayIn(user.profile.tz, at)
  const { streak } = streakAsOf(user, terms, today, at)
  return (
    streak.run !== null &&
    firstUnsafePeriod({ ...user, streak }, terms, today) === periodStart(today, terms.frequency)
  )
}

/** Whether webhooks get the event of this type. It needs no address of the user, and no template (N5). */
export function isSentByWebhook(
  config: Pick<Configuration, 'webhooks'>,
  user: Addressee,
  type: NotificationType,
): boolean {
  return (
    !user.control &&
    user.profile.subscribeToEmails &&
    userWants(user, type, 'email') &&
    listens(config, DUE_EVENTS[type])
  )
}
