import type { Entry } from './object/ranking.rules'
import type { Score } from './score.rules'

/** A user's score in one run, as stored. */
export type Row = Entry & {
  run: number
  /** JSON of the values of the breakdown attributes; null where one is lacking. */
  group: string | null
  /** The `seq` of the last change of the board's input that the scores know; -1 where that is none. */
  cursor: number
  /** The `seq` as of which the group is known. */
  grouped: number
}

/** A user as D1 has it, as far as a leaderboard can be behind it. */
export type UserCursor = {
  userId: string
  iid: string
  seq: number
  /** `seq` of the last change of the board's input; null where there was none. */
  cursor: number | null
  /** JSON of the values of the breakdown attributes; null where one is lacking. */
  group: string | null
}

/** The same with what the log says: `[local day, sum, when a change last altered it]`, or one sum, by the first day, where the board has but one run. */
export type Recounted = UserCursor & { days: [number, Score, number | null][] }
