import type { Configuration } from '../config/configuration.types'
import type { TenantDatabase } from '../db/database'
import { type UnchangedUsers, unchangedUsers } from '../db/guard'
import type { BulkChange, Change } from '../engine/change.rules'
import type { UserState } from '../engine/state.types'
import { type Instant, instant } from '../lib/clock'
import { streakEntriesOf } from '../outbox/change-messages.builder'
import { outboxInserts } from '../outbox/change-outbox.builder'
import { insertOutboxEntries } from '../outbox/outbox.repository'
import { pendingNotificationsOf } from '../outbox/pending-notifications.service'
import { bookAwards } from './awards.repository'
import { changeTenantCounters, USERS } from './counters.repository'
import { logEvents, type UsedKey, useKeys } from './events.repository'
import { forgetRuns, keepRuns, scheduleEarliestDeadline } from './streaks/streaks.repository'
import { parseStored, storeStreaks, storeUser, storeUsers } from './users.repository'

/*
 * All changes of users are stored here: their rows, the log, the ledger, keys, counters, messages for the outside, and the next deadline.
 */

/** One user, and what has happened to that user, in order: the last change's `after` is what is stored of the user. */
export type UserWrite = {
  was: UserState | null
  changes: readonly Change[]
  newlyUsed: readonly UsedKey[]
}

/** What must still be as it was when the changes were decided. */
export type WriteGuard =
  /** One user alone: unless all of it is as read, a conflict is raised, which undoes the batch. */
  | { kind: 'alone'; clock: Instant | null }
  /** Users who don't depend on each other: those who are not as read are left out. */
  | { kind: 'each'; clock: Instant | null }
  /** The batch begins with guards of the caller's, which raise. */
  | { kind: 'callers' }

/** Statements that store changes, for one batch, by what they store. */
type Parts<T> = { user: T[]; outbox: T[]; pendingNotifications: T[]; deadline: T[]; records: T[]; users: T[] }

/** What stores changes. */
export type Writing = {
  statements: Parts<D1PreparedStatement>
  /** Whether it is more than one batch should hold. */
  isMuch: boolean
  /** What the results of these statements say. */
  outcome(results: Parts<D1Result>): {
    /** The own ids of the users who were stored. */
    stored: ReadonlySet<string>
    /** Whether there is something to tell to the outside. */
    tells: boolean
    /** Whether something may fall due earlier than all else of the tenant. */
    changesDueWork: boolean
  }
}

/** What stores what events and other commands have done to users: each kind of row in one statement, as far as its length allows. */
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
      ? unchangedUsers(
          db,
          { version, clock: guard.clock },
          lasts.map(({ was, after: { iid, id } }) => ({ iid, id, was })),
        )
      : null
  const changes = users.flatMap((user) => user.changes)
  const { statements: outbox, isMuch } = outboxInserts(db, config, changes, among)
  const pendingNotifications = pendingNotificationsOf(db, config, changes, among)
  const movedDeadlines = lasts.filter(({ was, after }) => after.streak.due !== was?.streak.due)
  const deadline = scheduleEarliestDeadline(db, movedDeadlines)
  const isChanged = (results: readonly D1Result[]) => results.some(({ meta }) => meta.changes > 0)
  return {
    statements: {
      user: alone,
      outbox,
      pendingNotifications,
      deadline,
      records: recordsOf(db, users, among),
      users: alone.length === 0 ? storeUsers(db, lasts, among) : [],
    },
    isMuch,
    outcome: (results) => ({
      stored:
        first !== undefined && alone.length > 0 ? new Set([first.after.iid]) : parseStored(results.users),
      tells: isChanged(results.outbox),
      changesDueWork: isChanged(results.pendingNotifications) || isChanged(results.deadline),
    }),
  }
}

/** What stores the rows of the log, the ledger, streaks that ended, counters and keys. */
function recordsOf(
  db: TenantDatabase,
  users: readonly UserWrite[],
  among: UnchangedUsers,
): D1PreparedStatement[] {
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
    ...changeTenantCounters(db, names, among),
    ...useKeys(db, newlyUsed, among),
  ]
}

/** Those of the users whom changes are about who are as read, whatever the clock says; for a batch with a guard of the configuration. */
export const asRead = (
  db: TenantDatabase,
  { version }: Pick<Configuration, 'version'>,
  changes: readonly { before: { id: string; iid: string; seq: number } }[],
): UnchangedUsers =>
  unchangedUsers(
    db,
    { version, clock: 'any' },
    changes.map(({ before }) => ({ iid: before.iid, id: before.id, was: before })),
  )

/**
 * What stores changes that no event has made, of many users at once: by what falls due, by a walk over all users, or by an admin. For one batch with a
 * guard of the configuration. Whoever has changed since is left out; `storedBy` tells from the results of `stores` who was changed. Streaks are
 * told to those who listen; what else such changes bring is not (A4, S9).
 */
export function writeBulk(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly BulkChange[],
): { beside: D1PreparedStatement[]; stores: D1PreparedStatement[] } {
  if (changes.length === 0) return { beside: [], stores: [] }
  const among = asRead(db, config, changes)
  const users = changes.map(({ before: was, after, onlyStreak }) => ({
    was,
    after: { ...after, changed: instant(Math.max(was.changed, after.changed)) },
    onlyStreak: onlyStreak === true,
  }))
  const recounted = changes.flatMap(({ replacesRuns, after }) => (replacesRuns === true ? [after.iid] : []))
  const outboxEntries = changes.flatMap(({ after, streakEvents }) =>
    streakEntriesOf(config, after, streakEvents),
  )
  const written = changes.map((change) => ({ was: change.before, changes: [change], newlyUsed: [] }))
  return {
    beside: [
      ...insertOutboxEntries(db, outboxEntries, among).statements,
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
        among,
      ),
    ],
  }
}

/** Who of these changes was stored, by the caller's ids: from the results of `stores` of `writeBulk`. */
export function storedBy(changes: readonly BulkChange[], stores: readonly D1Result[]): Set<string> {
  const iids = parseStored(stores)
  return new Set(changes.flatMap(({ before: { iid, id } }) => (iids.has(iid) ? [id] : [])))
}
