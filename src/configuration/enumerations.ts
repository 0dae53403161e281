import { AGGREGATIONS } from '../lib/zone'

/*
 * Every enumeration of a tenant's configuration, each once. Tables, schemas and rules take their values from
 * here. If a value is added, the type check names every switch and every record that must handle it. The types
 * of triggers have a file of their own.
 */

/** The units of the interval of a time trigger (P4). */
export const TIME_UNITS = ['hours', 'days'] as const
export type TimeUnit = (typeof TIME_UNITS)[number]

/** The states of resources that are either on or off: points triggers, webhooks and templates. */
export const SWITCH_STATUSES = ['active', 'inactive'] as const

/** The states of a boost (P5). */
export const BOOST_STATUSES = ['active', 'scheduled', 'finished'] as const
export type BoostStatus = (typeof BOOST_STATUSES)[number]

/** The moments of a boost that webhooks are notified of (W6). */
export const BOOST_MOMENTS = ['started', 'finished'] as const
export type BoostMoment = (typeof BOOST_MOMENTS)[number]

/** The values by which a leaderboard can rank users (L1). */
export const RANK_BY = ['points', 'streak', 'metric'] as const
export type RankBy = (typeof RANK_BY)[number]

/** The states of a leaderboard (L7). */
export const LEADERBOARD_STATUSES = ['inactive', 'active', 'scheduled', 'finished'] as const

/** The units of the length of a leaderboard's runs (L2). */
export const RUN_UNITS = ['day', 'month', 'year'] as const
export type RunUnit = (typeof RUN_UNITS)[number]

/** The states of an achievement (A1). */
export const ACHIEVEMENT_STATUSES = ['inactive', 'active', 'locked'] as const

/** How often a streak must be extended (S1). */
export const STREAK_FREQUENCIES = AGGREGATIONS
export type StreakFrequency = (typeof STREAK_FREQUENCIES)[number]

/** Whether all of a streak's metrics must reach their thresholds, or only one (S1). */
export const EVALUATION_MODES = ['OR', 'AND'] as const

export const ATTRIBUTE_TYPES = ['user', 'event'] as const
export type AttributeType = (typeof ATTRIBUTE_TYPES)[number]

/** The keys that may set an attribute on users: admin keys only, or users' own keys too (K7). */
export const ATTRIBUTE_WRITERS = ['admin', 'user'] as const

export const METRIC_UNIT_TYPES = ['number', 'currency'] as const

/** How often recaps come (T4). */
export const AGGREGATION_PERIODS = ['weekly', 'monthly'] as const
export type AggregationPeriod = (typeof AGGREGATION_PERIODS)[number]

/** The fonts of a brand (T4). */
export const FONTS = [
  'MODERN_SANS',
  'BOOK_SANS',
  'ORGANIC_SANS',
  'GEOMETRIC_SANS',
  'HEAVY_SANS',
  'ROUNDED_SANS',
  'MODERN_SERIF',
  'BOOK_SERIF',
  'MONOSPACE',
] as const
export type Font = (typeof FONTS)[number]

/** The types of notifications (N1). */
export const NOTIFICATION_TYPES = [
  'achievement_completed',
  'recap',
  'reactivation',
  'streak_reminder',
] as const
export type NotificationType = (typeof NOTIFICATION_TYPES)[number]

/** The channels of notifications (N1). */
export const NOTIFICATION_CHANNELS = ['email', 'push'] as const
export type NotificationChannel = (typeof NOTIFICATION_CHANNELS)[number]

/** The types of entries in the ledger that no trigger made (V5). */
export const CORRECTION_TYPES = ['adjustment', 'reversal'] as const
export type CorrectionType = (typeof CORRECTION_TYPES)[number]

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
