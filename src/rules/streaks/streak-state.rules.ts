import type { StreakFrequency } from '../../configuration/enumerations'
import type { Configuration, FreezeSettings, Preferences, StreakSettings } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import type { Aggregation } from '../../lib/zone'

/** A streak up to its last settled period. Days are since 1970-01-01, in the user's zone at that time. */
export type StreakRun = {
  /** First day of the streak as shown. A restored one begins before its first known period (S8). */
  started: number
  /** First days of the first and the last period in `history`. */
  first: number
  last: number
  /** The kinds of these periods (see history.rules.ts). */
  history: string
  /** The greatest length that the streak had, with a restored one. It never falls while the streak lives. */
  length: number
}

/** The streak that a user has now. Its length is above 0. */
export type LiveRun = StreakRun & {
  /** When it was last extended. Null if it was restored and not extended since. */
  extended: Instant | null
  /** When it was last restored. Absent if it never was. */
  restored?: Instant | undefined
  /** The first day that was not judged as a day off or none when the user last changed what decides it (S12). */
  judged?: number | undefined
}

/** A pause of the streak, from the day `start` to the day `end`, both included. */
export type Pause = { id: string; start: number; end: number }

/**
 * A reset: its moment, the user's local day, the `seq` of its change, and the length before it. `last` is the
 * last period that was satisfied or kept; null if there was no streak when it was counted again (S13).
 */
export type Reset = readonly [at: number, day: number, seq: number, length: number, last: number | null]

/** The part of a user's row that is about the streak. It is never changed in place. */
export type StreakState = {
  /** Null without periods. If it differs from the tenant's, the streak is counted again from the log (S9). */
  frequency: StreakFrequency | 'unknown' | null
  /** The epoch of the settings by which it was counted. */
  epoch: number
  /** Null if the length is 0. */
  run: LiveRun | null
  freezes: number
  /** The local day of the user's creation (S7). Null for users of older versions. */
  born: number | null
  /**
   * The local day from which the next earned freeze is counted, in the user's zone then, and `since` of the
   * settings that applied. Null if none was earned.
   */
  earned: readonly [number, number] | null
  /**
   * First day of the last period that was missed, or that was closed before a reset. Periods up to it stay
   * closed, even if the user comes back (S4, S13).
   */
  missed: number | null
  /** The last day that travel spared, or null (S11). */
  spared: number | null
  /**
   * Sums of the changes of metrics in periods that are not satisfied, in millionths by metric id, and the
   * number of positive events as `ANY_METRIC`. By first day, the newest last.
   */
  sums: readonly PeriodSums[]
  /**
   * The pauses that were not over two days before the streak was last settled. Such a day may still be open
   * for a traveller (S11).
   */
  pauses: readonly Pause[]
  /** Changes of zone that moved the user to another date, the newest last (S4, S9, S11). */
  jumps: readonly Jump[]
  /** The last resets, the newest last (S13). */
  resets: readonly Reset[]
  /**
   * When the shown length last changed without an event or a midnight: the streak was restored, or the user
   * switched it off or on. Null for never.
   */
  altered: Instant | null
  /** When the streak next changes by itself. Null for never. */
  due: Instant | null
}
/** A change of zone that moved a user to another date: its moment, and the local days before and after. */
export type Jump = readonly [at: number, from: number, to: number]
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
  sums: [],
  pauses: [],
  jumps: [],
  resets: [],
  altered: null,
  due: null,
}

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
  'reset',
] as const

/** An entry about the streak in a user's history (X2). `length` and `freezes` are those after it. */
export type StreakEntry =
  | { kind: 'started' | 'extended' | 'restored' | 'reset'; length: number }
  | { kind: 'freeze_earned'; earned: number; freezes: number }
  | { kind: 'freeze_consumed'; freezes: number }
  | { kind: 'paused' | 'pause_deleted'; pause: Pause }

/** The data of a user that decides about the streak. */
export type Streaker = {
  created: Instant
  streak: StreakState
  preferences: Preferences
  profile: { tz: string | null }
}

/** The settings by which a user's streak is counted: the tenant's, with the user's own choices (S1, U7). */
export type Terms = {
  /**
   * Whether the user's streak is shown and causes webhook events: it is on for the tenant and for the user.
   * It is counted in any case (S10).
   */
  isOn: boolean
  /** Whether the tenant's streaks are on, so that periods may be missed. */
  isJudged: boolean
  frequency: Aggregation
  epoch: number
  metrics: StreakSettings['metrics']
  mode: StreakSettings['evaluationMode']
  /** When the tenant's settings last changed what satisfies a period. */
  goalSince: number
  freezes: FreezeSettings | null
  off: StreakSettings['off']
  /**
   * The user's days off, oldest first: each list judges the dates that ended until a moment in milliseconds.
   * The last one has none, and is in force (S12).
   */
  daysOff: readonly { until: number | null; days: readonly number[] }[]
}

/** The terms of a user. Deleted metrics do not count (G9). */
export function termsOf(
  { streaks, metrics }: Pick<Configuration, 'streaks' | 'metrics'>,
  { streak: own }: Preferences,
): Terms {
  const alive = (list: StreakSettings['metrics']) =>
    list.filter(({ metricId }) => metrics.some(({ id }) => id === metricId))
  const tenants = alive(streaks.metrics)
  const isTheirs = ({ metricId }: { metricId: string }) =>
    tenants.length === 0 || tenants.some((one) => one.metricId === metricId)
  const owns = streaks.customizationEnabled ? alive(own.metrics ?? []).filter(isTheirs) : []
  return {
    isOn: streaks.enabled && own.enabled !== false,
    isJudged: streaks.enabled,
    frequency: streaks.frequency,
    epoch: streaks.epoch,
    metrics: owns.length > 0 ? owns : tenants,
    mode: (streaks.customizationEnabled && own.evaluationMode) || streaks.evaluationMode,
    goalSince: streaks.goalSince,
    freezes: streaks.freezes,
    off: streaks.off,
    daysOff: [...streaks.daysOffBefore, { ...streaks, until: null }].map((one) => ({
      until: one.until,
      days: (one.customizationEnabled ? own.daysOff : undefined) ?? one.daysOff,
    })),
  }
}
