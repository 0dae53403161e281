import { boardJob } from '../boards/board.job'
import { batchJob } from '../commands/batch/batch.job'
import { deliveryJob } from '../delivery/delivery.job'
import { drain, type MessageSource } from '../delivery/drain.service'
import { requestDrain } from '../delivery/drain-debouncer.cache'
import { pointsNotificationsJob } from '../delivery/points-notifications.job'
import { flushPoints } from '../delivery/points-notifications.service'
import { backdateJob } from '../features/achievements/backdate.job'
import { analyticsJob } from '../features/analytics/analytics.job'
import { moves } from '../features/databases/moves/mover.service'
import { completionsJob } from '../features/notifications/schedule/completions.job'
import { scheduleJob } from '../features/notifications/schedule/schedule.job'
import { boostsJob } from '../features/points/boosts/boost-notifications.job'
import { ticksJob } from '../features/points/ticks/ticks.job'
import { deadlinesJob } from '../features/streaks/deadlines.job'
import { recountJob } from '../features/streaks/recount.job'
import { purgeJob } from '../features/tenants/purge.job'
import { erasureJob } from '../features/users/erasure/erasure.job'
import { distributionsJob } from '../features/wrapped/distributions.job'
import type { Jobs } from '../jobs/job.types'
import { hasOutboxWork } from '../outbox/outbox.repository'

/** What writes messages to the outbox once they are due. */
export const SOURCES: readonly MessageSource[] = [flushPoints]

/**
 * All jobs. Their order is the priority of work that is due at the same moment: points before streaks, and
 * leaderboards after them, so that everything that belongs to a run is done before its end (L8). The
 * analytics count what the others have done.
 */
export const JOBS: Jobs = {
  list: [
    ticksJob,
    deadlinesJob,
    distributionsJob,
    scheduleJob,
    recountJob,
    purgeJob,
    pointsNotificationsJob,
    completionsJob,
    batchJob,
    erasureJob,
    deliveryJob,
    boostsJob,
    backdateJob,
    boardJob,
    analyticsJob,
  ],
  beforeStep: async (context, by) => {
    await drain(context, SOURCES, { by, mustAll: true })
  },
  afterwards: async (context, now) => {
    if (await hasOutboxWork(context.db, now)) requestDrain(context, context.db.tenantId)
  },
  moves,
}
