/** The types of webhook events (W2). */
export const EVENT_TYPES = [
  'achievement.completed',
  'emails.achievement_due',
  'emails.reactivation_due',
  'emails.recap_due',
  'emails.streak_reminder_due',
  'leaderboard.changed',
  'leaderboard.finished',
  'leaderboard.rank_changed',
  'leaderboard.started',
  'points.boost_finished',
  'points.boost_started',
  'points.changed',
  'points.level_changed',
  'streak.extended',
  'streak.freeze_consumed',
  'streak.freeze_earned',
  'streak.lost',
  'streak.started',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** Means all types, including types of later versions (W1). */
export const ANY_EVENT = '*'

/** The values that a webhook may subscribe to (W1). */
export const SUBSCRIPTIONS = [...EVENT_TYPES, ANY_EVENT] as const

export type Subscription = (typeof SUBSCRIPTIONS)[number]

/** Each type once, in the order given; `*` includes all others (W1). */
export function subscriptions(given: readonly Subscription[]): Subscription[] {
  return given.includes(ANY_EVENT) ? [ANY_EVENT] : [...new Set(given)]
}
