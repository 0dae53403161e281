import type { Instant } from '../../lib/clock'
import type { TenantContext } from '../../platform/context'
import { type DueWork, rescheduled } from '../../time/due-work.repository'
import type { Job } from '../../time/job.types'
import { runDeliveryQueue } from './queue.service'

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    delivery: true
  }
}

/** Retries of a destination. The subject of the work is its name (W4). */
export const deliveryJob: Job = {
  kind: 'delivery',
  run: (context, work, { until, isSet }) => runDestination(context, work, until, isSet),
}

/** Sends due messages. Waits only under a test clock: slow receivers must not hold up other work (W4, C1). */
async function runDestination(
  context: TenantContext,
  work: DueWork,
  until: Instant,
  wait: boolean,
): Promise<void> {
  const now = wait ? work.dueAt : until
  const dueAt = await runDeliveryQueue(context, work.subject, { now, wait })
  await context.db.batch([rescheduled(context.db, work, dueAt)])
}
