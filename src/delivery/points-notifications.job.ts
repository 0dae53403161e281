import { type DueWork, rescheduled } from '../jobs/due-work.repository'
import type { Job } from '../jobs/job.types'
import { firstDue } from '../outbox/points-notifications.repository'
import type { TenantContext } from '../runtime/context'
import { drain } from './drain.service'

declare module '../jobs/due-kinds.types' {
  interface DueKinds {
    outbox: true
  }
}

/** Changes of points that are told once their quiet time is over (W5). */
export const pointsNotificationsJob: Job = {
  kind: 'outbox',
  run: (context, work, { mustAll }) => tellPoints(context, work, mustAll),
}

/** Tells what has become due of points, and notes when the next of them is (W5). */
async function tellPoints(context: TenantContext, work: DueWork, mustAll: boolean): Promise<void> {
  await drain(context, { by: work.dueAt, mustAll })
  await context.db.batch([rescheduled(context.db, work, await firstDue(context.db))])
}
