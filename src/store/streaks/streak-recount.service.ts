import type { Configuration } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import type { TenantDatabase } from '../../platform/database'
import { configurationUnchanged, isConflict } from '../../platform/guard'
import type { BulkChange } from '../../rules/change.rules'
import type { UserState } from '../../rules/state.types'
import { Recount } from '../../rules/streaks/recount.rules'
import { NO_STREAK_EVENTS } from '../../rules/streaks/streak-events.types'
import { streakOnly } from '../../rules/streaks/streak-only.rules'
import type { StreakRun, StreakState } from '../../rules/streaks/streak-state.types'
import { storedBy, writeBulk } from '../writer.service'
import { pausesOfSeveral } from './pauses.repository'
import { logOf, logsOf, type StreakSources } from './streak-log.repository'
import { scheduleEarliestDeadline } from './streaks.repository'

/** A streak as counted from the log, and all streaks that ended before it. */
type Counted = { streak: StreakState; runs: readonly StreakRun[] }

/**
 * Counts users' streaks from the log by the present settings (S9). It counts the first users, at least one,
 * with logs that fit into one bounded read. Stores nothing.
 */
export async function recounted(
  db: TenantDatabase,
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
): Promise<Counted[]> {
  const [logs, pauses] = await Promise.all([
    logsOf(db, users),
    pausesOfSeveral(
      db,
      users.map(({ iid }) => iid),
    ),
  ])
  const counted: Counted[] = []
  for (const [index, user] of users.entries()) {
    const known = logs.complete.get(user.iid)
    if (known === undefined && index > 0) break
    const recount = new Recount(config, user, pauses.get(user.iid) ?? [])
    // A log that is longer than one read is read page by page.
    if (known === undefined) for await (const event of logOf(db, user)) recount.add(event)
    else for (const event of known) recount.add(event)
    counted.push(recount.end(now))
  }
  return counted
}

/**
 * Counts a user's streak from the log by the present settings (S9). Null if the log is longer than one read.
 */
export function recountedFrom(
  config: Configuration,
  user: UserState,
  { log, pauses }: StreakSources,
  now: Instant,
): Counted | null {
  if (log === null) return null
  const recount = new Recount(config, user, pauses)
  for (const event of log) recount.add(event)
  return recount.end(now)
}

/** The changes by recounts of the first of these users, at least of one (S9). */
export async function recountChanges(
  db: TenantDatabase,
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
): Promise<BulkChange[]> {
  const counted = users.length === 0 ? [] : await recounted(db, config, users, now)
  return counted.flatMap(({ streak, runs }, index) => {
    const user = users[index]
    return user === undefined
      ? []
      : [
          {
            ...streakOnly(
              config,
              user,
              streak,
              // No streak has ended now. These runs are the past, counted again.
              { ended: [], streakEvents: NO_STREAK_EVENTS, isExtended: streak.run !== null },
              { at: now, id: newId(now) },
            ),
            ended: runs,
            replacesRuns: true,
          },
        ]
  })
}

/**
 * Counts streaks of the first of these users from the log and stores them. They then have the tenant's
 * frequency (S9). Returns the stored changes. Users who have changed meanwhile are left out, and all users
 * are left out if the configuration has changed. The caller reads them again.
 */
export async function recountStreaks(
  db: TenantDatabase,
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
): Promise<BulkChange[]> {
  const changes = await recountChanges(db, config, users, now)
  try {
    const { stores } = await db.batchOf({
      configuration: configurationUnchanged(db, config.version),
      ...writeBulk(db, config, changes),
      deadline: scheduleEarliestDeadline(db, changes),
    })
    const done = storedBy(changes, stores)
    return changes.filter(({ before }) => done.has(before.id))
  } catch (error) {
    if (isConflict(error)) return []
    throw error
  }
}
