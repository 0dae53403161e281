import { Temporal } from 'temporal-polyfill'
import type { EventType } from '../../configuration/enumerations'
import type { Configuration, Template } from '../../configuration/model'
import { BoundedMap } from '../../lib/bounded'
import { type Instant, instant } from '../../lib/clock'
import { civilDateOfDay, dayIn } from '../../lib/zone'
import { listens } from './outbox'

/** Users without a zone are in UTC (U1). */
export const UTC = 'UTC'

/** The webhook event for each type of notification that is due (N5). */
export const DUE_EVENTS = {
  achievement_completed: 'emails.achievement_due',
  recap: 'emails.recap_due',
  reactivation: 'emails.reactivation_due',
  streak_reminder: 'emails.streak_reminder_due',
} as const satisfies Record<Template['type'], EventType>

/** Notification types that come at a time of the user's day (N2), besides `achievement_completed`. */
export const SCHEDULED = ['recap', 'reactivation', 'streak_reminder'] as const

/** Whether a tenant sends a type of notification: a template is active, or a webhook listens (N5). */
export function tenantSends(config: Configuration, type: Template['type']): boolean {
  return (
    listens(config, DUE_EVENTS[type]) ||
    config.templates.some((template) => template.type === type && template.status === 'active')
  )
}

/** The local hours at which notifications come (N2). */
export const HOURS = {
  /** Recaps, reactivations, and reminders of weekly and monthly streaks. */
  morning: 9,
  completion: 17,
  reminder: 20,
  /** From here on, completions wait for the next day. */
  night: 21,
} as const

/** Days from the first day of a period to the day of its reminder: Fridays, and the 25th (N2). */
export const REMINDER_DAY = { daily: 0, weekly: 4, monthly: 24 } as const

/** Days without an event after which a user is notified, by the number of the message (N2). */
export const REACTIVATION_DAYS = [3, 5, 7, 14, 30] as const

/** Cache of moments, by `zone|day|hour`. */
const moments = new BoundedMap<string, Instant>(10_000)

/** The moment of a full local hour, later by the skipped time if a change of clocks skips it (N2). */
export function momentOf(zone: string, day: number, hour: number): Instant {
  const key = `${zone}|${day}|${hour}`
  const known = moments.get(key)
  if (known !== undefined) return known
  const date = Temporal.PlainDate.from(civilDateOfDay(day))
  const zoned = date.toZonedDateTime({ timeZone: zone, plainTime: Temporal.PlainTime.from({ hour }) })
  const at = instant(zoned.epochMilliseconds)
  moments.set(key, at)
  return at
}

/** When a user learns of a completion: at 17:00, but at once from then to 21:00, or tomorrow (N2). */
export function completionMoment(at: Instant, zone: string): Instant {
  const day = dayIn(zone, at)
  const afternoon = momentOf(zone, day, HOURS.completion)
  if (at < afternoon) return afternoon
  return at < momentOf(zone, day, HOURS.night) ? at : momentOf(zone, day + 1, HOURS.completion)
}
