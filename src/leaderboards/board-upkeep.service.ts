import { configure, type Decision } from '../configuration/configuration.service'
import type { Configuration } from '../configuration/configuration.types'
import type { Instant } from '../lib/clock'
import type { Scope } from '../platform/context'
import type { TenantDatabase } from '../platform/database'
import type { Statement } from '../platform/statement'
import { makeDue } from '../time/due-work.repository'
import { wakeTimekeeper } from '../time/timekeeper.service'

/** A change, the ids of leaderboards whose scores it concerns, and statements that make other work due. */
type BoardDecision<T> = Decision<T> & { boards: readonly string[]; walks?: readonly Statement[] }

/**
 * Changes the configuration like `configure`. The upkeep of the leaderboards that the change concerns becomes
 * due in the same batch. It begins as soon as the batch is stored (L3, L7).
 */
export async function configureWithUpkeep<T>(
  scope: Scope,
  decide: (config: Configuration) => BoardDecision<T> | Promise<BoardDecision<T>>,
): Promise<T> {
  const { db, now } = scope
  const { result, isDue } = await configure(scope, async (config) => {
    const { boards, statements, walks = [], ...decision } = await decide(config)
    const due = [...boards.map((id) => makeDue(db, 'leaderboard', id, now)), ...walks]
    return {
      ...decision,
      statements: [...statements, ...due],
      result: { result: decision.result, isDue: due.length > 0 },
    }
  })
  if (isDue) await wakeTimekeeper(scope)
  return result
}

/**
 * Statements that make the upkeep of leaderboards that rank by streak due. They are part of the batch that
 * switches the tenant's streaks on or off, so that these leaderboards follow, and webhooks learn of the
 * changes (S10, W5).
 */
export function streakBoardsDue(
  db: TenantDatabase,
  { leaderboards }: Pick<Configuration, 'leaderboards'>,
  now: Instant,
): Statement[] {
  return leaderboards
    .filter(({ rankBy, status }) => rankBy === 'streak' && (status === 'active' || status === 'scheduled'))
    .map(({ id }) => makeDue(db, 'leaderboard', id, now))
}
