import type { Job } from '../../../time/job.types'
import { erasureStep } from './erasure.service'

declare module '../../../time/due-kinds.types' {
  interface DueKinds {
    erasure: true
  }
}

/**
 * The rest of an erasure. The subject is the user's iid (U8). It is in the first database, so that it deletes
 * data in all of them.
 */
export const erasureJob: Job = {
  kind: 'erasure',
  while: ['active', 'archived'],
  run: (context, work, when) => erasureStep(context, work, when),
}
