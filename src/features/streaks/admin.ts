import * as z from 'zod'
import {
  DateField,
  DateResponse,
  deleteResponse,
  endsInOrder,
  Issue as IssueResponse,
  items,
  UserId,
  UuidResponse,
} from '../../api/fields'
import { ListQuery } from '../../api/queries'
import { type Issue, UNKNOWN_USER, USER_MISSED, unknownIssue } from '../../api/resources/drafts.rules'
import { pauseFields } from '../../api/shapes/streaks'
import { type UnknownField, unknownMessage } from '../../api/unknown-fields'
import { type AuditEntry, goneFields, madeFields, userEntry } from '../../configuration/audit.rules'
import { errors } from '../../lib/errors'
import { MOST_PAUSE_DAYS, MOST_PAUSES } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import { dateOfDay, dayOf, periodStart } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import type { Placed } from '../../platform/databases/users'
import {
  lastDayOver,
  restorableSince,
  restored,
  withFreeze,
  withoutPause,
  withPause,
  withReset,
} from '../../rules/streaks/freezes-pauses-restores.rules'
import type { Pause } from '../../rules/streaks/streak-state.rules'
import {
  deletePauses,
  findPauses,
  keepPauses,
  type OwnPause,
  pausesPage,
  runsOfSeveral,
} from '../../store/users/streaks.sql.ts'
import { changeStreaks, type OpenStreak } from './changes'

/**
 * An issue about a user. Older client libraries need `level` and `reason`, the old names of `severity` and
 * `message` (G7, G10).
 */
const UserIssue = IssueResponse.extend({
  userId: z.string(),
  level: IssueResponse.shape.severity,
  reason: z.string(),
}).meta({ id: 'AdminUserIssue' })
type UserIssue = z.infer<typeof UserIssue>

/** The users who get one streak freeze each (S7). */
export const CreateStreakFreezesRequest = z
  .object({ freezes: items(z.object({ userId: UserId })) })
  .meta({ id: 'CreateStreakFreezesRequest' })

export const CreateStreakFreezesResponse = z
  .object({ issues: z.array(UserIssue) })
  .meta({ id: 'CreateStreakFreezesResponse' })

/** Pauses of users' streaks. The dates are local dates of the user, and both days are included (S7). */
export const CreateStreakPausesRequest = z
  .object({
    pauses: items(z.object({ userId: UserId, start: DateField, end: DateField }).check(endsInOrder)),
  })
  .meta({ id: 'CreateStreakPausesRequest' })

export const AdminStreakPause = z
  .object({
    id: UuidResponse,
    userId: z.string(),
    start: DateResponse,
    end: DateResponse,
    status: z.enum(['active', 'archived']),
  })
  .meta({ id: 'AdminStreakPause' })

export const CreateStreakPausesResponse = z
  .object({ created: z.array(AdminStreakPause), issues: z.array(UserIssue) })
  .meta({ id: 'CreateStreakPausesResponse' })

/** The user whose pauses are listed, and the page (G7). */
export const StreakPausesQuery = ListQuery.extend({ userId: UserId })

export const ListStreakPausesResponse = z.array(AdminStreakPause).meta({ id: 'ListStreakPausesResponse' })

export const DeleteStreakPausesResponse = deleteResponse('DeleteStreakPausesResponse')

const OfUsers = z.object({ users: items(z.object({ id: UserId })) })

/** The users whose streaks are restored (S8). */
export const RestoreStreaksRequest = OfUsers.meta({ id: 'RestoreStreaksRequest' })

export const RestoreStreaksResponse = z
  .object({ restoredUsers: z.array(z.string()), issues: z.array(UserIssue) })
  .meta({ id: 'RestoreStreaksResponse' })

/** The users whose streaks are set to zero (S13). */
export const ResetStreaksRequest = OfUsers.meta({ id: 'ResetStreaksRequest' })

export const ResetStreaksResponse = z
  .object({ resetUsers: z.array(z.string()), issues: z.array(UserIssue) })
  .meta({ id: 'ResetStreaksResponse' })

const issue = (
  index: number,
  userId: string,
  message: string,
  severity: UserIssue['severity'] = 'error',
): UserIssue => ({ index, userId, severity, level: severity, message, reason: message })

