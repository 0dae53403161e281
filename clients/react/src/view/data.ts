/**
 * The data that components show. These shapes are parts of the answers of Laurel, so an answer of
 * `@laurel/client` can be passed as it is. Dates are `YYYY-MM-DD`, instants are ISO 8601 in UTC.
 */
import type { Run } from './runs.ts'

export type Frequency = 'daily' | 'weekly' | 'monthly'

/** One period of a streak (S6). */
export interface StreakPeriod {
  periodStart: string
  periodEnd: string
  /** Length at the end of the period. 0 if the streak was lost. */
  length: number
  usedFreeze?: boolean | undefined
  usedPause: boolean
  /** The date was a day off, with or without activity. */
  dayOff?: boolean | undefined
  /** When the streak was reset in this period, if it was. */
  resetAt?: string | undefined
}

/** A user's streak (S5, S6). All dates are null while the length is 0. */
export interface StreakData {
  length: number
  frequency: Frequency
  started: string | null
  periodStart: string | null
  periodEnd: string | null
  /** The last day on which an event can still save the streak. */
  expires: string | null
  /** Is absent while freezes are off. */
  freezes?: number | undefined
  maxFreezes?: number | undefined
  /** Periods up to the current one, oldest first. */
  streakHistory?: readonly StreakPeriod[] | undefined
}

export interface LevelData {
  key: string
  name: string
  badgeUrl?: string | null | undefined
  /** The total from which a user has this level. */
  points: number
}

/** A user's points in one points system (P10). */
export interface PointsData {
  name: string
  total: number
  badgeUrl?: string | null | undefined
  maxPoints?: number | null | undefined
}

/** A user's points with the levels of the points system (P9). */
export interface LevelProgressData {
  /** Name of the points system, such as "XP". */
  name: string
  total: number
  levels: readonly LevelData[]
}

/** Points that grow with time, up to a maximum (P4, P6). */
export interface EnergyData {
  name: string
  total: number
  maxPoints: number
  badgeUrl?: string | null | undefined
  /** The instant of the next gain. Null if points do not grow now, or if it is not known. */
  nextAt?: string | null | undefined
  /** Points of the next gain, without boosts. */
  nextPoints?: number | undefined
  /** Milliseconds by which the clock of `nextAt` is ahead of the browser's. 0 if absent. */
  clockAhead?: number | undefined
}

/** How far a user is: `value` of `goal`. */
export interface Progress {
  value: number
  goal: number
}

/** An achievement, and when the user completed it (A6). */
export interface AchievementData {
  key?: string | undefined
  id: string
  name: string
  description?: string | null | undefined
  badgeUrl?: string | null | undefined
  /** The instant of completion. Null if the user has not completed it. */
  achievedAt: string | null
  /** Percentage of all users who completed it (A5). */
  rarity?: number | undefined
  /** How far the user is, if that is known. */
  progress?: Progress | undefined
}

/** One place in a ranking (L4, L9). */
export interface RankingRow {
  userId: string
  userName: string | null
  rank: number
  value: number
  /** The rank before. Null if the user was not ranked. Absent if it is not known. */
  previousRank?: number | null | undefined
  imageUrl?: string | null | undefined
}

/** A user's own place. `rank` is null if the user is not ranked (L10). */
export interface OwnPlace {
  userId: string
  userName?: string | null | undefined
  rank: number | null
  value: number | null
  previousRank?: number | null | undefined
  imageUrl?: string | null | undefined
}

export interface LeaderboardData {
  name: string
  /** Unit of the scores, such as the name of a points system. */
  unit?: string | undefined
  status?: 'active' | 'scheduled' | 'finished' | undefined
  /** First and last date of the run. */
  start?: string | null | undefined
  end?: string | null | undefined
  /** The run, with the moments at which it begins and ends for the user (L14). */
  run?: Run | undefined
  rankings: readonly RankingRow[]
  /** Place of the user who looks at it. */
  own?: OwnPlace | undefined
}

/** A group of a leaderboard with breakdown (L6). */
export interface GroupData {
  /** The values of the breakdown attributes. */
  group: readonly { key: string; value: string }[]
  /** The number of ranked users. */
  users?: number | undefined
  /** True if it is the group of the user who looks at it. */
  isOwn?: boolean | undefined
}

/** One thing that an event changed. */
export type Change =
  | { type: 'points'; key: string; name: string; added: number; total: number }
  /** `isLost`: it is lower than the one before. */
  | { type: 'level'; key: string; name: string; level: LevelData | null; isLost?: boolean | undefined }
  | { type: 'streak'; length: number; frequency: Frequency }
  | { type: 'achievement'; achievement: AchievementData }
  | { type: 'rank'; key: string; name: string; rank: number; previousRank: number | null }

/** Data that is on its way, there, or failed. The hooks return it, and components take it. */
export interface Resource<Data> {
  /** The newest data. Undefined until it is there. */
  data: Data | undefined
  /** The error of the last request. Older data stays in `data`. */
  error: Error | null
  isLoading: boolean
  /** Reads the data again. */
  refetch: () => void
  /** Tells the data from that of another user, board, group or client. */
  dataKey?: string | undefined
}

/** How components take data: spread a hook into them (`{...useStreak()}`), or pass `data` alone. */
export interface ResourceProps<Data> {
  data?: Data | undefined
  error?: Error | null | undefined
  isLoading?: boolean | undefined
  refetch?: (() => void) | undefined
  /** If it changes, the component shows the new numbers at once. It does not count up from the old ones. */
  dataKey?: string | undefined
}
