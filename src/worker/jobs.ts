import { purgeJob } from '../features/account/purge.job'
import { backdateJob } from '../features/achievements/backdate.job'
import { analyticsJob } from '../features/analytics/analytics.job'
import { distributionsJob } from '../features/analytics/distributions.job'
import { moves } from '../features/databases/mover.service'
import { batchJob } from '../features/events/batches/batch.job'
import { completionsJob } from '../features/notifications/completions.job'
import { scheduleJob } from '../features/notifications/schedule.job'
import { boostsJob } from '../features/points/boost-notifications.job'
import { pointsNotificationsJob } from '../features/points/points-notifications.job'
import { flushPoints } from '../features/points/points-notifications.service'
import { ticksJob } from '../features/points/ticks.job'
import { deadlinesJob } from '../features/streaks/deadlines.job'
import { recountJob } from '../features/streaks/recount.job'
import { erasureJob } from '../features/users/erasure/erasure.job'
import { boardJob } from '../leaderboards/board.job'
import { devicesJob } from '../store/devices.job'
import type { Jobs } from '../time/job.types'
import { deliveryJob } from '../webhooks/delivery/delivery.job'
import { drain, type MessageSource } from '../webhooks/delivery/drain.service'
import { requestDrain } from '../webhooks/delivery/drain-debouncer.cache'
import { hasOutboxWork } from '../webhooks/outbox/outbox.repository'

/** All sources of messages that are written to the outbox once they are due. */
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
    devicesJob,
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