/**
 * Makes the warning about an unknown field of a body with one list of items for users. `idField` is the field
 * of an item that names the user. A field beside the list is of no user (O4).
 */
export const userWarning = (idField: 'userId' | 'id') => (field: UnknownField, json: unknown) => {
  const [list = '', index, ...path] = field.path
  if (typeof index !== 'number') {
    const message = unknownMessage(field, field.path)
    return { userId: '', severity: 'warning', level: 'warning', message, reason: message } as const
  }
  const items = z.object({ [list]: z.array(z.object({ [idField]: z.string() })) }).safeParse(json).data
  const userId = items?.[list]?.[index]?.[idField] ?? ''
  return {
    ...issue(index, userId, unknownMessage(field, path), 'warning'),
    index,
    severity: 'warning' as const,
  }
}

type At<T> = { index: number; value: T }
type Answer<T> = { done: readonly At<T>[]; issues: readonly UserIssue[] }

/** The answers of all databases, in the order of the request. Items of a lost database are issues. */
function allAnswers<I, T>(
  { done, missed }: { done: readonly Answer<T>[]; missed: readonly Placed<I>[] },
  userIdOf: (item: I) => string,
): { done: T[]; issues: UserIssue[] } {
  const lost = missed.map(({ index, item }) => issue(index, userIdOf(item), USER_MISSED))
  const all = [...done.flatMap(({ issues }) => issues), ...lost]
  return {
    done: inOrder(done.flatMap((answer) => answer.done)).map(({ value }) => value),
    issues: inOrder(all),
  }
}

const inOrder = <T extends { index?: number | undefined }>(parts: readonly T[]): T[] =>
  parts.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))

const userIdOf = ({ userId }: { userId: string }) => userId

/** Grants one streak freeze for each item. At the maximum, grants none and warns (S7). */
export async function grantFreezes(
  scope: Scope,
  { freezes }: z.output<typeof CreateStreakFreezesRequest>,
): Promise<{ granted: number; issues: UserIssue[] }> {
  const changed = await changeStreaks(scope, freezes, userIdOf, (found, items) => {
    const had = new Map([...found].map(([id, { streak }]) => [id, streak.freezes]))
    const results = items.map(({ index, item: { userId } }) => ({
      index,
      value: userId,
      problem: grant(found.get(userId), userId, index),
    }))
    return {
      result: {
        done: results.filter(({ problem }) => problem === null),
        issues: results.flatMap(({ problem }) => problem ?? []),
      },
      audit: grantEntries(found, had),
    }
  })
  const { done, issues } = allAnswers(changed, userIdOf)
  return { granted: done.length, issues }
}

/** `had`: the freezes before, by the caller's id of the user. */
const grantEntries = (
  found: ReadonlyMap<string, OpenStreak>,
  had: ReadonlyMap<string, number>,
): AuditEntry[] =>
  [...found.values()].flatMap(({ user: { id, iid }, streak: { freezes: after } }) => {
    const before = had.get(id) ?? after
    return after === before
      ? []
      : userEntry('streak_freezes', 'grant', { iid }, { freezes: { before, after } })
  })

function grant(open: OpenStreak | undefined, userId: string, index: number): UserIssue | null {
  if (open === undefined) return issue(index, userId, UNKNOWN_USER)
  if (open.terms.freezes === null) {
    return issue(index, userId, 'Streak freezes are off. Switch them on in the streak settings first.')
  }
  const streak = withFreeze(open.streak, open.terms)
  if (streak === null) {
    const most = `The user has ${open.streak.freezes} streak freezes, which is the maximum. None was granted.`
    return issue(index, userId, most, 'warning')
  }
  open.streak = streak
  const earned = { kind: 'freeze_earned', earned: 1, freezes: streak.freezes } as const
  // A user who has switched streaks off gets no streak events (U7).
  if (open.terms.isOn) open.streakEvents = [...open.streakEvents, earned]
  else open.streakEntries = [...open.streakEntries, earned]
  return null
}

