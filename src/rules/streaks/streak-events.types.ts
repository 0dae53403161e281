import type { Pause } from './streak-state.types'

/** A webhook event about a streak (W6). Lists of them are in the order in which they happened. */
export type StreakEvent =
  /** `length` is the length to which the streak was extended. */
  | { kind: 'started' | 'extended'; length: number }
  | { kind: 'lost'; length: number }
  /** There is one for each period that a freeze saved. `freezes` is the number of freezes afterwards. */
  | { kind: 'freeze_consumed'; freezes: number }
  | { kind: 'freeze_earned'; earned: number; freezes: number }

/** The lengths to which events extended a streak, in order. */
export const extensionsOf = (streakEvents: readonly StreakEvent[]): number[] =>
  streakEvents.flatMap((one) => (one.kind === 'started' || one.kind === 'extended' ? [one.length] : []))

/** No webhook events. */
export const NO_STREAK_EVENTS: readonly StreakEvent[] = []

/** The kinds of entries about the streak in a user's history, besides `lost` (X2). */
export const STREAK_ENTRY_KINDS = [
  'started',
  'extended',
  'freeze_earned',
  'freeze_consumed',
  'paused',
  'pause_deleted',
  'restored',
] as const

/**
 * An entry about the streak in a user's history (X2). `length` is the length after it, and `freezes` is the
 * number of freezes after it.
 */
export type StreakEntry =
  | { kind: 'started' | 'extended' | 'restored'; length: number }
  | { kind: 'freeze_earned'; earned: number; freezes: number }
  | { kind: 'freeze_consumed'; freezes: number }
  | { kind: 'paused' | 'pause_deleted'; pause: Pause }
