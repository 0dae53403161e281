import type { Run } from '../../rules/runs.rules'
import type { Definition } from '../board.messages'
import type { Row } from '../board.types'
import type { Score } from '../score.rules'
import type { BoardStore } from './board.store'
import type { Progress } from './progress.types'
import type { Rankings } from './rankings.model'

/** The part of a board that other code reads: its definition, its scores and its rankings. */
export type BoardView = {
  readonly store: BoardStore
  readonly rankings: Rankings
  readonly definition: Definition
  readonly progress: Progress
  /** A score as it is served (L3, G11). */
  readonly served: (score: Score) => number
  /** The run with a local day, in days since 1970-01-01. */
  readonly runHolding: (day: number) => Run | null
}

/** Code that follows the changes of a board. */
export type BoardListener = {
  /** A score has moved. */
  moved(before: Row | null, after: Row): void
  /** Anything may have changed, or time has passed. */
  look(): void
}
