import type { Configuration } from '../configuration/model'
import { purgeJob } from '../features/account/purge'
import { anniversariesJob } from '../features/achievements/anniversaries'
import { backdateJob } from '../features/achievements/backdate'
import { analyticsJob } from '../features/analytics/counting'
import { distributionsJob } from '../features/analytics/wrapped/distributions'
import { moves } from '../features/databases/databases.routes'
import { batchJob } from '../features/events/batches/batches.routes'
import { notificationAdapter } from '../features/notifications/channel'
import { completionsJob, listenerStatements, scheduleJob } from '../features/notifications/schedule'
import { boostsJob } from '../features/points/boost-events'
import { flushPoints, pointsNotificationsJob } from '../features/points/points-changed'
import { ticksJob } from '../features/points/ticks'
import { deadlinesJob, recountJob } from '../features/streaks/deadlines'
import { erasureJob } from '../features/users/erasure'
import { boardJob } from '../leaderboards/updates'
import type { TenantContext } from '../platform/context'
import { devicesJob } from '../store/users/devices.sql.ts'
import type { Jobs } from '../time/job'
import { webhookAdapter } from '../webhooks/channel'
import { deliveryJob, drain, requestDrain } from '../webhooks/delivery/drain'
import type { ChannelAdapter, Destination } from '../webhooks/delivery/messages'
import { hasOutboxWork } from '../webhooks/outbox/outbox.sql.ts'
import { switchOff, webhookResource } from '../webhooks/webhook.resource'

/** Webhooks, with what their changes cause in features. */
export const webhook = webhookResource(listenerStatements)

/**
 * The adapter that sends messages to a destination, by the present configuration. `waits` if the destination
 * gets no messages now but may get them later, `gone` if it was deleted.
 */
export function channelTo(
  context: TenantContext,
  config: Configuration,
  destination: Destination,
): ChannelAdapter | 'waits' | 'gone' {
  switch (destination.kind) {
    case 'webhook': {
      const found = config.webhooks.find(({ id }) => id === destination.webhookId)
      if (found === undefined) return 'gone'
      if (found.status !== 'active') return 'waits'
      return webhookAdapter(context, found, (now) => switchOff(webhook, context, found.id, config, now))
    }
    case 'email':
    case 'push':
      return notificationAdapter(context, destination.kind, config)
  }
}

/**
 * All jobs. Their order is the priority of work that is due at the same moment: points before streaks, and
 * leaderboards after them, so that everything that belongs to a run is done before its end (L8). The
 * analytics count what the others have done.
 */
export const JOBS: Jobs = {
  list: [
    ticksJob,
    deadlinesJob,
    anniversariesJob,
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
    await drain(context, flushPoints, { by, mustAll: true })
  },
  afterwards: async (context, now) => {
    if (await hasOutboxWork(context.db, now)) requestDrain(context, context.db.tenantId)
  },
  moves,
}
