import type { Configuration } from '../config/configuration.types'
import type { TenantDatabase } from '../db/database'
import type { UnchangedUsers } from '../db/guard'
import type { Statement } from '../db/statement'
import type { Change } from '../engine/change.rules'
import { makeDue } from '../jobs/due-work.repository'
import { instant } from '../lib/clock'
import { completionMoment } from './notification-times.rules'
import { tenantSends, UTC } from './notifications.rules'
import { insertPendingNotifications } from './pending-notifications.repository'

/** Whether a template is active or a webhook listens for completed achievements (N5). */
const wantsCompletions = (config: Configuration): boolean => tenantSends(config, 'achievement_completed')

/**
 * The statements that store a pending notification for each completed achievement of changes, due at a time
 * of the user's day (N2). They are part of the batch that stores the changes. There are none if no template
 * and no webhook needs them.
 * The job decides at the due time whether a user is notified.
 */
export function pendingNotificationsOf(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Pick<Change, 'after' | 'completed'>[],
  among: UnchangedUsers,
): Statement[] {
  if (changes.every(({ completed }) => completed.length === 0) || !wantsCompletions(config)) return []
  const pending = changes.flatMap(({ after, completed }) => {
    const { id: userId, iid: userIid, control, profile } = after
    if (control) return []
    return completed.flatMap((achievementId) => {
      const completion = after.achievements.get(achievementId)
      if (completion === undefined) return []
      const dueAt = completionMoment(completion.at, profile.tz ?? UTC)
      return [{ dueAt, id: completion.id, userId, userIid, achievementId }]
    })
  })
  if (pending.length === 0) return []
  const first = instant(Math.min(...pending.map(({ dueAt }) => dueAt)))
  return [...insertPendingNotifications(db, pending, among), makeDue(db, 'completions', '', first)]
}
