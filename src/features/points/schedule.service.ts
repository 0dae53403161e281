import type { Trigger } from '../../configuration/configuration.types'
import { type Instant, instant } from '../../lib/clock'
import type { Scope } from '../../platform/context'
import type { AccountDatabase, TenantDatabase } from '../../platform/database'
import { askAll } from '../../platform/databases/ask-all'
import type { Statement } from '../../platform/statement'
import { earliest, isTicking } from '../../rules/points/ticks.rules'
import { makeDueForUsers, workState } from '../../time/due-work.repository'
import { betweenSweeps, stillAhead } from '../../time/sweeps.repository'
import { catchUpKind } from '../../time/timekeeper.service'
import { parseProgress, parseTenantsAhead, restartTicks, restartTicksOfUsers } from './ticks.repository'

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
 * middle of a later sweep of any database, nor between the sweeps of two databases.
 */
export async function settleTicks(scope: Scope, triggers: readonly Trigger[]): Promise<Statement[]> {
  if (!triggers.some(isTicking)) return []
  const { db, databases, tenant, now } = scope
  const stateOf = async (one: TenantDatabase) => parseProgress((await workState(one, 'ticks')).progress)
  const own = await stateOf(db)
  if (!databases.isSeveral) {
    await catchUpKind(scope, 'ticks', instant(Math.max(now, own.sweep?.to ?? now)))
    return [betweenSweeps(db, 'ticks')]
  }
  // If a database has granted a tick already, all others must have granted it too.
  const others = await askAll(databases, tenant.id, stateOf)
  const reached = [own, ...others].map(({ through, sweep }) => sweep?.to ?? through)
  const to = Math.max(now, ...reached)
  await catchUpKind(scope, 'ticks', instant(to))
  return [betweenSweeps(db, 'ticks'), stillAhead(db, 'ticks', instant(to + 1))]
}

/**
 * Statements that restart time triggers of all tenants whose ticks have run ahead of `now`, for when the
 * clock goes back (C1, P4). `elsewhere` are the results of `restartTicksOfUsers` in each other database.
 */
export const restartTriggers = (
  db: AccountDatabase,
  now: Instant,
  elsewhere: readonly (readonly D1Result[])[],
): Statement[] =>
  restartTicks(
    db,
    now,
    elsewhere.flatMap(([ahead]) => parseTenantsAhead(ahead)),
  )

/** The statements for each other database; they come first in its batch (C1, P4). */
export const restartTriggersElsewhere = (db: AccountDatabase, now: Instant): Statement[] =>
  restartTicksOfUsers(db, now)
