import { bulkStep } from '../../../leaderboards/bulk-step.service'
import type { Job } from '../../../time/job.types'
import { Interrupted, inboxStep } from './process.service'

declare module '../../../time/due-kinds.types' {
  interface DueKinds {
    inbox: true
  }
}

/** Processes events that wait in the inbox (E9). */
export const batchJob: Job = {
  kind: 'inbox',
  run: async (context, work, { until }) => {
    let failure: unknown = null
    await bulkStep(context, 'inbox', async () => {
      try {
        return await inboxStep(context, work, until)
      } catch (error) {
        // Changes were stored in some databases. The leaderboards get them now.
        if (!(error instanceof Interrupted)) throw error
        failure = error.cause
        return error.step
      }
    })
    if (failure !== null) throw failure
  },
}
