import { bulkStep } from '../../boards/bulk-step.service'
import type { Job } from '../../jobs/job.types'
import { inboxStep } from './process.service'

declare module '../../jobs/due-kinds.types' {
  interface DueKinds {
    inbox: true
  }
}

/** Processes events that wait in the inbox (E9). */
export const batchJob: Job = {
  kind: 'inbox',
  run: (context, work, { until }) => bulkStep(context, 'inbox', () => inboxStep(context, work, until)),
}
