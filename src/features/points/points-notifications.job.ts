import type { TenantContext } from '../../platform/context'
import { type DueWork, rescheduled } from '../../time/due-work.repository'
import type { Job } from '../../time/job.types'
import { drain } from '../../webhooks/delivery/drain.service'
import { firstDue } from '../../webhooks/outbox/points-notifications.repository'
import { flushPoints } from './points-notifications.service'

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    outbox: true
  }
}

/** Sends changes of points once their quiet time is over (W5). */
export const pointsNotificationsJob: Job = {
  kind: 'outbox',
  isOfUsers: true,
  run: (context, work, { mustAll }) => sendPoints(context, work, mustAll),
}

/** Sends the points notifications that are due, and schedules the next one (W5). */
async function sendPoints(context: TenantContext, work: DueWork, mustAll: boolean): Promise<void> {
  await drain(context, [flushPoints], { by: work.dueAt, mustAll })
  await context.db.batch([rescheduled(context.db, work, await firstDue(context.db))])
}
