import type { BoostStatus, CorrectionType } from '../configuration/enumerations'
import type { Boost, Preferences } from '../configuration/model'
import type { Instant } from '../lib/clock'
import { MICROS_PER_UNIT, type Micros, micros, type Rounding } from '../lib/decimal'
import { MOST_METRIC_TOTAL } from '../lib/limits'
import type { CivilDate } from '../lib/zone'
import type { StreakState } from './streaks/streak-state.rules'

/**
 * The user's place on a leaderboard after a change (L11). Days of the run are days since 1970-01-01. Ranks
 * begin at 1, and null is outside of the ranking.
 */
export type Placement = {
  run: { start: number; end: number | null }
  rank: number | null
  previousRank: number | null
  /** The last score of a full ranking as served, or 0 (L5). */
  threshold: number
}

/** The user's places after one change, by leaderboard id. */
export type Placements = ReadonlyMap<string, Placement>

/** The key in `lastSeqByInput` for the length of the streak. */
export const STREAK = 'streak'

/** A running total, and the highest value that it ever had (P1). */
export type Counter = { total: Micros; highest: Micros }

const ZERO = micros(0)
/** The limit of a metric's total in millionths, above and below zero (E1). */
export const MOST_TOTAL = micros(MOST_METRIC_TOTAL * MICROS_PER_UNIT)

/** The counter before the first event. */
export const NEW_COUNTER: Counter = { total: ZERO, highest: ZERO }

/**
 * The counter plus a value, within E1's bounds. A metric's total never gets there, since such an event is
 * refused. A trigger's own counter can, and then it stays at the bound.
 */
export function count(counter: Counter, value: Micros): Counter {
  const total = micros(Math.max(-MOST_TOTAL, Math.min(counter.total + value, MOST_TOTAL)))
  return { total, highest: micros(Math.max(total, counter.highest)) }
}

/** The counter after these values, in order. Null if its total would leave E1's bounds at any moment. */
export function totalOfLog(values: readonly Micros[]): Counter | null {
  let counter = NEW_COUNTER
  for (const value of values) {
    if (Math.abs(counter.total + value) > MOST_TOTAL) return null
    counter = count(counter, value)
  }
  return counter
}

/** The fields of a user that identify and update calls set. */
export type Profile = {
  email: string | null
  name: string | null
  tz: string | null
  subscribeToEmails: boolean
  deviceTokens: readonly string[] | null
  /** By attribute id, so that a new attribute with an old key begins without values. */
  attributes: ReadonlyMap<string, string>
  /** The date on which the user signed up (U9). */
  signUpDate: CivilDate | null
}

/** The profile of a user before the first call. */
export const NO_PROFILE: Profile = {
  email: null,
  name: null,
  tz: null,
  subscribeToEmails: true,
  deviceTokens: null,
  attributes: new Map(),
  signUpDate: null,
}

/** All data of a user that decides the effect of an event. It is never changed in place. */
export type UserState = {
  /** The identifier that the caller chose. */
  id: string
  /** The internal id, new at each creation. */
  iid: string
  /** The number of changes of the user. */
  seq: number
  /** The moment of the last change. */
  changed: Instant
  profile: Profile
  control: boolean
  created: Instant
  updated: Instant
  /** Counters by metric id. */
  metrics: ReadonlyMap<string, Counter>
  /** Totals by points system id. */
  points: ReadonlyMap<string, number>
  /** By counter id, for triggers and achievements that count on their own (P1, A2). */
  counters: ReadonlyMap<string, Counter>
  /** The `seq` of the last change of a total, by metric id, points system id, or `STREAK`. */
  lastSeqByInput: ReadonlyMap<string, number>
  /** The streak as of the last change that settled it. `streakAsOf` returns the streak as of now (S3). */
  streak: StreakState
  /** Completions by achievement id. */
  achievements: ReadonlyMap<string, Completion>
  /**
   * Ids of achievements that were taken back and whose conditions have been true since (V4). And a `paidMark`
   * of each trigger whose points for an achievement stayed when it was taken back.
   */
  revoked: ReadonlySet<string>
  preferences: Preferences
  /** The local date of the last event that counts, in days since 1970-01-01; null for none (N2, V2). */
  activeDay: number | null
  /** The zones that the user left last, each with the moment of the change. The newest is last (N2). */
  leftZones: readonly (readonly [at: Instant, zone: string])[]
  /** The user's own boosts that are not over. */
  boosts: readonly Boost[]
}

/** No achievement was taken back from the user. */
export const NOTHING_REVOKED: ReadonlySet<string> = new Set()

/** The completion of an achievement: its own id, and when it happened (A3, E8). */
export type Completion = LocalTime & { id: string }

/** The moment of a change, with the offset of the user's zone in minutes. Computed once (E8). */
export type LocalTime = { at: Instant; utcOffset: number }

/** An event for the log. */
export type EventRecord = LocalTime & {
  id: string
  metricId: string
  seq: number
  value: Micros
  /** Values by attribute id. */
  attributes: ReadonlyMap<string, string>
  /** The ids of the triggers' own counters that counted the event (P1). */
  counterIds: readonly string[]
}

/** An award for the ledger. `awarded` is the difference that was really applied (P6). */
export type AwardRecord = LocalTime & {
  id: string
  systemId: string
  seq: number
  position: number
  awarded: number
  /** The user's total in the system after the award. */
  total: number
  /** The trigger that fired. A reversal has the trigger of its award. Null for an adjustment. */
  triggerId: string | null
  triggerVersion: number
  /** The boosts that applied, as they were then. */
  boosts: readonly AppliedBoost[]
  /** The highest total of the trigger's counter before and after (P1). Null if the trigger has no counter. */
  counter: { before: Micros; after: Micros } | null
  /** The user's level before and after, null for no level. Null if the level stayed (X2). */
  levels: readonly [before: ReachedLevel | null, after: ReachedLevel | null] | null
  /** Null for an award of a trigger. */
  correction: Correction | null
}

/** A level as it was when a user reached or left it. */
export type ReachedLevel = { id: string; key: string; name: string; points: number }

/** An entry without a trigger (V5). `amount` is before cap and floor, `reverses` the id of an award. */
export type Correction = {
  type: CorrectionType
  amount: number
  reason: string | null
  reverses: string | null
}

/** A boost as an award stores it. `end` is null if it has none. */
export type AppliedBoost = {
  id: string
  name: string
  status: BoostStatus
  start: string
  end: string | null
  multiplier: number
  rounding: Rounding
}
