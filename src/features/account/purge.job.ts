import type { Job } from '../../time/job.types'
import { purgeStep } from './purge.service'

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    purge: true
  }
}

/** Erases a whole tenant (U8, T3). */
export const purgeJob: Job = {
  kind: 'purge',
  while: ['purging'],
  run: (context, work) => purgeStep(context, work),
}
