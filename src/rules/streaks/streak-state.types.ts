import type { StreakFrequency } from '../../configuration/enumerations'
import type { Instant } from '../../lib/clock'

/**
 * A streak from its first period to the last settled one. Days are days since 1970-01-01, in the user's zone
 * at that time.
 */
export type StreakRun = {
  /**
   * First day of the period in which the streak began, as shown. A restored streak begins before its first
   * known period (S8).
   */
  started: number
  /** First days of the first and the last period in `history`. */
  first: number
  last: number
  /** The kinds of these periods (see period-history.rules.ts). */
  history: string
  /**
   * The greatest length that the streak had. It never falls while the streak lives. It includes a restored
   * length, even if the streak was lost without another period.
   */
  length: number
}

/** The streak that a user has now. Its length is above 0. */
export type LiveRun = StreakRun & {
  /** When it was last extended. Null if it was restored and not extended since. */
  extended: Instant | null
  /** When it was last restored. Absent if it never was. */
  restored?: Instant | undefined
}

/** A pause of the streak, from the day `start` to the day `end`, both included. */
export type Pause = { id: string; start: number; end: number }

/** The part of a user's row that is about the streak. It is never changed in place. */
export type StreakState = {
  /**
   * The frequency of its periods, or null if it has none. If it differs from the tenant's, the streak must be
   * counted again from the log (S9).
   */
  frequency: StreakFrequency | 'unknown' | null
  /** The epoch of the settings by which it was counted. */
  epoch: number
  /** Null if the length is 0. */
  run: LiveRun | null
  /** The number of freezes that the user has. */
  freezes: number
  /**
   * The local day of the user's creation, from which earned freezes are counted (S7). Null for users of older
   * versions.
   */
  born: number | null
  /**
   * The local day from which the next earned freeze is counted, in the user's zone then, and `since` of the
   * settings that applied. Null if none was earned.
   */
  earned: readonly [number, number] | null
  /**
   * The first day of the last missed period. Periods up to it stay closed, even if the user comes back to
   * them (S4).
   */
  missed: number | null
  /** The last day that travel spared, or null (S11). */
  spared: number | null
  /**
   * A spared day that is open again while the streak was extended beyond it. If the day is missed after all,
   * it counts as spared (S11).
   */
  lent: number | null
  /**
   * Sums of the changes of metrics in periods that are not satisfied, in millionths by metric id, and the
   * number of positive events as `ANY_METRIC`. By first day, the newest last.
   */
  sums: readonly PeriodSums[]
  /**
   * The pauses that were not over two days before the streak was last settled. A traveller may come back to
   * such a day (S11).
   */
  pauses: readonly Pause[]
  /** Changes of zone that moved the user to another date, the newest last (S4, S9, S11). */
  jumps: readonly Jump[]
  /** Journeys that skipped dates to which the user may still come back, the oldest first. */
  journeys: readonly Journey[]
  /**
   * All days before this one have ended for the user, even if a change of zone led back to one of them. Null
   * if no change of zone has led back since a streak began (S4, S11).
   */
  reached: number | null
  /**
   * The first day of the last period for which a journey, undone since, caused an event about a freeze or a
   * loss. Null for none.
   */
  notified: number | null
  /**
   * The last day whose earned freezes had an event, if a journey may undo or has undone that earning. Null
   * for none.
   */
  notifiedEarning: number | null
  /**
   * When the shown length last changed without an event or a midnight: the streak was restored, a journey was
   * undone, or the user switched the streak off or on. Null for never.
   */
  altered: Instant | null
  /** When the streak next changes by itself. Null for never. */
  due: Instant | null
}
/**
 * A change of zone that moved a user to another date: its moment in milliseconds, and the local days before
 * and after.
 */
export type Jump = readonly [at: number, from: number, to: number]
/**
 * A change of zone to a later date, with the fields of the streak that it may change, as they were before. If
 * the user comes back in time, they are so again (S11).
 */
export type Journey = {
  /** The moment of the change of zone. */
  since: Instant
  /** The first and the last day with a skipped end. */
  from: number
  until: number
  run: LiveRun | null
  missed: number | null
  spared: number | null
  freezes: number
  earned: readonly [number, number] | null
  /**
   * The first day of the last period for which an event about a freeze or a loss was sent since then. Null
   * for none.
   */
  notified: number | null
}
/** Stands for all metrics in the sums of a period. */
export const ANY_METRIC = '*'
export type PeriodSums = readonly [number, readonly (readonly [string, number])[]]

/** The streak of a user without any data about it. */
export const NO_STREAK: StreakState = {
  frequency: null,
  epoch: 0,
  run: null,
  freezes: 0,
  born: null,
  earned: null,
  missed: null,
  spared: null,
  lent: null,
  sums: [],
  pauses: [],
  jumps: [],
  journeys: [],
  reached: null,
  notified: null,
  notifiedEarning: null,
  altered: null,
  due: null,
}
