import { rescheduled } from '../time/due-work.repository'
import type { Job } from '../time/job.types'
import { takeDevices } from './devices.repository'

declare module '../time/due-kinds.types' {
  interface DueKinds {
    devices: true
  }
}

/** Takes the new device tokens of a user, the subject, from users of other databases (U2). */
export const devicesJob: Job = {
  kind: 'devices',
  isOfUsers: true,
  run: async ({ databases, db }, work) => {
    await takeDevices(databases, db.tenantId, work.subject)
    await db.batch([rescheduled(db, work, null)])
  },
}
