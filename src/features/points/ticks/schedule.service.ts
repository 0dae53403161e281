import type { Trigger } from '../../../config/configuration.types'
import type { AccountDatabase } from '../../../db/database'
import type { Statement } from '../../../db/statement'
import { earliest, isTicking } from '../../../engine/points/ticks.rules'
import { makeDueForUsers, workState } from '../../../jobs/due-work.repository'
import { betweenSweeps, stillAhead } from '../../../jobs/sweeps.repository'
import { catchUpKind } from '../../../jobs/timekeeper.service'
import { type Instant, instant } from '../../../lib/clock'
import type { Scope } from '../../../runtime/context'
import { parseProgress, restartTicks } from './ticks.repository'

/**
 * Statements that schedule the ticks of triggers with a new first tick. Part of the batch that stores the
 * triggers (P4).
 */
export function scheduleTicks({ db }: Scope, triggers: readonly Trigger[]): Statement[] {
  const first = earliest(triggers, 0)
  if (first === null) return []
  // If the clock was moved past the first tick meanwhile, no user would get it. So the guard makes the write
  // fail.
  return [stillAhead(db, 'ticks', first), makeDueForUsers(db, 'ticks', first)]
}

/**
 * Grants the ticks that are due by now, before one of these triggers is changed or deleted (P4): they became
 * due under the present trigger. Returns guards for the batch of the change, so that it is not stored in the
 * middle of a later sweep.
 */
export async function settleTicks(scope: Scope, triggers: readonly Trigger[]): Promise<Statement[]> {
  if (!triggers.some(isTicking)) return []
  const { db, now } = scope
  const { sweep } = parseProgress((await workState(db, 'ticks')).progress)
  await catchUpKind(scope, 'ticks', instant(Math.max(now, sweep?.to ?? now)))
  return [betweenSweeps(db, 'ticks')]
}

/**
 * Statements that restart time triggers of all tenants whose ticks have run ahead of `now`, for when the
 * clock goes back (C1, P4).
 */
export const restartTriggers = (db: AccountDatabase, now: Instant): Statement[] => restartTicks(db, now)
