import type { Moves } from '../../time/job.types'
import { tenantsToMove } from './databases.service'
import { finishMove, stepMoves } from './moves.service'

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    moves: true
  }
}

/** Moves users between databases (B3). */
export const moves: Moves = {
  work: { kind: 'moves', while: ['active', 'archived', 'purging'], keepsItsTime: true },
  finish: finishMove,
  step: stepMoves,
  tenants: tenantsToMove,
}
