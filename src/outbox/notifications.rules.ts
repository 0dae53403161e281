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

/** The events by which webhooks hear of what is due (N5). */
export const DUE_EVENTS = {
  achievement_completed: 'emails.achievement_due',
  recap: 'emails.recap_due',
  reactivation: 'emails.reactivation_due',
  streak_reminder: 'emails.streak_reminder_due',
} as const satisfies Record<Template['type'], EventType>

/** Whether a template is active or a webhook listens, so that a type is wanted at all (N5). */
export function isWanted(config: Configuration, type: Template['type']): boolean {
  return (
    listens(config, DUE_EVENTS[type]) ||
    config.templates.some((template) => template.type === type && template.status === 'active')
  )
}

/** Moments by `zone|day|hour`. */
const moments = new BoundedMap<string, Instant>(10_000)

/** The moment at which clocks of a zone show a full hour on a local day; where that hour is skipped, as much later. */
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

const NOTICE = 17
const NIGHT = 21

/** When a user is told of an achievement completed at a moment: at 17:00 if that is still to come, at once until 21:00, else at 17:00 of the next day (N2). */
export function completionMoment(at: Instant, zone: string): Instant {
  const day = dayIn(zone, at)
  const afternoon = momentOf(zone, day, NOTICE)
  if (at < afternoon) return afternoon
  return at < momentOf(zone, day, NIGHT) ? at : momentOf(zone, day + 1, NOTICE)
}
