/** A webhook event about a streak (W6). Lists of them are in the order in which they happened. */
export type StreakEvent =
  | { kind: 'started' | 'extended' }
  | { kind: 'lost'; length: number }
  /** There is one for each period that a freeze saved. `freezes` is the number of freezes afterwards. */
  | { kind: 'freeze_consumed'; freezes: number }
  | { kind: 'freeze_earned'; earned: number; freezes: number }

/** No webhook events. */
export const NO_STREAK_EVENTS: readonly StreakEvent[] = []
