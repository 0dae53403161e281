import type { Configuration } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import { MOST_AT_ONCE } from '../../lib/packed'
import { dateOfDay, dayIn, nextAnniversary, startOfDay } from '../../lib/zone'
import type { Statement, TenantDatabase } from '../../platform/database'
import { type UsersAsRead, usersAsRead } from '../../platform/guard'
import { hasAnniversaries } from '../../rules/achievements.rules'
import type { BulkChange, Change } from '../../rules/change.rules'
import { NO_PROFILE, type UserState } from '../../rules/state'
import { scheduleAlsoUnderWay } from '../../time/due-work.sql.ts'
import { outboxInserts } from '../../webhooks/outbox/changes'
import { pendingNotificationsOf } from '../../webhooks/outbox/pending.sql.ts'
import { bookAwards } from '../awards.sql.ts'
import { keepHistory, logEvents, type UsedKey, useKeys } from '../events.sql.ts'
import { changeTenantCounters, USERS } from '../users/counters.sql.ts'
import { claimDevices } from '../users/devices.sql.ts'
import { forgetRuns, keepRuns, scheduleEarliestDeadline } from '../users/streaks.sql.ts'
import { anniversaryKey, parseStored, storeStreaks, storeUser, storeUsers } from '../users/users.sql.ts'

/*
 * All changes of users are stored here: their rows, the log, the ledger, idempotency keys, counters,
 * messages, and the next deadline.
 */

/** The most characters that the texts of one batch have together. */
const MOST_IN_A_BATCH = 2 * MOST_AT_ONCE

const charactersOf = (statements: readonly Statement[]): number =>
  statements
    .flatMap(({ params }) => params)
    .reduce<number>((sum, one) => sum + (typeof one === 'string' ? one.length : 0), 0)

/** One user with changes, in order. The user is stored as the last change's `after`. */
type UserWrite = {
  was: UserState | null
  changes: readonly Change[]
  newlyUsed: readonly UsedKey[]
}

/** The data that must not have changed since the changes were decided. */
type WriteGuard =
  /** One user alone. If anything has changed, the batch raises a conflict and is undone. */
  | { kind: 'alone'; clock: Instant | null }
  /** Users who do not depend on each other. Users who have changed are left out. */
  | { kind: 'each'; clock: Instant | null }
  /** The batch begins with guards of the caller. */
  | { kind: 'callers' }

/** The statements of a batch that stores changes, or their results, by kind. */
type Parts<T> = { user: T[]; outbox: T[]; pendingNotifications: T[]; deadline: T[]; records: T[]; users: T[] }

/** The statements that store changes. */
export type Writing = {
  statements: Parts<Statement>
  /** Whether this is too much for one batch. The caller then stores fewer changes at once. */
  isMuch: boolean
  outcome(results: Parts<D1Result>): {
    stored: ReadonlySet<string>
    /** Whether there are messages to send. */
    hasOutboxEntries: boolean
    /** Whether work may be due earlier than all other work of the tenant. */
    changesDueWork: boolean
  }
}

/** Makes the next anniversary of users due that has moved, if there are achievements for it (A7). */
function scheduleAnniversary(
  db: TenantDatabase,
  config: Configuration,
  lasts: readonly { was: UserState | null; after: UserState }[],
): Statement[] {
  if (!hasAnniversaries(config)) return []
  const moved = lasts.filter(
    ({ was, after }) => anniversaryKey(was?.profile ?? NO_PROFILE) !== anniversaryKey(after.profile),
  )
  const dues = moved.flatMap(({ after: { profile, changed } }) => {
    const { signUpDate, tz } = profile
    if (signUpDate === null) return []
    return startOfDay(dateOfDay(nextAnniversary(signUpDate, dayIn(tz, changed))), tz ?? 'UTC')
  })
  if (dues.length === 0) return []
  const now = instant(Math.max(...moved.map(({ after }) => after.changed)))
  return [scheduleAlsoUnderWay(db, 'anniversaries', instant(Math.min(...dues)), now)]
}

/** A change as messages tell of it: a backdated one has no completions and no awards (A4). */
const toldOf = <C extends Change>(change: C): C =>
  change.isBackdated === true ? { ...change, awards: [], completed: [] } : change

