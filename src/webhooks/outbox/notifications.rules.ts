import type { Configuration, Template } from '../../configuration/configuration.types'
import type { EventType } from '../../configuration/webhook-events.types'
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

/**
 * The notification types that come at a time of the user's day (N2). When `achievement_completed` comes is in
 * `completionMoment` in notification-times.rules.ts.
 */
export const SCHEDULED = ['recap', 'reactivation', 'streak_reminder'] as const

/** Whether a tenant sends a type of notification: a template is active, or a webhook listens (N5). */
export function tenantSends(config: Configuration, type: Template['type']): boolean {
  return (
    listens(config, DUE_EVENTS[type]) ||
    config.templates.some((template) => template.type === type && template.status === 'active')
  )
}
