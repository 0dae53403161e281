import type { Scope } from '../../context'
import { instant } from '../../shared/clock'
import type { Trigger } from '../configuration/configuration'
import { makeDue } from '../timekeeper/timekeeper.repository'
import { catchUpTicks } from '../timekeeper/timekeeper.service'
import { betweenPasses, parseProgress, stillAhead, ticksRow } from './ticks.repository'
import { earliest } from './ticks.rules'
import { isTicking } from './triggers.rules'

/** What makes the ticks of triggers due whose first tick is a new one; part of the batch that stores the triggers (P4). */
export function scheduleTicks({ db }: Scope, triggers: readonly Trigger[]): D1PreparedStatement[] {
  const first = earliest(triggers, 0)
  if (first === null) return []
  return [stillAhead(db, first), makeDue(db, 'ticks', '', first)]
}

/**
 * Grants the ticks that are due by now, before one of these triggers is changed or deleted (P4): they were due while it was as it
 * is. Answers guards for the change's batch, so that it does not come in the middle of a later pass.
 */
export async function settleTicks(
  scope: Scope,
  triggers: readonly Trigger[],
): Promise<D1PreparedStatement[]> {
  if (!triggers.some(isTicking)) return []
  const { db, now } = scope
  const { pass } = parseProgress((await ticksRow(db)).progress)
  await catchUpTicks(scope, instant(Math.max(now, pass?.to ?? now)))
  return [betweenPasses(db)]
}