/** The statements that store the changes of events and other commands, all in one batch (E2). */
export function writeUsers(
  db: TenantDatabase,
  config: Configuration,
  users: readonly UserWrite[],
  guard: WriteGuard,
): Writing {
  const lasts = users.flatMap(({ was, changes }) => {
    const last = changes.at(-1)
    return last === undefined ? [] : [{ was, after: last.after }]
  })
  const { version } = config
  const [first] = lasts
  const alone =
    guard.kind === 'alone' && first !== undefined
      ? [storeUser(db, first.after, { version, clock: guard.clock, was: first.was })]
      : []
  const among =
    guard.kind === 'each'
      ? usersAsRead(
          db,
          { version, clock: guard.clock },
          lasts.map(({ was, after: { iid, id } }) => ({ iid, id, was })),
        )
      : null
  const changes = users.flatMap((user) => user.changes)
  const told = changes.map(toldOf)
  const movedDeadlines = lasts.filter(({ was, after }) => after.streak.due !== was?.streak.due)
  const claims = claimDevices(db, lasts)
  const statements: Parts<Statement> = {
    user: alone,
    outbox: outboxInserts(db, config, told, among),
    pendingNotifications: pendingNotificationsOf(db, config, told, among),
    deadline: [...scheduleEarliestDeadline(db, movedDeadlines), ...scheduleAnniversary(db, config, lasts)],
    records: recordsOf(db, users, among),
    // Device tokens are taken from other users, who may be in this batch too, so this comes last.
    users: [...(alone.length === 0 ? storeUsers(db, lasts, among) : []), ...claims],
  }
  const isChanged = (results: readonly D1Result[]) => results.some(({ meta }) => meta.changes > 0)
  return {
    statements,
    isMuch: charactersOf(Object.values(statements).flat()) > MOST_IN_A_BATCH,
    outcome: (results) => ({
      stored:
        first !== undefined && alone.length > 0 ? new Set([first.after.iid]) : parseStored(results.users),
      hasOutboxEntries: isChanged(results.outbox),
      changesDueWork:
        isChanged(results.pendingNotifications) || isChanged(results.deadline) || claims.length > 0,
    }),
  }
}

/** The rows of the log, the ledger, past streaks, history, counters and idempotency keys. */
function recordsOf(db: TenantDatabase, users: readonly UserWrite[], among: UsersAsRead): Statement[] {
  const changes = users.flatMap((user) => user.changes)
  const names = changes.flatMap(({ before, after, completed }) =>
    [...(before === null ? [USERS] : []), ...completed].map((name) => [after.iid, name] as const),
  )
  const newlyUsed = users.flatMap((user) => {
    const userIid = user.changes.at(-1)?.after.iid
    return userIid === undefined ? [] : user.newlyUsed.map((key) => ({ ...key, userIid }))
  })
  return [
    ...logEvents(db, changes, among),
    ...bookAwards(db, changes, among),
    ...keepRuns(db, changes, among),
    ...keepHistory(db, changes, among),
    ...changeTenantCounters(db, names, among),
    ...useKeys(db, newlyUsed, among),
  ]
}

/** Selects users who are still as read, at any test clock. The batch needs a guard of the configuration. */
export const asRead = (
  db: TenantDatabase,
  { version }: Pick<Configuration, 'version'>,
  changes: readonly { before: { id: string; iid: string; seq: number } }[],
): UsersAsRead =>
  usersAsRead(
    db,
    { version, clock: 'any' },
    changes.map(({ before }) => ({ iid: before.iid, id: before.id, was: before })),
  )

/**
 * The statements that store changes without an event, of many users at once: by due work, a walk over all
 * users, or an admin. The batch needs a guard of the configuration.
 * Users who have changed since the read are left out. `storedBy` returns the stored users from the results of
 * `stores`.
 */
export function writeBulk(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly BulkChange[],
): { beside: Statement[]; stores: Statement[] } {
  if (changes.length === 0) return { beside: [], stores: [] }
  const among = asRead(db, config, changes)
  const users = changes.map(({ before: was, after, onlyStreak }) => ({
    was,
    after: { ...after, changed: instant(Math.max(was.changed, after.changed)) },
    onlyStreak: onlyStreak === true,
  }))
  const recounted = changes.flatMap(({ replacesRuns, after }) => (replacesRuns === true ? [after.iid] : []))
  const told = changes.map(toldOf)
  const written = changes.map((change) => ({ was: change.before, changes: [change], newlyUsed: [] }))
  return {
    beside: [
      ...outboxInserts(db, config, told, among),
      ...pendingNotificationsOf(db, config, told, among),
      ...forgetRuns(db, recounted, among),
      ...recordsOf(db, written, among),
    ],
    stores: [
      ...storeUsers(
        db,
        users.filter(({ onlyStreak }) => !onlyStreak),
        among,
      ),
      ...storeStreaks(
        db,
        users.filter(({ onlyStreak }) => onlyStreak),
      ),
    ],
  }
}

/** The caller's ids of the stored users, from the results of `stores` of `writeBulk`. */
export function storedBy(changes: readonly BulkChange[], stores: readonly D1Result[]): Set<string> {
  const iids = parseStored(stores)
  return new Set(changes.flatMap(({ before: { iid, id } }) => (iids.has(iid) ? [id] : [])))
}
