import type { Database } from '../../db/database'
import { configurationUnchanged, isConflict } from '../../db/guard'
import type { UserState } from '../../engine/state'
import type { Instant } from '../../shared/clock'
import type { Configuration } from '../configuration/configuration'
import { type BulkChange, storeChanges } from '../users/changes.repository'
import { Recount } from './recount.rules'
import { streakOnly } from './streak-only.rules'
import { announce, logOf, pausesOf } from './streaks.repository'

/** Counts a user's streak from the log, as it is by the present settings (S9). The user's row is not touched. */
export async function recounted(db: Database, config: Configuration, user: UserState, now: Instant) {
  const recount = new Recount(config, user, await pausesOf(db, user.iid))
  for await (const event of logOf(db, user)) recount.add(event)
  return recount.end(now)
}

/**
 * Counts a user's streak from the log and stores it, after which it is of the tenant's frequency (S9). Nothing happens where the user
 * or the configuration has changed meanwhile: whoever asked looks again.
 */
export async function recountStreak(
  db: Database,
  config: Configuration,
  user: UserState,
  now: Instant,
): Promise<BulkChange | null> {
  const change = await recountChange(db, config, user, now)
  const { statements, stored } = storeChanges(db, config.tenantId, [change])
  const { due } = change.after.streak
  try {
    const [, ...results] = await db.batch([
      configurationUnchanged(db, config.tenantId, config.version),
      ...statements,
      ...(due === null ? [] : [announce(db, config.tenantId, due)]),
    ])
    return stored(results).has(user.id) ? change : null
  } catch (error) {
    if (isConflict(error)) return null
    throw error
  }
}

/** The change that a recount comes to. */
export async function recountChange(
  db: Database,
  config: Configuration,
  user: UserState,
  now: Instant,
): Promise<BulkChange> {
  const { streak, runs } = await recounted(db, config, user, now)
  return { ...streakOnly(config, user, streak, runs, user.changed), replacesRuns: true }
}
