import type { Job } from '../../../jobs/job.types'
import { erasureStep } from './erasure.service'

declare module '../../../jobs/due-kinds.types' {
  interface DueKinds {
    erasure: true
  }
}

/** What is left of an erased user, whose internal id is the subject (U8). */
export const erasureJob: Job = {
  kind: 'erasure',
  while: ['active', 'archived'],
  run: (context, work, when) => erasureStep(context, work, when),
}
