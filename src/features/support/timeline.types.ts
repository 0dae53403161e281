import { STREAK_ENTRY_KINDS } from '../../rules/streaks/streak-events.types'

/** The types of entries of a timeline (X2). */
export const TIMELINE_TYPES = [
  'event',
  'award',
  'level_changed',
  'achievement',
  'streak',
  'adjustment',
  'void',
  'notification',
  'change',
] as const
export type TimelineType = (typeof TIMELINE_TYPES)[number]

/** The kinds of entries about the streak. */
export const STREAK_CHANGES = [...STREAK_ENTRY_KINDS, 'lost'] as const
