import type { StreakFrequency } from '../../config/enumerations.types'
import type { Instant } from '../../lib/clock'

/** A streak from its first period to the last that is settled. Days are days since 1970-01-01 in the user's zone of then. */
export type StreakRun = {
  /** First day of the period in which it began, as shown: a restored one begins before what is known of it (S8). */
  started: number
  /** First days of the first and the last period that `marks` speak of. */
  first: number
  last: number
  /** What these periods were (see marks.ts). */
  history: string
  /** Its length, which never falls while it lives: the greatest that it had, also where it was restored and lost without a period more. */
  length: number
}

/** The streak that a user has: its length is above 0. */
export type LiveRun = StreakRun & {
  /** When it was last extended; null where it was restored and not extended since. */
  extended: Instant | null
  /** When it was last restored; absent where it never was. */
  restored?: Instant | undefined
}

/** Days from `start` to `end`, both included, on which the streak is paused. */
export type Pause = { id: string; start: number; end: number }

/** What of a user's row concerns the streak. It is never changed in place. */
export type StreakState = {
  /** The frequency of which its periods are; null while it has none. Another one than the tenant's means that the log is to be asked (S9). */
  frequency: StreakFrequency | 'unknown' | null
  /** The epoch of the settings of which they are. */
  epoch: number
  /** Null where the length is 0. */
  run: LiveRun | null
  /** Freezes in hand. */
  freezes: number
  /** The local day on which the user was created, from which earnings are counted (S7); null of users of before. */
  born: number | null
  /** The local day from which the next earning is counted, in the zone of then, and `since` of the settings by which it is; null where none was. */
  earned: readonly [number, number] | null
  /** The first day of the last period that was missed: nothing up to it counts any more, should the user come back to it (S4). */
  missed: number | null
  /** The last day that travel spared (S11); null for none. */
  spared: number | null
  /** A day that is open again after it was spared, if the streak was extended beyond it: it was spared if it is missed after all (S11). */
  lent: number | null
  /** Sums of metrics' changes, in millionths by metric id, in periods that are not satisfied; by first day, the newest last. */
  sums: readonly PeriodSums[]
  /** Those that were not over two days before the streak was last settled: a traveller may come back to such a day (S11). */
  pauses: readonly Pause[]
  /** Changes of zone that took the user to another date, the newest last: when, and the days before and after (S4, S9, S11). */
  jumps: readonly Jump[]
  /** Journeys from which the user may still come back to a date that they skipped, the oldest first. */
  journeys: readonly Journey[]
  /**
   * All days before this one have ended for the user, also if a change of zone led back to one of them. Null if no change of zone has
   * led back since a streak began (S4, S11).
   */
  reached: number | null
  /** The first day of the last period of which a journey that was undone has told that it took a freeze or the streak; null for none. */
  notified: number | null
  /**
   * When the length that is shown last changed other than by an event or a midnight: switched off or on, or a journey undone. Null for
   * never.
   */
  altered: Instant | null
  /** When something happens by itself next; null for never. */
  due: Instant | null
}
/** When a change of zone took a user to another date, in milliseconds, and the local days before and after. */
export type Jump = readonly [at: number, from: number, to: number]
/** A change of zone to a later date, and what it may change of the streak, as that was before: it is so again if the user comes back in time (S11). */
export type Journey = {
  /** When it began. */
  since: Instant
  /** The first and the last day of which it skipped the end. */
  from: number
  until: number
  run: LiveRun | null
  missed: number | null
  spared: number | null
  freezes: number
  earned: readonly [number, number] | null
  /** The first day of the last period of which was told, since then, that it took a freeze or the streak; null for none. */
  notified: number | null
}
export type PeriodSums = readonly [number, readonly (readonly [string, number])[]]

/** The streak of someone of whom nothing is known that concerns it. */
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
  altered: null,
  due: null,
}
