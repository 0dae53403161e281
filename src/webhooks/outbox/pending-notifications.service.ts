import type { Configuration } from '../../configuration/configuration.types'
import { instant } from '../../lib/clock'
import { namedId } from '../../lib/ids'
import { offsetMinutes } from '../../lib/zone'
import type { TenantDatabase } from '../../platform/database'
import type { UnchangedUsers } from '../../platform/guard'
import type { Statement } from '../../platform/statement'
import type { Change } from '../../rules/change.rules'
import { makeDue } from '../../time/due-work.repository'
import { completionMoment } from './notification-times.rules'
import { SCHEDULED, tenantSends, UTC } from './notifications.rules'
import { insertPendingNotifications, SKIPS } from './pending-notifications.repository'

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
  among: UnchangedUsers,
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
  return [...insertPendingNotifications(db, pending, among), makeDue(db, 'completions', '', first)]
}
