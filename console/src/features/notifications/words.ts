/** Notifications in words. */
import type { AdminNotificationTemplate, NotificationLogEntry } from '@laurel/client'

export const TYPES: Readonly<Record<AdminNotificationTemplate['type'], string>> = {
  streak_reminder: 'Streak reminder',
  achievement_completed: 'Completed achievement',
  recap: 'Recap',
  reactivation: 'Reactivation',
}

/** When each type is sent, in the user's zone. */
export const TIMES: Readonly<Record<AdminNotificationTemplate['type'], string>> = {
  streak_reminder: 'at 20:00, if the streak would end with the day',
  achievement_completed: 'at 17:00 after an achievement, or at once until 21:00',
  recap: 'at 09:00 after each week or month with events',
  reactivation: 'at 09:00, 3, 5, 7, 14 and 30 days after the last event',
}

export const CHANNELS: Readonly<Record<AdminNotificationTemplate['channel'], string>> = {
  email: 'email',
  push: 'push message',
}

/** The name of a template, such as "Recap by email". */
export const nameOf = ({ type, channel }: Pick<AdminNotificationTemplate, 'type' | 'channel'>): string =>
  `${TYPES[type]} by ${CHANNELS[channel]}`

export const TONES: Readonly<
  Record<NotificationLogEntry['status'], 'plain' | 'good' | 'warning' | 'danger'>
> = { pending: 'warning', sent: 'good', failed: 'danger', 'unsent: no provider': 'plain' }