/** A page of the pauses of a user's streak that are not deleted, oldest first (G7, S7). */
export async function listPauses(
  { databases, tenant }: Scope,
  { userId, ...page }: z.output<typeof StreakPausesQuery>,
): Promise<z.infer<typeof AdminStreakPause>[]> {
  const pauses = await pausesPage(databases.usersOf(tenant.id).of(userId), userId, page)
  return pauses.map((pause) => pauseResponse(userId, pause))
}

const pauseResponse = (userId: string, { id, start, end }: Pause): z.infer<typeof AdminStreakPause> => ({
  id,
  userId,
  start: dateOfDay(start),
  end: dateOfDay(end),
  status: 'active',
})

/** Creates pauses of users' streaks. A pause that begins before the user's today is an issue (S7). */
export async function createPauses(
  scope: Scope,
  { pauses }: z.output<typeof CreateStreakPausesRequest>,
): Promise<{ created: z.infer<typeof AdminStreakPause>[]; issues: UserIssue[] }> {
  const changed = await changeStreaks(scope, pauses, userIdOf, (found, items, { db, now }) => {
    const issues: UserIssue[] = []
    const made: At<OwnPause>[] = []
    for (const { index, item } of items) {
      const { userId, ...dates } = item
      const open = found.get(userId)
      const [start, end] = [dayOf(dates.start), dayOf(dates.end)]
      const why = open === undefined ? UNKNOWN_USER : pauseProblem(open, start, end)
      if (open === undefined || why !== null) {
        issues.push(issue(index, userId, why ?? UNKNOWN_USER))
        continue
      }
      const pause = { id: newId(now), start, end }
      open.streak = withPause(open.streak, pause)
      open.streakEntries = [...open.streakEntries, { kind: 'paused', pause }]
      made.push({ index, value: { ...pause, userId, userIid: open.user.iid } })
    }
    const own = made.map(({ value }) => value)
    const audit = own.map(({ userIid: iid, ...pause }) =>
      userEntry('streak_pause', 'create', { iid }, madeFields(pauseFields(pause))),
    )
    const statements = own.length === 0 ? [] : [keepPauses(db, own)]
    return { result: { done: made, issues }, statements, audit }
  })
  const { done, issues } = allAnswers(changed, userIdOf)
  return { created: done.map((pause) => pauseResponse(pause.userId, pause)), issues }
}

function pauseProblem({ today, streak, terms }: OpenStreak, start: number, end: number): string | null {
  if (start < today) {
    return `start: must not be before the user's today, which is ${dateOfDay(today)}. Choose a later date.`
  }
  if (end - today > MOST_PAUSE_DAYS) {
    return `end: must be at most ${MOST_PAUSE_DAYS} days ahead. Choose an earlier date.`
  }
  const last = lastDayOver(today, terms)
  if (streak.pauses.filter((pause) => pause.end > last).length < MOST_PAUSES) return null
  return `The user has ${MOST_PAUSES} pauses that are not over. The limit is reached. Delete one first.`
}

/** Deletes pauses. Days that are over stay as they were judged (S7). */
export async function removePauses(
  scope: Scope,
  ids: readonly string[],
): Promise<{ deleted: { id: string }[]; issues: Issue[] }> {
  const { now, databases, tenant } = scope
  const found = await databases.usersOf(tenant.id).askAll((db) => findPauses(db, ids))
  const owners = new Map(found.flat().map(({ id, userId }) => [id, userId]))
  // A pause that does not exist counts as one of nobody.
  const idOf = (id: string) => owners.get(id) ?? ''
  const known = ids.filter((id) => owners.has(id))
  const { done, missed } = await changeStreaks(scope, known, idOf, async (users, items, { db }) => {
    const present = new Map((await findPauses(db, ids)).map((pause) => [pause.id, pause]))
    const gone: { id: string; last: number }[] = []
    const audit: AuditEntry[] = []
    for (const { item: id } of items) {
      const given = present.get(id)
      const open = users.get(given?.userId ?? '')
      if (given === undefined || open === undefined) continue
      const last = lastDayOver(open.today, open.terms)
      open.streak = withoutPause(open.streak, id, last)
      const pause = { id, start: given.start, end: given.end }
      open.streakEntries = [...open.streakEntries, { kind: 'pause_deleted', pause }]
      gone.push({ id, last })
      audit.push(userEntry('streak_pause', 'delete', { iid: open.user.iid }, goneFields(pauseFields(pause))))
    }
    const statements = gone.length === 0 ? [] : [deletePauses(db, gone, now)]
    return { result: gone.map(({ id }) => id), statements, audit }
  })
  if (missed.length > 0) throw errors.unavailable()
  const gone = new Set(done.flat())
  return {
    deleted: ids.filter((id) => gone.has(id)).map((id) => ({ id })),
    issues: ids.filter((id) => !gone.has(id)).map((id) => unknownIssue(id, 'a streak pause')),
  }
}

