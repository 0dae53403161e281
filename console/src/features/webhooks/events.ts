import type { AdminWebhook } from '@laurel/client'

/** A type of event. */
export type EventType = Exclude<AdminWebhook['events'][number], '*'>

/** The types of events, each with its meaning. */
export const EVENTS: Readonly<Record<EventType, string>> = {
  'achievement.completed': 'An achievement was completed',
  'points.changed': 'Points changed',
  'points.level_changed': 'A level changed',
  'points.boost_started': 'A boost began',
  'points.boost_finished': 'A boost ended',
  'streak.started': 'A streak began',
  'streak.extended': 'A streak grew',
  'streak.lost': 'A streak was lost',
  'streak.freeze_consumed': 'A freeze was used',
  'streak.freeze_earned': 'A freeze was earned',
  'leaderboard.started': 'A run of a leaderboard began',
  'leaderboard.changed': 'The top of a leaderboard changed',
  'leaderboard.rank_changed': 'The rank of a user changed',
  'leaderboard.finished': 'A run of a leaderboard is final',
  'emails.achievement_due': 'Time for an email about an achievement',
  'emails.streak_reminder_due': 'Time for an email about the streak',
  'emails.reactivation_due': 'Time for an email to an absent user',
  'emails.recap_due': 'Time for an email with a recap',
}

/** Whether a text is a known type of event. */
export const isEventType = (given: string): given is EventType => Object.hasOwn(EVENTS, given)
/** All types of events. */
export const EVENT_TYPES = Object.keys(EVENTS).filter(isEventType)
