import { parseRequestSnapshot, requestSnapshotStatement } from '../../access/tenants.sql.ts'
import type { AuditEntry } from '../../configuration/audit.rules'
import { auditEntries } from '../../configuration/audit.sql.ts'
import { configurationAt } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { updateBoards } from '../../leaderboards/updates'
import type { Instant } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import { dayIn } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import type { Placed } from '../../platform/databases/users'
import { configurationUnchanged, isConflict, mayBeStored, usersUnchanged } from '../../platform/guard'
import { type BulkChange, judged } from '../../rules/change.rules'
import type { UserState } from '../../rules/state'
import {
  type StreakEntry,
  type StreakEvent,
  type StreakRun,
  type StreakState,
  type Terms,
  termsOf,
} from '../../rules/streaks/streak-state.rules'
import { isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { recountStreaks } from '../../store/commit/recount'
import { writeBulk } from '../../store/commit/writer'
import { scheduleEarliestDeadline } from '../../store/users/streaks.sql.ts'
import { streakJson, userOf, usersStatement } from '../../store/users/users.sql.ts'
import { ensureAlarm } from '../../time/timekeeper'
import { requestDrain } from '../../webhooks/delivery/drain'

/** Attempts for one change. One fails only if another change of these users was stored first. */
const TRIES = 50
/** A user's streak while an admin changes it: judged as of now. `decide` puts the changed streak here. */
export type OpenStreak = {
  user: UserState
  terms: Terms
  /** The user's local day, in days since 1970-01-01. */
  today: number
  streak: StreakState
  /** The runs that ended when the streak was judged, oldest first. */
  ended: readonly StreakRun[]
  /** The streak events, in order (W6). */
  streakEvents: readonly StreakEvent[]
  /** The admin's changes, for the user's history (X2). */
  streakEntries: readonly StreakEntry[]
}

type Outcome<T> = {
  result: T
  statements?: readonly Statement[]
  audit: readonly AuditEntry[]
}

/**
 * Changes users' streaks for an admin's request, once for the items of each database: see `Users.each`.
 * `decide` puts the changed streaks into the users that were found, and is called again if another change was
 * stored first. Its scope has the database of these users. Leaderboards by streak are updated afterwards
 * (S8).
 */
export function changeStreaks<I, T>(
  scope: Scope,
  items: readonly I[],
  userIdOf: (item: I) => string,
  decide: (
    found: ReadonlyMap<string, OpenStreak>,
    items: readonly Placed<I>[],
    scope: Scope,
  ) => Promise<Outcome<T>> | Outcome<T>,
): Promise<{ done: T[]; missed: Placed<I>[] }> {
  return scope.databases.usersOf(scope.tenant.id).each(items, userIdOf, (db, own) => {
    const its = { ...scope, db }
    const userIds = own.map(({ item }) => userIdOf(item))
    return changeTogether(its, userIds, (found) => decide(found, own, its))
  })
}

async function changeTogether<T>(
  scope: Scope,
  userIds: readonly string[],
  decide: (found: ReadonlyMap<string, OpenStreak>) => Promise<Outcome<T>> | Outcome<T>,
): Promise<T> {
  const { db, tenant, now } = scope
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { snapshot, rows } = await db.batchOf({
      snapshot: requestSnapshotStatement(db, tenant.id, []),
      rows: usersStatement(db, [...new Set(userIds)]),
    })
    const present = parseRequestSnapshot(snapshot).tenant
    if (present === null) throw errors.tenantUnknown()
    const config = await configurationAt(scope, present.configVersion)
    const users = rows.results.map(userOf)
    const outdated = users.filter(({ streak }) => isStale(streak, config.streaks))
    if (outdated.length > 0) {
      await updateBoards(scope, config, await recountStreaks(db, config, outdated, now), now)
      continue
    }
    const found = new Map(users.map((user) => [user.id, opened(config, user, now)]))
    const { result, statements = [], audit } = await decide(found)
    // A restore may open a period again whose sums meet the goal (S2, S8).
    const changes = [...found.values()].flatMap((open) => judged(config, open.user, now, newId, open))
    if (changes.length + statements.length === 0) return result
    try {
      const { deadline } = await db.batchOf({
        configuration: configurationUnchanged(db, config.version),
        users: usersUnchanged(
          db,
          users.map((user) => ({ id: user.id, was: user })),
        ),
        statements,
        audit: auditEntries(scope, audit),
        ...writeBulk(db, config, changes),
        deadline: scheduleEarliestDeadline(db, changes),
      })
      if (deadline.some(({ meta }) => meta.changes > 0)) scope.waitUntil(ensureAlarm(scope, tenant.id))
    } catch (error) {
      if (isConflict(error)) continue
      if (!mayBeStored(error) || changes.length === 0) throw error
      // If the users were moved meanwhile, the change must not be made again.
      if (!(await isStored(scope, changes).catch(() => false))) throw error
    }
    if (changes.some(({ streakEvents }) => streakEvents.length > 0)) requestDrain(scope, tenant.id)
    await updateBoards(scope, config, changes, now)
    return result
  }
  throw errors.contended()
}

/** If the response to the write was lost: whether the users are exactly as written. */
async function isStored({ db }: Scope, changes: readonly BulkChange[]): Promise<boolean> {
  const ids = changes.map(({ after }) => after.id)
  const result = await db.run(usersStatement(db, ids))
  const present = new Map(result.results.map(userOf).map((user) => [user.id, user]))
  return changes.every(({ after }) => {
    const user = present.get(after.id)
    return user?.seq === after.seq && streakJson(user.streak) === streakJson(after.streak)
  })
}

function opened(config: Configuration, user: UserState, now: Instant): OpenStreak {
  const terms = termsOf(config, user.preferences)
  const today = dayIn(user.profile.tz, now)
  return { user, terms, today, ...streakAsOf(user, terms, today, now), streakEntries: [] }
}
