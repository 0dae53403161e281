import { Temporal } from 'temporal-polyfill'
import type { Configuration, Template } from '../config/configuration.types'
import type { EventType } from '../config/webhook-events.types'
import { BoundedMap } from '../lib/bounded'
import { civilDateOfDay } from '../lib/civil'
import { type Instant, instant } from '../lib/clock'
import { dayIn } from '../lib/zone'
import { listens } from './outbox.messages'

/** Users without a zone are in UTC (U1). */
export const UTC = 'UTC'

/** The webhook event for each type of notification that is due (N5). */
export const DUE_EVENTS = {
  achievement_completed: 'emails.achievement_due',
  recap: 'emails.recap_due',
  reactivation: 'emails.reactivation_due',
  streak_reminder: 'emails.streak_reminder_due',
} as const satisfies Record<Template['type'], EventType>

/** Whether a tenant sends a type of notification: a template is active, or a webhook listens (N5). */
export function tenantSends(config: Configuration, type: Template['type']): boolean {
  return (
    listens(config, DUE_EVENTS[type]) ||
    config.templates.some((template) => template.type === type && template.status === 'active')
  )
}

/** Cache of moments, by `zone|day|hour`. */
const moments = new BoundedMap<string, Instant>(10_000)

/**
 * The moment of a full hour on a local day of a zone. If a change of clocks skips that hour, the moment is
 * later by the skipped time (N2).
 */
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

const AFTERNOON_HOUR = 17
const NIGHT_HOUR = 21

/**
 * When a user is notified of an achievement that was completed at a moment: at 17:00 if the time is earlier,
 * at once until 21:00, else at 17:00 of the next day (N2). The times of all other types are in
 * src/features/notifications/schedule/schedule.rules.ts.
 */
export function completionMoment(at: Instant, zone: string): Instant {
  const day = dayIn(zone, at)
  const afternoon = momentOf(zone, day, AFTERNOON_HOUR)
  if (at < afternoon) return afternoon
  return at < momentOf(zone, day, NIGHT_HOUR) ? at : momentOf(zone, day + 1, AFTERNOON_HOUR)
}
