import type { Entry } from './object/ranking.rules'
import type { Score } from './score.rules'

/** A user's score in one run, as stored. */
export type Row = Entry & {
  run: number
  /** JSON of the values of the breakdown attributes; null if a value is missing. */
  group: string | null
  /** The `seq` of the last change of the board's input that the scores contain; -1 if there is none. */
  cursor: number
  /** The `seq` of the change from which the group is known. */
  grouped: number
}

/** A user as D1 has it: the part for which a leaderboard can be behind. */
export type UserCursor = {
  userId: string
  iid: string
  seq: number
  /** `seq` of the last change of the board's input; null if there was none. */
  cursor: number | null
  /** JSON of the values of the breakdown attributes; null if a value is missing. */
  group: string | null
}

/**
 * The same with the sums of the log: `[local day, sum, moment of the last change that altered it]`. If the
 * board has only one run: one sum, under the first day.
 */
export type Recounted = UserCursor & { days: [number, Score, number | null][] }
