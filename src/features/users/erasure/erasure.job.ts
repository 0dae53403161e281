import type { Job } from '../../../jobs/job.types'
import { erasureStep } from './erasure.service'

declare module '../../../jobs/due-kinds.types' {
  interface DueKinds {
    erasure: true
  }
}

/** The rest of an erasure. The subject is the user's iid (U8). */
export const erasureJob: Job = {
  kind: 'erasure',
  isOfUsers: true,
  while: ['active', 'archived'],
  run: (context, work, when) => erasureStep(context, work, when),
}
