/** What happened to a streak that webhooks are told of (W6), in the order in which it happened. */
export type StreakEvent =
  | { kind: 'started' | 'extended' }
  | { kind: 'lost'; length: number }
  /** One for each period that it saved; `freezes` are those in hand afterwards. */
  | { kind: 'freeze_consumed'; freezes: number }
  | { kind: 'freeze_earned'; earned: number; freezes: number }

/** Nothing that anybody is told of. */
export const NO_STREAK_EVENTS: readonly StreakEvent[] = []