type Lengthen = (open: OpenStreak) => string | null

/**
 * Changes the lengths of users' streaks. `begin` reads what it needs, and makes the change of one streak: that puts
 * the changed streak there, or returns the warning that says why it stays. `unknown` is about a user who is none.
 */
async function changeLengths(
  scope: Scope,
  users: readonly { id: string }[],
  { action, unknown }: { action: 'restore' | 'reset'; unknown: string },
  begin: (found: readonly OpenStreak[], db: TenantDatabase) => Promise<Lengthen> | Lengthen,
): Promise<{ done: string[]; issues: UserIssue[] }> {
  const idOf = ({ id }: { id: string }) => id
  const changed = await changeStreaks(scope, users, idOf, async (found, items, { db }) => {
    const change = await begin([...found.values()], db)
    const issues: UserIssue[] = []
    const done: At<string>[] = []
    const audit: AuditEntry[] = []
    for (const { index, item } of items) {
      const { id } = item
      const open = found.get(id)
      const before = open?.streak.run?.length ?? 0
      const why = open === undefined ? unknown : change(open)
      if (open === undefined || why !== null) {
        issues.push(issue(index, id, why ?? unknown, open && 'warning'))
        continue
      }
      const length = { before, after: open.streak.run?.length ?? 0 }
      audit.push(userEntry('streak', action, { iid: open.user.iid }, { length }))
      done.push({ index, value: id })
    }
    return { result: { done, issues }, audit }
  })
  return allAnswers(changed, idOf)
}

/** Restores streaks to the longest recent length. Warns if there is no longer one (S8). */
export async function restoreStreaks(
  scope: Scope,
  { users }: z.output<typeof RestoreStreaksRequest>,
): Promise<z.infer<typeof RestoreStreaksResponse>> {
  const how = { action: 'restore', unknown: UNKNOWN_USER } as const
  const { done: restoredUsers, issues } = await changeLengths(scope, users, how, async (found, db) => {
    const asked = found.map(({ user, today, terms }) => ({
      iid: user.iid,
      since: periodStart(restorableSince(today, terms), terms.frequency),
    }))
    const past = await runsOfSeveral(db, asked)
    return (open) => {
      const { user, terms, today, ended } = open
      if (!terms.isOn) return "The user's streak is switched off. Nothing was restored."
      const runs = [...(past.get(user.iid) ?? []), ...ended]
      const streak = restored(open.streak, terms, { at: scope.now, today }, runs)
      if (streak === null) return 'The user has no longer recent streak to restore. Nothing was restored.'
      open.streak = streak
      open.streakEntries = [...open.streakEntries, { kind: 'restored', length: streak.run?.length ?? 0 }]
      return null
    }
  })
  return { restoredUsers, issues }
}

/** Sets streaks to zero (S13). Warns if the length is 0 already, or if the streak is off. */
export async function resetStreaks(
  scope: Scope,
  { users }: z.output<typeof ResetStreaksRequest>,
): Promise<z.infer<typeof ResetStreaksResponse>> {
  const how = { action: 'reset', unknown: 'User does not exist' } as const
  const { done: resetUsers, issues } = await changeLengths(scope, users, how, () => (open) => {
    const { user, terms, today, streak } = open
    if (!terms.isOn || streak.run === null) return 'No streak to reset'
    const reset = withReset(streak, terms, { at: scope.now, today, seq: user.seq + 1 })
    open.streak = reset.streak
    open.ended = [...open.ended, ...reset.ended]
    open.streakEvents = [...open.streakEvents, { kind: 'lost', length: streak.run.length }]
    open.streakEntries = [...open.streakEntries, { kind: 'reset', length: 0 }]
    return null
  })
  return { resetUsers, issues }
}
