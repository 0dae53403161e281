import type { Configuration } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import type { TenantDatabase } from '../../platform/database'
import type { Statement } from '../../platform/statement'
import { beginWalk } from '../../time/due-work.repository'
import { hasBoostListeners } from '../points/boost-notifications.rules'
import { joinSchedule } from './schedule.repository'
import { isEmpty, newlyWanted, timetableOf } from './schedule.rules'

/**
 * Statements that must be stored with a change of the configuration, so that new listeners get events in time
 * and none from before the change (N5, W6). Every change of webhooks, templates or schedule settings must
 * call this.
 */
export function listenerStatements(
  db: TenantDatabase,
  before: Configuration,
  after: Configuration,
  now: Instant,
): Statement[] {
  const [was, is] = [timetableOf(before), timetableOf(after)]
  const joining = newlyWanted(was, is)
  const schedule =
    joining.length === 0
      ? []
      : [isEmpty(was) ? beginWalk(db, 'schedule', '', now) : joinSchedule(db, joining, now)]
  const boosts =
    hasBoostListeners(after) && !hasBoostListeners(before) ? [beginWalk(db, 'boosts', '', now)] : []
  return [...schedule, ...boosts]
}
