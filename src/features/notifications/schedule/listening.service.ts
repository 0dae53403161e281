import type { Configuration } from '../../../config/configuration.types'
import type { TenantDatabase } from '../../../db/database'
import { beginWalk } from '../../../jobs/due-work.repository'
import type { Instant } from '../../../lib/clock'
import { hasBoostListeners } from '../../points/boosts/boost-notifications.rules'
import { joinSchedule } from './schedule.repository'
import { isEmpty, newlyWanted, timetableOf } from './schedule.rules'

/**
 * What a change of the configuration has to store with it so that what somebody wants from now on is told in time, and nothing from before
 * (N5, W6): to be called wherever webhooks, templates or the settings that say when change.
 */
export function listenerStatements(
  db: TenantDatabase,
  before: Configuration,
  after: Configuration,
  now: Instant,
): D1PreparedStatement[] {
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
