import type { Boost } from '../config/configuration.types'
import type { BoostStatus } from '../config/enumerations.types'
import type { Preferences } from '../config/preferences.types'
import type { Instant } from '../lib/clock'
import type { Micros, Rounding } from '../lib/decimal'
import type { StreakState } from './streaks/streak-state.types'

/** Under which name the last change of a streak's length is noted among those of totals. */
export const STREAK = 'streak'

/** A running total and the highest that it ever was (P1). */
export type Counter = { total: Micros; highest: Micros }

/** Who a user is: the fields that identify and its like set. */
export type Profile = {
  email: string | null
  name: string | null
  tz: string | null
  subscribeToEmails: boolean
  deviceTokens: readonly string[] | null
  /** By attribute id, so that an attribute made anew under an old key begins without values. */
  attributes: ReadonlyMap<string, string>
}

/** Everything of a user that decides what an event does. It is never changed in place. */
export type UserState = {
  /** The caller's own identifier. */
  id: string
  /** Ours, new at each creation. */
  iid: string
  /** Counts the changes to the user. */
  seq: number
  /** When the last of them happened. */
  changed: Instant
  profile: Profile
  control: boolean
  created: Instant
  updated: Instant
  /** By metric id. */
  metrics: ReadonlyMap<string, Counter>
  /** Totals by points system id. */
  points: ReadonlyMap<string, number>
  /** By counter id, for triggers that count on their own (P1). */
  counters: ReadonlyMap<string, Counter>
  /** By metric or points system id: `seq` of the last change of the user's total in it; by `streak`, of the streak's length. */
  lastSeqByInput: ReadonlyMap<string, number>
  /** The streak as of the last change that settled it; as of now, `settled` tells it (S3). */
  streak: StreakState
  /** Completed achievements, by id. */
  achievements: ReadonlyMap<string, Completion>
  preferences: Preferences
  /** The local date of the last event, in days since 1970-01-01; null where there was none (N2). */
  activeDay: number | null
  /** The user's own boosts that are not over. */
  boosts: readonly Boost[]
}

/** That an achievement was completed: an id of its own, and when (A3, E8). */
export type Completion = LocalTime & { id: string }

/** The moment of a change as the user's zone has it, computed once (E8). */
export type LocalTime = { at: Instant; utcOffset: number }

/** An event for the log. */
export type EventRecord = LocalTime & {
  id: string
  metricId: string
  seq: number
  value: Micros
  /** By attribute id. */
  attributes: ReadonlyMap<string, string>
}

/** An award for the ledger: what was really applied (P6). */
export type AwardRecord = LocalTime & {
  id: string
  systemId: string
  seq: number
  position: number
  awarded: number
  /** The user's total in the system after it. */
  total: number
  triggerId: string
  triggerVersion: number
  /** The boosts that applied, as they were. */
  boosts: readonly AppliedBoost[]
}

/** A boost as an award remembers it; `end` is null where there is none. */
export type AppliedBoost = {
  id: string
  name: string
  status: BoostStatus
  start: string
  end: string | null
  multiplier: number
  rounding: Rounding
}
