import * as z from 'zod'
import type { Configuration } from '../../configuration/model'
import { pendingNotifications } from '../../configuration/tables.sql.ts'
import { DAY, type Instant, instant } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { offsetMinutes } from '../../lib/zone'
import { columnList, fieldsOf, readingOf } from '../../platform/columns'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { guardSql, onlyUnchanged, overUsers, type UsersAsRead } from '../../platform/guard'
import type { Change } from '../../rules/change.rules'
import { followEarliest, schedule } from '../../time/due-work.sql.ts'
import { completionMoment, SCHEDULED, tenantSends, UTC } from './notifications.rules'

const PENDING = readingOf(pendingNotifications, ['dueAt', 'id', 'userId', 'userIid', 'achievementId'])
/** A notification of a user that is due later. `id` is the id of the completion or of the change of zone. */
export type PendingNotification = z.output<typeof PENDING.row>

/** The `achievementId` of a change of zone that skipped the hour of other notifications. */
export const SKIPS = ''

const PENDING_LIST = columnList(pendingNotifications, fieldsOf(pendingNotifications, ['tenantId']))

const KEEP = `
  INSERT INTO pending_notifications (tenant_id, ${PENDING_LIST.columns})
  SELECT ?2, ${PENDING_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(PENDING_LIST.value('userIid'))}
  ON CONFLICT DO NOTHING`

/** Stores pending notifications until they are due. */
export function insertPendingNotifications(
  db: TenantDatabase,
  kept: readonly PendingNotification[],
  among: UsersAsRead,
): Statement[] {
  return overUsers(db, KEEP, kept.map(PENDING_LIST.values), among)
}

/** How far ahead a pending notification can be due, in ms: at a time of the present or the next local day. */
export const PENDING_AT_MOST = 2 * DAY
const CAP = 'UPDATE pending_notifications SET due_at = ?1 WHERE due_at > ?2'

/** Makes pending notifications due by a moment that are further ahead than they can be (C3). */
export const capPendingNotifications = (db: AccountDatabase, now: Instant): Statement =>
  db.statement(CAP, now, now + PENDING_AT_MOST)

const DUE = `
  SELECT ${PENDING.columns('n')} FROM pending_notifications n
  WHERE tenant_id = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3`

/** The notifications that are due by a moment, in order of due time, at most `limit`. */
export async function duePendingNotifications(
  db: TenantDatabase,
  by: Instant,
  limit: number,
): Promise<PendingNotification[]> {
  return z.array(PENDING.row).parse(await db.rows(db.statement(DUE, db.tenantId, by, limit)))
}

const keys = (pending: readonly PendingNotification[]) =>
  JSON.stringify(pending.map(({ dueAt, id }) => [dueAt, id]))

const PRESENT = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?2) asked WHERE NOT EXISTS (SELECT 1 FROM pending_notifications n
    WHERE n.tenant_id = ?1 AND n.due_at = asked.value ->> 0 AND n.id = asked.value ->> 1))`)

/** A guard (see platform/guard.ts). It holds while none of these notifications was sent. */
export function pendingNotificationsPresent(
  db: TenantDatabase,
  pending: readonly PendingNotification[],
): Statement {
  return db.statement(PRESENT, db.tenantId, keys(pending))
}

const FORGET = `
  DELETE FROM pending_notifications WHERE tenant_id = ?1 AND (due_at, id) IN (SELECT value ->> 0, value ->> 1
    FROM json_each(?2))`
const EARLIEST = '(SELECT min(due_at) FROM pending_notifications WHERE tenant_id = ?1)'

/** Deletes notifications, and sets the row of due work to the next due time. */
export function deletePendingNotifications(
  db: TenantDatabase,
  pending: readonly PendingNotification[],
): Statement[] {
  return [db.statement(FORGET, db.tenantId, keys(pending)), ...followEarliest(db, 'completions', EARLIEST)]
}

/**
 * The statements that store a pending notification for each completed achievement of changes, due at a time
 * of the user's day, and for each change of zone to a later local time, due at once: it may skip the hour of
 * other notifications (N2). They are part of the batch that stores the changes. There are none if no template
 * and no webhook needs them.
 * The job decides at the due time whether a user is notified.
 */
export function pendingNotificationsOf(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Pick<Change, 'before' | 'after' | 'completed'>[],
  among: UsersAsRead,
): Statement[] {
  const pending = changes.flatMap(({ before, after, completed }) => {
    const { id: userId, iid: userIid, control, changed, profile } = after
    if (control) return []
    const from = offsetMinutes((before ?? after).profile.tz ?? UTC, changed)
    const isLater = from < offsetMinutes(profile.tz ?? UTC, changed)
    const isSkipping = isLater && SCHEDULED.some((type) => tenantSends(config, type))
    const skips = isSkipping ? [{ dueAt: changed, id: namedId(changed, userIid), achievementId: SKIPS }] : []
    const wanted = completed.length > 0 && tenantSends(config, 'achievement_completed') ? completed : []
    const completions = wanted.flatMap((achievementId) => {
      const completion = after.achievements.get(achievementId)
      if (completion === undefined) return []
      const dueAt = completionMoment(completion.at, profile.tz ?? UTC)
      return [{ dueAt, id: completion.id, achievementId }]
    })
    return [...skips, ...completions].map((one) => ({ ...one, userId, userIid }))
  })
  if (pending.length === 0) return []
  const first = instant(Math.min(...pending.map(({ dueAt }) => dueAt)))
  return [...insertPendingNotifications(db, pending, among), schedule(db, 'completions', { at: first })]
}
